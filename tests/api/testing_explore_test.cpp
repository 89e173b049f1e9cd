// explore() on tasks: what it finds, what it reports, and that the report can be replayed.
#include "support/sanitized.hpp"

#include <rota/rota.hpp>
#include <rota/testing/explore.hpp>
#include <rota/testing/shared.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota::test {
namespace {

using namespace std::chrono_literals;
using testing::check;
using testing::explore;

::testing::AssertionResult says(const testing::report& r, const std::string& what) {
  if (!r.failed) return ::testing::AssertionFailure() << "it holds";
  if (to_string(r).find(what) == std::string::npos) return ::testing::AssertionFailure() << to_string(r);
  return ::testing::AssertionSuccess();
}

// --- what holds

TEST(exploring_tasks, correct_program_passes_every_run) {
  struct body {
    static task<int> number(int n) {
      co_await yield();
      co_return n;
    }
    static task<> all() {
      auto first = spawn(number(1));
      auto second = spawn(number(2));
      const int sum = co_await first + co_await second;
      check(sum == 3, "both came");
    }
  };
  const auto r = explore({.name = "right", .max_runs = 500}, body::all);
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(r.runs, 500U);
}

TEST(exploring_tasks, thirty_days_take_no_time) {
  const auto body = []() -> task<> {
    const auto began = testing::now();
    co_await sleep_for(std::chrono::days(30));
    check(testing::now() - began >= std::chrono::days(30), "they have passed");
  };
  const auto r = explore({.max_runs = 20}, body);
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(exploring_tasks, a_value_of_the_body_is_dropped) {
  const auto r = explore({.max_runs = 5}, []() -> task<std::string> { co_return "dropped"; });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(exploring_tasks, blocking_work_runs_on_threads_of_the_model) {
  const auto body = []() -> task<> {
    auto one = spawn_blocking([] { return 1; });
    auto two = spawn_blocking([] { return 2; });
    const int sum = co_await one + co_await two;
    check(sum == 3, "both came");
  };
  const auto r = explore({.max_runs = 200}, body);
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(exploring_tasks, blocking_work_may_come_again_and_again) {
  const auto body = []() -> task<> {
    for (int i = 0; i < 20; ++i) {
      auto closure = spawn_blocking([] { return 7; });
      check(co_await closure == 7, "the closure's value arrives");
      co_await sleep_for(1h);
    }
  };
  const auto r = explore({.max_runs = 20}, body);
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(exploring_tasks, timeouts_cancellation_and_scopes_are_those_of_the_library) {
  struct body {
    static task<> forever() { co_await sleep_for(std::chrono::hours(24 * 365)); }
    static task<> all() {
      const auto began = testing::now();
      const auto late = co_await timeout(10ms, forever());
      check(!late.has_value(), "the timeout came first");
      check(testing::now() - began < 100ms, "and at its time");
      auto handle = spawn(forever());
      handle.cancel();
      const outcome<void> end = co_await handle.result();
      check(end.is_cancelled(), "it was cancelled");
    }
  };
  const auto r = explore({.max_runs = 300}, body::all);
  EXPECT_FALSE(r.failed) << to_string(r);
}

// --- what it finds

struct counter {
  testing::atomic<int> value{0};
};

task<> lost_update() {
  struct body {
    static task<> add(counter& c) {
      const int before = c.value.load();
      c.value.store(before + 1);
      co_return;
    }
  };
  counter c;
  co_await when_all(body::add(c), body::add(c));
  auto third = spawn(body::add(c));
  auto fourth = spawn(body::add(c));
  co_await third;
  co_await fourth;
  check(c.value.load() == 4, "nothing is lost");
}

TEST(exploring_tasks, a_lost_update_is_found) {
  const auto r = explore({.name = "lost update"}, lost_update);
  EXPECT_TRUE(says(r, "check failed: nothing is lost"));
  EXPECT_TRUE(says(r, "testing_explore_test.cpp")) << "the trace names the file of each step";
}

TEST(exploring_tasks, plain_data_without_order_is_a_data_race) {
  struct body {
    static task<> write(testing::shared<std::vector<int>>& data) {
      data.write().push_back(1);
      co_return;
    }
    static task<> all() {
      testing::shared<std::vector<int>> data;
      auto first = spawn(write(data));
      auto second = spawn(write(data));
      co_await first;
      co_await second;
    }
  };
  EXPECT_TRUE(says(explore({.name = "race"}, body::all), "data race"));
}

TEST(exploring_tasks, a_lock_orders_what_it_guards) {
  struct guarded {
    testing::mutex mutex;
    testing::shared<std::vector<int>> data;
    void add() {
      const std::lock_guard lock(mutex);
      data.write().push_back(1);
    }
  };
  struct body {
    static task<> write(guarded& g) {
      g.add();
      co_return;
    }
    static task<> all() {
      guarded g;
      auto first = spawn(write(g));
      auto second = spawn(write(g));
      co_await first;
      co_await second;
      const std::lock_guard lock(g.mutex);
      check(g.data.read().size() == 2, "both are there");
    }
  };
  const auto r = explore({.name = "guarded", .max_runs = 1'000}, body::all);
  EXPECT_FALSE(r.failed) << to_string(r);
}

// A bell that never rings.
TEST(exploring_tasks, a_deadlock_names_every_task_and_where_it_waits) {
  struct body {
    static task<> wait() { co_await sleep_until(std::chrono::steady_clock::time_point::max()); }
    static task<> wait_for(join_handle<void>& other) { co_await other; }
    static task<> all() {
      join_handle<void> first = spawn(wait());
      join_handle<void> second = spawn(wait_for(first));
      co_await second;
    }
  };
  const auto r = explore({.name = "deadlock", .max_runs = 20}, body::all);
  EXPECT_TRUE(says(r, "deadlock or lost wakeup"));
  EXPECT_TRUE(says(r, "waiting for")) << "the tasks are listed";
  const std::string text = to_string(r);
  std::size_t places = 0;
  for (std::size_t at = text.find("testing_explore_test.cpp:", text.find("state:")); at != std::string::npos;
       at = text.find("testing_explore_test.cpp:", at + 1)) {
    ++places;
  }
  EXPECT_GE(places, 3U) << "each with its place:\n" << text;
}

struct two_locks {
  testing::mutex first;
  testing::mutex second;
};

task<> lock_both(std::shared_ptr<two_locks> all, bool back) {
  testing::mutex& one = back ? all->second : all->first;
  testing::mutex& other = back ? all->first : all->second;
  const std::lock_guard outer(one);
  const std::lock_guard inner(other);
  co_return;
}

TEST(exploring_tasks, locks_in_two_orders_are_a_deadlock_that_names_the_tasks) {
  const auto r = explore({}, []() -> task<> {
    auto all = std::make_shared<two_locks>();
    auto there = spawn(lock_both(all, false));
    auto back = spawn(lock_both(all, true));
    co_await there;
    co_await back;
  });
  EXPECT_TRUE(says(r, "threads wait for each other's locks"));
  EXPECT_NE(r.what.find(", task 2, waits for the mutex"), std::string::npos) << r.what;
  EXPECT_NE(r.what.find(", task 3, waits for the mutex"), std::string::npos) << r.what;
  EXPECT_NE(r.trace.find("lock: waits"), std::string::npos) << r.trace;
}

// The watchdog polls the stuck worker for ever; that does not make it a livelock.
TEST(exploring_tasks, a_task_that_blocks_its_thread_for_ever_is_a_deadlock) {
  struct body {
    static task<> wait_for_lock(testing::mutex& held) {
      held.lock();
      held.unlock();
      co_return;
    }
    static task<> all() {
      testing::mutex held;
      held.lock();
      auto stuck = spawn(wait_for_lock(held));
      co_await stuck;
      held.unlock();
    }
  };
  const auto r = explore({.max_runs = 1, .steps = 20'000}, body::all);
  EXPECT_TRUE(says(r, "deadlock or lost wakeup"));
  EXPECT_NE(r.what.find(", task 2, waits for the mutex"), std::string::npos) << r.what;
  EXPECT_NE(to_string(r).find("task 1: waiting for join"), std::string::npos) << to_string(r);
}

TEST(exploring_tasks, an_exception_fails_the_run) {
  const auto r = explore({.max_runs = 10}, []() -> task<> {
    co_await yield();
    throw std::runtime_error("it broke");
  });
  EXPECT_TRUE(says(r, "it broke"));
}

TEST(exploring_tasks, an_exception_of_a_detached_task_fails_the_run) {
  struct body {
    static task<> breaks() {
      co_await yield();
      throw std::runtime_error("no caller takes this");
    }
    static task<> all() {
      spawn(breaks()).detach();
      co_await sleep_for(1s);
    }
  };
  EXPECT_TRUE(says(explore({.max_runs = 100}, body::all), "was not observed: no caller takes this"));
}

TEST(exploring_tasks, a_crash_fails_the_run) {
  if (sanitized) GTEST_SKIP() << "a sanitizer reports a crash itself";
  const auto r = explore({.max_runs = 3}, []() -> task<> {
    co_await yield();
    std::abort();
  });
  EXPECT_TRUE(says(r, "crash: SIGABRT"));
}

TEST(exploring_tasks, a_livelock_is_found) {
  const auto r = explore({.max_runs = 3, .steps = 5'000}, []() -> task<> {
    for (;;) co_await sleep_for(1ms);
  });
  EXPECT_TRUE(says(r, "livelock"));
}

TEST(exploring_tasks, failures_of_allocation_and_of_threads_are_explored) {
  struct body {
    static task<> nothing() { co_return; }
    static task<> all() {
      bool failed = false;
      try {
        auto handle = spawn(nothing());
        co_await handle;
      } catch (const std::bad_alloc&) {
        failed = true;
      }
      check(!failed, "no allocation failed");
    }
  };
  const auto r = explore({.allocation_failures = 1}, body::all);
  EXPECT_TRUE(says(r, "bad_alloc") || says(r, "no allocation failed")) << to_string(r);
}

// --- repeating

TEST(exploring_tasks, the_same_seed_finds_the_same_failure) {
  const auto first = explore({.name = "seed", .seed = 7}, lost_update);
  const auto second = explore({.name = "seed", .seed = 7}, lost_update);
  EXPECT_EQ(first.runs, second.runs);
  EXPECT_EQ(first.replay, second.replay);
  EXPECT_EQ(first.trace, second.trace);
}

class replaying : public ::testing::Test {
 protected:
  void TearDown() override { ::unsetenv("ROTA_MODEL_REPLAY"); }
};

TEST_F(replaying, the_string_repeats_the_failure_step_by_step) {
  const auto found = explore({.name = "replayed"}, lost_update);
  ASSERT_TRUE(found.failed);
  ::setenv("ROTA_MODEL_REPLAY", found.replay.c_str(), 1);
  ::testing::internal::CaptureStderr();
  const auto again = explore({.name = "replayed"}, lost_update);
  const std::string printed = ::testing::internal::GetCapturedStderr();
  EXPECT_EQ(again.what, found.what);
  EXPECT_EQ(again.trace, found.trace);
  EXPECT_EQ(again.runs, 1U);
  EXPECT_NE(printed.find(found.trace), std::string::npos);
}

TEST(exploring_tasks, the_failure_is_made_small) {
  const auto r = explore({.name = "small"}, lost_update);
  ASSERT_TRUE(r.failed);
  EXPECT_LE(r.preemptions, 2U) << "one thread is left between its load and its store: " << r.replay;
}

// --- bad input

TEST(exploring_tasks, an_option_out_of_range_is_refused_by_name) {
  const auto refused = [](testing::task_options o) -> std::string {
    try {
      static_cast<void>(explore(o, lost_update));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(refused({.workers = 0}), "task_options.workers: 0 is not in 1..4");
  EXPECT_EQ(refused({.workers = 5}), "task_options.workers: 5 is not in 1..4");
  EXPECT_EQ(refused({.max_runs = 0}), "task_options.max_runs: 0 is not in 1..");
  EXPECT_EQ(refused({.steps = 0}), "task_options.steps: 0 is not in 1..");
  EXPECT_EQ(refused({.preemptions = 251}), "task_options.preemptions: 251 is not in 0..250");
  EXPECT_EQ(refused({.depth = 0}), "task_options.depth: 0 is not in 1..250");
  EXPECT_EQ(refused({.stale_reads = 1, .memory = testing::memory_mode::tso}),
            "task_options.stale_reads: must be 0 with memory_mode::tso");
}

}  // namespace
}  // namespace rota::test
