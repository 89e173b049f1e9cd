// The elastic pool as its users see it.
//
//   scenario 11   three works in a circle      a_cycle_of_three_is_refused_with_its_ids
//   scenario 12   a chain of a million works   pool_chain.*
//   scenario 32   a full queue                 pool_full.*
//   scenario 33   nothing to run               an_empty_function_or_task_is_refused
//   scenario 34   options out of range         every_option_out_of_range_names_itself_and_starts_nothing
#include "support/sanitized.hpp"

#include <rota/error.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/task.hpp>

#include <gtest/gtest.h>

#include <pthread.h>

#include <atomic>
#include <filesystem>
#include <functional>
#include <latch>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::pool {
namespace {

using namespace std::chrono_literals;

/// One thread is busy until the object releases it.
class busy_pool : public thread_pool {
 public:
  explicit busy_pool(rejection how) : thread_pool({.max_threads = 1, .queue_limit = 2, .on_full = how}) {
    first_ = submit([this] { go_.wait(); });
    while (first_.status() != work_status::running) std::this_thread::yield();
  }
  ~busy_pool() { let_go(); }
  busy_pool(const busy_pool&) = delete;
  busy_pool& operator=(const busy_pool&) = delete;

  void let_go() {
    if (!std::exchange(gone_, true)) go_.count_down();
    first_.wait();
  }

 private:
  std::latch go_{1};
  bool gone_ = false;
  work<void> first_;
};

TEST(scenario_pool, a_cycle_of_three_is_refused_with_its_ids) {
  thread_pool p({.max_threads = 2});
  std::atomic<int> ran{0};
  const work_id a = p.reserve();
  const auto b = p.submit([&] { ++ran; }, {.after = {a}});
  const auto c = p.submit([&] { ++ran; }, {.after = {b.id()}});
  try {
    static_cast<void>(p.submit([&] { ++ran; }, {.id = a, .after = {c.id()}}));
    FAIL() << "it would wait for itself";
  } catch (const cycle_error& e) {
    EXPECT_EQ(e.code(), errc::cycle);
    EXPECT_EQ(e.path(), (std::vector{a, b.id(), c.id()}));
    for (const work_id each : e.path())
      EXPECT_NE(std::string(e.what()).find(std::to_string(each.value)), std::string::npos);
  }
  EXPECT_EQ(ran, 0);
  EXPECT_EQ(p.stats().outstanding, 2U);
  EXPECT_GE(p.cancel_all(), 1U) << "with the first the other ends";
  EXPECT_EQ(p.stats().outstanding, 0U);
}

constexpr int nodes = test::sanitized ? 20'000 : 1'000'000;

/// New threads have little stack while it lives.
class small_stacks {
 public:
  small_stacks() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, (test::sanitized ? 512 : 64) * 1024);
    pthread_setattr_default_np(&small);
    pthread_attr_destroy(&small);
  }
  ~small_stacks() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  small_stacks(const small_stacks&) = delete;
  small_stacks& operator=(const small_stacks&) = delete;

 private:
  pthread_attr_t before_;
};

/// The chain, the thread that makes it and those that run it have 64 KiB of stack each.
class pool_chain : public testing::Test {
 protected:
  template <class F>
  void on_a_small_stack(F f) {
    const small_stacks small;
    std::thread(f).join();
  }
  work_id build(thread_pool& p, work_id first) {
    for (int i = 0; i < nodes; ++i) first = p.submit([this] { ++ran; }, {.after = {first}}).id();
    return first;
  }
  std::atomic<int> ran{0};
};

TEST_F(pool_chain, of_a_million_completes) {
  on_a_small_stack([this] {
    thread_pool p({.max_threads = 2});
    const work_id first = p.reserve();
    build(p, first);
    static_cast<void>(p.submit([] {}, {.id = first}));
    p.wait_idle();
    EXPECT_EQ(ran, nodes);
    EXPECT_EQ(p.stats().outstanding, 0U);
  });
}

TEST_F(pool_chain, of_a_million_fails) {
  on_a_small_stack([this] {
    thread_pool p({.max_threads = 2});
    const work_id first = p.reserve();
    const work_id last = build(p, first);
    static_cast<void>(p.submit([] { throw std::runtime_error("the first"); }, {.id = first}));
    p.wait(last);
    p.wait_idle();
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(p.stats().failed, static_cast<std::uint64_t>(nodes) + 1);
  });
}

TEST_F(pool_chain, of_a_million_is_cancelled_by_a_shutdown) {
  on_a_small_stack([this] {
    thread_pool p({.max_threads = 2});
    build(p, p.reserve());
    EXPECT_EQ(p.shutdown(1h).cancelled, static_cast<std::uint64_t>(nodes));
  });
  EXPECT_EQ(ran, 0);
}

TEST(pool_full, reject_policy_throws_queue_full) {
  busy_pool p(rejection::abort);
  const auto a = p.submit([] {});
  const auto b = p.submit([] {});
  try {
    static_cast<void>(p.submit([] {}));
    ADD_FAILURE();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::queue_full);
  }
  EXPECT_EQ(p.stats().rejected, 1U);
  EXPECT_EQ(p.stats().submitted, 3U);
  p.let_go();
  p.wait_idle();
  EXPECT_EQ(p.stats().succeeded, 3U);
}

TEST(pool_full, block_policy_makes_the_caller_wait) {
  busy_pool p(rejection::block);
  std::vector<int> order;
  for (int i = 0; i < 2; ++i) static_cast<void>(p.submit([&order, i] { order.push_back(i); }));
  std::atomic<bool> through{false};
  std::thread caller([&] {
    for (int i = 2; i < 10; ++i) static_cast<void>(p.submit([&order, i] { order.push_back(i); }));
    through = true;
  });
  for (int i = 0; i < 1'000; ++i) std::this_thread::yield();
  EXPECT_FALSE(through);
  EXPECT_EQ(p.stats().waiting, 2U);
  p.let_go();
  caller.join();
  p.wait_idle();
  EXPECT_EQ(order, (std::vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(pool_full, caller_runs_policy_runs_the_job_on_the_caller) {
  busy_pool p(rejection::caller_runs);
  const auto a = p.submit([] {});
  const auto b = p.submit([] {});
  auto here = p.submit([] { return std::this_thread::get_id(); });
  EXPECT_TRUE(here.is_done());
  EXPECT_EQ(here.fetch().value(), std::this_thread::get_id());
}

TEST(pool_full, discard_policies_drop_the_newest_or_the_oldest_jobs) {
  for (const rejection how : {rejection::discard_newest, rejection::discard_queued}) {
    busy_pool p(how);
    std::vector<work<int>> all;
    for (int i = 0; i < 5; ++i) all.push_back(p.submit([i] { return i; }));
    p.let_go();
    p.wait_idle();
    int lost = 0;
    for (int i = 0; i < 5; ++i) {
      work<int>& each = all[static_cast<std::size_t>(i)];
      const bool stays = how == rejection::discard_newest ? i < 2 : i >= 3;
      EXPECT_EQ(each.status(), stays ? work_status::succeeded : work_status::discarded);
      EXPECT_EQ(each.fetch().is_cancelled(), !stays);
      lost += stays ? 0 : 1;
    }
    EXPECT_EQ(lost, 3);
    const pool_stats s = p.stats();
    EXPECT_EQ(s.discarded, 3U);
    EXPECT_EQ(s.succeeded, 3U);
    EXPECT_EQ(s.submitted, 6U);
  }
}

task<int> one() { co_return 1; }

TEST(scenario_pool, an_empty_function_or_task_is_refused) {
  thread_pool p({.max_threads = 1});
  const work_id mine = p.reserve();
  const std::function<void()> empty;
  void (*none)() = nullptr;
  EXPECT_THROW(static_cast<void>(p.submit(empty)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(p.submit(empty, {.name = "n", .id = mine})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(p.submit(none)), std::invalid_argument);
  task<int> given_away = one();
  [[maybe_unused]] const task<int> kept = std::move(given_away);
  EXPECT_THROW(static_cast<void>(p.submit(std::move(given_away))), std::invalid_argument);
  EXPECT_THROW(p | empty, std::invalid_argument);
  EXPECT_FALSE(p.find("n"));
  EXPECT_EQ(p.stats().submitted, 0U);
  EXPECT_EQ(p.submit([] { return 1; }, {.name = "n", .id = mine}).fetch().value(), 1)
      << "it is still reserved";
}

std::size_t threads_of_process() {
  std::size_t n = 0;
  for ([[maybe_unused]] const auto& each : std::filesystem::directory_iterator("/proc/self/task")) ++n;
  return n;
}

TEST(scenario_pool, every_option_out_of_range_names_itself_and_starts_nothing) {
  const std::size_t before = threads_of_process();
  const auto refused = [](const char* field, const pool_options& how) {
    try {
      const thread_pool p(how);
      ADD_FAILURE() << field;
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
    }
  };
  refused("max_threads", {.max_threads = 0});
  refused("1 .. 65536", {.max_threads = 0});
  refused("max_threads", {.max_threads = 1'000'000});
  refused("min_threads", {.min_threads = 3, .max_threads = 2});
  refused("0 .. max_threads", {.min_threads = 3, .max_threads = 2});
  refused("keep_alive", {.keep_alive = -1ns});
  refused("nice", {.nice = -21});
  refused("-20 .. 19", {.nice = 20});
  refused("aging", {.aging = -1ns});
  refused("force_grace", {.force_grace = -1ns});
  refused("shutdown_grace", {.shutdown_grace = -1ns});
  refused("max_abandoned", {.max_abandoned = 4097});
  refused("work_timeout", {.work_timeout = -1ns});
  refused("total_timeout", {.total_timeout = -1ns});
  refused("running_timer", {.running_timer = {-1ns, [](auto) {}}});
  refused("running_timer", {.running_timer = {1ns, {}}});
  refused("choose_rejection", {.on_full = rejection::custom});
  EXPECT_LE(threads_of_process(), before);  // one of a test before may still have been ending
}

TEST(scenario_pool, the_ends_of_every_range_are_accepted) {
  constexpr auto most = std::numeric_limits<std::size_t>::max();
  constexpr auto longest = std::chrono::nanoseconds::max();
  thread_pool p({.min_threads = 0,
                 .max_threads = 65536,
                 .keep_alive = longest,
                 .queue_limit = most,
                 .worker_queue_limit = most,
                 .aging = longest,
                 .force_grace = longest,
                 .max_abandoned = 4096,
                 .shutdown_grace = longest});
  EXPECT_EQ(p.submit([] { return 1; }, {.timeout = longest}).fetch().value(), 1);
  EXPECT_THROW(p.resize(2, 1), std::invalid_argument);
  EXPECT_THROW(p.resize(0, 0), std::invalid_argument);
}

TEST(scenario_pool, every_option_of_a_work_out_of_range_names_itself_and_nothing_has_changed) {
  thread_pool p({.max_threads = 1});
  const auto refused = [&p](const char* field, work_options how) {
    // The only thing that is asked for, and one of several.
    for (const bool alone : {true, false}) {
      if (!alone) how.name = "n";
      if (!alone) how.group = "g";
      try {
        static_cast<void>(p.submit([] {}, how));
        ADD_FAILURE() << field;
      } catch (const std::invalid_argument& e) {
        EXPECT_NE(std::string(e.what()).find(field), std::string::npos) << e.what();
      }
      EXPECT_FALSE(p.find("n"));
      EXPECT_TRUE(p.members("g").empty());
      EXPECT_EQ(p.stats().submitted, 0U);
    }
  };
  refused("negative", {.timeout = -1ns});
  refused("timeout", {.timeout = -1ns});
  refused("retry.backoff", {.retry = {.backoff = -1ns}});
  refused("retry.max_backoff", {.retry = {.max_backoff = -1ns}});
  refused("nice", {.nice = 20});
  refused("-20 .. 19", {.nice = -21});
  refused("id", {.id = work_id{77}});
  refused("after", {.after = {work_id{77}}});
  const auto named = p.submit([] { this_work::sleep_for(1h); }, {.name = "taken"});
  EXPECT_THROW(static_cast<void>(p.submit([] {}, {.name = "taken"})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(p.submit([] {}, {.id = named.id()})), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(p.submit(one(), {.retry = {.limit = 1}})), std::invalid_argument)
      << "a task is there once";
  EXPECT_EQ(p.stats().submitted, 1U);
  named.stop();
}

}  // namespace
}  // namespace rota::pool
