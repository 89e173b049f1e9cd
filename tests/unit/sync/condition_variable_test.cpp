// The condition variable: which waiters are woken, and that every wait ends with the mutex held.
#include "support/manual_scheduler.hpp"

#include <rota/rota.hpp>
#include <rota/sync/condition_variable.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace rota::sync::condition_variable_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

struct scene {
  manual_scheduler s;
  mutex m;
  condition_variable c;
  int items = 0;  // under the mutex
  std::string order;

  static task<void> takes(scene& x, char name) {
    auto held = co_await x.m.lock();
    co_await x.c.wait(held, [&x] { return x.items > 0; });
    --x.items;
    x.order += name;
  }
  static task<void> waits(scene& x, char name) {
    auto held = co_await x.m.lock();
    co_await x.c.wait(held);
    x.order += name;
    EXPECT_TRUE(x.m.is_locked());
  }
  template <class F>
  std::vector<join_handle<void>> start(F each, const std::string& names) {
    std::vector<join_handle<void>> all;
    for (const char name : names) all.push_back(s.spawn(each(*this, name)));
    s.run_until_idle();
    return all;
  }
  void put(int n) {
    const auto held = m.blocking_lock();
    items += n;
  }
};

TEST(condition_variable, wait_returns_at_once_if_the_predicate_is_true) {
  scene x;
  x.items = 1;
  const auto all = x.start(scene::takes, "a");
  EXPECT_EQ(x.order, "a");
  EXPECT_FALSE(x.m.is_locked());
}

TEST(condition_variable, mutex_is_released_during_a_wait_and_held_after_it) {
  scene x;
  const auto all = x.start(scene::waits, "a");
  EXPECT_FALSE(x.m.is_locked());
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  EXPECT_FALSE(x.m.is_locked());
}

TEST(condition_variable, notify_one_wakes_the_longest_waiter) {
  scene x;
  const auto all = x.start(scene::waits, "abc");
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  x.c.notify_one();
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abc");
  x.c.notify_one();  // without a waiter: nothing is stored
  const auto late = x.start(scene::waits, "d");
  EXPECT_EQ(x.order, "abc");
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abcd");
}

TEST(condition_variable, notify_all_wakes_all_present_waiters_and_no_later_one) {
  scene x;
  const auto all = x.start(scene::waits, "abc");
  x.c.notify_all();
  const auto late = x.start(scene::waits, "d");
  EXPECT_EQ(x.order, "abc");
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abcd");
}

TEST(condition_variable, waiter_waits_again_if_its_predicate_is_false) {
  scene x;
  const auto all = x.start(scene::takes, "abc");
  x.put(1);
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  x.put(2);
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abc");
}

// No thundering herd: while the mutex is held no waiter is woken; then one after the other gets it.
TEST(condition_variable, notify_all_under_the_mutex_wakes_no_waiter_before_unlock) {
  scene x;
  const auto all = x.start(scene::waits, "abcdefgh");
  auto held = x.m.blocking_lock();
  x.c.notify_all();
  EXPECT_EQ(x.s.run_until_idle(), 0);
  held.unlock();
  EXPECT_EQ(x.s.run_until_idle(), 8);
  EXPECT_EQ(x.order, "abcdefgh");
}

TEST(condition_variable, notify_all_wakes_a_hundred_waiters) {
  scene x;
  const std::string crowd(100, 'r');
  const auto all = x.start(scene::waits, crowd);
  x.c.notify_all();
  EXPECT_EQ(x.s.run_until_idle(), 100);
  EXPECT_EQ(x.order, crowd);
}

TEST(condition_variable, waiters_may_use_different_mutexes) {
  scene x;
  mutex other;
  auto a = x.s.spawn(scene::waits(x, 'a'));
  auto b = x.s.spawn(
      [](scene& of, mutex& with) -> task<void> {
        auto held = co_await with.lock();
        co_await of.c.wait(held);
        EXPECT_TRUE(with.is_locked());
        of.order += 'b';
      },
      std::ref(x),
      std::ref(other));
  auto c = x.s.spawn(scene::waits(x, 'c'));
  x.s.run_until_idle();
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order.size(), 3U);
  EXPECT_FALSE(other.is_locked());
}

/// Records in its destructor whether the mutex is held.
struct leaves_a_note {
  scene* of;
  char name;
  leaves_a_note(scene& x, char n) : of(&x), name(n) {}
  leaves_a_note(const leaves_a_note&) = delete;
  leaves_a_note& operator=(const leaves_a_note&) = delete;
  ~leaves_a_note() { of->order += of->m.is_locked() ? name : '!'; }
};

task<void> is_unwound(scene& x, char name) {
  auto held = co_await x.m.lock();
  const leaves_a_note note(x, name);
  co_await x.c.wait(held, [&x] { return x.items > 0; });
}

TEST(condition_variable, cancelled_waiter_holds_the_mutex_while_it_unwinds) {
  scene x;
  auto a = x.s.spawn(is_unwound(x, 'a'));
  x.s.run_until_idle();
  a.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  EXPECT_FALSE(x.m.is_locked());
}

TEST(condition_variable, cancelled_waiter_locks_the_mutex_before_it_unwinds) {
  scene x;
  auto a = x.s.spawn(is_unwound(x, 'a'));
  x.s.run_until_idle();
  auto held = x.m.blocking_lock();
  a.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "");
  EXPECT_FALSE(a.is_done());
  held.unlock();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  EXPECT_TRUE(a.is_done());
}

// Regression row 5: the waiter is notified and then cancelled before it runs.
TEST(condition_variable, notification_of_a_cancelled_waiter_goes_to_the_next_waiter) {
  for (const bool holds : {false, true}) {
    scene x;
    auto first = x.s.spawn(scene::takes(x, 'a'));
    auto second = x.s.spawn(scene::takes(x, 'b'));
    x.s.run_until_idle();
    auto held = std::optional(x.m.blocking_lock());
    x.items = 1;
    x.c.notify_one();
    if (!holds) held.reset();  // wakes the first waiter
    first.cancel();
    x.s.run_until_idle();
    held.reset();
    x.s.run_until_idle();
    EXPECT_EQ(x.order, "b");
    EXPECT_FALSE(x.m.is_locked());
  }
}

TEST(condition_variable, waiter_cancelled_after_notify_all_notifies_no_other_waiter) {
  scene x;
  auto first = x.s.spawn(scene::waits(x, 'a'));
  x.s.run_until_idle();
  x.c.notify_all();
  const auto late = x.s.spawn(scene::waits(x, 'b'));
  first.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "");
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "b");
}

TEST(condition_variable, exception_of_a_predicate_is_thrown_with_the_mutex_held) {
  scene x;
  auto throws = x.s.spawn(
      [](scene& of) -> task<void> {
        auto held = co_await of.m.lock();
        const leaves_a_note note(of, 't');
        co_await of.c.wait(held, [&of]() -> bool {
          if (of.items == 1) throw std::runtime_error("broken");
          return false;
        });
      },
      std::ref(x));
  x.s.run_until_idle();
  x.put(1);
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_THROW(throws.join(), std::runtime_error);
  EXPECT_EQ(x.order, "t");
  EXPECT_FALSE(x.m.is_locked());
  auto at_once = x.s.spawn(
      [](scene& of) -> task<void> {
        auto held = co_await of.m.lock();
        co_await of.c.wait(held, []() -> bool { throw std::runtime_error("broken"); });
      },
      std::ref(x));
  x.s.run_until_idle();
  EXPECT_THROW(at_once.join(), std::runtime_error);
  EXPECT_FALSE(x.m.is_locked());
}

task<bool> waits_5ms(scene& x) {
  auto held = co_await x.m.lock();
  const auto in_time = co_await x.c.wait_for(held, 5ms, [&x] { return x.items > 0; });
  EXPECT_TRUE(x.m.is_locked());
  co_return in_time.has_value();
}

TEST(condition_variable, timed_out_wait_ends_with_the_mutex_held) {
  scene x;
  auto late = x.s.spawn(waits_5ms(x));
  auto plain = x.s.spawn(
      [](scene& of) -> task<bool> {
        auto held = co_await of.m.lock();
        const auto in_time = co_await of.c.wait_until(held, of.s.time + 5ms);
        EXPECT_TRUE(of.m.is_locked());
        co_return in_time.has_value();
      },
      std::ref(x));
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(plain.join());
  EXPECT_FALSE(x.m.is_locked());
}

TEST(condition_variable, timed_wait_succeeds_if_notified_in_time) {
  scene x;
  auto in_time = x.s.spawn(waits_5ms(x));
  x.s.run_until_idle();
  x.put(1);
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_TRUE(in_time.join());
}

// No notification arrives in time. The predicate decides, which is checked with the mutex held.
TEST(condition_variable, timed_wait_succeeds_if_the_predicate_is_true_at_the_deadline) {
  scene x;
  auto in_time = x.s.spawn(waits_5ms(x));
  x.s.run_until_idle();
  x.put(1);
  x.s.run_with_time();
  EXPECT_TRUE(in_time.join());
}

TEST(condition_variable, notified_waiter_past_its_deadline_passes_its_notification_on) {
  scene x;
  auto late = x.s.spawn(waits_5ms(x));
  x.s.run_until_idle();
  auto next = x.s.spawn(scene::takes(x, 'b'));
  x.s.run_until_idle();
  auto held = x.m.blocking_lock();
  x.c.notify_one();  // for the first waiter, which cannot get the mutex yet
  x.s.advance(5ms);
  x.s.run_until_idle();
  x.items = 2;
  held.unlock();
  x.s.run_until_idle();
  EXPECT_TRUE(late.join());
  EXPECT_EQ(x.order, "b");
}

// Also when the wait yields first, which it does after 127 waits that end at once.
TEST(condition_variable, named_wait_may_be_awaited_again) {
  const auto takes = [](scene& x, int n) -> task<int> {
    auto held = co_await x.m.lock();
    auto wait = x.c.wait(held, [&x] {
      EXPECT_TRUE(x.m.is_locked());
      return x.items > 0;
    });
    for (int taken = 0; taken < n; ++taken) {
      co_await wait;
      if (x.items <= 0) co_return taken;
      --x.items;
    }
    co_return n;
  };
  for (int there = 120; there <= 132; ++there) {
    scene x;
    x.items = there;
    auto taker = x.s.spawn(takes, std::ref(x), there + 2);
    x.s.run_until_idle();
    ASSERT_FALSE(taker.is_done()) << there << ": two are missing";
    for (int i = 0; i < 2; ++i) {
      ASSERT_FALSE(x.m.is_locked());
      x.put(1);
      x.c.notify_one();
      x.s.run_until_idle();
    }
    ASSERT_TRUE(taker.is_done()) << there;
    EXPECT_EQ(taker.join(), there + 2);
    EXPECT_FALSE(x.m.is_locked());
  }
}

TEST(condition_variable, named_wait_without_a_predicate_waits_each_time) {
  scene x;
  auto twice = x.s.spawn(
      [](scene& of) -> task<void> {
        auto held = co_await of.m.lock();
        auto wait = of.c.wait(held);
        for (const char name : {'a', 'b'}) {
          co_await wait;
          of.order += name;
        }
      },
      std::ref(x));
  for (const char* const expected : {"", "a", "ab"}) {
    x.s.run_until_idle();
    EXPECT_EQ(x.order, expected);
    x.c.notify_one();
  }
  EXPECT_TRUE(twice.is_done());
}

TEST(condition_variable, exception_of_a_predicate_is_not_thrown_again_by_the_next_await) {
  scene x;
  auto waiter = x.s.spawn(
      [](scene& of) -> task<std::string> {
        auto held = co_await of.m.lock();
        int asked = 0;
        auto wait = of.c.wait(held, [&asked] {
          if (++asked == 2) throw std::runtime_error("no");
          return asked > 2;
        });
        std::string said;
        try {
          co_await wait;
        } catch (const std::runtime_error& e) {
          said = e.what();
        }
        co_await wait;
        co_return said + std::to_string(asked);
      },
      std::ref(x));
  x.s.run_until_idle();
  x.c.notify_one();
  x.s.run_until_idle();
  ASSERT_TRUE(waiter.is_done());
  EXPECT_EQ(waiter.join(), "no3");
}

TEST(condition_variable_death, wait_with_a_guard_without_a_lock_aborts) {
  mutex m;
  condition_variable c;
  auto held = m.blocking_lock();
  held.unlock();
  EXPECT_DEATH(c.blocking_wait(held), "with a guard that has no lock");
}

TEST(condition_variable_death, destruction_with_a_waiter_aborts) {
  EXPECT_DEATH(
      {
        manual_scheduler s;
        mutex m;
        std::optional<condition_variable> c(std::in_place);
        auto waits = s.spawn(
            [](mutex& with, condition_variable& in) -> task<void> {
              auto held = co_await with.lock();
              co_await in.wait(held);
            },
            std::ref(m),
            std::ref(*c));
        s.run_until_idle();
        c.reset();
      },
      "destroyed while a task or a thread waits in it");
}

}  // namespace
}  // namespace rota::sync::condition_variable_test
