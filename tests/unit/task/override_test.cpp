// Overridden shields, and later ones: clean-up and further shields have limits of their own.
#include <gtest/gtest.h>

#include <chrono>

#include <rota/cancel.hpp>
#include <rota/finally.hpp>
#include <rota/time.hpp>

#include "unit/task/task_support.hpp"

namespace rota::override_test {
namespace {

using namespace std::chrono_literals;
using test::event;
using test::journal;
using test::manual_scheduler;

task<> last_words(journal& j) {
  j.add("clean-up");
  co_await sleep_for(50ms);
  j.add("done");
}

TEST(override, cleanup_under_an_overridden_shield_has_its_own_limit) {
  manual_scheduler s;
  journal j;
  event never;
  auto h = s.spawn(
      [](journal* in, event* on) -> task<> {
        const auto guard = shield(10ms);
        auto body = [](event* of) -> task<> { co_await (*of)(); }(on);
        const auto cleanup = [in]() -> task<> { return last_words(*in); };
        co_await finally(std::move(body), cleanup, 1s);
        in->add("never");
      },
      &j,
      &never);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "");
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_EQ(s.overrides, 1);
  EXPECT_EQ(j.text(), "clean-up");
  s.run_with_time();
  EXPECT_EQ(j.text(), "clean-up done");
  EXPECT_THROW(h.join(), cancelled_error);
}

TEST(override, cleanup_after_a_body_that_ended_by_itself_has_its_own_limit) {
  manual_scheduler s;
  journal j;
  event e;
  auto h = s.spawn(
      [](journal* in, event* on) -> task<> {
        const auto guard = shield(10ms);
        auto body = [](event* of, journal* out) -> task<> {
          {
            const auto inner = shield(1h);
            co_await (*of)();
          }
          out->add("body");
        }(on, in);
        const auto cleanup = [in]() -> task<> { return last_words(*in); };
        co_await finally(std::move(body), cleanup, 1s);
      },
      &j,
      &e);
  s.run_until_idle();
  h.cancel();
  s.advance(20ms);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "") << "the longer shield holds";
  e.fire();
  s.run_with_time();
  EXPECT_EQ(j.text(), "body clean-up done");
  h.join();
  EXPECT_EQ(s.cancelled, 0) << "nothing suspended after the clean-up, so the end stands";
}

TEST(override, a_shield_that_is_raised_later_holds_for_its_own_limit) {
  manual_scheduler s;
  journal j;
  event e;
  auto h = s.spawn(
      [](journal* in, event* on) -> task<> {
        const auto outer = shield(10ms);
        // The task runs on after the limit, since nothing here suspends.
        core::header* const me = core::current_task();
        core::cancel(*me, cancel_reason::user);
        core::override_shields(*me);
        {
          const auto inner = shield(100ms);
          co_await (*on)();
          in->add("held");
        }
        co_await yield();
        in->add("never");
      },
      &j,
      &e);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "");
  e.fire();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "held");
  EXPECT_THROW(h.join(), cancelled_error);
}

TEST(override, task_under_an_expired_shield_does_not_spin) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event* on) -> task<> {
        const auto guard = shield(10ms);
        co_await (*on)();
      },
      &e);
  s.run_until_idle();
  s.advance(1h);
  e.wake_for_nothing();
  EXPECT_EQ(s.run_until_idle(), 1) << "a look, and back to sleep";
  e.fire();
  s.run_until_idle();
  h.join();
}

}  // namespace
}  // namespace rota::override_test
