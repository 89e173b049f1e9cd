// The shared mutex: one that writes or many that read, in the order in which they came.
#include "support/manual_scheduler.hpp"

#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/shared_mutex.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::sync {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

struct scene {
  manual_scheduler s;
  shared_mutex m;
  std::string order;  // upper case: a writer

  static task<void> one(scene& x, char name, int turns) {
    if (name >= 'A' && name <= 'Z') {
      const auto held = co_await x.m.lock();
      x.order += name;
      for (int i = 0; i < turns; ++i) co_await yield();
    } else {
      const auto held = co_await x.m.lock_shared();
      x.order += name;
      for (int i = 0; i < turns; ++i) co_await yield();
    }
  }
  [[nodiscard]] join_handle<void> add(char name, int turns = 0) { return s.spawn(one(*this, name, turns)); }
  std::vector<join_handle<void>> add_all(const std::string& names, int turns = 0) {
    std::vector<join_handle<void>> all;
    for (const char name : names) all.push_back(add(name, turns));
    s.run_until_idle();
    return all;
  }
};

TEST(shared_mutex, readers_share_it_and_a_writer_is_alone) {
  shared_mutex m;
  {
    const auto a = m.try_lock_shared();
    const auto b = m.try_lock_shared();
    ASSERT_TRUE(a.has_value() && b.has_value());
    EXPECT_EQ(m.readers(), 2U);
    EXPECT_FALSE(m.try_lock().has_value());
  }
  const auto alone = m.try_lock();
  ASSERT_TRUE(alone.has_value());
  EXPECT_TRUE(m.is_locked());
  EXPECT_FALSE(m.try_lock_shared().has_value());
  EXPECT_FALSE(m.try_lock().has_value());
}

TEST(shared_mutex, guards_move_and_unlock_once) {
  shared_mutex m;
  auto a = m.blocking_lock_shared();
  auto b = std::move(a);
  EXPECT_FALSE(static_cast<bool>(a));  // NOLINT(bugprone-use-after-move): that is the promise
  b = m.blocking_lock_shared();
  EXPECT_EQ(m.readers(), 1U);
  b.unlock();
  EXPECT_EQ(m.readers(), 0U);
  auto c = m.blocking_lock();
  auto d = std::move(c);
  EXPECT_TRUE(static_cast<bool>(d));
  d.unlock();
  EXPECT_FALSE(m.is_locked());
}

TEST(shared_mutex_death, a_guard_without_a_lock) {
  shared_mutex m;
  auto a = m.blocking_lock();
  a.unlock();
  EXPECT_DEATH(a.unlock(), "a guard of a sync::shared_mutex that has no lock");
  EXPECT_DEATH(static_cast<void>(shared_mutex::downgrade(std::move(a))), "that has no lock");
  auto b = m.blocking_lock_shared();
  b.unlock();
  EXPECT_DEATH(b.unlock(), "that has no lock");
}

TEST(shared_mutex_death, destroyed_while_somebody_reads) {
  EXPECT_DEATH(
      {
        std::optional<shared_mutex> m(std::in_place);
        auto held = m->try_lock_shared();
        m.reset();
        held->unlock();
      },
      "destroyed while it is locked");
}

TEST(shared_mutex, those_who_wait_get_it_in_the_order_in_which_they_came) {
  scene x;
  std::optional<shared_mutex::guard> held = x.m.try_lock();
  const auto all = x.add_all("abCdEFgh");
  EXPECT_EQ(x.order, "");
  held.reset();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abCdEFgh");
  EXPECT_TRUE(x.m.try_lock().has_value());
}

TEST(shared_mutex, readers_that_wait_together_read_together) {
  scene x;
  std::optional<shared_mutex::guard> held = x.m.try_lock();
  const auto all = x.add_all("abcD", 3);
  held.reset();
  EXPECT_EQ(x.m.readers(), 3U);
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abcD");
}

// No writer starves: a reader that comes after one that waits stands behind it, although others read.
TEST(shared_mutex, a_reader_waits_behind_a_writer_that_waits) {
  scene x;
  std::optional<shared_mutex::shared_guard> held = x.m.try_lock_shared();
  const auto writer = x.add_all("W");
  EXPECT_FALSE(x.m.try_lock_shared().has_value());
  const auto reader = x.add_all("r");
  EXPECT_EQ(x.order, "");
  held.reset();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "Wr");
}

TEST(shared_mutex, a_writer_gets_it_among_readers_that_never_stop) {
  scene x;
  bool written = false;
  const auto reads = [](scene& of, bool& done) -> task<int> {
    int count = 0;
    while (!done) {
      const auto held = co_await of.m.lock_shared();
      co_await yield();
      ++count;
    }
    co_return count;
  };
  auto a = x.s.spawn(reads, std::ref(x), std::ref(written));
  auto b = x.s.spawn(reads, std::ref(x), std::ref(written));
  for (int i = 0; i < 7; ++i) x.s.run_one();
  auto writes = x.s.spawn(
      [](scene& of, bool& done) -> task<void> {
        const auto held = co_await of.m.lock();
        done = true;
      },
      std::ref(x),
      std::ref(written));
  x.s.run_until_idle();  // would not end
  EXPECT_TRUE(written);
  EXPECT_GT(a.join() + b.join(), 0);
}

TEST(shared_mutex, a_cancelled_writer_lets_the_readers_behind_it_in) {
  scene x;
  const auto held = x.m.try_lock_shared();
  auto writer = x.add('W');
  auto readers = x.add_all("ab");
  auto next = x.add_all("Xc");
  writer.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "ab");
  EXPECT_FALSE(x.m.try_lock_shared().has_value());  // the next writer waits
  EXPECT_EQ(x.m.readers(), 1U);
  next[0].cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abc");
  EXPECT_TRUE(x.m.try_lock_shared().has_value());
}

TEST(shared_mutex, who_is_cancelled_behind_others_changes_nothing) {
  scene x;
  std::optional<shared_mutex::guard> held = x.m.try_lock();
  auto all = x.add_all("aBcD");
  all[1].cancel();
  all[3].cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "");
  held.reset();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "ac");
  EXPECT_TRUE(x.m.try_lock().has_value());
}

// Regression row 5: it was granted, and is gone before it runs.
TEST(shared_mutex, what_was_granted_to_who_is_cancelled_goes_to_the_next) {
  for (const bool reads : {false, true}) {
    scene x;
    std::optional<shared_mutex::guard> held = x.m.try_lock();
    auto first = x.add(reads ? 'a' : 'A');
    auto rest = x.add_all("Bc");
    held.reset();
    first.cancel();
    x.s.run_until_idle();
    EXPECT_EQ(x.order, "Bc");
    EXPECT_TRUE(x.m.try_lock().has_value());
  }
}

TEST(shared_mutex, a_downgrade_lets_in_the_readers_in_front) {
  scene x;
  auto alone = x.m.try_lock();
  const auto all = x.add_all("abCd");
  {
    const auto beside = shared_mutex::downgrade(std::move(*alone));
    x.s.run_until_idle();
    EXPECT_EQ(x.order, "ab");
    EXPECT_FALSE(x.m.is_locked());
  }
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abCd");
}

TEST(shared_mutex, a_downgrade_with_nobody_there) {
  shared_mutex m;
  auto alone = m.blocking_lock();
  const auto beside = shared_mutex::downgrade(std::move(alone));
  EXPECT_FALSE(static_cast<bool>(alone));  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_TRUE(m.try_lock_shared().has_value());
  EXPECT_FALSE(m.try_lock().has_value());
}

// More than one section of the list's wakes; a writer stands in the middle.
TEST(shared_mutex, a_hundred_readers_come_in_at_once) {
  scene x;
  std::optional<shared_mutex::guard> held = x.m.try_lock();
  const std::string crowd(100, 'r');
  const auto all = x.add_all(crowd + "W" + crowd, 1);
  held.reset();
  EXPECT_EQ(x.m.readers(), 100U);
  x.s.run_until_idle();
  EXPECT_EQ(x.order, crowd + "W" + crowd);
}

TEST(shared_mutex, timed_forms_that_come_too_late_leave_the_line) {
  scene x;
  const auto held = x.m.try_lock_shared();
  auto late = x.s.spawn(
      [](shared_mutex& of) -> task<bool> {
        auto got = co_await of.lock_for(5ms);
        co_return got.has_value();
      },
      std::ref(x.m));
  x.s.run_until_idle();
  const auto behind = x.add_all("a");
  EXPECT_EQ(x.order, "");
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_EQ(x.order, "a");
}

TEST(shared_mutex, timed_forms_in_time) {
  scene x;
  std::optional<shared_mutex::guard> held = x.m.try_lock();
  auto reads = x.s.spawn(
      [](scene& of) -> task<bool> {
        auto got = co_await of.m.lock_shared_until(of.s.time + 5ms);
        co_return got.has_value() && of.m.readers() == 1;
      },
      std::ref(x));
  auto writes = x.s.spawn(
      [](scene& of) -> task<bool> {
        auto got = co_await of.m.lock_until(of.s.time + 5ms);
        co_return got.has_value() && of.m.is_locked();
      },
      std::ref(x));
  x.s.run_until_idle();
  held.reset();
  x.s.run_until_idle();
  EXPECT_TRUE(reads.join());
  EXPECT_TRUE(writes.join());
  auto shared = x.s.spawn(
      [](shared_mutex& of) -> task<bool> {
        auto got = co_await of.lock_shared_for(0s);
        co_return got.has_value();
      },
      std::ref(x.m));
  x.s.run_until_idle();
  EXPECT_TRUE(shared.join());
}

// Regression row 3: the lock and the deadline come together.
TEST(shared_mutex, a_grant_that_comes_with_the_deadline_wins) {
  scene x;
  std::optional<shared_mutex::shared_guard> held = x.m.try_lock_shared();
  auto both = x.s.spawn(
      [](shared_mutex& of) -> task<bool> {
        auto got = co_await timeout(5ms, of.lock());
        co_return got.has_value();
      },
      std::ref(x.m));
  x.s.run_until_idle();
  held.reset();
  x.s.advance(5ms);
  x.s.run_until_idle();
  EXPECT_TRUE(both.join());
  EXPECT_TRUE(x.m.try_lock().has_value());
}

TEST(shared_mutex, threads_with_a_limit_give_up) {
  shared_mutex m;
  const auto alone = m.blocking_lock();
  EXPECT_FALSE(m.blocking_lock_for(0s).has_value());
  EXPECT_FALSE(m.blocking_lock_shared_for(1ms).has_value());
  EXPECT_FALSE(m.blocking_lock_until(std::chrono::steady_clock::now()).has_value());
  EXPECT_FALSE(m.blocking_lock_shared_until(std::chrono::steady_clock::now()).has_value());
}

/// What is guarded: two counts that only readers see equal.
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

// The pool has one thread: who blocks there counts as absent, so the other work runs.
TEST(shared_mutex, a_work_that_blocks_makes_room_for_another) {
  shared_mutex m;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  std::optional<shared_mutex::guard> held = m.blocking_lock();
  auto blocked = works.submit([&] { const auto mine = m.blocking_lock_shared(); });
  auto frees = works.submit([&] { held.reset(); });
  EXPECT_TRUE(frees.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
}

TEST(shared_mutex, a_force_stop_reaches_a_work_that_blocks) {
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
  EXPECT_TRUE(m.try_lock_shared().has_value());  // it has left the line
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
}  // namespace rota::sync
