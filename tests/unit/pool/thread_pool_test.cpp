// The basic operations of a pool.
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/runtime.hpp>
#include <rota/stop_token.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace thread_pool_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace std::chrono_literals;

TEST(thread_pool, runs_a_function) {
  thread_pool p;
  auto w = p.submit([] { return 42; });
  EXPECT_TRUE(w.id());
  EXPECT_EQ(w.fetch().value(), 42);
  EXPECT_EQ(w.status(), work_status::succeeded);
  EXPECT_THROW(static_cast<void>(w.fetch()), error) << "fetched before";
}

TEST(thread_pool, runs_functions_with_arguments_that_only_move) {
  thread_pool p;
  auto w =
      p.submit_with({}, [](std::unique_ptr<int> n, int m) { return *n + m; }, std::make_unique<int>(40), 2);
  EXPECT_EQ(w.fetch().value(), 42);
  auto kept = std::make_unique<int>(7);
  EXPECT_EQ(p.submit([k = std::move(kept)] { return *k; }).fetch().value(), 7);
}

TEST(thread_pool, runs_coroutines) {
  thread_pool p({.min_threads = 1, .max_threads = 1});
  auto from_function = p.submit([]() -> task<int> {
    co_await yield();
    co_await sleep_for(1ms);
    co_return 5;
  });
  EXPECT_EQ(from_function.fetch().value(), 5);
  EXPECT_EQ(p.submit([]() -> task<int> { co_return 6; }()).fetch().value(), 6);
}

TEST(thread_pool, fetch_returns_the_exception_of_the_job) {
  thread_pool p;
  auto w = p.submit([]() -> int { throw std::runtime_error("no"); });
  EXPECT_THROW(static_cast<void>(w.fetch().value()), std::runtime_error);
  EXPECT_EQ(w.status(), work_status::failed);
}

TEST(thread_pool, jobs_submitted_by_many_threads_all_run) {
  std::atomic<int> done{0};
  {
    thread_pool p({.max_threads = 4});
    std::vector<std::thread> from;
    for (int t = 0; t < 4; ++t) {
      from.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) static_cast<void>(p.submit([&] { ++done; }));
      });
    }
    for (std::thread& each : from) each.join();
    p.wait_idle();
    EXPECT_EQ(done, 40'000);
    const pool_stats s = p.stats();
    EXPECT_EQ(s.succeeded, 40'000U);
    EXPECT_EQ(s.outstanding, 0U);
    EXPECT_EQ(s.waiting, 0U);
    EXPECT_LE(s.threads, 4U);
  }
}

TEST(thread_pool, a_work_submits_others) {
  thread_pool p({.max_threads = 2});
  std::atomic<int> done{0};
  const std::function<void(int)> tree = [&](int depth) {
    ++done;
    if (depth == 0) return;
    static_cast<void>(p.submit([&, depth] { tree(depth - 1); }));
    static_cast<void>(p.submit([&, depth] { tree(depth - 1); }));
  };
  static_cast<void>(p.submit([&] { tree(10); }));
  p.wait_idle();
  EXPECT_EQ(done, 2047);
}

TEST(thread_pool, stop_token_is_passed_to_a_function_that_takes_one) {
  thread_pool p;
  std::promise<void> begun;
  auto w = p.submit([&](std::stop_token stop) {
    begun.set_value();
    while (!stop.stop_requested()) std::this_thread::yield();
    return 1;
  });
  begun.get_future().wait();
  EXPECT_FALSE(w.cancel());
  EXPECT_TRUE(w.stop());
  EXPECT_EQ(w.fetch().value(), 1) << "who looks and returns has succeeded";
}

TEST(thread_pool, job_that_has_not_begun_can_be_cancelled) {
  thread_pool p({.max_threads = 1});
  std::latch go(1);
  auto first = p.submit([&] { go.wait(); });
  auto second = p.submit([] { return 1; });
  EXPECT_TRUE(second.cancel());
  EXPECT_FALSE(second.cancel());
  EXPECT_TRUE(second.fetch().is_cancelled());
  EXPECT_EQ(second.status(), work_status::cancelled);
  go.count_down();
  first.wait();
  p.wait_idle();
  EXPECT_EQ(p.stats().outstanding, 0U);
}

TEST(thread_pool, job_runs_after_its_predecessors) {
  thread_pool p({.max_threads = 2});
  std::atomic<int> order{0};
  auto a = p.submit([&] { return order++; });
  auto b = p.submit([&] { return order++; }, {.after = {a.id()}});
  auto c = p.submit([&] { return order++; }, {.after = {a.id(), b.id()}});
  EXPECT_EQ(c.fetch().value(), 2);
  EXPECT_EQ(b.fetch().value(), 1);
}

TEST(thread_pool, failure_propagates_to_successors) {
  thread_pool p({.max_threads = 2});
  const work_id first = p.reserve();
  auto b = p.submit([] {}, {.after = {first}});
  auto c = p.submit([] {}, {.after = {b.id()}});
  auto a = p.submit([] { throw std::runtime_error("first"); }, {.id = first});
  EXPECT_TRUE(c.fetch().has_exception());
  try {
    static_cast<void>(b.fetch().value());
    ADD_FAILURE();
  } catch (const dependency_failed& why) {
    EXPECT_EQ(why.root(), first);
  }
  EXPECT_EQ(a.status(), work_status::failed);
}

TEST(thread_pool, queued_jobs_run_in_order_of_priority) {
  thread_pool p({.max_threads = 1});
  std::latch go(1);
  std::vector<int> order;
  auto gate = p.submit([&] { go.wait(); });
  while (gate.status() != work_status::running) std::this_thread::yield();
  for (const int priority : {0, -5, 7, 3, 7})
    static_cast<void>(p.submit([&order, priority] { order.push_back(priority); }, {.priority = priority}));
  go.count_down();
  p.wait_idle();
  EXPECT_EQ(order, (std::vector<int>{7, 7, 3, 0, -5}));
}

TEST(thread_pool, retries) {
  thread_pool p({.max_threads = 1});
  int runs = 0;
  auto w = p.submit(
      [&] {
        if (++runs < 3) throw std::runtime_error("again");
        return runs;
      },
      {.retry = {.limit = 5, .backoff = 1ms}});
  EXPECT_EQ(w.fetch().value(), 3);
  runs = 0;
  auto v = p.submit(
      [&] {
        if (++runs < 3) throw std::runtime_error("again");
        return runs;
      },
      {.retry = {.limit = 5, .backoff = 1ms, .where = retry_where::requeued}});
  EXPECT_EQ(v.fetch().value(), 3);
}

TEST(thread_pool, timeout_stops_a_running_job) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([] { this_work::sleep_for(1h); }, {.timeout = 5ms});
  EXPECT_EQ(w.fetch().reason(), cancel_reason::timeout);
  EXPECT_EQ(w.status(), work_status::stopped);
}

TEST(thread_pool, pause_and_resume) {
  thread_pool p({.max_threads = 1});
  std::promise<void> begun;
  std::atomic<bool> go_on{false};
  auto w = p.submit([&] {
    begun.set_value();
    while (!go_on) std::this_thread::yield();
    this_work::pause_if_requested();
    return 1;
  });
  begun.get_future().wait();
  EXPECT_TRUE(w.pause());
  go_on = true;
  while (w.status() != work_status::paused) std::this_thread::yield();
  EXPECT_TRUE(w.resume());
  EXPECT_EQ(w.fetch().value(), 1);
}

TEST(thread_pool, job_that_ignores_a_force_stop_is_abandoned) {
  std::atomic<bool> end{false};
  std::atomic<bool> ended{false};
  {
    thread_pool p({.max_threads = 1, .force_grace = 1ms});
    std::promise<void> begun;
    auto w = p.submit([&] {
      begun.set_value();
      while (!end) std::this_thread::yield();
      ended = true;
    });
    begun.get_future().wait();
    auto behind = p.submit([] { return 3; });
    EXPECT_TRUE(w.force_stop());
    EXPECT_TRUE(w.fetch().is_cancelled());
    EXPECT_EQ(w.status(), work_status::abandoned);
    EXPECT_EQ(behind.fetch().value(), 3) << "another thread came";
    EXPECT_EQ(p.stats().abandoned, 1U);
    end = true;
    while (p.stats().abandoned != 0) std::this_thread::yield();
  }
  EXPECT_TRUE(ended);
}

TEST(thread_pool, time_one_in_decides_how_many_jobs_are_timed) {
  for (const unsigned one_in : {0U, 1U}) {
    thread_pool p({.max_threads = 2, .time_one_in = one_in});
    for (int i = 0; i < 100; ++i) static_cast<void>(p.submit([] {}));
    static_cast<void>(p.submit([]() -> task<void> { co_await yield(); }));
    p.wait_idle();
    const pool_stats s = p.stats();
    EXPECT_EQ(s.queue_time.count, one_in == 0 ? 0U : 101U);
    EXPECT_EQ(s.run_time.count, one_in == 0 ? 0U : 100U) << "of coroutines only the time in the queue";
    EXPECT_LE(s.queue_time.median, s.queue_time.p90);
    EXPECT_LE(s.queue_time.p90, s.queue_time.p99);
    EXPECT_LE(s.queue_time.p99, s.queue_time.longest * 9 / 8 + 1ns);
  }
}

TEST(thread_pool, retried_job_is_timed_once) {
  thread_pool p({.max_threads = 1, .time_one_in = 1});
  auto w = p.submit([] { throw std::runtime_error("always"); },
                    {.retry = {.limit = 3, .where = retry_where::requeued}});
  w.wait();
  p.wait_idle();
  EXPECT_EQ(p.stats().attempts, 4U);
  EXPECT_EQ(p.stats().queue_time.count, 1U);
  EXPECT_EQ(p.stats().run_time.count, 1U);
}

TEST(thread_pool, callback_gets_the_cancel_reason) {
  thread_pool p({.max_threads = 1});
  cancel_reason why = cancel_reason::none;
  work_options o{.timeout = 1ms};
  o.callback = [&](const work_end& end) { why = end.reason; };
  auto w = p.submit([] { this_work::sleep_for(1h); }, o);
  w.wait();
  EXPECT_EQ(why, cancel_reason::timeout);
  o.timeout = {};
  auto v = p.submit([] { this_work::sleep_for(1h); }, o);
  v.stop();
  v.wait();
  EXPECT_EQ(why, cancel_reason::user);
  auto u = p.submit([] {}, o);
  u.wait();
  EXPECT_EQ(why, cancel_reason::none);
}

TEST(thread_pool, job_failed_by_its_predecessor_ends_once_despite_force_stop) {
  std::atomic<int> told{0};
  {
    thread_pool p({.max_threads = 1, .force_grace = 0ms});
    const work_id first = p.reserve();
    std::vector<work<void>> after;
    work_options o{.after = {first}};
    o.callback = [&](const work_end&) {
      ++told;
      p.force_stop_all();
      for (int i = 0; i < 20; ++i) std::this_thread::yield();
    };
    for (int i = 0; i < 10; ++i) after.push_back(p.submit([] {}, o));
    static_cast<void>(p.submit([] { throw std::runtime_error("first"); }, {.id = first}));
    p.wait_idle();
    EXPECT_EQ(told, 10);
    EXPECT_EQ(p.stats().outstanding, 0U);
    for (const work<void>& each : after) EXPECT_EQ(each.status(), work_status::failed);
  }
}

TEST(thread_pool, unrelate_ends_the_pause_by_a_parent_group) {
  thread_pool p({.max_threads = 1});
  p.relate("parent", "child");
  std::promise<void> begun;
  auto w = p.submit(
      [&] {
        begun.set_value();
        while (!p.members("child").empty() && this_work::id()) {
          this_work::pause_if_requested();
          if (this_work::stop_requested()) return;
          std::this_thread::yield();
        }
      },
      {.group = "child"});
  begun.get_future().wait();
  p.pause("parent");
  while (w.status() != work_status::paused) std::this_thread::yield();
  p.unrelate("parent", "child");
  while (w.status() == work_status::paused) std::this_thread::yield();
  EXPECT_TRUE(w.stop());
  w.wait();
  p.resume("parent");
}

TEST(thread_pool, concurrent_resumes_do_not_leave_a_job_paused) {
  thread_pool p({.max_threads = 1});
  std::atomic<bool> end{false};
  auto w = p.submit(
      [&] {
        while (!end) this_work::pause_if_requested();
      },
      {.group = "g"});
  while (w.status() == work_status::queued) std::this_thread::yield();
  std::thread other([&] {
    for (int i = 0; i < 3000; ++i) {
      p.pause("g");
      p.resume("g");
    }
  });
  for (int i = 0; i < 3000; ++i) {
    p.pause_all();
    p.resume_all();
  }
  other.join();
  end = true;
  w.wait();
  EXPECT_EQ(w.status(), work_status::succeeded);
}

}  // namespace
}  // namespace thread_pool_test
