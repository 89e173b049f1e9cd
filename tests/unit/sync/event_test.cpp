// The event, manual and automatic: which waiters pass, and that no set() is lost with a cancelled waiter.
#include "support/manual_scheduler.hpp"

#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rota::sync::event_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

constexpr event_reset automatic = event_reset::automatic;

task<void> waits(event& of, std::string& order, char name) {
  co_await of.wait();
  order += name;
}

TEST(event, manual_event_stays_set) {
  event e;
  EXPECT_FALSE(e.try_wait());
  e.set();
  e.set();
  EXPECT_TRUE(e.try_wait());
  EXPECT_TRUE(e.try_wait());
  EXPECT_TRUE(e.is_set());
  e.reset();
  EXPECT_FALSE(e.try_wait());
  EXPECT_FALSE(e.is_set());
}

TEST(event, automatic_event_lets_one_waiter_pass) {
  event e(automatic);
  e.set();
  e.set();
  EXPECT_TRUE(e.try_wait());
  EXPECT_FALSE(e.try_wait());
  e.set();
  e.reset();
  EXPECT_FALSE(e.try_wait());
}

TEST(event, may_be_set_from_the_start) {
  EXPECT_TRUE(event(event_reset::manual, event_state::set).try_wait());
  EXPECT_TRUE(event(automatic, event_state::set).try_wait());
}

TEST(event, manual_event_lets_all_waiters_pass_even_if_reset_at_once) {
  manual_scheduler by;
  event e;
  std::string order;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 100; ++i) all.push_back(by.spawn(waits(e, order, 'x')));
  by.run_until_idle();
  e.set();
  e.reset();
  auto late = by.spawn(waits(e, order, 'l'));
  by.run_until_idle();
  EXPECT_EQ(order, std::string(100, 'x'));
  e.set();
  by.run_until_idle();
  EXPECT_EQ(order.back(), 'l');
}

TEST(event, automatic_event_lets_waiters_pass_one_by_one) {
  manual_scheduler by;
  event e(automatic);
  std::string order;
  auto a = by.spawn(waits(e, order, 'a'));
  auto b = by.spawn(waits(e, order, 'b'));
  by.run_until_idle();
  e.set();
  EXPECT_FALSE(e.is_set());
  by.run_until_idle();
  EXPECT_EQ(order, "a");
  e.reset();  // not set: b stays blocked
  e.set();
  by.run_until_idle();
  EXPECT_EQ(order, "ab");
  EXPECT_FALSE(e.is_set());
}

TEST(event, a_cancelled_wait_takes_nothing) {
  for (const event_reset how : {event_reset::manual, automatic}) {
    manual_scheduler by;
    event e(how);
    std::string order;
    auto a = by.spawn(waits(e, order, 'a'));
    by.run_until_idle();
    a.cancel();
    by.run_until_idle();
    e.set();
    EXPECT_EQ(order, "");
    EXPECT_TRUE(e.try_wait());
  }
}

// Regression row 5.
TEST(event, set_granted_to_a_cancelled_waiter_goes_to_the_next_waiter) {
  manual_scheduler by;
  event e(automatic);
  std::string order;
  auto a = by.spawn(waits(e, order, 'a'));
  auto b = by.spawn(waits(e, order, 'b'));
  by.run_until_idle();
  e.set();
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "b");
  EXPECT_FALSE(e.is_set());
}

TEST(event, set_granted_to_a_cancelled_waiter_stays_if_there_is_no_other) {
  manual_scheduler by;
  event e(automatic);
  std::string order;
  auto a = by.spawn(waits(e, order, 'a'));
  by.run_until_idle();
  e.set();
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "");
  EXPECT_TRUE(e.is_set());
}

TEST(event, timed_wait_fails_at_the_deadline) {
  manual_scheduler by;
  event e;
  const auto within = [](event& of, manual_scheduler& on, bool until) -> task<bool> {
    if (until) co_return (co_await of.wait_until(on.time + 5ms)).has_value();
    co_return (co_await of.wait_for(5ms)).has_value();
  };
  auto late = by.spawn(within, std::ref(e), std::ref(by), false);
  auto too = by.spawn(within, std::ref(e), std::ref(by), true);
  by.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  auto good = by.spawn(within, std::ref(e), std::ref(by), true);
  by.run_until_idle();
  e.set();
  by.run_with_time();
  EXPECT_TRUE(good.join());
}

TEST(event, a_thread_waits_with_and_without_a_limit) {
  event e;
  EXPECT_FALSE(e.blocking_wait_for(1ms));
  EXPECT_FALSE(e.blocking_wait_until(std::chrono::steady_clock::now()));
  std::thread sets([&] { e.set(); });
  e.blocking_wait();
  sets.join();
  EXPECT_TRUE(e.blocking_wait_for(1h));
}

TEST(event, set_that_races_with_a_wait_is_not_lost) {
  event ping(automatic);
  event pong(automatic);
  constexpr int rounds = 3000;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.blocking_wait();
      pong.set();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ping.set();
    pong.blocking_wait();
  }
  other.join();
  EXPECT_FALSE(ping.is_set());
  EXPECT_FALSE(pong.is_set());
}

// The released waiter destroys the event while the other thread is still inside of set().
TEST(event, released_waiter_may_destroy_it_during_set) {
  for (int round = 0; round < 1000; ++round) {
    for (const event_reset how : {event_reset::manual, automatic}) {
      std::optional<event> e(std::in_place, how);
      std::thread sets([&] { e->set(); });
      e->blocking_wait();
      e.reset();
      sets.join();
    }
  }
}

TEST(event_death, destruction_with_a_waiter_aborts) {
  EXPECT_DEATH(
      {
        manual_scheduler by;
        std::optional<event> e(std::in_place);
        std::string order;
        auto a = by.spawn(waits(*e, order, 'a'));
        by.run_until_idle();
        e.reset();
      },
      "a sync::event was destroyed while a task or a thread waits");
}

}  // namespace
}  // namespace rota::sync::event_test
