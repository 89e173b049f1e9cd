// Shields: what they hold off, for how long, and what is delivered when they end.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "unit/flow/timeout_support.hpp"

#include <rota/cancel.hpp>
#include <rota/time.hpp>

namespace rota::shield_test {
namespace {

using namespace std::chrono_literals;
using test::current_word;
using test::event;
using test::journal;
using test::manual_scheduler;
using test::note;
using test::two_steps;
using time_point = std::chrono::steady_clock::time_point;

TEST(shield, holds_a_cancellation_off_until_it_is_lowered) {
  manual_scheduler s;
  event first;
  event never;
  journal log;
  auto h = s.spawn(two_steps, std::ref(first), std::ref(never), std::ref(log), std::chrono::nanoseconds(1s));
  s.run_until_idle();
  EXPECT_TRUE(h.cancel());
  s.run_until_idle();
  EXPECT_EQ(log.text(), "");
  first.fire();
  s.run_until_idle();
  // The cancellation came under the shield, and its wake is used up. `never` never fires.
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(log.text(), "kept [mine]");
  EXPECT_EQ(never.resumes, 0);
  EXPECT_EQ(s.overrides, 0);
  EXPECT_EQ(s.shard.earliest(), base::never);
}

TEST(shield, does_not_hide_that_a_cancellation_was_asked_for) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event& ev) -> task<bool> {
        auto guard = shield(1s);
        co_await ev();
        co_return this_task::cancel_requested();
      },
      std::ref(e));
  s.run_until_idle();
  h.cancel();
  e.fire();
  s.run_until_idle();
  EXPECT_TRUE(h.join());
}

TEST(shield, arms_no_timer_until_it_holds_a_cancellation_off) {
  manual_scheduler s;
  event e;
  event after;
  journal log;
  auto h = s.spawn(two_steps, std::ref(e), std::ref(after), std::ref(log), std::chrono::nanoseconds(1s));
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 0U);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 1U);
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().cancelled, 1U);
}

TEST(shield, is_overridden_when_its_limit_passes) {
  manual_scheduler s;
  event first;
  event never;
  journal log;
  auto h = s.spawn(two_steps, std::ref(first), std::ref(never), std::ref(log), std::chrono::nanoseconds(1s));
  s.run_until_idle();
  s.advance(300ms);
  h.cancel();
  s.run_until_idle();
  s.advance(700ms - 1ns);
  EXPECT_EQ(s.run_until_idle(), 0);
  EXPECT_EQ(s.overrides, 0);
  s.advance(1ns);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(s.overrides, 1);
  EXPECT_EQ(log.text(), "[mine]");
  EXPECT_EQ(first.cancels, 1);
}

TEST(shield, whose_limit_has_passed_holds_a_later_cancellation_off_no_more) {
  manual_scheduler s;
  event first;
  event never;
  journal log;
  auto h = s.spawn(two_steps, std::ref(first), std::ref(never), std::ref(log), std::chrono::nanoseconds(1s));
  s.run_until_idle();
  s.advance(2s);
  EXPECT_EQ(s.run_until_idle(), 0);
  EXPECT_EQ(s.overrides, 0);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(s.overrides, 1);
}

TEST(shield, is_overridden_too_if_raised_after_a_cancellation) {
  manual_scheduler s;
  event never;
  auto h = s.spawn(
      [](event& n) -> task<> {
        static_cast<void>(core::cancel(*core::current_task(), cancel_reason::user));
        auto guard = shield(1s);
        co_await n();
      },
      std::ref(never));
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 0);
  s.advance(1s);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_TRUE(h.is_done());
}

TEST(shield, of_no_length_holds_nothing_off) {
  for (const auto limit : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
    manual_scheduler s;
    event first;
    event never;
    journal log;
    auto h = s.spawn(two_steps, std::ref(first), std::ref(never), std::ref(log), limit);
    s.run_until_idle();
    h.cancel();
    s.run_until_idle();
    EXPECT_EQ(s.cancelled, 1);
    EXPECT_EQ(log.text(), "[mine]");
  }
}

TEST(shield, of_the_longest_duration_is_never_overridden_by_time) {
  manual_scheduler s;
  event first;
  event never;
  journal log;
  core::header* me = nullptr;
  auto h = s.spawn(
      [](core::header*& out, event& a, event& b, journal& j) -> task<> {
        out = core::current_task();
        co_await two_steps(a, b, j, std::chrono::nanoseconds::max());
      },
      std::ref(me),
      std::ref(first),
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  s.advance(24h * 365 * 100);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 0);
  EXPECT_EQ(s.shard.counts().armed, 0U);
  core::override_shields(*me);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

// --- nesting

TEST(shield, nests_to_255_and_the_256th_throws_and_changes_nothing) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<int> {
    std::vector<shield_guard> guards;
    guards.reserve(300);
    int refused = 0;
    for (int i = 0; i < 300; ++i) {
      const auto before = current_word().bits;
      try {
        guards.push_back(shield(1s));
      } catch (const shield_overflow& e) {
        EXPECT_EQ(e.code(), errc::shield_overflow);
        EXPECT_EQ(current_word().bits, before);
        ++refused;
      }
    }
    EXPECT_EQ(guards.size(), 255U);
    EXPECT_EQ(current_word().shields(), 255U);
    guards.clear();
    EXPECT_EQ(current_word().shields(), 0U);
    EXPECT_EQ(core::current_task()->regions, nullptr);
    EXPECT_EQ(this_task::deadline(), time_point::max());
    co_return refused;
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), 45);
}

TEST(shield, outside_of_a_task_is_refused) {
  try {
    auto guard = shield(1s);
    ADD_FAILURE() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::no_runtime);
  }
}

/// Returns when a cancellation at time 0 is delivered, in ms; the outer of the two shields is raised first.
std::int64_t delivered(std::chrono::nanoseconds outer, std::chrono::nanoseconds inner) {
  manual_scheduler s;
  event never;
  std::int64_t at = -1;
  struct stamp {
    manual_scheduler& m;
    time_point begin;
    std::int64_t& out;
    ~stamp() { out = (m.time - begin) / 1ms; }
  };
  auto h = s.spawn(
      [](manual_scheduler& m,
         event& n,
         std::int64_t& out,
         std::chrono::nanoseconds a,
         std::chrono::nanoseconds b) -> task<> {
        const stamp mine{m, m.time, out};
        auto one = shield(a);
        auto two = shield(b);
        co_await n();
      },
      std::ref(s),
      std::ref(never),
      std::ref(at),
      outer,
      inner);
  s.run_until_idle();
  h.cancel();
  s.run_with_time();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(s.overrides, 2);
  return at;
}

TEST(shield, short_inner_shield_does_not_end_a_longer_outer_one) {
  EXPECT_EQ(delivered(10s, 2s), 10'000);
  EXPECT_EQ(delivered(2s, 10s), 10'000);
  EXPECT_EQ(delivered(3s, 3s), 3'000);
}

TEST(shield, limit_of_the_outer_shield_applies_after_the_inner_is_lowered) {
  manual_scheduler s;
  event first;
  event never;
  auto h = s.spawn(
      [](event& a, event& b) -> task<> {
        auto outer = shield(2s);
        {
          auto inner = shield(10s);
          co_await a();
        }
        co_await b();
      },
      std::ref(first),
      std::ref(never));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  s.advance(1s);
  first.fire();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 0);
  s.advance(1s);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

}  // namespace
}  // namespace rota::shield_test
