// The notify: one permit, which waiters pass, and that no call is lost with a cancelled waiter.
#include "support/manual_scheduler.hpp"

#include <rota/rota.hpp>
#include <rota/sync/notify.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace rota::sync::notify_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

task<void> waits(notify& of, std::string& order, char name) {
  co_await of.wait();
  order += name;
}

TEST(notify, stores_one_permit_and_no_more) {
  notify n;
  EXPECT_FALSE(n.try_wait());
  n.notify_one();
  n.notify_one();
  EXPECT_TRUE(n.try_wait());
  EXPECT_FALSE(n.try_wait());
}

TEST(notify, notify_all_stores_nothing) {
  notify n;
  n.notify_all();
  EXPECT_FALSE(n.try_wait());
  n.notify_one();
  n.notify_all();
  EXPECT_TRUE(n.try_wait());
}

TEST(notify, wakes_waiters_in_fifo_order) {
  manual_scheduler by;
  notify n;
  std::string order;
  auto a = by.spawn(waits(n, order, 'a'));
  auto b = by.spawn(waits(n, order, 'b'));
  by.run_until_idle();
  n.notify_one();
  by.run_until_idle();
  EXPECT_EQ(order, "a");
  EXPECT_FALSE(n.try_wait());
  n.notify_one();
  by.run_until_idle();
  EXPECT_EQ(order, "ab");
  EXPECT_FALSE(n.try_wait());
}

TEST(notify, notify_all_wakes_present_but_not_later_waiters) {
  manual_scheduler by;
  notify n;
  std::string order;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 100; ++i) all.push_back(by.spawn(waits(n, order, 'x')));
  by.run_until_idle();
  n.notify_all();
  auto late = by.spawn(waits(n, order, 'l'));
  by.run_until_idle();
  EXPECT_EQ(order, std::string(100, 'x'));
  n.notify_one();
  by.run_until_idle();
  EXPECT_EQ(order.back(), 'l');
}

TEST(notify, wait_sees_a_notify_all_between_its_creation_and_its_await) {
  manual_scheduler by;
  notify n;
  std::string order;
  auto checks = by.spawn(
      [](notify& of, std::string& seen) -> task<void> {
        auto next = of.wait();
        of.notify_all();  // between the making of the wait and the await
        co_await next;
        seen += 'a';
        co_await of.wait();
        seen += 'b';
      },
      std::ref(n),
      std::ref(order));
  by.run_until_idle();
  EXPECT_EQ(order, "a");
  n.notify_all();
  by.run_until_idle();
  EXPECT_EQ(order, "ab");
}

TEST(notify, wait_object_starts_a_new_wait_at_each_await) {
  manual_scheduler s;
  notify n;
  std::string order;
  auto all = s.spawn(
      [](notify& of, std::string& to) -> task<void> {
        auto wait = of.wait();
        for (const char name : {'a', 'b', 'c'}) {
          co_await wait;
          to += name;
        }
      },
      std::ref(n),
      std::ref(order));
  n.notify_all();  // before it was made
  s.run_until_idle();
  EXPECT_EQ(order, "");
  n.notify_all();
  s.run_until_idle();
  EXPECT_EQ(order, "a") << "a call lets one wait pass";
  n.notify_one();
  s.run_until_idle();
  EXPECT_EQ(order, "ab");
  n.notify_all();
  s.run_until_idle();
  EXPECT_EQ(order, "abc");
  EXPECT_TRUE(all.is_done());
}

// A wait yields first when its task's budget is spent. The limit around the child ends it there.
TEST(notify, wait_object_can_be_awaited_again_after_a_timeout_before_its_start) {
  for (int before = 120; before <= 130; ++before) {
    manual_scheduler s;
    notify n;
    const auto waits_again = [](notify& of, manual_scheduler& on, int passes) -> task<void> {
      auto wait = of.wait();
      const auto child = [](auto& for_it, manual_scheduler& at) -> task<void> {
        at.time += 10ms;
        co_await for_it;
      };
      for (int i = 0; i < passes; ++i) {
        of.notify_one();
        co_await of.wait();
      }
      const auto in_time = co_await timeout(5ms, child(wait, on));
      EXPECT_FALSE(in_time.has_value());
      co_await yield();
      co_await wait;
    };
    auto waiter = s.spawn(waits_again, std::ref(n), std::ref(s), before);
    s.run_with_time();
    ASSERT_FALSE(waiter.is_done()) << before;
    n.notify_one();
    s.run_with_time();
    EXPECT_TRUE(waiter.is_done()) << before << ": the call was lost";
    if (!waiter.is_done()) n.notify_all();
    s.run_with_time();
  }
}

TEST(notify, a_cancelled_wait_takes_nothing) {
  manual_scheduler by;
  notify n;
  std::string order;
  auto a = by.spawn(waits(n, order, 'a'));
  by.run_until_idle();
  a.cancel();
  by.run_until_idle();
  n.notify_one();
  EXPECT_TRUE(n.try_wait());
}

// Regression row 5.
TEST(notify, notification_of_a_cancelled_waiter_goes_to_the_next) {
  manual_scheduler by;
  notify n;
  std::string order;
  auto a = by.spawn(waits(n, order, 'a'));
  auto b = by.spawn(waits(n, order, 'b'));
  by.run_until_idle();
  n.notify_one();
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "b");
  EXPECT_FALSE(n.try_wait());
}

TEST(notify, notification_of_a_cancelled_waiter_is_stored_if_no_other_waits) {
  manual_scheduler by;
  notify n;
  std::string order;
  auto a = by.spawn(waits(n, order, 'a'));
  by.run_until_idle();
  n.notify_one();
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "");
  EXPECT_TRUE(n.try_wait());
}

TEST(notify, notify_all_leaves_no_permit_when_its_waiter_is_cancelled) {
  manual_scheduler by;
  notify n;
  std::string order;
  auto a = by.spawn(waits(n, order, 'a'));
  by.run_until_idle();
  n.notify_all();
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "");
  EXPECT_FALSE(n.try_wait());
}

TEST(notify, timed_wait_ends_at_its_deadline) {
  manual_scheduler by;
  notify n;
  const auto within = [](notify& of, manual_scheduler& on, bool until) -> task<bool> {
    if (until) co_return (co_await of.wait_until(on.time + 5ms)).has_value();
    co_return (co_await of.wait_for(5ms)).has_value();
  };
  auto late = by.spawn(within, std::ref(n), std::ref(by), false);
  auto too = by.spawn(within, std::ref(n), std::ref(by), true);
  by.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  auto good = by.spawn(within, std::ref(n), std::ref(by), false);
  by.run_until_idle();
  n.notify_one();
  by.run_with_time();
  EXPECT_TRUE(good.join());
}

TEST(notify, thread_waits_with_and_without_a_timeout) {
  notify n;
  EXPECT_FALSE(n.blocking_wait_for(1ms));
  EXPECT_FALSE(n.blocking_wait_until(std::chrono::steady_clock::now()));
  n.notify_one();
  EXPECT_TRUE(n.blocking_wait_for(1h));
  std::thread tells([&] { n.notify_one(); });
  n.blocking_wait();
  tells.join();
  EXPECT_FALSE(n.try_wait());
}

// Regression row 4: a call releases one waiter or leaves a permit. The waiter answers before the next call.
TEST(notify, no_notification_is_lost_when_a_wait_begins_concurrently) {
  notify ping;
  notify pong;
  constexpr int rounds = 3000;
  std::thread other([&] {
    for (int i = 0; i < rounds; ++i) {
      ping.blocking_wait();
      pong.notify_one();
    }
  });
  for (int i = 0; i < rounds; ++i) {
    ping.notify_one();
    pong.blocking_wait();
  }
  other.join();
  EXPECT_FALSE(ping.try_wait());
  EXPECT_FALSE(pong.try_wait());
}

TEST(notify, waiters_of_two_runtimes_and_a_thread_share_one_queue) {
  runtime left({.workers = 1});
  runtime right({.workers = 1});
  notify n;
  std::atomic<int> passed = 0;
  const auto waits_once = [](notify& of, std::atomic<int>& count) -> task<void> {
    co_await of.wait();
    ++count;
    of.notify_one();
  };
  auto a = left.spawn(waits_once, std::ref(n), std::ref(passed));
  auto b = right.spawn(waits_once, std::ref(n), std::ref(passed));
  std::thread c([&] {
    n.blocking_wait();
    ++passed;
    n.notify_one();
  });
  n.notify_one();
  a.join();
  b.join();
  c.join();
  EXPECT_EQ(passed, 3);
  EXPECT_TRUE(n.try_wait());
}

// The released waiter destroys the notify while the other thread is still inside of the call.
TEST(notify, may_be_destroyed_by_a_waiter_during_notify_one) {
  for (int round = 0; round < 2000; ++round) {
    std::optional<notify> n(std::in_place);
    std::thread tells([&] { n->notify_one(); });
    n->blocking_wait();
    n.reset();
    tells.join();
  }
}

TEST(notify_death, destroyed_while_a_task_waits) {
  EXPECT_DEATH(
      {
        manual_scheduler by;
        std::optional<notify> n(std::in_place);
        std::string order;
        auto a = by.spawn(waits(*n, order, 'a'));
        by.run_until_idle();
        n.reset();
      },
      "a sync::notify was destroyed while a task or a thread waits");
}

}  // namespace
}  // namespace rota::sync::notify_test
