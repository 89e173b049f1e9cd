// graceful_shutdown: which waiters it wakes, what it refuses, and what it waits for.
#include "unit/process/process_support.hpp"

#include <rota/channel/select.hpp>
#include <rota/graceful_shutdown.hpp>
#include <rota/testing/virtual_clock.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace rota::test::shutdown_test {
namespace {

task<io::result<graceful_shutdown>> opens() { co_return graceful_shutdown::open({SIGUSR1, SIGTERM}); }
task<io::result<graceful_shutdown>> opens_without_signals() { co_return graceful_shutdown::open({}); }

graceful_shutdown shutdown_of(runtime& rt, task<io::result<graceful_shutdown>> how) {
  return demand(rt.spawn(std::move(how)).join());
}

/// Checks that each test restores the handler of SIGUSR1.
class graceful : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &before_), 0); }
  void TearDown() override {
    struct sigaction after{};
    ASSERT_EQ(::sigaction(SIGUSR1, nullptr, &after), 0);
    EXPECT_EQ(after.sa_handler, before_.sa_handler);
  }

 private:
  struct sigaction before_{};
};

TEST_F(graceful, a_signal_wakes_every_waiter) {
  runtime rt(with_workers(2));
  graceful_shutdown end = shutdown_of(rt, opens());
  std::vector<join_handle<int>> waiting;
  for (int i = 0; i < 10; ++i) {
    waiting.push_back(rt.spawn(
        [](graceful_shutdown& of) -> task<int> {
          co_await of.wait();
          co_return of.signal();
        },
        std::ref(end)));
  }
  EXPECT_FALSE(end.is_triggered());
  EXPECT_EQ(end.signal(), 0);
  ASSERT_EQ(::kill(::getpid(), SIGUSR1), 0);
  for (auto& each : waiting) EXPECT_EQ(each.join(), SIGUSR1);
  EXPECT_TRUE(end.is_triggered());
  EXPECT_FALSE(end.begin_work().has_value());
}

TEST_F(graceful, old_signal_handler_is_restored_after_the_first_signal) {
  struct sigaction before{};
  ASSERT_EQ(::sigaction(SIGTERM, nullptr, &before), 0);
  runtime rt(with_workers(1));
  graceful_shutdown end = shutdown_of(rt, opens());
  ASSERT_EQ(::kill(::getpid(), SIGTERM), 0);
  wait_until([&] { return end.is_triggered(); });
  wait_until([&] {
    struct sigaction now{};
    return ::sigaction(SIGTERM, nullptr, &now) == 0 && now.sa_handler == before.sa_handler;
  });
}

TEST_F(graceful, drain_waits_for_the_last_guard) {
  runtime rt(with_workers(2));
  graceful_shutdown end = shutdown_of(rt, opens_without_signals());
  auto first = end.begin_work();
  auto second = end.begin_work();
  ASSERT_TRUE(first.has_value() && second.has_value());
  EXPECT_EQ(end.pending(), 2U);
  bool is_done = false;
  auto draining = rt.spawn(
      [](graceful_shutdown& of, const bool& seen) -> task<bool> {
        const auto all = co_await of.drain(std::chrono::hours(1));
        co_return all.has_value() && seen;
      },
      std::ref(end),
      std::cref(is_done));
  wait_until([&] { return end.is_triggered(); });
  first.reset();
  EXPECT_FALSE(draining.is_done());
  is_done = true;
  second.reset();
  EXPECT_TRUE(draining.join());
  EXPECT_EQ(end.pending(), 0U);
}

TEST_F(graceful, drain_ends_when_its_time_is_over) {
  testing::virtual_clock clock;
  runtime rt(with_workers(1), clock);
  graceful_shutdown end = shutdown_of(rt, opens_without_signals());
  const auto kept = end.begin_work();
  const auto late = rt.block_on(end.drain(std::chrono::hours(1)));
  ASSERT_FALSE(late.has_value());
  EXPECT_EQ(late.error(), errc::timed_out);
  EXPECT_EQ(end.pending(), 1U);
}

TEST_F(graceful, without_work_it_is_drained_at_once) {
  runtime rt(with_workers(1));
  graceful_shutdown end = shutdown_of(rt, opens_without_signals());
  EXPECT_TRUE(rt.block_on(end.drain(0s)).has_value());
  EXPECT_TRUE(rt.block_on(end.drain(0s)).has_value());
  end.trigger();
}

TEST_F(graceful, work_guard_may_outlive_the_shutdown_object) {
  runtime rt(with_workers(1));
  std::optional<graceful_shutdown::work_guard> kept;
  {
    graceful_shutdown end = shutdown_of(rt, opens());
    kept = end.begin_work();
  }
  EXPECT_TRUE(kept.has_value());
  kept.reset();
}

TEST_F(graceful, wait_may_be_a_case_of_a_select) {
  runtime rt(with_workers(2));
  graceful_shutdown end = shutdown_of(rt, opens_without_signals());
  auto waits = rt.spawn(
      [](graceful_shutdown& of) -> task<std::size_t> {
        auto first = co_await channel::select(sleep_for(std::chrono::hours(1)), of.wait());
        co_return first.index();
      },
      std::ref(end));
  end.trigger();
  EXPECT_EQ(waits.join(), 1U);
}

TEST_F(graceful, deadline_at_the_place_of_open_does_not_apply_to_later_waits) {
  testing::virtual_clock clock;
  runtime rt(with_workers(1), clock);
  auto body = []() -> task<> {
    auto opening = opens();
    auto opened = co_await timeout(1ms, std::move(opening));
    graceful_shutdown end = demand(std::move(opened));
    co_await sleep_for(1s);
    EXPECT_EQ(::kill(::getpid(), SIGUSR1), 0);
    co_await end.wait();
    EXPECT_EQ(end.signal(), SIGUSR1);
  };
  rt.block_on(body());
}

}  // namespace
}  // namespace rota::test::shutdown_test
