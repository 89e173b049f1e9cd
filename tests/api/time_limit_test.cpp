// time_limit on real runtimes: moved while workers sleep, beside shutdowns, closures and virtual time.
#include <gtest/gtest.h>

#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/testing/runtime.hpp>

#include <chrono>
#include <optional>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
using namespace rota;

task<bool> waits(time_limit limit, sync::event& until) {
  const auto end = co_await timeout(limit, until.wait());
  co_return end.has_value();
}

class time_limit_api : public ::testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(workers, time_limit_api, ::testing::Values(1U, 2U));

// A worker that sleeps until the old time would never wake up.
TEST_P(time_limit_api, an_earlier_time_wakes_a_worker_that_sleeps) {
  runtime rt({.workers = GetParam()});
  for (int i = 0; i < 50; ++i) {
    sync::event never;
    const time_limit limit(std::chrono::hours::max());
    auto h = rt.spawn(waits(limit, never));
    if (i % 2 == 0) std::this_thread::yield();
    EXPECT_TRUE(limit.reset(1h));
    EXPECT_TRUE(limit.reset(i % 3 == 0 ? 0us : 200us));
    EXPECT_FALSE(h.join());
    EXPECT_FALSE(limit.reset(1h));
  }
}

TEST_P(time_limit_api, lift_succeeds_only_if_the_limit_does_not_pass) {
  runtime rt({.workers = GetParam()});
  for (int i = 0; i < 300; ++i) {
    sync::event until;
    const time_limit limit(std::chrono::microseconds(20 + i % 100));
    auto h = rt.spawn(waits(limit, until));
    for (int k = 0; k < i % 7; ++k) std::this_thread::yield();
    const bool moved = limit.lift();
    until.set();
    EXPECT_TRUE(h.join() || !moved);
  }
}

TEST_P(time_limit_api, shutdown_ends_a_wait_before_its_limit_passes) {
  std::optional<join_handle<bool>> h;
  sync::event never;
  const time_limit limit(1h);
  {
    runtime rt({.workers = GetParam()});
    h = rt.spawn(waits(limit, never));
    sync::event began;
    rt.block_on([]() -> task<> { co_await yield(); }());
    rt.shutdown(0s);
  }
  const auto end = h->wait_for(0s);
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled());
  EXPECT_EQ(end->reason(), cancel_reason::shutdown);
  // The runtime has been destroyed; the limit has not.
  EXPECT_TRUE(limit.reset(0s));
}

TEST_P(time_limit_api, blocking_closure_that_shortens_the_limit_is_asked_to_stop) {
  runtime rt({.workers = GetParam()});
  const bool in_time = rt.block_on([]() -> task<bool> {
    const time_limit limit(1h);
    const auto body = [](const time_limit& l) -> task<> {
      auto closure = [&l] {
        EXPECT_TRUE(l.reset(1ms));
        while (!this_task::cancel_requested()) std::this_thread::yield();
      };
      auto blocked = spawn_blocking(std::move(closure));
      co_await blocked;
      co_await sleep_for(1h);
    };
    co_return (co_await timeout(limit, body(limit))).has_value();
  }());
  EXPECT_FALSE(in_time);
}

TEST_P(time_limit_api, ends_waits_in_two_runtimes_that_share_it) {
  runtime one({.workers = GetParam()});
  runtime two({.workers = GetParam()});
  for (int i = 0; i < 20; ++i) {
    sync::event never;
    const time_limit limit;
    auto first = one.spawn(waits(limit, never));
    auto second = two.spawn(waits(limit, never));
    EXPECT_TRUE(limit.reset(i % 2 == 0 ? 0us : 100us));
    EXPECT_FALSE(first.join());
    EXPECT_FALSE(second.join());
  }
}

TEST(time_limit_virtual, follows_the_time_of_the_runtime) {
  rota::testing::runtime rt;
  const auto begin = rt.now();
  const time_limit limit = time_limit::at(begin + 1h);
  sync::event never;
  auto h = rt.spawn(waits(limit, never));
  rt.run_until_stalled();
  EXPECT_TRUE(limit.reset_at(rt.now() + 2h));
  rt.advance_to(begin + 2h - 1ns);
  EXPECT_FALSE(h.is_done());
  rt.advance_to(begin + 2h);
  ASSERT_TRUE(h.is_done());
  EXPECT_FALSE(h.join());
  EXPECT_FALSE(limit.reset_at(rt.now() + 1h));
  const bool moved = rt.block_on([]() -> task<bool> {
    const time_limit inside(1h);
    co_await sleep_for(59min);
    co_return inside.reset(1h);
  }());
  EXPECT_TRUE(moved);
}

// Nothing but the time of the sleep can end it: the runtime must get there.
TEST(time_limit_virtual, passes_behind_a_shield_of_a_cancelled_task) {
  rota::testing::runtime rt;
  const auto begin = rt.now();
  const auto shielded = []() -> task<> {
    const auto guard = shield(300ms);
    co_await sleep_for(200ms);
  };
  const auto work = [&](time_limit limit) -> task<> {
    static_cast<void>(co_await timeout(limit, shielded()));
    co_await sleep_for(1h);
  };
  const time_limit limit = time_limit::at(begin + 50ms);
  auto h = rt.spawn(work(limit));
  rt.advance_to(begin + 10ms);
  h.cancel();
  rt.advance_to(begin + 50ms);
  EXPECT_FALSE(h.is_done());
  EXPECT_TRUE(limit.has_passed());
  rt.advance_to(begin + 200ms);
  EXPECT_TRUE(h.is_done());
}

}  // namespace
