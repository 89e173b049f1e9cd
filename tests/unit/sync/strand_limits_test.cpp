// The strand: waits for a turn with a limit, and tries without a wait.
#include "strand_scene.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>
#include <utility>

namespace rota::sync::strand_limits_test {
namespace {

using namespace std::chrono_literals;
using scene = strand_scene;

TEST(strand, timeout_around_run_ends_the_wait_for_the_turn) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  auto late = x.s.spawn(
      [](scene& of) -> task<bool> {
        auto work = of.line.run([&of] { of.order += 'l'; });
        const auto in_time = co_await timeout(5ms, std::move(work));
        co_return in_time.has_value();
      },
      std::ref(x));
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hh");
}

TEST(strand, run_for_times_out_if_the_turn_does_not_come_in_time) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto tries = [](scene& of, bool until) -> task<bool> {
    const auto visit = [&of] {
      of.order += 'v';
      return 1;
    };
    if (until) {
      auto work = of.line.run_until(of.s.time + 5ms, visit);
      const std::expected<int, timed_out> got = co_await std::move(work);
      co_return got.has_value();
    }
    auto work = of.line.run_for(5ms, visit);
    const std::expected<int, timed_out> got = co_await std::move(work);
    co_return got.has_value();
  };
  auto late = x.s.spawn(tries, std::ref(x), false);
  auto too = x.s.spawn(tries, std::ref(x), true);
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hh");
  auto one = x.s.spawn(tries, std::ref(x), false);
  auto other = x.s.spawn(tries, std::ref(x), true);
  x.s.run_with_time();
  EXPECT_TRUE(one.join());
  EXPECT_TRUE(other.join());
  EXPECT_EQ(x.order, "hhvv");
}

// A function that has begun runs to its end, however long that takes.
TEST(strand, run_for_does_not_interrupt_a_function_that_has_begun) {
  scene x;
  auto work = x.s.spawn(
      [](scene& of) -> task<bool> {
        auto long_one = of.line.run_for(5ms, [&of]() -> task<void> {
          co_await sleep_for(1h);
          of.order += 'e';
        });
        const std::expected<void, timed_out> got = co_await std::move(long_one);
        co_return got.has_value();
      },
      std::ref(x));
  x.s.run_with_time();
  EXPECT_TRUE(work.join());
  EXPECT_EQ(x.order, "e");
}

TEST(strand, run_for_yields_the_same_types_as_timeout) {
  rota::run([]() -> task<void> {
    strand line;
    int there = 1;
    auto refers = line.run_for(1h, [&there]() -> int& { return there; });
    const std::expected<int*, timed_out> reference = co_await std::move(refers);
    EXPECT_EQ(reference.value(), &there);
    using or_error = std::expected<int, std::error_code>;
    auto of_a_task = line.run_for(1h, []() -> task<or_error> { co_return 2; });
    const or_error two = co_await std::move(of_a_task);
    EXPECT_EQ(two.value(), 2);
    auto moved = line.run_for(1h, [](std::unique_ptr<int> n) { return n; }, std::make_unique<int>(3));
    const auto three = co_await std::move(moved);
    EXPECT_EQ(**three, 3);
    auto nested = line.run_for(1h, [&line]() -> task<int> {
      auto inner = line.run_for(0s, [] { return 4; });
      const auto got = co_await std::move(inner);
      co_return got.value_or(0);
    });
    const auto four = co_await std::move(nested);
    EXPECT_EQ(four.value_or(0), 4);
    line.close();
    auto closed = line.run_for(1h, [] {});
    try {
      static_cast<void>(co_await std::move(closed));
      ADD_FAILURE();
    } catch (const error& e) {
      EXPECT_EQ(e.code(), make_error_code(errc::closed));
    }
  });
}

TEST(strand, try_run_calls_at_once_or_returns_the_refusal) {
  strand line;
  int there = 1;
  EXPECT_EQ(line.try_run([](int n) { return n; }, 2).value(), 2);
  EXPECT_EQ(line.try_run([&there]() -> int& { return there; }).value(), &there);
  line.blocking_run([&] {
    EXPECT_TRUE(line.try_run([&there] { ++there; }).has_value()) << "it is its turn";
    std::thread([&line] {
      const auto got = line.try_run([] { ADD_FAILURE(); });
      EXPECT_EQ(got.error(), turn_refusal::busy);
    }).join();
  });
  EXPECT_EQ(there, 2);
  EXPECT_FALSE(line.is_busy());
  line.close();
  EXPECT_EQ(line.try_run([] { return 1; }).error(), turn_refusal::closed);
}

TEST(strand, threads_wait_for_their_turn_with_a_timeout) {
  strand line;
  int there = 1;
  line.blocking_run([&] {
    std::thread([&line] {
      EXPECT_FALSE(line.blocking_run_for(1ms, [] { return 1; }).has_value());
      EXPECT_FALSE(line.blocking_run_until(std::chrono::steady_clock::now(), [] {}).has_value());
      EXPECT_FALSE(line.blocking_join_for(1ms).has_value());
      EXPECT_TRUE(line.is_closed());
    }).join();
    EXPECT_EQ(line.blocking_run_for(0s, [&there]() -> int& { return there; }).value(), &there);
  });
  EXPECT_THROW(static_cast<void>(line.blocking_run_for(1ms, [] {})), error);
  EXPECT_TRUE(line.blocking_join_until(std::chrono::steady_clock::now() + 1h).has_value());
  EXPECT_TRUE(line.blocking_join_for(0s).has_value()) << "again";
  EXPECT_FALSE(line.is_busy());
}

TEST(strand, timed_join_closes_it_even_if_it_times_out) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto joins = [](scene& of, bool until) -> task<bool> {
    if (until) co_return (co_await of.line.join_until(of.s.time + 5ms)).has_value();
    co_return (co_await of.line.join_for(5ms)).has_value();
  };
  auto late = x.s.spawn(joins, std::ref(x), false);
  auto too = x.s.spawn(joins, std::ref(x), true);
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  EXPECT_TRUE(x.line.is_closed());
  x.go.set();
  x.s.run_until_idle();
  EXPECT_FALSE(x.line.is_busy());
  auto good = x.s.spawn(joins, std::ref(x), false);
  x.s.run_with_time();
  EXPECT_TRUE(good.join());
  EXPECT_FALSE(x.line.is_busy());
}

}  // namespace
}  // namespace rota::sync::strand_limits_test
