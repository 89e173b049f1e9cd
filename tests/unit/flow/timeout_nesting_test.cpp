// Timeouts inside one another, in loops, beside cancellation; with_deadline.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "unit/flow/timeout_support.hpp"

#include <rota/cancel.hpp>
#include <rota/time.hpp>

namespace rota::timeout_nesting_test {
namespace {

using namespace std::chrono_literals;
using test::after;
using test::around;
using test::event;
using test::give;
using test::journal;
using test::limited;
using test::manual_scheduler;
using test::note;
using test::ready_leaf;
using test::slow_operation;
using test::work_on;
using time_point = std::chrono::steady_clock::time_point;

// --- nesting

template <class Outer, class Inner>
std::string nested(Outer outer, Inner inner) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(
      [](event& ev, journal& j, Outer o, Inner i) -> task<std::string> {
        auto r = co_await timeout(o, timeout(i, work_on(ev, j, "work")));
        EXPECT_EQ(core::current_task()->regions, nullptr);
        EXPECT_EQ(j.text(), "[work]");
        co_return !r.has_value() ? "outer" : !r->has_value() ? "inner" : "value";
      },
      std::ref(e),
      std::ref(log),
      outer,
      inner);
  s.run_with_time();
  EXPECT_EQ(s.shard.earliest(), base::never);
  return h.join();
}

TEST(timeout, nested_ends_at_the_earlier_one) {
  EXPECT_EQ(nested(1s, 2s), "outer");
  EXPECT_EQ(nested(2s, 1s), "inner");
  EXPECT_EQ(nested(1s, 1s), "outer");
  EXPECT_EQ(nested(0s, 1s), "outer");
  EXPECT_EQ(nested(1s, 0s), "inner");
  EXPECT_EQ(nested(0s, 0s), "outer");
}

TEST(timeout, inside_an_earlier_one_costs_no_timer) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(
      [](event& ev, journal& j) -> task<bool> {
        auto r = co_await timeout(1s, timeout(2s, timeout(3s, work_on(ev, j, "work"))));
        co_return r.has_value();
      },
      std::ref(e),
      std::ref(log));
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 1U);
  s.advance(1s);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
}

TEST(timeout, outer_one_is_reported_when_both_have_passed_at_once) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event& ev) -> task<bool> {
        auto r = co_await timeout(2s, timeout(1s, ev()));
        co_return r.has_value();
      },
      std::ref(e));
  s.run_until_idle();
  s.advance(5s);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(e.cancels, 1);
}

TEST(timeout, inside_an_equal_one_costs_no_timer_and_is_not_reported) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event& ev) -> task<bool> {
        auto r = co_await timeout(1s, timeout(1s, ev()));
        co_return r.has_value();
      },
      std::ref(e));
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 1U);
  s.run_with_time();
  EXPECT_FALSE(h.join());
}

TEST(timeout, in_the_middle_of_a_deep_call_unwinds_only_what_is_inside) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(
      [](event& ev, journal& j) -> task<int> {
        const note top(j, "top");
        auto r = co_await timeout(1s, [](event& v, journal& l) -> task<int> {
          const note middle(l, "middle");
          auto inner = co_await timeout(10ms, around(v, l));
          l.add("middle-back");
          co_await sleep_for(20ms);
          co_return inner.has_value() ? 1 : 2;
        }(ev, j));
        co_return *r;
      },
      std::ref(e),
      std::ref(log));
  s.run_with_time();
  EXPECT_EQ(h.join(), 2);
  EXPECT_EQ(log.text(), "[inner] [outer] middle-back middle top");
}

TEST(timeout, whose_wake_was_used_up_by_another_event_is_not_lost) {
  manual_scheduler s;
  event first;
  event never;
  journal log;
  auto h = s.spawn(
      [](event& a, event& b, journal& j) -> task<bool> {
        auto r = co_await timeout(10ms, [](event& x, event& y, journal& l) -> task<> {
          const note mine(l, "work");
          co_await x();
          l.add("first");
          co_await y();
        }(a, b, j));
        co_return r.has_value();
      },
      std::ref(first),
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  first.fire();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "first [work]");
}

TEST(timeout, outer_one_that_passes_while_the_inner_one_unwinds_is_not_lost) {
  manual_scheduler s;
  slow_operation op;
  event never;
  auto h = s.spawn(
      [](slow_operation& o, event& n) -> task<bool> {
        auto r = co_await timeout(20ms, [](slow_operation& x, event& y) -> task<> {
          auto inner = co_await timeout(10ms, x());
          EXPECT_FALSE(inner.has_value());
          co_await y();
        }(o, n));
        co_return r.has_value();
      },
      std::ref(op),
      std::ref(never));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  op.end();
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_FALSE(h.join());
}

TEST(timeout, ends_a_loop_that_only_yields) {
  manual_scheduler s;
  int rounds = 0;
  auto h = s.spawn(
      [](manual_scheduler& m, int& n) -> task<bool> {
        auto r = co_await timeout(10ms, [](manual_scheduler& clock, int& count) -> task<> {
          for (;;) {
            clock.time += 1ms;
            ++count;
            co_await yield();
          }
        }(m, n));
        co_return r.has_value();
      },
      std::ref(s),
      std::ref(rounds));
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(rounds, 10);
}

TEST(timeout, ends_a_loop_of_operations_that_are_always_ready) {
  manual_scheduler s;
  int rounds = 0;
  auto h = s.spawn(
      [](manual_scheduler& m, int& n) -> task<bool> {
        auto r = co_await timeout(10ms, [](manual_scheduler& clock, int& count) -> task<> {
          for (;;) {
            clock.time += 1ms;
            ++count;
            co_await ready_leaf();
          }
        }(m, n));
        co_return r.has_value();
      },
      std::ref(s),
      std::ref(rounds));
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_LE(rounds, int{core::leaf_budget});
}

TEST(timeout, ends_a_loop_at_its_checkpoint) {
  manual_scheduler s;
  int rounds = 0;
  auto h = s.spawn(
      [](manual_scheduler& m, int& n) -> task<bool> {
        auto r = co_await timeout(10ms, [](manual_scheduler& clock, int& count) -> task<> {
          for (;;) {
            clock.time += 1ms;
            ++count;
            co_await checkpoint();
          }
        }(m, n));
        co_return r.has_value();
      },
      std::ref(s),
      std::ref(rounds));
  // The budget makes the loop yield at times, but no checkpoint waits.
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(rounds, 10);
}

TEST(timeout, is_seen_by_a_loop_that_polls_cancel_requested) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<int> {
        auto r = co_await timeout(10ms, [](manual_scheduler& clock) -> task<int> {
          int rounds = 0;
          while (!this_task::cancel_requested()) {
            clock.time += 1ms;
            ++rounds;
          }
          co_return rounds;
        }(m));
        co_return r.value_or(-1);
      },
      std::ref(s));
  s.run_until_idle();
  EXPECT_EQ(h.join(), 10);
}

// --- cancellation from outside

TEST(timeout, is_unwound_with_the_task_that_is_cancelled) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(limited, std::ref(e), std::ref(log));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(log.text(), "[inner] [outer] [caller]");
  EXPECT_EQ(s.shard.earliest(), base::never);
  EXPECT_EQ(e.reason, cancel_reason::user);
}

TEST(timeout, cancellation_at_the_same_time_ends_the_task) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(limited, std::ref(e), std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(log.text(), "[inner] [outer] [caller]");
}

TEST(timeout, a_cancellation_that_comes_while_it_unwinds_is_delivered_after_it) {
  manual_scheduler s;
  slow_operation op;
  event never;
  journal log;
  auto h = s.spawn(
      [](slow_operation& o, event& n, journal& j) -> task<> {
        const note mine(j, "mine");
        auto r = co_await timeout(10ms, o());
        EXPECT_FALSE(r.has_value());
        j.add("back");
        co_await n();
        j.add("lost");
      },
      std::ref(op),
      std::ref(never),
      std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  op.end();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(log.text(), "back [mine]");
}

TEST(timeout, chains_of_a_hundred_thousand_unwind_in_bounded_stack) {
  struct chain {
    static task<int> down(int depth, event& e) {
      const int left = depth - 1;
      if (left == 0) {
        co_await e();
        co_return 0;
      }
      const int below = co_await down(left, e);
      co_return below + 1;
    }
  };
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event& ev) -> task<bool> {
        auto r = co_await timeout(10ms, chain::down(100'000, ev));
        co_return r.has_value();
      },
      std::ref(e));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
}

// --- with_deadline and what the task knows

TEST(with_deadline, ends_at_its_time) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](manual_scheduler& m, event& ev) -> task<time_point> {
        const time_point limit = m.time + 30ms;
        auto r = co_await with_deadline(limit, ev());
        EXPECT_FALSE(r.has_value());
        co_return m.time;
      },
      std::ref(s),
      std::ref(e));
  const time_point begin = s.time;
  s.run_with_time();
  EXPECT_EQ(h.join(), begin + 30ms);
}

TEST(with_deadline, sets_the_earlier_of_its_own_and_the_one_around_it) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        const time_point t = m.time;
        EXPECT_EQ(this_task::deadline(), time_point::max());
        const auto ask = []() -> task<time_point> { co_return this_task::deadline(); };
        auto one = co_await with_deadline(t + 5s, ask());
        EXPECT_EQ(one.value(), t + 5s);
        auto earlier_inside = co_await with_deadline(t + 5s, with_deadline(t + 2s, ask()));
        EXPECT_EQ(earlier_inside.value().value(), t + 2s);
        auto later_inside = co_await with_deadline(t + 5s, with_deadline(t + 9s, ask()));
        EXPECT_EQ(later_inside.value().value(), t + 5s);
        auto none = co_await with_deadline(time_point::max(), ask());
        EXPECT_EQ(none.value(), time_point::max());
        EXPECT_EQ(this_task::deadline(), time_point::max());
      },
      std::ref(s));
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
}

TEST(with_deadline, ends_with_its_co_await) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](manual_scheduler& m, event& ev) -> task<int> {
        // Both awaits are in one full expression: the first one's deadline must not apply to the second.
        const int sum = (co_await with_deadline(m.time + 10ms, give(1))).value_or(0) + co_await after(ev, 2);
        co_return sum;
      },
      std::ref(s),
      std::ref(e));
  s.run_until_idle();
  s.advance(1s);
  s.run_until_idle();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), 3);
}

TEST(with_deadline, outside_of_a_task_there_is_none) { EXPECT_EQ(this_task::deadline(), time_point::max()); }

}  // namespace
}  // namespace rota::timeout_nesting_test
