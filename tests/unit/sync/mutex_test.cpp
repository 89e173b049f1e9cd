// The mutex: which waiter gets it, and what happens when a waiter gives up.
#include "support/manual_scheduler.hpp"

#include <rota/rota.hpp>
#include <rota/sync/mutex.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rota::sync::mutex_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

/// Takes the lock, appends its name, and keeps the lock for `turns` yields.
task<void> visits(mutex& m, std::string& order, char name, int turns = 0) {
  const auto held = co_await m.lock();
  order += name;
  for (int i = 0; i < turns; ++i) co_await yield();
}

TEST(mutex, is_free_at_first_and_again_after_its_guard) {
  mutex m;
  EXPECT_FALSE(m.is_locked());
  {
    const auto held = m.try_lock();
    ASSERT_TRUE(held.has_value());
    EXPECT_TRUE(m.is_locked());
    EXPECT_FALSE(m.try_lock().has_value());
  }
  EXPECT_TRUE(m.try_lock().has_value());
}

TEST(mutex, a_guard_moves_and_unlocks_once) {
  mutex m;
  std::optional<mutex::guard> held = m.try_lock();
  mutex::guard other = std::move(*held);
  EXPECT_FALSE(static_cast<bool>(*held));
  held.reset();
  EXPECT_TRUE(m.is_locked());
  other.unlock();
  EXPECT_FALSE(m.is_locked());
  EXPECT_FALSE(static_cast<bool>(other));
  other = *m.try_lock();
  EXPECT_TRUE(m.is_locked());
}

TEST(mutex_death, a_guard_unlocked_twice_ends_the_program) {
  mutex m;
  auto held = m.blocking_lock();
  held.unlock();
  EXPECT_DEATH(held.unlock(), "a guard of a sync::mutex that has no lock");
}

TEST(mutex_death, destroyed_while_it_is_locked) {
  EXPECT_DEATH(
      {
        std::optional<mutex> m(std::in_place);
        auto held = m->try_lock();
        m.reset();
        held->unlock();
      },
      "destroyed while it is locked");
}

TEST(mutex, waiters_get_it_in_the_order_in_which_they_came) {
  manual_scheduler s;
  mutex m;
  std::string order;
  auto held = m.blocking_lock();
  std::vector<join_handle<void>> all;
  for (const char name : std::string("abcde")) all.push_back(s.spawn(visits(m, order, name)));
  s.run_until_idle();
  EXPECT_EQ(order, "");
  held.unlock();
  s.run_until_idle();
  EXPECT_EQ(order, "abcde");
  EXPECT_FALSE(m.is_locked());
}

// Regression row 5: the waiter is woken and then cancelled before it runs.
TEST(mutex, cancelled_woken_waiter_wakes_the_next) {
  manual_scheduler s;
  mutex m;
  std::string order;
  auto held = m.blocking_lock();
  auto first = s.spawn(visits(m, order, 'a'));
  auto second = s.spawn(visits(m, order, 'b'));
  s.run_until_idle();
  held.unlock();  // wakes the first waiter
  first.cancel();
  s.run_until_idle();
  EXPECT_EQ(order, "b");
  EXPECT_FALSE(m.is_locked());
}

TEST(mutex, cancelled_waiter_in_the_middle_leaves_the_queue) {
  manual_scheduler s;
  mutex m;
  std::string order;
  auto held = m.blocking_lock();
  auto first = s.spawn(visits(m, order, 'a'));
  auto second = s.spawn(visits(m, order, 'b'));
  auto third = s.spawn(visits(m, order, 'c'));
  s.run_until_idle();
  second.cancel();
  s.run_until_idle();
  held.unlock();
  s.run_until_idle();
  EXPECT_EQ(order, "ac");
}

TEST(mutex, unlock_frees_it_after_the_only_waiter_was_cancelled) {
  manual_scheduler s;
  mutex m;
  std::string order;
  auto held = m.blocking_lock();
  auto only = s.spawn(visits(m, order, 'a'));
  s.run_until_idle();
  only.cancel();
  s.run_until_idle();
  held.unlock();
  EXPECT_FALSE(m.is_locked());
  EXPECT_TRUE(m.try_lock().has_value());
}

// The bound: newcomers may overtake a woken waiter, but only four times.
TEST(mutex, woken_waiter_is_handed_the_lock_after_four_lost_races) {
  manual_scheduler s;
  mutex m;
  std::string order;
  std::optional<mutex::guard> held = m.try_lock();
  auto waiter = s.spawn(visits(m, order, 'w'));
  s.run_until_idle();
  int won = 0;
  for (; won < 10 && order.empty(); ++won) {
    held.reset();         // wakes the waiter, or hands it the lock
    held = m.try_lock();  // before the waiter runs
    if (!held.has_value()) break;
    s.run_until_idle();  // the waiter comes too late
  }
  EXPECT_EQ(won, 4);
  EXPECT_FALSE(held.has_value());
  s.run_until_idle();
  EXPECT_EQ(order, "w");
}

TEST(mutex, woken_waiter_that_loses_the_race_keeps_its_place) {
  manual_scheduler s;
  mutex m;
  std::string order;
  std::optional<mutex::guard> held = m.try_lock();
  auto first = s.spawn(visits(m, order, 'a'));
  auto second = s.spawn(visits(m, order, 'b'));
  s.run_until_idle();
  held.reset();
  held = m.try_lock();
  s.run_until_idle();
  held.reset();
  s.run_until_idle();
  EXPECT_EQ(order, "ab");
}

TEST(mutex, timed_lock_that_times_out_leaves_the_queue) {
  manual_scheduler s;
  mutex m;
  auto held = m.blocking_lock();
  std::string order;
  auto late = s.spawn(
      [](mutex& of) -> task<bool> {
        auto got = co_await of.lock_for(5ms);
        co_return got.has_value();
      },
      std::ref(m));
  auto behind = s.spawn(visits(m, order, 'b'));
  s.run_with_time();
  EXPECT_FALSE(late.join());
  held.unlock();
  s.run_until_idle();
  EXPECT_EQ(order, "b");
}

TEST(mutex, timed_lock_returns_a_guard_if_unlocked_in_time) {
  manual_scheduler s;
  mutex m;
  auto held = m.blocking_lock();
  auto in_time = s.spawn(
      [](mutex& of, manual_scheduler& by) -> task<bool> {
        auto got = co_await of.lock_until(by.time + 5ms);
        co_return got.has_value() && of.is_locked();
      },
      std::ref(m),
      std::ref(s));
  s.run_until_idle();
  held.unlock();
  s.run_until_idle();
  EXPECT_TRUE(in_time.join());
  EXPECT_FALSE(m.is_locked());
}

// Regression row 3: the grant races with the deadline. The task keeps a granted lock.
TEST(mutex, grant_wins_a_race_with_the_deadline) {
  manual_scheduler s;
  mutex m;
  auto held = m.blocking_lock();
  auto both = s.spawn(
      [](mutex& of) -> task<bool> {
        auto got = co_await timeout(5ms, of.lock());
        co_return got.has_value();
      },
      std::ref(m));
  s.run_until_idle();
  held.unlock();
  s.advance(5ms);
  s.run_until_idle();
  EXPECT_TRUE(both.join());
  EXPECT_FALSE(m.is_locked());
}

TEST(mutex, cancelled_task_with_a_spent_budget_has_not_locked_it) {
  manual_scheduler s;
  mutex m;
  auto locks = s.spawn(
      [](mutex& of) -> task<void> {
        for (;;) {
          const auto held = co_await of.lock();
        }
      },
      std::ref(m));
  EXPECT_TRUE(s.run_one());  // locks 127 times
  EXPECT_FALSE(m.is_locked());
  locks.cancel();
  s.run_until_idle();
  EXPECT_FALSE(m.is_locked());
}

}  // namespace
}  // namespace rota::sync::mutex_test
