// The shared mutex: one writer or many readers, in the order of their arrival.
#include "support/manual_scheduler.hpp"

#include <rota/rota.hpp>
#include <rota/sync/shared_mutex.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rota::sync::shared_mutex_test {
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

TEST(shared_mutex_death, guard_without_a_lock_is_unlocked_or_downgraded) {
  shared_mutex m;
  auto a = m.blocking_lock();
  a.unlock();
  EXPECT_DEATH(a.unlock(), "a guard of a sync::shared_mutex that has no lock");
  EXPECT_DEATH(static_cast<void>(shared_mutex::downgrade(std::move(a))), "that has no lock");
  auto b = m.blocking_lock_shared();
  b.unlock();
  EXPECT_DEATH(b.unlock(), "that has no lock");
}

TEST(shared_mutex_death, destroyed_while_a_reader_holds_it) {
  EXPECT_DEATH(
      {
        std::optional<shared_mutex> m(std::in_place);
        auto held = m->try_lock_shared();
        m.reset();
        held->unlock();
      },
      "destroyed while it is locked");
}

TEST(shared_mutex, waiters_get_it_in_the_order_in_which_they_came) {
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

// No starvation of writers: a reader queues behind a waiting writer, although other readers hold the lock.
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

TEST(shared_mutex, cancelled_writers_behind_a_waiter_leave_without_waking_others) {
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

// Regression row 5: granted, and cancelled before it runs.
TEST(shared_mutex, lock_granted_to_a_cancelled_waiter_goes_to_the_next) {
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

TEST(shared_mutex, downgrade_admits_the_readers_at_the_front_of_the_queue) {
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

TEST(shared_mutex, downgrade_without_waiters_leaves_a_shared_lock) {
  shared_mutex m;
  auto alone = m.blocking_lock();
  const auto beside = shared_mutex::downgrade(std::move(alone));
  EXPECT_FALSE(static_cast<bool>(alone));  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_TRUE(m.try_lock_shared().has_value());
  EXPECT_FALSE(m.try_lock().has_value());
}

// More readers than one batch of wakes holds, with a writer in the middle.
TEST(shared_mutex, a_hundred_waiting_readers_are_admitted_at_once) {
  scene x;
  std::optional<shared_mutex::guard> held = x.m.try_lock();
  const std::string crowd(100, 'r');
  const auto all = x.add_all(crowd + "W" + crowd, 1);
  held.reset();
  EXPECT_EQ(x.m.readers(), 100U);
  x.s.run_until_idle();
  EXPECT_EQ(x.order, crowd + "W" + crowd);
}

TEST(shared_mutex, timed_lock_that_times_out_leaves_the_queue) {
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

TEST(shared_mutex, timed_locks_succeed_if_granted_in_time) {
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

// Regression row 3: the grant races with the deadline.
TEST(shared_mutex, grant_wins_a_race_with_the_deadline) {
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

}  // namespace
}  // namespace rota::sync::shared_mutex_test
