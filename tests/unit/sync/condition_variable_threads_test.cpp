// The condition variable among runtimes, pool works and threads, on a testing runtime, at a runtime's end.
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <thread>

namespace rota::sync::condition_variable_threads_test {
namespace {

using namespace std::chrono_literals;

/// A queue of numbers that tasks, works and threads share.
struct queue {
  mutex m;
  condition_variable not_empty;
  std::deque<int> numbers;
  bool ended = false;
  int sum = 0;
  int taken = 0;

  [[nodiscard]] auto changed() {
    return [this] { return !numbers.empty() || ended; };
  }
  /// Call it with the mutex held. Returns false if the queue is empty.
  bool take() {
    if (numbers.empty()) return false;
    sum += numbers.front();
    ++taken;
    numbers.pop_front();
    return true;
  }
  static task<void> consumes(queue& q) {
    for (;;) {
      auto held = co_await q.m.lock();
      co_await q.not_empty.wait(held, q.changed());
      if (!q.take()) co_return;
    }
  }
  void blocks() {
    for (;;) {
      auto held = m.blocking_lock();
      not_empty.blocking_wait(held, changed());
      if (!take()) return;
    }
  }
  void put_all(int n) {
    for (int i = 1; i <= n; ++i) {
      {
        const auto held = m.blocking_lock();
        numbers.push_back(i);
      }
      not_empty.notify_one();
    }
  }
  void end() {
    const auto held = m.blocking_lock();
    ended = true;
    not_empty.notify_all();
  }
};

TEST(condition_variable, is_shared_by_runtimes_a_pool_and_threads) {
  queue q;
  runtime one;
  runtime two;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 2});
  auto a = one.spawn(queue::consumes(q));
  auto b = two.spawn(queue::consumes(q));
  auto c = works.submit([&] { q.blocks(); });
  std::thread d([&] { q.blocks(); });
  std::thread p([&] { q.put_all(1000); });
  q.put_all(1000);
  p.join();
  q.end();
  a.join();
  b.join();
  EXPECT_TRUE(c.wait_for(std::chrono::hours(1)));
  d.join();
  EXPECT_EQ(q.taken, 2000);
  EXPECT_EQ(q.sum, 1001000);
}

TEST(condition_variable, timed_out_blocking_wait_ends_with_the_mutex_held) {
  mutex m;
  condition_variable c;
  auto held = m.blocking_lock();
  EXPECT_FALSE(c.blocking_wait_for(held, 0s).has_value());
  EXPECT_FALSE(c.blocking_wait_for(held, 1ms, [] { return false; }).has_value());
  EXPECT_TRUE(c.blocking_wait_for(held, 0s, [] { return true; }).has_value());
  EXPECT_FALSE(c.blocking_wait_until(held, std::chrono::steady_clock::now()).has_value());
  EXPECT_FALSE(
      c.blocking_wait_until(held, std::chrono::steady_clock::now(), [] { return false; }).has_value());
  EXPECT_TRUE(static_cast<bool>(held));
  EXPECT_FALSE(m.try_lock().has_value());
}

// The pool has one thread. A blocked thread does not count, so the other work runs.
TEST(condition_variable, job_that_blocks_lets_another_job_run) {
  mutex m;
  condition_variable c;
  bool ready = false;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  auto blocked = works.submit([&] {
    auto held = m.blocking_lock();
    c.blocking_wait(held, [&] { return ready; });
  });
  auto frees = works.submit([&] {
    const auto held = m.blocking_lock();
    ready = true;
    c.notify_one();
  });
  EXPECT_TRUE(frees.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
}

// The wait ends with the mutex held, so the work's locals are destroyed under it.
TEST(condition_variable, force_stop_ends_a_blocked_job_with_the_mutex_held) {
  mutex m;
  condition_variable c;
  struct note {
    mutex* of;
    bool* was_locked;
    note(mutex& with, bool& at) : of(&with), was_locked(&at) {}
    note(const note&) = delete;
    note& operator=(const note&) = delete;
    ~note() { *was_locked = of->is_locked(); }
  };
  bool was_locked = false;
  std::atomic<bool> begun = false;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  auto blocked = works.submit([&] {
    auto held = m.blocking_lock();
    const note at_the_end(m, was_locked);
    begun = true;
    c.blocking_wait(held);
  });
  while (!begun) std::this_thread::yield();
  auto held = m.blocking_lock();  // the work waits now
  blocked.force_stop();
  held.unlock();
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
  EXPECT_EQ(blocked.status(), pool::work_status::force_stopped);
  EXPECT_TRUE(was_locked);
  EXPECT_FALSE(m.is_locked());
}

TEST(condition_variable, a_task_that_blocks_lends_its_worker) {
  queue q;
  runtime one(runtime_options{.workers = 1});
  auto blocked = one.spawn(
      [](queue& of) -> task<void> {
        of.blocks();
        co_return;
      },
      std::ref(q));
  auto puts = one.spawn(
      [](queue& of) -> task<void> {
        of.put_all(3);
        of.end();
        co_return;
      },
      std::ref(q));
  puts.join();
  blocked.join();
  EXPECT_EQ(q.taken, 3);
}

TEST(condition_variable, works_on_a_testing_runtime) {
  testing::runtime alone;
  queue q;
  alone.block_on(
      [](queue& of) -> task<void> {
        auto consumer = spawn(queue::consumes(of));
        co_await yield();
        of.put_all(3);
        of.end();
        co_await consumer;
      },
      std::ref(q));
  EXPECT_EQ(q.taken, 3);
}

// No other task of a testing runtime can run while one blocks.
TEST(condition_variable, a_blocking_wait_with_a_limit_on_a_testing_runtime_is_over_at_once) {
  testing::runtime alone;
  queue q;
  EXPECT_FALSE(alone.block_on(
      [](queue& of) -> task<bool> {
        auto held = of.m.blocking_lock();
        const auto in_time = of.not_empty.blocking_wait_for(held, 1h, of.changed());
        EXPECT_TRUE(of.m.is_locked());
        co_return in_time.has_value();
      },
      std::ref(q)));
  EXPECT_FALSE(q.m.is_locked());
}

// A shutdown cancels the waiters. Each wait locks the mutex, which another cancelled task still holds.
TEST(condition_variable, shutdown_ends_all_waits) {
  mutex m;
  condition_variable c;
  {
    runtime one;
    for (int i = 0; i < 4; ++i) {
      one.spawn(
             [](mutex& with, condition_variable& in) -> task<void> {
               auto held = co_await with.lock();
               co_await in.wait(held);
             },
             std::ref(m),
             std::ref(c))
          .detach();
    }
    one.spawn(
           [](mutex& with) -> task<void> {
             const auto held = co_await with.lock();
             co_await sleep_for(1h);
           },
           std::ref(m))
        .detach();
  }
  EXPECT_FALSE(m.is_locked());
}

}  // namespace
}  // namespace rota::sync::condition_variable_threads_test
