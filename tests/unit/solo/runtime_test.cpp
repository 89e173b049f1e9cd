// The runtime for tests: values, order, time, the end, and what it refuses.
#include <rota/net/tcp_listener.hpp>
#include <rota/rota.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::test::runtime_test {
namespace {

using namespace std::chrono_literals;

task<int> number(int n) { co_return n; }

TEST(solo, block_on_returns_the_value_of_a_task) {
  testing::runtime rt;
  EXPECT_EQ(rt.block_on(number(7)), 7);
  EXPECT_EQ(rt.block_on([](int n) -> task<int> { co_return n + 1; }, 7), 8);
}

TEST(solo, thirty_days_take_no_time) {
  testing::runtime rt;
  const auto began = rt.now();
  rt.block_on([]() -> task<> { co_await sleep_for(std::chrono::days(30)); });
  EXPECT_EQ(rt.now() - began, std::chrono::days(30));
}

task<> note(std::vector<int>& order, int n) {
  co_await yield();
  order.push_back(n);
}

std::vector<int> order_of(std::uint64_t seed) {
  testing::runtime rt(seed);
  std::vector<int> order;
  std::vector<join_handle<void>> handles;
  for (int i = 0; i < 6; ++i) handles.push_back(rt.spawn(note(order, i)));
  rt.run_until_stalled();
  return order;
}

TEST(solo, seed_determines_the_order_of_tasks) {
  std::set<std::vector<int>> orders;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(order_of(seed), order_of(seed)) << seed;
    orders.insert(order_of(seed));
  }
  EXPECT_GT(orders.size(), 10U);
}

TEST(solo, timers_fire_in_their_order_and_at_their_time) {
  testing::runtime rt;
  std::vector<std::pair<int, std::chrono::nanoseconds>> fired;
  const auto began = rt.now();
  const auto nap = [&](int n, std::chrono::nanoseconds span) -> task<> {
    co_await sleep_for(span);
    fired.emplace_back(n, rt.now() - began);
  };
  std::vector<join_handle<void>> handles;
  handles.push_back(rt.spawn(nap, 1, 30ms));
  handles.push_back(rt.spawn(nap, 2, 10ms));
  handles.push_back(rt.spawn(nap, 3, 20ms));
  rt.run_until_stalled();
  EXPECT_TRUE(fired.empty()) << "time stands still";
  rt.advance(15ms);
  ASSERT_EQ(fired.size(), 1U);
  EXPECT_EQ(fired[0], (std::pair<int, std::chrono::nanoseconds>(2, 10ms)));
  EXPECT_EQ(rt.now() - began, 15ms);
  rt.advance(1h);
  ASSERT_EQ(fired.size(), 3U);
  EXPECT_EQ(fired[1], (std::pair<int, std::chrono::nanoseconds>(3, 20ms)));
  EXPECT_EQ(fired[2], (std::pair<int, std::chrono::nanoseconds>(1, 30ms)));
  EXPECT_EQ(rt.now() - began, 1h + 15ms);
}

TEST(solo, timeouts_when_all_and_spawn_blocking_work) {
  testing::runtime rt;
  const int sum = rt.block_on([]() -> task<int> {
    const auto late = co_await timeout(10ms, sleep_for(1h));
    if (late.has_value()) throw std::logic_error("the timeout came first");
    auto closure = spawn_blocking([] { return 3; });
    auto [one, two] = co_await when_all(number(1), number(2));
    const int three = co_await closure;
    co_return one + two + three;
  });
  EXPECT_EQ(sum, 6);
}

TEST(solo, block_on_rethrows_the_exception_of_a_task) {
  testing::runtime rt;
  EXPECT_THROW(rt.block_on([]() -> task<> {
    co_await yield();
    throw std::out_of_range("thrown");
  }),
               std::out_of_range);
}

TEST(solo, unhandled_exception_is_thrown_by_the_call_that_ran_the_task) {
  testing::runtime rt;
  const auto breaks = []() -> task<> {
    co_await yield();
    throw std::runtime_error("no caller takes this");
  };
  rt.spawn(breaks).detach();
  EXPECT_THROW(rt.run_until_stalled(), std::runtime_error);
  EXPECT_EQ(rt.block_on(number(1)), 1) << "and only by that one";
}

TEST(solo, first_of_two_exceptions_is_thrown_and_the_other_is_dropped) {
  testing::runtime rt;
  const auto breaks = []() -> task<> {
    throw std::out_of_range("of a detached task");
    co_return;
  };
  const auto body = [&breaks]() -> task<int> {
    spawn(breaks).detach();
    co_await sleep_for(1ms);
    throw std::runtime_error("of the root");
  };
  EXPECT_THROW(rt.block_on(body), std::out_of_range);
  EXPECT_EQ(rt.block_on(number(1)), 1);
}

// --- stalled

task<> waits_for_ever(std::shared_ptr<int> keeps) {
  const auto kept = keeps;
  co_await sleep_until(std::chrono::steady_clock::time_point::max());
}

TEST(solo, stalled_task_is_reported_with_its_location_and_unwound) {
  testing::runtime rt;
  auto count = std::make_shared<int>(0);
  try {
    rt.block_on(waits_for_ever(count));
    FAIL() << "it cannot end";
  } catch (const testing::stalled& e) {
    const std::string what = e.what();
    EXPECT_NE(what.find("nothing can run"), std::string::npos) << what;
    EXPECT_NE(what.find("runtime_test.cpp:"), std::string::npos) << what;
  }
  EXPECT_EQ(count.use_count(), 1) << "its frame has gone";
  EXPECT_EQ(rt.alive_tasks(), 0U);
}

TEST(solo, a_shield_does_not_keep_a_stalled_task) {
  testing::runtime rt;
  auto count = std::make_shared<int>(0);
  const auto behind_a_shield = [&]() -> task<> {
    const auto up = shield(std::chrono::nanoseconds::max());
    co_await waits_for_ever(count);
  };
  EXPECT_THROW(rt.block_on(behind_a_shield), testing::stalled);
  EXPECT_EQ(count.use_count(), 1);
}

// --- the end

TEST(solo, destruction_cancels_each_remaining_task_once) {
  auto count = std::make_shared<int>(0);
  {
    testing::runtime rt;
    rt.spawn(waits_for_ever(count)).detach();  // suspended
    rt.run_until_stalled();
    rt.spawn(waits_for_ever(count)).detach();  // not begun
    EXPECT_EQ(rt.alive_tasks(), 2U);
    EXPECT_EQ(count.use_count(), 4);
  }
  EXPECT_EQ(count.use_count(), 1);
}

TEST(solo, a_handle_may_outlive_it) {
  std::optional<join_handle<int>> done;
  std::optional<join_handle<void>> cancelled;
  {
    testing::runtime rt;
    done.emplace(rt.spawn(number(7)));
    cancelled.emplace(rt.spawn(waits_for_ever(nullptr)));
    rt.run_until_stalled();
  }
  EXPECT_EQ(done->join(), 7);
  EXPECT_THROW(cancelled->join(), cancelled_error);
}

TEST(solo, destruction_completes_a_clean_up_that_suspends) {
  bool cleaned = false;
  {
    testing::runtime rt;
    const auto body = [&]() -> task<> {
      const auto clean = [&]() -> task<> {
        co_await sleep_for(1s);
        cleaned = true;
      };
      auto work = waits_for_ever(nullptr);
      co_await finally(std::move(work), clean, 10s);
    };
    rt.spawn(body).detach();
    rt.run_until_stalled();
  }
  EXPECT_TRUE(cleaned);
}

// --- what it refuses

TEST(solo, sockets_are_refused) {
  testing::runtime rt;
  const auto body = []() -> task<std::error_code> {
    auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
    co_return listener.has_value() ? std::error_code() : listener.error();
  };
  EXPECT_EQ(rt.block_on(body), make_error_code(errc::no_runtime));
}

TEST(solo, block_on_inside_of_a_task_is_refused) {
  testing::runtime rt;
  const auto body = [&]() -> task<errc> {
    try {
      static_cast<void>(rt.block_on(number(1)));
    } catch (const error& e) {
      co_return static_cast<errc>(e.code().value());
    }
    co_return errc{};
  };
  EXPECT_EQ(rt.block_on(body), errc::nested_block_on);
}

TEST(solo_deaths, use_from_another_thread_aborts) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto die = [] {
    testing::runtime rt;
    std::thread other([&rt] { static_cast<void>(rt.spawn(number(1))); });
    other.join();
  };
  EXPECT_DEATH(die(), "on another thread");
}

TEST(solo, two_testing_runtimes_and_a_real_one_coexist) {
  testing::runtime first;
  testing::runtime second(2);
  rota::runtime real(runtime_options{.workers = 1});
  EXPECT_EQ(first.block_on(number(1)) + second.block_on(number(2)) + real.block_on(number(3)), 6);
}

task<> sleeps() { co_await sleep_for(1h); }

// A clean-up awaits a task that has not begun when the runtime ends. It runs in place of the clean-up and is
// in no registry.
TEST(solo, a_task_does_not_see_that_its_child_was_refused) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    bool went_on = false;
    {
      testing::runtime rt(seed);
      const auto sees = [&]() -> task<> {
        auto child = spawn(number(1));
        const outcome<int> end = co_await child.result();
        went_on = went_on || end.is_cancelled();
      };
      const auto cleans_up = [&]() -> task<> {
        auto work = spawn(sees());
        co_await finally(sleeps(), [&]() -> task<> { static_cast<void>(co_await work.result()); }, 1min);
      };
      rt.block_on([&]() -> task<> {
        spawn(cleans_up()).detach();
        co_await yield();
      });
    }
    EXPECT_FALSE(went_on) << seed;
  }
}

}  // namespace
}  // namespace rota::test::runtime_test
