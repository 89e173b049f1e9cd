// The barrier in two steps: arrive, then wait later or not at all.
#include "support/manual_scheduler.hpp"

#include <rota/channel/select.hpp>
#include <rota/rota.hpp>
#include <rota/sync/barrier.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace rota::sync::barrier_split_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

TEST(barrier_split, arrival_may_be_waited_for_later) {
  manual_scheduler by;
  barrier b(2);
  const auto mine = b.arrive();
  EXPECT_EQ(mine.generation(), 0U);
  EXPECT_FALSE(mine.is_leader());
  EXPECT_EQ(b.arrived(), 1U);
  EXPECT_FALSE(b.try_wait(mine));
  auto waits = by.spawn(
      [](barrier& at, barrier::arrival from) -> task<bool> {
        const auto p = co_await at.wait(from);
        EXPECT_EQ(p.generation, 0U);
        co_return p.is_leader;
      },
      std::ref(b),
      mine);
  by.run_until_idle();
  EXPECT_FALSE(waits.is_done());
  const auto last = b.arrive();
  EXPECT_TRUE(last.is_leader());
  EXPECT_TRUE(b.blocking_wait(last).is_leader);
  by.run_until_idle();
  EXPECT_FALSE(waits.join());
  EXPECT_TRUE(b.try_wait(mine)) << "again";
  EXPECT_EQ(b.arrived(), 0U);
}

TEST(barrier_split, arrive_completes_a_generation_with_arrive_and_wait) {
  manual_scheduler by;
  barrier b(2);
  auto other = by.spawn(
      [](barrier& at) -> task<bool> {
        const auto p = co_await at.arrive_and_wait();
        co_return p.is_leader;
      },
      std::ref(b));
  by.run_until_idle();
  EXPECT_TRUE(b.arrive().is_leader());
  by.run_until_idle();
  EXPECT_FALSE(other.join());
}

TEST(barrier_split, wait_that_ends_early_keeps_the_arrival) {
  manual_scheduler by;
  barrier b(2);
  event stop;
  const auto mine = b.arrive();
  const auto late = [](barrier& at, barrier::arrival from, manual_scheduler& in, bool until) -> task<bool> {
    if (until) co_return (co_await at.wait_until(from, in.time + 5ms)).has_value();
    co_return (co_await at.wait_for(from, 5ms)).has_value();
  };
  auto one = by.spawn(late, std::ref(b), mine, std::ref(by), false);
  auto two = by.spawn(late, std::ref(b), mine, std::ref(by), true);
  auto loses = by.spawn(
      [](barrier& at, barrier::arrival from, event& end) -> task<std::size_t> {
        auto first = co_await channel::select(at.wait(from), end.wait());
        co_return first.index();
      },
      std::ref(b),
      mine,
      std::ref(stop));
  auto cancelled = by.spawn(
      [](barrier& at, barrier::arrival from) -> task<void> { co_await at.wait(from); }, std::ref(b), mine);
  by.run_with_time();
  EXPECT_FALSE(one.join());
  EXPECT_FALSE(two.join());
  stop.set();
  cancelled.cancel();
  by.run_until_idle();
  EXPECT_EQ(loses.join(), 1U);
  EXPECT_EQ(by.cancelled, 1);
  EXPECT_FALSE(b.blocking_wait_for(mine, 1ms).has_value());
  EXPECT_FALSE(b.blocking_wait_until(mine, std::chrono::steady_clock::now()).has_value());
  EXPECT_EQ(b.arrived(), 1U);
  EXPECT_TRUE(b.arrive().is_leader());
  EXPECT_TRUE(b.blocking_wait_for(mine, 0s).has_value());
  auto in_time = by.spawn(late, std::ref(b), mine, std::ref(by), false);
  by.run_with_time();
  EXPECT_TRUE(in_time.join());
}

// The other participant drops out, and the limit passes before the task that leads in its place has run.
TEST(barrier_split, late_waiter_still_leads_in_place_of_a_dropped_participant) {
  using passes = task<bool> (*)(barrier&, barrier::arrival);
  const passes forms[] = {
      [](barrier& at, barrier::arrival from) -> task<bool> {
        const auto p = co_await timeout(5ms, at.wait(from));
        co_return p.has_value() && p->is_leader;
      },
      [](barrier& at, barrier::arrival from) -> task<bool> {
        const auto p = co_await at.wait_for(from, 5ms);
        co_return p.has_value() && p->is_leader;
      },
  };
  for (const passes& form : forms) {
    manual_scheduler by;
    barrier b(2);
    auto late = by.spawn(form(b, b.arrive()));
    by.run_until_idle();
    by.advance(5ms);
    b.arrive_and_drop();
    by.run_until_idle();
    EXPECT_TRUE(late.join());
  }
}

TEST(barrier_split, generations_complete_without_any_waiter) {
  barrier b(3);
  for (std::uint32_t round = 0; round < 4; ++round) {
    EXPECT_FALSE(b.arrive().is_leader());
    EXPECT_FALSE(b.arrive().is_leader());
    const auto last = b.arrive();
    EXPECT_TRUE(last.is_leader());
    EXPECT_EQ(last.generation(), round);
  }
  static_cast<void>(b.arrive());
  static_cast<void>(b.arrive());
  b.arrive_and_drop();  // completes the generation without a waiter
  EXPECT_EQ(b.participants(), 2U);
  EXPECT_EQ(b.arrived(), 0U);
}

TEST(barrier_split, single_participant_leads_and_passes_at_once) {
  barrier b(1);
  EXPECT_TRUE(b.arrive().is_leader());
  const auto mine = b.arrive();
  EXPECT_EQ(mine.generation(), 1U);
  EXPECT_TRUE(b.try_wait(mine));
  EXPECT_EQ(b.blocking_arrive_and_wait().generation, 2U);
}

TEST(barrier_split_death, arrive_after_all_have_dropped_out_aborts) {
  barrier b(1);
  b.arrive_and_drop();
  EXPECT_DEATH(static_cast<void>(b.arrive()), "all have dropped out");
}

TEST(barrier_split, threads_meet_in_each_round) {
  constexpr int rounds = 2'000;
  barrier b(3);
  std::vector<int> at(3);
  std::vector<std::thread> all;
  for (std::size_t me = 0; me < 3; ++me)
    all.emplace_back([&, me] {
      for (int round = 1; round <= rounds; ++round) {
        at[me] = round;
        const auto mine = b.arrive();
        static_cast<void>(b.blocking_wait(mine));
        for (const int other : at) ASSERT_EQ(other, round);
        static_cast<void>(b.blocking_arrive_and_wait());
      }
    });
  for (auto& thread : all) thread.join();
}

}  // namespace
}  // namespace rota::sync::barrier_split_test
