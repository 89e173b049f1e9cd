// The mutex among runtimes, pool works and threads, on a testing runtime, and at its end.
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace rota::sync::mutex_threads_test {
namespace {

using namespace std::chrono_literals;

TEST(mutex, blocking_lock_excludes_other_threads) {
  mutex m;
  int count = 0;
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) {
    all.emplace_back([&] {
      for (int k = 0; k < 2000; ++k) {
        const auto held = m.blocking_lock();
        ++count;
      }
    });
  }
  for (auto& each : all) each.join();
  EXPECT_EQ(count, 8000);
}

TEST(mutex, timed_blocking_lock_times_out) {
  mutex m;
  const auto held = m.blocking_lock();
  EXPECT_FALSE(m.blocking_lock_for(0s).has_value());
  EXPECT_FALSE(m.blocking_lock_for(1ms).has_value());
  EXPECT_FALSE(m.blocking_lock_until(std::chrono::steady_clock::now()).has_value());
}

task<void> counts(mutex& m, int& count, int times) {
  for (int i = 0; i < times; ++i) {
    const auto held = co_await m.lock();
    ++count;
    if (i % 16 == 0) co_await yield();
  }
}

// Scenario: tasks of two runtimes, works of a pool, and a plain thread.
TEST(mutex, is_shared_by_runtimes_a_pool_and_a_thread) {
  mutex m;
  int count = 0;
  runtime one;
  runtime two;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 2});
  auto a = one.spawn(counts(m, count, 500));
  auto b = two.spawn(counts(m, count, 500));
  const auto blocks = [&] {
    for (int i = 0; i < 500; ++i) {
      const auto held = m.blocking_lock();
      ++count;
    }
  };
  auto c = works.submit(blocks);
  std::thread d(blocks);
  a.join();
  b.join();
  EXPECT_TRUE(c.wait_for(std::chrono::hours(1)));
  d.join();
  EXPECT_EQ(count, 2000);
}

// Scenario 27.
TEST(mutex, guard_destroyed_on_another_thread_wakes_the_next_waiter) {
  mutex m;
  runtime rt({.workers = 1});
  for (int round = 0; round < 200; ++round) {
    int count = 0;
    const auto holds = [](mutex& of) -> task<mutex::guard> { co_return co_await of.lock(); };
    mutex::guard held = rt.spawn(holds, std::ref(m)).join();  // taken by a worker
    auto next = rt.spawn(counts(m, count, 1));
    {
      const std::jthread gives_back([mine = std::move(held)] { EXPECT_TRUE(mine); });
    }
    EXPECT_FALSE(held);  // NOLINT(bugprone-use-after-move): it has no lock any more
    next.join();
    EXPECT_EQ(count, 1);
  }
  EXPECT_FALSE(m.is_locked());
}

TEST(mutex, blocked_pool_job_lets_another_job_run) {
  mutex m;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  std::optional<mutex::guard> held = m.blocking_lock();
  auto blocked = works.submit([&] { const auto mine = m.blocking_lock(); });
  auto frees = works.submit([&] { held.reset(); });
  EXPECT_TRUE(frees.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
}

TEST(mutex, force_stop_ends_a_blocked_pool_job) {
  mutex m;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  const auto held = m.blocking_lock();
  std::atomic<bool> begun = false;
  auto blocked = works.submit([&] {
    begun = true;
    const auto mine = m.blocking_lock();
  });
  while (!begun) std::this_thread::yield();
  blocked.force_stop();
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
  EXPECT_EQ(blocked.status(), pool::work_status::force_stopped);
}

// A worker that blocks lends its role, so the only worker's other task can run and release the mutex.
TEST(mutex, a_task_that_blocks_lends_its_worker) {
  mutex m;
  runtime one(runtime_options{.workers = 1});
  std::optional<mutex::guard> held = m.blocking_lock();
  auto blocked = one.spawn(
      [](mutex& of) -> task<void> {
        const auto mine = of.blocking_lock();
        co_return;
      },
      std::ref(m));
  auto frees = one.spawn(
      [](std::optional<mutex::guard>& of) -> task<void> {
        of.reset();
        co_return;
      },
      std::ref(held));
  frees.join();
  blocked.join();
}

TEST(mutex_death, a_blocking_wait_on_a_testing_runtime_says_why_it_cannot_end) {
  mutex m;
  const auto held = m.blocking_lock();
  EXPECT_DEATH(
      {
        testing::runtime alone;
        alone.block_on(
            [](mutex& of) -> task<void> {
              const auto mine = of.blocking_lock();
              co_return;
            },
            std::ref(m));
      },
      "blocking wait on a testing::runtime");
}

TEST(mutex, timed_blocking_wait_on_a_testing_runtime_ends_at_once) {
  mutex m;
  const auto held = m.blocking_lock();
  testing::runtime alone;
  EXPECT_FALSE(alone.block_on(
      [](mutex& of) -> task<bool> {
        const auto mine = of.blocking_lock_for(1h);
        co_return mine.has_value();
      },
      std::ref(m)));
}

// The last owner destroys the mutex while another one may still be inside of unlock().
TEST(mutex, may_be_destroyed_while_another_thread_leaves_unlock) {
  for (int round = 0; round < 2000; ++round) {
    struct shared {
      mutex m;
      int owners = 2;
    };
    auto* const both = new shared;
    const auto leave = [both] {
      bool last = false;
      {
        const auto held = both->m.blocking_lock();
        last = --both->owners == 0;
      }
      if (last) delete both;
    };
    std::thread other(leave);
    leave();
    other.join();
  }
}

}  // namespace
}  // namespace rota::sync::mutex_threads_test
