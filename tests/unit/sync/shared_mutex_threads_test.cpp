// The shared mutex among runtimes, pool works and threads, and on a testing runtime.
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/shared_mutex.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

namespace rota::sync::shared_mutex_threads_test {
namespace {

using namespace std::chrono_literals;

TEST(shared_mutex, timed_blocking_locks_time_out) {
  shared_mutex m;
  const auto alone = m.blocking_lock();
  EXPECT_FALSE(m.blocking_lock_for(0s).has_value());
  EXPECT_FALSE(m.blocking_lock_shared_for(1ms).has_value());
  EXPECT_FALSE(m.blocking_lock_until(std::chrono::steady_clock::now()).has_value());
  EXPECT_FALSE(m.blocking_lock_shared_until(std::chrono::steady_clock::now()).has_value());
}

/// The guarded data: two counts that readers always see equal.
struct guarded {
  shared_mutex m;
  int a = 0;
  int b = 0;
  std::atomic<int> torn = 0;

  void write() {
    ++a;
    ++b;
  }
  void read() {
    if (a != b) ++torn;
  }
  void blocks() {
    for (int i = 0; i < 500; ++i) {
      if (i % 4 == 0) {
        auto held = m.blocking_lock();
        write();
        const auto beside = shared_mutex::downgrade(std::move(held));
        read();
      } else {
        const auto held = m.blocking_lock_shared();
        read();
      }
    }
  }
  static task<void> waits(guarded& g) {
    for (int i = 0; i < 500; ++i) {
      if (i % 4 == 0) {
        const auto held = co_await g.m.lock();
        g.write();
      } else {
        const auto held = co_await g.m.lock_shared();
        g.read();
        if (i % 16 == 1) co_await yield();
      }
    }
  }
};

TEST(shared_mutex, is_shared_by_runtimes_a_pool_and_a_thread) {
  guarded g;
  runtime one;
  runtime two;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 2});
  auto a = one.spawn(guarded::waits(g));
  auto b = two.spawn(guarded::waits(g));
  auto c = works.submit([&] { g.blocks(); });
  std::thread d([&] { g.blocks(); });
  a.join();
  b.join();
  EXPECT_TRUE(c.wait_for(std::chrono::hours(1)));
  d.join();
  EXPECT_EQ(g.a, 4 * 125);
  EXPECT_EQ(g.torn, 0);
  EXPECT_TRUE(g.m.try_lock().has_value());
}

// The pool has one thread. A blocked thread does not count, so the other work runs.
TEST(shared_mutex, blocked_pool_job_lets_another_job_run) {
  shared_mutex m;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  std::optional<shared_mutex::guard> held = m.blocking_lock();
  auto blocked = works.submit([&] { const auto mine = m.blocking_lock_shared(); });
  auto frees = works.submit([&] { held.reset(); });
  EXPECT_TRUE(frees.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
}

TEST(shared_mutex, force_stop_ends_a_blocked_pool_job) {
  shared_mutex m;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  const auto held = m.blocking_lock_shared();
  std::atomic<bool> begun = false;
  auto blocked = works.submit([&] {
    begun = true;
    const auto mine = m.blocking_lock();
  });
  while (!begun) std::this_thread::yield();
  blocked.force_stop();
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
  EXPECT_EQ(blocked.status(), pool::work_status::force_stopped);
  EXPECT_TRUE(m.try_lock_shared().has_value());  // the writer has left the queue
}

TEST(shared_mutex, a_task_is_cancelled_while_it_waits_on_a_testing_runtime) {
  testing::runtime alone;
  shared_mutex m;
  alone.block_on(
      [](shared_mutex& of) -> task<void> {
        const auto held = co_await of.lock();
        auto other =
            spawn([](shared_mutex& at) -> task<void> { const auto mine = co_await at.lock_shared(); },
                  std::ref(of));
        co_await yield();
        other.cancel();
        const auto got = co_await other.result();
        EXPECT_TRUE(got.is_cancelled());
      },
      std::ref(m));
  EXPECT_FALSE(m.is_locked());
}

}  // namespace
}  // namespace rota::sync::shared_mutex_threads_test
