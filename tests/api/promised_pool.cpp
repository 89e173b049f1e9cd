// The promised names of the pool.
#include <rota/pool/graph.hpp>
#include <rota/pool/parallel.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/pool/watch.hpp>
#include <rota/rota.hpp>
#include <rota/stop_token.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace pool = rota::pool;

TEST(public_api, thread_pool_runs_functions_and_coroutines) {
  pool::thread_pool p{pool::pool_options{
      .min_threads = 1, .max_threads = 2, .keep_alive = 10s, .queue = pool::queue_order::fifo}};
  pool::work<int> w = p.submit([] { return 1; });
  const pool::work_id id = w.id();
  EXPECT_TRUE(id);
  const rota::outcome<int> end = w.fetch();
  EXPECT_EQ(end.value(), 1);
  EXPECT_EQ(w.status(), pool::work_status::succeeded);

  pool::work_options how;
  how.priority = 5;
  how.group = "ingest";
  how.name = "parse";
  how.after = {};
  how.timeout = 30s;
  how.retry = {.limit = 3, .backoff = 100ms};
  pool::work<std::string> x = p.submit([] { return std::string("x"); }, how);
  EXPECT_TRUE(x.wait_for(1h));
  pool::work<int> c = p.submit([]() -> rota::task<int> { co_return 2; }());
  pool::work<int> d = p.submit([]() -> rota::task<int> { co_return 3; }(), pool::work_options{.priority = 1});
  EXPECT_EQ(c.fetch().value() + d.fetch().value(), 5);
  pool::work<int> e = p.submit_with({}, [](std::unique_ptr<int> n) { return *n; }, std::make_unique<int>(4));
  EXPECT_EQ(e.fetch().value(), 4);
  p | [] {} | [] {};
  EXPECT_TRUE(p + [] {});
  const bool idle = p.wait_idle(1h);
  EXPECT_TRUE(idle);
  const pool::pool_stats s = p.stats();
  EXPECT_EQ(s.waiting, 0U);
  EXPECT_EQ(s.running, 0U);
  EXPECT_GE(s.threads, 1U);
}

TEST(public_api, jobs_can_be_cancelled_stopped_paused_and_resumed) {
  pool::thread_pool p({.max_threads = 1});
  const auto spins = [](const std::stop_token& stop) {
    while (!stop.stop_requested()) std::this_thread::yield();
  };
  const auto running = p.submit(spins);
  while (running.status() != pool::work_status::running) std::this_thread::yield();
  const auto waits = p.submit([] {}, {.group = "g"});
  EXPECT_FALSE(running.cancel());
  EXPECT_TRUE(waits.cancel());
  EXPECT_TRUE(running.pause());
  EXPECT_TRUE(running.resume());
  EXPECT_TRUE(running.stop());
  running.wait();

  const std::array ids{p.submit([] {}).id(), pool::work_id{12345}};
  EXPECT_EQ(p.wait(ids).back(), ids[1]);
  EXPECT_FALSE(p.cancel(ids[1]));
  EXPECT_FALSE(p.stop(ids[1]));
  EXPECT_FALSE(p.force_stop(ids[1]));
  EXPECT_FALSE(p.pause(ids[1]));
  EXPECT_FALSE(p.resume(ids[1]));
  EXPECT_FALSE(p.fetch<int>(ids[1]).has_value());
  p.pause("g");
  p.resume("g");
  EXPECT_EQ(p.cancel("g"), 0U);
  EXPECT_EQ(p.stop("g"), 0U);
  EXPECT_EQ(p.force_stop("g"), 0U);
  p.wait("g");
  p.pause_all();
  p.resume_all();
  EXPECT_EQ(p.cancel_all() + p.stop_all() + p.force_stop_all(), 0U);
  p.resize(0, 3);
  const pool::pool_report report = p.shutdown(1s);
  EXPECT_TRUE(report.abandoned.empty());
  EXPECT_THROW(static_cast<void>(p.submit([] {})), rota::error);
}

TEST(public_api, several_jobs_can_be_waited_for_and_fetched) {
  pool::thread_pool p({.max_threads = 2});
  const pool::work_options kept{.group = "g", .store_result = true};
  const std::array ids{p.submit([] { return 1; }, kept).id(), p.submit([] { return 2; }, kept).id()};
  EXPECT_TRUE(p.wait_for(ids[0], 1h));
  EXPECT_TRUE(p.wait_until(ids[0], std::chrono::steady_clock::now() + 1h));
  EXPECT_TRUE(p.wait_for(ids, 1h).empty());
  EXPECT_TRUE(p.wait_until(ids, std::chrono::steady_clock::now() + 1h).empty());
  EXPECT_TRUE(p.wait_for("g", 1h));
  EXPECT_TRUE(p.wait_until("g", std::chrono::steady_clock::now() + 1h));
  const pool::work_id first = p.wait_any(ids);
  EXPECT_TRUE(first);
  EXPECT_TRUE(p.wait_any_for(ids, 1h));
  EXPECT_TRUE(p.wait_any_until(ids, std::chrono::steady_clock::now() + 1h));
  const std::vector<std::optional<rota::outcome<int>>> both = p.fetch<int>(ids);
  EXPECT_EQ(both[0]->value() + both[1]->value(), 3);
  const std::vector<std::pair<pool::work_id, rota::outcome<int>>> none = p.fetch<int>("g");
  EXPECT_TRUE(none.empty());
  const std::vector<pool::thread_stats> threads = p.stats().by_thread;
  EXPECT_TRUE(threads.at(0).is_there);
  EXPECT_GE(threads.at(0).attempts + threads.at(0).ended + threads.at(0).failed + threads.at(0).stolen, 0U);
}

TEST(public_api, task_awaits_pool_jobs) {
  pool::thread_pool p;
  const int sum = rota::run(
      [](pool::thread_pool& threads) -> rota::task<int> {
        auto one = threads.submit([] { return 40; });
        auto two = threads.submit([] { return 2; });
        const int first = co_await one;
        const rota::outcome<int> second = co_await two.result();
        co_return first + second.value();
      },
      std::ref(p));
  EXPECT_EQ(sum, 42);
}

TEST(public_api, pool_runs_parallel_loops_and_graphs) {
  pool::thread_pool p;
  std::vector<int> all(100);
  pool::for_index(p, 0, 100, [&](int i) { all[static_cast<std::size_t>(i)] = i; });
  pool::for_each(p, all, [](int& i) { i *= 2; });
  EXPECT_EQ(pool::reduce(
                p,
                0,
                100,
                0,
                [&](int i) { return all[static_cast<std::size_t>(i)]; },
                [](int a, int b) { return a + b; }),
            9900);
  pool::graph g;
  const auto a = g.add("a", [] { return 1; });
  const auto b = g.add("b", [](int n) { return n + 1; }, a);
  EXPECT_TRUE(g.run(p).succeeded());
  EXPECT_EQ(*g.result(b), 2);
}

TEST(public_api, watched_source_runs_a_job_for_each_item) {
  pool::thread_pool p;
  pool::source<std::unique_ptr<int>> numbers(pool::source<std::unique_ptr<int>>::unbounded);
  std::atomic<int> sum{0};
  pool::watch_options how;
  how.most = 2;
  how.returns = pool::watch_options::unlimited;
  how.put_back_failed = how.put_back_stopped = how.put_back_cancelled = true;
  how.works.group = "numbers";
  const pool::watch w = pool::watch_source(p, numbers, [&](std::unique_ptr<int>& n) { sum += *n; }, how);
  for (int i = 1; i <= 4; ++i)
    EXPECT_EQ(numbers.try_push(std::make_unique<int>(i)), pool::push_status::pushed);
  const bool quiet = w.wait_for(1h);
  EXPECT_TRUE(quiet);
  EXPECT_EQ(sum, 10);
  const pool::watch_stats s = w.stats();
  EXPECT_EQ(s.succeeded, 4U);
  w.stop();
  w.stop_running();
  w.force_stop();
  w.wait();
  EXPECT_FALSE(w.is_watching());
  numbers.close();
  EXPECT_EQ(numbers.size() + numbers.given_up(), 0U);
  EXPECT_FALSE(numbers.try_take().has_value());
  EXPECT_FALSE(numbers.try_take_given_up().has_value());
}

}  // namespace
