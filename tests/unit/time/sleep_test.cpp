// Sleeping and intervals, on a clock that the test moves.
#include <gtest/gtest.h>

#include <limits>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "time/tick.hpp"
#include "unit/task/task_support.hpp"

#include <rota/time.hpp>

namespace rota::sleep_test {
namespace {

using namespace std::chrono_literals;
using test::event;
using test::journal;
using test::manual_scheduler;
using test::note;
using time_point = std::chrono::steady_clock::time_point;

template <class Span>
task<time_point> nap(manual_scheduler& s, Span span) {
  auto* const clock = &s;
  co_await sleep_for(span);
  co_return clock->time;
}

TEST(sleep, ends_at_its_time_and_not_a_nanosecond_before) {
  manual_scheduler s;
  const time_point begin = s.time;
  auto h = s.spawn(nap(s, 10ms));
  s.run_until_idle();
  s.advance(10ms - 1ns);
  EXPECT_EQ(s.run_until_idle(), 0);
  s.advance(1ns);
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(h.join(), begin + 10ms);
}

TEST(sleep, costs_one_timer_one_suspension_and_two_polls) {
  manual_scheduler s;
  auto h = s.spawn(nap(s, 10ms));
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(s.deadline_moves, 1);
  s.advance(10ms);
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(s.looks, 2U);
  const auto counts = s.shard.counts();
  EXPECT_EQ(counts.armed, 1U);
  EXPECT_EQ(counts.fired, 1U);
  EXPECT_EQ(counts.cancelled, 0U);
  static_cast<void>(h.join());
}

TEST(sleep, only_an_earlier_deadline_is_announced) {
  manual_scheduler s;
  auto first = s.spawn(nap(s, 10ms));
  auto later = s.spawn(nap(s, 20ms));
  auto earlier = s.spawn(nap(s, 5ms));
  s.run_until_idle();
  EXPECT_EQ(s.deadline_moves, 2);
  s.run_with_time();
  EXPECT_TRUE(first.is_done() && later.is_done() && earlier.is_done());
}

TEST(sleep, is_counted_from_the_co_await) {
  manual_scheduler s;
  event go;
  auto h = s.spawn(
      [](manual_scheduler& m, event& e) -> task<time_point> {
        auto later = sleep_for(10ms);
        co_await e();
        co_await later;
        co_return m.time;
      },
      std::ref(s),
      std::ref(go));
  s.run_until_idle();
  s.advance(1s);
  go.fire();
  const time_point begin = s.time;
  s.run_with_time();
  EXPECT_EQ(h.join(), begin + 10ms);
}

TEST(sleep, of_zero_lets_the_others_run_once) {
  manual_scheduler s;
  journal seen;
  const auto walker = [](journal& j, std::string name) -> task<> {
    j.add(name + "1");
    co_await sleep_for(0s);
    j.add(name + "2");
  };
  auto a = s.spawn(walker, std::ref(seen), std::string("a"));
  auto b = s.spawn(walker, std::ref(seen), std::string("b"));
  EXPECT_EQ(s.run_until_idle(), 4);
  EXPECT_EQ(seen.text(), "a1 b1 a2 b2");
  EXPECT_EQ(s.shard.counts().armed, 0U);
  EXPECT_TRUE(a.is_done() && b.is_done());
}

TEST(sleep, of_less_than_zero_is_one_yield) {
  manual_scheduler s;
  auto a = s.spawn(nap(s, -5s));
  auto b = s.spawn(nap(s, std::chrono::hours::min()));
  EXPECT_EQ(s.run_until_idle(), 4);
  EXPECT_TRUE(a.is_done() && b.is_done());
  EXPECT_EQ(s.shard.counts().armed, 0U);
}

template <class Span>
void expect_endless_but_cancellable(Span span) {
  manual_scheduler s;
  auto h = s.spawn(nap(s, span));
  s.run_until_idle();
  s.advance(24h * 365 * 200);
  EXPECT_EQ(s.run_until_idle(), 0);
  EXPECT_TRUE(h.cancel());
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(s.cancelled, 1);
}

TEST(sleep, of_the_longest_duration_never_ends_but_by_cancellation) {
  expect_endless_but_cancellable(std::chrono::hours::max());
  expect_endless_but_cancellable(std::chrono::nanoseconds::max());
  expect_endless_but_cancellable(std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
}

TEST(sleep, until_the_last_time_point_never_ends_but_by_cancellation) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<> {
    const time_point last = time_point::max();
    co_await sleep_until(last);
  });
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 0U);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

TEST(sleep, takes_any_unit_and_rounds_up) {
  manual_scheduler s;
  const time_point begin = s.time;
  auto a = s.spawn(nap(s, std::chrono::duration<double>(1.5)));
  auto b = s.spawn(nap(s, std::chrono::duration<std::int64_t, std::pico>(1001)));
  s.run_with_time();
  EXPECT_EQ(a.join(), begin + 1500ms);
  EXPECT_EQ(b.join(), begin + 2ns);
}

TEST(sleep, until_a_time_that_has_passed_is_one_yield) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        const auto past = m.time;
        co_await sleep_until(std::chrono::time_point_cast<std::chrono::seconds>(past));
        co_await sleep_until(past - 1h);
      },
      std::ref(s));
  EXPECT_EQ(s.run_until_idle(), 3);
  EXPECT_TRUE(h.is_done());
}

TEST(sleep, cancellation_removes_its_timer) {
  manual_scheduler s;
  auto h = s.spawn(nap(s, 1h));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.shard.earliest(), base::never);
  EXPECT_EQ(s.shard.counts().cancelled, 1U);
  EXPECT_TRUE(h.is_done());
}

TEST(sleep, that_fires_while_a_cancellation_waits_ends_cancelled) {
  manual_scheduler s;
  auto h = s.spawn(nap(s, 10ms));
  s.run_until_idle();
  s.advance(10ms);
  h.cancel();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(s.shard.counts().fired, 1U);
}

TEST(sleep, spurious_wakeup_does_not_end_it) {
  manual_scheduler s;
  waker stray;
  auto h = s.spawn(
      [](manual_scheduler& m, waker& out) -> task<time_point> {
        out = core::make_waker(*core::current_task());
        co_await sleep_for(10ms);
        co_return m.time;
      },
      std::ref(s),
      std::ref(stray));
  const time_point begin = s.time;
  s.run_until_idle();
  stray.wake();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_FALSE(h.is_done());
  s.run_with_time();
  EXPECT_EQ(h.join(), begin + 10ms);
}

TEST(sleep, object_may_be_awaited_again_and_reset) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        const time_point begin = m.time;
        auto pause = sleep_for(10ms);
        co_await pause;
        EXPECT_EQ(m.time, begin + 10ms);
        co_await pause;
        EXPECT_EQ(m.time, begin + 20ms);
        pause.reset(1s);
        co_await pause;
        EXPECT_EQ(m.time, begin + 1020ms);
        pause.reset(begin + 2s);
        co_await pause;
        EXPECT_EQ(m.time, begin + 2s);
        pause.reset(time_point::max());
        co_await pause;
        ADD_FAILURE() << "it ended";
      },
      std::ref(s));
  s.run_with_time();
  s.advance(1h);
  EXPECT_EQ(s.run_until_idle(), 0);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

TEST(sleep, object_awaited_again_keeps_no_state_of_the_last_wait) {
  manual_scheduler s;
  waker stray;
  auto h = s.spawn(
      [](waker& out) -> task<> {
        auto pause = sleep_for(10ms);
        co_await pause;
        // Its timer has fired once. Now it waits for ever, and a spurious wakeup must not end the wait.
        pause.reset(time_point::max());
        out = core::make_waker(*core::current_task());
        auto r = co_await timeout(1s, pause);
        EXPECT_FALSE(r.has_value());
        pause.reset(-1s);
        co_await pause;
        pause.reset(1h);
        auto again = co_await timeout(1s, pause);
        EXPECT_FALSE(again.has_value());
        pause.reset(0s);
        co_await pause;
      },
      std::ref(stray));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  stray.wake_by_ref();
  EXPECT_EQ(s.run_until_idle(), 1);
  s.run_with_time();
  stray.wake();
  EXPECT_TRUE(h.is_done());
}

TEST(sleep, a_jump_of_the_clock_fires_each_timer_once_in_the_order_of_their_times) {
  manual_scheduler s;
  std::vector<int> order;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 100; ++i) {
    const int n = i * 37 % 100;
    all.push_back(s.spawn(
        [](std::vector<int>& out, int me) -> task<> {
          co_await sleep_for(std::chrono::milliseconds(1 + me));
          out.push_back(me);
        },
        std::ref(order),
        n));
  }
  s.run_until_idle();
  s.advance(1h);
  s.run_until_idle();
  std::vector<int> expected;
  for (int i = 0; i < 100; ++i) expected.push_back(i);
  EXPECT_EQ(order, expected);
  EXPECT_EQ(s.shard.counts().fired, 100U);
}

TEST(sleep, of_every_length_up_to_five_seconds_ends_exactly) {
  manual_scheduler s;
  std::vector<join_handle<bool>> all;
  for (int ms = 1; ms <= 5000; ++ms) {
    // These come from slots all over the wheel.
    all.push_back(s.spawn(
        [](manual_scheduler& m, std::chrono::microseconds place, std::chrono::milliseconds span)
            -> task<bool> {
          co_await sleep_for(place);
          const time_point begin = m.time;
          co_await sleep_for(span);
          co_return m.time == begin + span;
        },
        std::ref(s),
        std::chrono::microseconds(ms * 7919LL % 300'000),
        std::chrono::milliseconds(ms)));
  }
  s.run_with_time();
  int exact = 0;
  for (auto& each : all) exact += each.join() ? 1 : 0;
  EXPECT_EQ(exact, 5000);
}

TEST(sleep, of_thirty_days_ends_exactly) {
  manual_scheduler s;
  const time_point begin = s.time;
  auto h = s.spawn(nap(s, 30 * 24h));
  s.run_with_time();
  EXPECT_EQ(h.join(), begin + 30 * 24h);
}

// --- intervals

/// The ticks that take() has taken, being busy for the given time before each: when due, and when they came.
struct taken {
  std::vector<std::int64_t> scheduled;
  std::vector<std::int64_t> came;
};

taken take(missed_tick policy, std::vector<std::chrono::milliseconds> busy) {
  manual_scheduler s;
  taken out;
  auto h = s.spawn(
      [](manual_scheduler& m, taken& o, missed_tick p, std::vector<std::chrono::milliseconds> work)
          -> task<> {
        const time_point begin = m.time;
        interval every(10ms, p);
        for (const auto span : work) {
          m.advance(span);
          const time_point tick = co_await every.tick();
          o.scheduled.push_back((tick - begin) / 1ms);
          o.came.push_back((m.time - begin) / 1ms);
        }
      },
      std::ref(s),
      std::ref(out),
      policy,
      std::move(busy));
  s.run_with_time();
  EXPECT_TRUE(h.is_done());
  return out;
}

using list = std::vector<std::int64_t>;

TEST(interval, ticks_first_after_one_period_and_then_in_even_distances) {
  const taken t = take(missed_tick::burst, {0ms, 0ms, 9ms, 3ms});
  EXPECT_EQ(t.scheduled, (list{10, 20, 30, 40}));
  EXPECT_EQ(t.came, (list{10, 20, 30, 40}));
}

TEST(interval, burst_catches_up_tick_by_tick) {
  const taken t = take(missed_tick::burst, {0ms, 35ms, 0ms, 0ms, 0ms, 0ms});
  EXPECT_EQ(t.scheduled, (list{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(t.came, (list{10, 45, 45, 45, 50, 60}));
}

TEST(interval, skip_goes_on_with_the_next_tick_of_the_schedule) {
  const taken t = take(missed_tick::skip, {0ms, 35ms, 0ms, 0ms});
  EXPECT_EQ(t.scheduled, (list{10, 20, 50, 60}));
  EXPECT_EQ(t.came, (list{10, 45, 50, 60}));
}

TEST(interval, delay_moves_the_schedule) {
  const taken t = take(missed_tick::delay, {0ms, 35ms, 0ms, 0ms});
  EXPECT_EQ(t.scheduled, (list{10, 20, 55, 65}));
  EXPECT_EQ(t.came, (list{10, 45, 55, 65}));
}

TEST(interval, a_tick_that_is_only_a_little_late_moves_nothing) {
  for (const auto policy : {missed_tick::burst, missed_tick::skip, missed_tick::delay}) {
    const taken t = take(policy, {0ms, 14ms, 0ms});
    EXPECT_EQ(t.scheduled, (list{10, 20, 30}));
    EXPECT_EQ(t.came, (list{10, 24, 30}));
  }
}

TEST(interval, a_tick_as_late_as_the_next_one_counts_as_missed) {
  EXPECT_EQ(take(missed_tick::burst, {0ms, 20ms, 0ms}).scheduled, (list{10, 20, 30}));
  EXPECT_EQ(take(missed_tick::skip, {0ms, 20ms, 0ms}).scheduled, (list{10, 20, 40}));
  EXPECT_EQ(take(missed_tick::delay, {0ms, 20ms, 0ms}).scheduled, (list{10, 20, 40}));
}

/// Scenario: the clock jumps by an hour. Returns how many ticks of a second come at once.
int ticks_at_once(missed_tick policy) {
  manual_scheduler s;
  int ticks = 0;
  auto h = s.spawn(
      [](int& n, missed_tick p) -> task<> {
        interval every(1s, p);
        for (;;) {
          co_await every.tick();
          ++n;
        }
      },
      std::ref(ticks),
      policy);
  s.run_until_idle();
  s.advance(1h);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  return ticks;
}

TEST(interval, clock_jump_yields_all_ticks_for_burst_and_one_for_skip_and_delay) {
  EXPECT_EQ(ticks_at_once(missed_tick::burst), 3600);
  EXPECT_EQ(ticks_at_once(missed_tick::skip), 1);
  EXPECT_EQ(ticks_at_once(missed_tick::delay), 1);
}

TEST(interval, a_burst_lets_others_run_in_between) {
  manual_scheduler s;
  int ticks = 0;
  int ticks_seen = 0;
  auto h = s.spawn(
      [](int& n) -> task<> {
        interval every(1ms);
        while (n < 1000) {
          co_await every.tick();
          ++n;
        }
      },
      std::ref(ticks));
  s.run_until_idle();
  s.advance(2s);
  auto other = s.spawn(
      [](int& n, int& out) -> task<> {
        out = n;
        co_return;
      },
      std::ref(ticks),
      std::ref(ticks_seen));
  s.run_until_idle();
  EXPECT_LE(ticks_seen, int{core::leaf_budget});
  EXPECT_EQ(ticks, 1000);
  EXPECT_TRUE(h.is_done() && other.is_done());
}

TEST(interval, a_tick_that_was_cancelled_is_not_used_up) {
  manual_scheduler s;
  interval every(10ms);
  const auto once = [](interval& i) -> task<time_point> {
    const time_point tick = co_await i.tick();
    co_return tick;
  };
  const time_point begin = s.time;
  auto first = s.spawn(once, std::ref(every));
  s.run_until_idle();
  first.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  auto second = s.spawn(once, std::ref(every));
  s.run_with_time();
  EXPECT_EQ(second.join(), begin + 10ms);
}

TEST(interval, tick_object_awaited_again_keeps_no_state_of_the_last_wait) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<int> {
        interval every(10ms);
        auto tick = every.tick();
        auto early = co_await timeout(1ms, tick);
        EXPECT_FALSE(early.has_value());
        m.advance(1h);
        // Ready a thousand times. Sometimes the budget is spent, and the task asks again after the others.
        int ticks = 0;
        while (ticks < 1000) {
          co_await tick;
          ++ticks;
        }
        co_return ticks;
      },
      std::ref(s));
  s.run_with_time();
  ASSERT_TRUE(h.is_done());
  EXPECT_EQ(h.join(), 1000);
}

TEST(interval, reset_begins_a_new_schedule) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        interval every(10ms);
        co_await every.tick();
        m.advance(15ms);
        every.reset();
        const time_point now = m.time;
        const time_point tick = co_await every.tick();
        EXPECT_EQ(tick, now + 10ms);
      },
      std::ref(s));
  s.run_with_time();
  EXPECT_TRUE(h.is_done());
}

TEST(interval, reset_immediately_makes_the_next_tick_due_at_once) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<void> {
        interval every(10ms, missed_tick::delay);
        for (int i = 0; i < 2; ++i) {
          every.reset_immediately();
          m.advance(3ms);
          const time_point begin = m.time;
          const time_point first = co_await every.tick();
          const time_point second = co_await every.tick();
          EXPECT_EQ(first, begin);
          EXPECT_EQ(second, begin + 10ms);
        }
        every.reset_immediately();
        every.reset();
        const time_point again = m.time;
        const time_point tick = co_await every.tick();
        EXPECT_EQ(tick, again + 10ms);
      },
      std::ref(s));
  s.run_with_time();
  EXPECT_TRUE(h.is_done());
}

TEST(interval, begins_at_the_time_that_its_constructor_names) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        const time_point begin = m.time;
        interval every(begin + 3ms, 10ms);
        const time_point first = co_await every.tick();
        EXPECT_EQ(first, begin + 3ms);
        EXPECT_EQ(m.time, begin + 3ms);
        const time_point second = co_await every.tick();
        EXPECT_EQ(second, begin + 13ms);
        every.reset_at(begin + 100ms);
        const time_point third = co_await every.tick();
        EXPECT_EQ(third, begin + 100ms);
      },
      std::ref(s));
  s.run_with_time();
  EXPECT_TRUE(h.is_done());
}

TEST(interval, with_a_start_in_the_past_follows_its_policy) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        const time_point begin = m.time;
        m.advance(25ms);
        interval burst(begin, 10ms);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(burst.try_tick(), begin + i * 10ms);
        EXPECT_EQ(burst.try_tick().error(), 5ms);
        interval skip(begin, 10ms, missed_tick::skip);
        EXPECT_EQ(skip.try_tick(), begin);
        EXPECT_EQ(skip.try_tick().error(), 5ms);
        const time_point next = co_await skip.tick();
        EXPECT_EQ(next, begin + 30ms);
        interval oldest(time_point::min(), 10ms, missed_tick::skip);
        EXPECT_EQ(oldest.try_tick(), time_point::min());
        const time_point soon = co_await oldest.tick();
        EXPECT_LE(soon - m.time, 10ms);
      },
      std::ref(s));
  s.run_with_time();
  EXPECT_TRUE(h.is_done());
}

TEST(interval, with_a_start_that_never_comes_never_ticks) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<> {
    interval every(time_point::max(), 1ms);
    co_await every.tick();
  });
  s.run_until_idle();
  s.advance(24h * 365 * 200);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  h.cancel();
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
}

TEST(interval, try_tick_consumes_no_tick_that_is_not_due) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        interval every(10ms);
        const time_point begin = m.time;
        EXPECT_EQ(every.try_tick().error(), 10ms) << "the schedule begins here";
        m.advance(9ms);
        EXPECT_EQ(every.try_tick().error(), 1ms);
        m.advance(2ms);
        EXPECT_EQ(every.try_tick(), begin + 10ms);
        EXPECT_EQ(every.try_tick().error(), 9ms);
        const time_point next = co_await every.tick();
        EXPECT_EQ(next, begin + 20ms);
        every.reset_immediately();
        EXPECT_EQ(every.try_tick(), m.time);
        EXPECT_EQ(every.try_tick().error(), 10ms);
      },
      std::ref(s));
  s.run_with_time();
  EXPECT_TRUE(h.is_done());
}

TEST(interval, try_tick_uses_the_steady_clock_outside_of_tasks) {
  const time_point begin = std::chrono::steady_clock::now();
  interval every(begin, std::chrono::hours(1));
  EXPECT_EQ(every.try_tick(), begin);
  EXPECT_LE(every.try_tick().error(), std::chrono::hours(1));
}

TEST(interval, throws_for_a_period_below_1_ns_and_names_it) {
  EXPECT_THROW(interval(time_point::max(), 0ns), std::invalid_argument);
  for (const auto period : {0ns, -1ns, -5000000000ns}) {
    try {
      const interval never(period);
      ADD_FAILURE() << "accepted";
    } catch (const std::invalid_argument& e) {
      EXPECT_NE(std::string(e.what()).find("period is " + std::to_string(period.count()) + " ns"),
                std::string::npos);
      EXPECT_NE(std::string(e.what()).find("at least 1 ns"), std::string::npos);
    }
  }
  EXPECT_THROW(interval(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())),
               std::invalid_argument);
}

TEST(interval, of_the_longest_period_never_ticks) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<> {
    interval every(std::chrono::hours::max());
    co_await every.tick();
  });
  s.run_until_idle();
  s.advance(24h * 365 * 200);
  EXPECT_EQ(s.run_until_idle(), 0);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

using timing::next_tick;
constexpr time_point at(std::int64_t ns) { return time_point(std::chrono::nanoseconds(ns)); }
static_assert(next_tick(at(10), at(10), 10ns, missed_tick::skip) == at(20));
static_assert(next_tick(at(10), at(19), 10ns, missed_tick::skip) == at(20));
static_assert(next_tick(at(10), at(20), 10ns, missed_tick::skip) == at(30));
static_assert(next_tick(at(10), at(29), 10ns, missed_tick::skip) == at(30));
static_assert(next_tick(at(10), at(29), 10ns, missed_tick::delay) == at(39));
static_assert(next_tick(at(10), at(29), 10ns, missed_tick::burst) == at(20));
static_assert(next_tick(time_point::max() - 5ns, time_point::max() - 5ns, 10ns, missed_tick::burst) ==
              time_point::max());
static_assert(next_tick(at(10), time_point::max() - 1ns, 10ns, missed_tick::skip) >=
              time_point::max() - 10ns);

}  // namespace
}  // namespace rota::sleep_test
