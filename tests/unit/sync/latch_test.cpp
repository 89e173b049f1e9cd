// The latch: its count, and which waiters pass.
#include "support/manual_scheduler.hpp"

#include <rota/rota.hpp>
#include <rota/sync/latch.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rota::sync::latch_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

task<void> waits(latch& of, std::string& order, char name) {
  co_await of.wait();
  order += name;
}

TEST(latch, counts_down_to_nothing) {
  latch l(4);
  l.count_down();
  l.count_down(2);
  l.count_down(0);
  EXPECT_EQ(l.left(), 1U);
  EXPECT_FALSE(l.try_wait());
  l.count_down();
  EXPECT_TRUE(l.try_wait());
  EXPECT_TRUE(l.try_wait());
  l.count_down(0);
  EXPECT_TRUE(latch(0).try_wait());
}

TEST(latch, refuses_numbers_that_it_cannot_count) {
  EXPECT_THROW(latch(latch::max_count + 1), std::invalid_argument);
  EXPECT_EQ(latch(latch::max_count).left(), latch::max_count);
  latch l(2);
  EXPECT_THROW(l.count_down(~std::uint64_t{0}), std::invalid_argument);
  EXPECT_THROW(l.count_down((std::uint64_t{1} << 63U) + 2), std::invalid_argument);
  try {
    l.count_down(3);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "sync::latch: n of count_down is 3: must be 0..2");
  }
  EXPECT_EQ(l.left(), 2U);
}

TEST(latch, count_down_throws_if_more_than_the_count_left_while_a_task_waits) {
  manual_scheduler by;
  latch l(2);
  std::string order;
  auto a = by.spawn(waits(l, order, 'a'));
  by.run_until_idle();
  EXPECT_THROW(l.count_down(3), std::invalid_argument);
  EXPECT_EQ(l.left(), 2U);
  l.count_down(1);
  by.run_until_idle();
  EXPECT_EQ(order, "");
  l.count_down(1);
  by.run_until_idle();
  EXPECT_EQ(order, "a");
}

TEST(latch, last_count_down_releases_all_waiters) {
  manual_scheduler by;
  latch l(2);
  std::string order;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 100; ++i) all.push_back(by.spawn(waits(l, order, 'x')));
  by.run_until_idle();
  l.count_down();
  by.run_until_idle();
  EXPECT_EQ(order, "");
  l.count_down();
  by.run_until_idle();
  EXPECT_EQ(order, std::string(100, 'x'));
}

TEST(latch, arrive_and_wait_passes_when_the_count_is_zero) {
  manual_scheduler by;
  latch l(4);
  std::string order;
  const auto arrives = [](latch& of, std::string& said, std::uint64_t n) -> task<void> {
    co_await of.arrive_and_wait(n);
    said += 'x';
  };
  auto one = by.spawn(arrives, std::ref(l), std::ref(order), 1U);
  auto two = by.spawn(arrives, std::ref(l), std::ref(order), 2U);
  by.run_until_idle();
  EXPECT_EQ(order, "");
  EXPECT_EQ(l.left(), 1U);
  EXPECT_THROW(static_cast<void>(l.arrive_and_wait(2)), std::invalid_argument);
  l.blocking_arrive_and_wait();
  by.run_until_idle();
  EXPECT_EQ(order, "xx");
}

TEST(latch, cancelled_wait_leaves_the_count_unchanged) {
  manual_scheduler by;
  latch l(1);
  std::string order;
  auto a = by.spawn(waits(l, order, 'a'));
  auto b = by.spawn(waits(l, order, 'b'));
  by.run_until_idle();
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(l.left(), 1U);
  l.count_down();
  b.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "");
  EXPECT_TRUE(l.try_wait());
}

TEST(latch, timed_wait_ends_at_its_deadline) {
  manual_scheduler by;
  latch l(1);
  const auto within = [](latch& of, manual_scheduler& on, bool until) -> task<bool> {
    if (until) co_return (co_await of.wait_until(on.time + 5ms)).has_value();
    co_return (co_await of.wait_for(5ms)).has_value();
  };
  auto late = by.spawn(within, std::ref(l), std::ref(by), false);
  auto too = by.spawn(within, std::ref(l), std::ref(by), true);
  by.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  auto good = by.spawn(within, std::ref(l), std::ref(by), true);
  by.run_until_idle();
  l.count_down();
  by.run_with_time();
  EXPECT_TRUE(good.join());
}

TEST(latch, threads_count_and_wait) {
  constexpr int threads = 4;
  latch start(1);
  latch done(threads);
  std::vector<int> seen(threads);
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      start.blocking_wait();
      seen[static_cast<std::size_t>(i)] = i + 1;
      done.count_down();
    });
  }
  EXPECT_FALSE(done.blocking_wait_for(1ms));
  EXPECT_FALSE(done.blocking_wait_until(std::chrono::steady_clock::now()));
  start.count_down();
  done.blocking_wait();
  EXPECT_EQ(seen, (std::vector<int>{1, 2, 3, 4}));
  for (auto& each : all) each.join();
}

// The released waiter destroys the latch while the other thread is still inside of count_down().
TEST(latch, may_be_destroyed_by_a_waiter_during_count_down) {
  for (int round = 0; round < 2000; ++round) {
    std::optional<latch> l(std::in_place, 1U);
    std::thread counts([&] { l->count_down(); });
    l->blocking_wait();
    l.reset();
    counts.join();
  }
}

TEST(latch_death, destroyed_while_a_task_waits) {
  EXPECT_DEATH(
      {
        manual_scheduler by;
        std::optional<latch> l(std::in_place, 1U);
        std::string order;
        auto a = by.spawn(waits(*l, order, 'a'));
        by.run_until_idle();
        l.reset();
      },
      "a sync::latch was destroyed while a task or a thread waits");
}

}  // namespace
}  // namespace rota::sync::latch_test
