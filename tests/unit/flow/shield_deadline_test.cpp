// Moved shields, and shields with deadlines.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/flow/timeout_support.hpp"

#include <rota/cancel.hpp>
#include <rota/time.hpp>

namespace rota::shield_deadline_test {
namespace {

using namespace std::chrono_literals;
using test::current_word;
using test::event;
using test::journal;
using test::manual_scheduler;
using test::note;
using test::two_steps;
using time_point = std::chrono::steady_clock::time_point;

// --- moving

TEST(shield, moves_with_its_limit) {
  manual_scheduler s;
  event first;
  event never;
  auto h = s.spawn(
      [](event& a, event& b) -> task<> {
        auto guard = shield(1s);
        co_await a();
        EXPECT_TRUE(static_cast<bool>(guard));
        auto moved = std::move(guard);
        EXPECT_FALSE(static_cast<bool>(guard));  // NOLINT
        EXPECT_EQ(current_word().shields(), 1U);
        co_await b();
      },
      std::ref(first),
      std::ref(never));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 1U);
  first.fire();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 0);
  s.advance(1s - 1ns);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 0);
  s.advance(1ns);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

TEST(shield, that_was_moved_leaves_no_timer_behind) {
  manual_scheduler s;
  event first;
  event never;
  auto h = s.spawn(
      [](event& a, event& b) -> task<> {
        std::optional<shield_guard> old(shield(1s));
        co_await a();
        auto moved = std::move(*old);
        old.reset();
        co_await b();
      },
      std::ref(first),
      std::ref(never));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 1U);
  first.fire();
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 2U);
  EXPECT_EQ(s.shard.counts().cancelled, 1U);
  s.advance(1s);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

TEST(shield, lowers_the_shield_that_it_is_assigned_over) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<> {
    auto a = shield(1s);
    auto b = shield(2s);
    EXPECT_EQ(current_word().shields(), 2U);
    a = std::move(b);
    EXPECT_EQ(current_word().shields(), 1U);
    a = shield(3s);
    EXPECT_EQ(current_word().shields(), 1U);
    auto& same = a;
    a = std::move(same);
    EXPECT_TRUE(static_cast<bool>(a));
    a = std::move(b);
    EXPECT_EQ(current_word().shields(), 0U);
    EXPECT_EQ(core::current_task()->regions, nullptr);
    co_return;
  });
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
}

TEST(shield, can_be_returned_and_lowered_in_any_order) {
  manual_scheduler s;
  event never;
  journal log;
  auto h = s.spawn(
      [](event& n, journal& j) -> task<> {
        const note mine(j, "mine");
        std::optional<shield_guard> mine_too = shield(1h);
        auto from_child = co_await []() -> task<shield_guard> {
          auto guard = shield(1s);
          co_await yield();
          co_return guard;
        }();
        EXPECT_EQ(current_word().shields(), 2U);
        mine_too.reset();
        EXPECT_EQ(current_word().shields(), 1U);
        co_await n();
      },
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(log.text(), "");
  s.advance(1s);
  s.run_until_idle();
  EXPECT_EQ(log.text(), "[mine]");
}

TEST(shield, stays_up_after_the_deadline_in_which_it_was_raised_has_ended) {
  manual_scheduler s;
  event never;
  auto h = s.spawn(
      [](manual_scheduler& m, event& n) -> task<> {
        const time_point t = m.time;
        auto kept = co_await timeout(1s, []() -> task<shield_guard> { co_return shield(5s); }());
        EXPECT_EQ(this_task::deadline(), time_point::max());
        EXPECT_EQ(current_word().shields(), 1U);
        auto r = co_await with_deadline(t + 2s, [](time_point begin) -> task<time_point> {
          auto inner = shield(7s);
          co_return this_task::deadline() == begin + 7s ? begin : time_point::min();
        }(t));
        EXPECT_EQ(r.value(), t);
        co_await n();
      },
      std::ref(s),
      std::ref(never));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 0);
  s.advance(5s);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

TEST(shield, is_lowered_by_unwinding) {
  manual_scheduler s;
  event never;
  journal log;
  struct probe {
    journal& in;
    ~probe() { in.add("shields " + std::to_string(current_word().shields())); }
  };
  auto h = s.spawn(
      [](event& n, journal& j) -> task<> {
        const probe outer{j};
        auto guard = shield(1s);
        const probe inner{j};
        co_await n();
      },
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(log.text(), "shields 1 shields 0");
}

TEST(shield, may_be_raised_by_a_destructor_that_runs_in_unwinding) {
  manual_scheduler s;
  event never;
  struct careful {
    ~careful() { auto guard = shield(1s); }
  };
  auto h = s.spawn(
      [](event& n) -> task<> {
        const careful local;
        co_await n();
      },
      std::ref(never));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

// --- deadlines

TEST(shield, holds_an_outer_deadline_off_until_it_is_lowered) {
  manual_scheduler s;
  event e;
  event never;
  journal log;
  auto h = s.spawn(
      [](event& a, event& b, journal& j) -> task<bool> {
        auto r = co_await timeout(10ms, two_steps(a, b, j, 1s));
        co_return r.has_value();
      },
      std::ref(e),
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_EQ(log.text(), "");
  e.fire();
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "kept [mine]");
  EXPECT_EQ(s.overrides, 0);
}

TEST(shield, lets_an_outer_deadline_through_when_its_limit_passes) {
  manual_scheduler s;
  event never;
  journal log;
  auto h = s.spawn(
      [](event& n, journal& j) -> task<bool> {
        auto r = co_await timeout(10ms, two_steps(n, n, j, 1s));
        co_return r.has_value();
      },
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  s.advance(990ms - 1ns);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  s.advance(1ns);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "[mine]");
  EXPECT_EQ(s.overrides, 1);
  EXPECT_EQ(s.cancelled, 0);
}

TEST(shield, lets_an_outer_deadline_through_when_a_shutdown_overrides_it) {
  manual_scheduler s;
  event never;
  journal log;
  core::header* me = nullptr;
  auto h = s.spawn(
      [](core::header*& out, event& n, journal& j) -> task<bool> {
        out = core::current_task();
        auto r = co_await timeout(10ms, two_steps(n, n, j, 1h));
        co_return r.has_value();
      },
      std::ref(me),
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  core::override_shields(*me);
  s.run_until_idle();
  ASSERT_TRUE(h.is_done());
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "[mine]");
}

TEST(shield, does_not_hold_a_deadline_inside_of_it_off) {
  manual_scheduler s;
  event never;
  auto h = s.spawn(
      [](event& n) -> task<bool> {
        auto guard = shield(1h);
        auto r = co_await timeout(10ms, n());
        co_return r.has_value();
      },
      std::ref(never));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
}

TEST(shield, does_not_hide_an_inner_deadline_that_is_later_than_its_limit) {
  manual_scheduler s;
  event never;
  auto h = s.spawn(
      [](event& n) -> task<bool> {
        auto guard = shield(1s);
        auto r = co_await timeout(2s, n());
        co_return r.has_value();
      },
      std::ref(never));
  s.run_until_idle();
  s.advance(2s);
  s.run_until_idle();
  ASSERT_TRUE(h.is_done());
  EXPECT_FALSE(h.join());
  EXPECT_EQ(s.overrides, 0) << "it has held nothing off";
}

TEST(shield, lets_an_inner_deadline_pass_after_the_outer_one_has_passed) {
  manual_scheduler s;
  event never;
  journal log;
  auto h = s.spawn(
      [](event& n, journal& j) -> task<bool> {
        auto r = co_await timeout(10ms, [](event& ev, journal& l) -> task<> {
          auto guard = shield(10s);
          auto inner = co_await timeout(2s, ev());
          l.add(inner.has_value() ? "value" : "late");
          co_await ev();
        }(n, j));
        co_return r.has_value();
      },
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  s.advance(2s - 1ns);
  s.run_until_idle();
  EXPECT_EQ(log.text(), "");
  s.advance(1ns);
  s.run_until_idle();
  EXPECT_EQ(log.text(), "late");
  EXPECT_FALSE(h.is_done());
  s.advance(8s);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
}

TEST(shield, holds_no_inner_deadline_off_when_a_shield_inside_it_is_overridden) {
  for (const std::chrono::nanoseconds limit : {std::chrono::nanoseconds(1h), std::chrono::nanoseconds(1s)}) {
    manual_scheduler s;
    event never;
    auto h = s.spawn(
        [](event& n, std::chrono::nanoseconds of_outer) -> task<bool> {
          auto outer = shield(of_outer);
          auto r = co_await timeout(10ms, [](event& ev) -> task<> {
            auto inner = shield(2s);
            co_await ev();
          }(n));
          co_return r.has_value();
        },
        std::ref(never),
        limit);
    s.run_until_idle();
    s.advance(10ms);
    s.run_until_idle();
    s.advance(2s);
    s.run_until_idle();
    EXPECT_FALSE(h.join());
    EXPECT_EQ(s.overrides, 1) << "the outer one has held nothing off";
  }
}

TEST(shield, arms_no_timer_for_an_inner_deadline_that_passes) {
  manual_scheduler s;
  event never;
  event e;
  auto h = s.spawn(
      [](event& n, event& after) -> task<bool> {
        auto guard = shield(1h);
        auto r = co_await timeout(10ms, n());
        co_await after();
        co_return r.has_value();
      },
      std::ref(never),
      std::ref(e));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_EQ(s.shard.earliest(), base::never);
  e.fire();
  s.run_until_idle();
  EXPECT_FALSE(h.join());
}

TEST(shield, is_not_overridden_at_its_limit_while_an_outer_shield_holds) {
  manual_scheduler s;
  event e;
  event never;
  auto h = s.spawn(
      [](event& first, event& n) -> task<> {
        auto outer = shield(1h);
        {
          auto inner = shield(1s);
          co_await first();
        }
        co_await n();
      },
      std::ref(e),
      std::ref(never));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  s.advance(2s);
  s.run_until_idle();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(s.overrides, 0);
  EXPECT_FALSE(h.is_done());
  s.advance(1h);
  s.run_until_idle();
  EXPECT_EQ(s.overrides, 1) << "the outer one alone";
  EXPECT_EQ(s.cancelled, 1);
}

// A cancellation that is announced comes from further out than the deadline.
TEST(shield, lets_an_announced_cancellation_through_before_a_deadline_around_it) {
  manual_scheduler s;
  event never;
  journal log;
  core::header* me = nullptr;
  auto h = s.spawn(
      [](event& n, journal& j, core::header*& out) -> task<> {
        out = core::current_task();
        static_cast<void>(co_await timeout(1s, [](event& ev) -> task<> {
          auto guard = shield(2s);
          co_await ev();
        }(n)));
        j.add("late");
      },
      std::ref(never),
      std::ref(log),
      std::ref(me));
  s.run_until_idle();
  core::announce_cancel(*me);
  s.advance(3s);
  s.run_until_idle();
  EXPECT_EQ(log.text(), "");
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(s.cancelled, 1);
}

TEST(shield, changes_the_deadline_of_the_task_to_its_own_limit) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        const time_point t = m.time;
        {
          auto alone = shield(1s);
          EXPECT_EQ(this_task::deadline(), time_point::max());
        }
        auto r = co_await with_deadline(t + 5s, [](time_point begin) -> task<> {
          auto one = shield(9s);
          EXPECT_EQ(this_task::deadline(), begin + 9s);
          auto two = shield(2s);
          EXPECT_EQ(this_task::deadline(), begin + 9s);
          auto inner = co_await with_deadline(
              begin + 1s, []() -> task<time_point> { co_return this_task::deadline(); }());
          EXPECT_EQ(inner.value(), begin + 1s);
          one = std::move(two);
          EXPECT_EQ(this_task::deadline(), begin + 5s);
        }(t));
        EXPECT_TRUE(r.has_value());
        EXPECT_EQ(this_task::deadline(), time_point::max());
      },
      std::ref(s));
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
}

}  // namespace
}  // namespace rota::shield_deadline_test
