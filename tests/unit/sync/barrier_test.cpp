// The barrier: generations, leaders, and participants that give up or drop out.
#include "support/manual_scheduler.hpp"

#include <rota/rota.hpp>
#include <rota/sync/barrier.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rota::sync::barrier_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

/// Appends its name, in capitals if it is the leader.
task<void> arrives(barrier& at, std::string& order, char name) {
  const auto p = co_await at.arrive_and_wait();
  order += p.is_leader ? static_cast<char>(name - 'a' + 'A') : name;
}

task<void> goes_round(barrier& at, std::string& order, char name, std::uint32_t rounds) {
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const auto p = co_await at.arrive_and_wait();
    EXPECT_EQ(p.generation, i);
    order += p.is_leader ? static_cast<char>(name - 'a' + 'A') : name;
  }
}

TEST(barrier, refuses_a_number_of_participants_that_it_cannot_count) {
  EXPECT_THROW(barrier(barrier::max_participants + 1), std::invalid_argument);
  EXPECT_EQ(barrier(barrier::max_participants).participants(), barrier::max_participants);
  try {
    const barrier none(0);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "sync::barrier: participants is 0: must be 1..65535");
  }
}

TEST(barrier, a_single_participant_passes_and_leads) {
  manual_scheduler by;
  barrier b(1);
  std::string order;
  auto a = by.spawn(goes_round(b, order, 'a', 3));
  by.run_until_idle();
  EXPECT_EQ(order, "AAA");
  EXPECT_TRUE(b.blocking_arrive_and_wait().is_leader);
}

TEST(barrier, last_participant_leads_and_all_pass) {
  manual_scheduler by;
  barrier b(3);
  std::string order;
  auto a = by.spawn(arrives(b, order, 'a'));
  auto c = by.spawn(arrives(b, order, 'c'));
  by.run_until_idle();
  EXPECT_EQ(order, "");
  EXPECT_EQ(b.arrived(), 2U);
  auto d = by.spawn(arrives(b, order, 'd'));
  by.run_until_idle();
  EXPECT_EQ(order, "Dac");
  EXPECT_EQ(b.arrived(), 0U);
}

TEST(barrier, two_participants_pass_several_generations) {
  manual_scheduler by;
  barrier b(2);
  std::string order;
  auto a = by.spawn(goes_round(b, order, 'a', 4));
  auto c = by.spawn(goes_round(b, order, 'c', 4));
  by.run_until_idle();
  EXPECT_EQ(order.size(), 8U);
}

TEST(barrier, hundred_waiters_are_all_woken) {
  manual_scheduler by;
  barrier b(100);
  std::string order;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 100; ++i) all.push_back(by.spawn(arrives(b, order, 'x')));
  by.run_until_idle();
  EXPECT_EQ(order, "X" + std::string(99, 'x'));
}

TEST(barrier, a_cancelled_wait_takes_the_arrival_back) {
  manual_scheduler by;
  barrier b(2);
  std::string order;
  auto a = by.spawn(arrives(b, order, 'a'));
  by.run_until_idle();
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(b.arrived(), 0U);
  auto c = by.spawn(arrives(b, order, 'c'));
  by.run_until_idle();
  EXPECT_EQ(order, "");
  auto d = by.spawn(arrives(b, order, 'd'));
  by.run_until_idle();
  EXPECT_EQ(order, "Dc");
}

TEST(barrier, waiter_cancelled_after_the_last_arrival_has_passed) {
  manual_scheduler by;
  barrier b(2);
  std::string order;
  auto a = by.spawn(arrives(b, order, 'a'));
  by.run_until_idle();
  auto c = by.spawn(arrives(b, order, 'c'));
  EXPECT_TRUE(by.run_one());
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "C");
  EXPECT_EQ(b.arrived(), 0U);
}

// Regression row 19.
TEST(barrier, destruction_of_a_cancelled_waiter_takes_its_arrival_back) {
  barrier b(2);
  manual_scheduler by;
  std::string order;
  {
    auto a = by.spawn(arrives(b, order, 'a'));
    by.run_until_idle();
    a.cancel();
  }
  by.run_until_idle();
  EXPECT_EQ(b.arrived(), 0U);
}

TEST(barrier, participant_that_drops_out_lets_the_others_pass) {
  manual_scheduler by;
  barrier b(3);
  std::string order;
  auto a = by.spawn(arrives(b, order, 'a'));
  auto c = by.spawn(arrives(b, order, 'c'));
  by.run_until_idle();
  b.arrive_and_drop();
  by.run_until_idle();
  EXPECT_EQ(order, "Ac");
  EXPECT_EQ(b.participants(), 2U);
  auto d = by.spawn(arrives(b, order, 'd'));
  auto e = by.spawn(arrives(b, order, 'e'));
  by.run_until_idle();
  EXPECT_EQ(order, "AcEd");
}

TEST(barrier, participant_that_dropped_out_is_not_waited_for) {
  manual_scheduler by;
  barrier b(2);
  std::string order;
  b.arrive_and_drop();
  auto a = by.spawn(arrives(b, order, 'a'));
  by.run_until_idle();
  EXPECT_EQ(order, "A");
  b.arrive_and_drop();
  EXPECT_EQ(b.participants(), 0U);
}

TEST(barrier, timed_out_wait_takes_the_arrival_back) {
  manual_scheduler by;
  barrier b(2);
  const auto within = [](barrier& at, manual_scheduler& on, bool until) -> task<bool> {
    if (until) co_return (co_await at.arrive_and_wait_until(on.time + 5ms)).has_value();
    co_return (co_await at.arrive_and_wait_for(5ms)).has_value();
  };
  auto late = by.spawn(within, std::ref(b), std::ref(by), false);
  by.run_with_time();
  EXPECT_FALSE(late.join());
  auto too = by.spawn(within, std::ref(b), std::ref(by), true);
  by.run_with_time();
  EXPECT_FALSE(too.join());
  EXPECT_EQ(b.arrived(), 0U);
  auto one = by.spawn(within, std::ref(b), std::ref(by), false);
  auto other = by.spawn(within, std::ref(b), std::ref(by), true);
  by.run_with_time();
  EXPECT_TRUE(one.join());
  EXPECT_TRUE(other.join());
}

// The last participant arrives, and the limit passes before the first has run.
TEST(barrier, passage_counts_if_the_deadline_expires_before_the_task_runs) {
  using passes = task<bool> (*)(barrier&);
  const passes forms[] = {
      [](barrier& at) -> task<bool> { co_return (co_await timeout(5ms, at.arrive_and_wait())).has_value(); },
      [](barrier& at) -> task<bool> { co_return (co_await at.arrive_and_wait_for(5ms)).has_value(); },
      [](barrier& at) -> task<bool> {
        co_return (co_await timeout(5ms, timeout(1h, at.arrive_and_wait()))).has_value();
      },
      [](barrier& at) -> task<bool> {
        co_return (co_await timeout(5ms, at.arrive_and_wait_for(1h))).has_value();
      },
  };
  for (const passes& form : forms) {
    manual_scheduler by;
    barrier b(2);
    std::string order;
    auto late = by.spawn(form(b));
    by.run_until_idle();
    auto last = by.spawn(arrives(b, order, 'a'));
    EXPECT_TRUE(by.run_one());
    by.advance(5ms);
    by.run_until_idle();
    EXPECT_EQ(order, "A");
    EXPECT_TRUE(late.join());
    EXPECT_EQ(b.arrived(), 0U);
  }
}

// A timeout of one wait does not affect the next one.
TEST(barrier, named_awaitable_arrives_anew_when_awaited_again) {
  manual_scheduler by;
  barrier b(2);
  std::string order;
  const auto twice = [](barrier& at) -> task<int> {
    auto arrival = at.arrive_and_wait();
    const auto first = co_await timeout(5ms, arrival);
    const auto second = co_await timeout(5ms, arrival);
    co_return (first.has_value() ? 1 : 0) + (second.has_value() ? 2 : 0);
  };
  auto late = by.spawn(twice(b));
  by.run_until_idle();
  auto last = by.spawn(arrives(b, order, 'a'));
  EXPECT_TRUE(by.run_one());
  by.advance(5ms);
  by.run_with_time();
  EXPECT_EQ(late.join(), 1);
  EXPECT_EQ(b.arrived(), 0U);
}

TEST(barrier, threads_meet_and_one_leads_in_each_round) {
  constexpr std::uint32_t threads = 3;
  constexpr std::uint32_t rounds = 500;
  barrier b(threads);
  EXPECT_FALSE(b.blocking_arrive_and_wait_for(1ms));
  EXPECT_FALSE(b.blocking_arrive_and_wait_until(std::chrono::steady_clock::now()));
  std::atomic<std::uint32_t> leaders = 0;
  std::vector<std::uint32_t> at(threads);
  std::vector<std::thread> all;
  for (std::uint32_t me = 0; me < threads; ++me) {
    all.emplace_back([&, me] {
      for (std::uint32_t i = 0; i < rounds; ++i) {
        at[me] = i;
        if (b.blocking_arrive_and_wait().is_leader) ++leaders;
        for (const std::uint32_t each : at) EXPECT_EQ(each, i);
        b.blocking_arrive_and_wait();
      }
    });
  }
  for (auto& each : all) each.join();
  EXPECT_EQ(leaders, rounds);
}

TEST(barrier_death, use_after_all_have_dropped_out_aborts) {
  EXPECT_DEATH(
      {
        barrier b(1);
        b.arrive_and_drop();
        b.blocking_arrive_and_wait();
      },
      "arriving at a sync::barrier from which all have dropped out");
  EXPECT_DEATH(
      {
        barrier b(1);
        b.arrive_and_drop();
        b.arrive_and_drop();
      },
      "dropping out of a sync::barrier from which all have dropped out");
}

TEST(barrier_death, destruction_with_a_waiter_aborts) {
  EXPECT_DEATH(
      {
        manual_scheduler by;
        std::optional<barrier> b(std::in_place, 2U);
        std::string order;
        auto a = by.spawn(arrives(*b, order, 'a'));
        by.run_until_idle();
        b.reset();
      },
      "a sync::barrier was destroyed while a task or a thread waits");
}

}  // namespace
}  // namespace rota::sync::barrier_test
