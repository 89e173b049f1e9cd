// time_limit: a movable limit, with all other causes that end work.
#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>

#include "unit/flow/timeout_support.hpp"

#include <rota/cancel.hpp>
#include <rota/detail/under_deadline.hpp>
#include <rota/finally.hpp>
#include <rota/scope.hpp>
#include <rota/time.hpp>
#include <rota/time_limit.hpp>
#include <rota/when.hpp>

namespace rota::time_limit_test {
namespace {

using namespace std::chrono_literals;
using test::event;
using test::journal;
using test::manual_scheduler;
using test::note;
using test::result;
using test::work_on;
using time_point = std::chrono::steady_clock::time_point;

task<void> sleep_for_task(std::chrono::nanoseconds span) { co_await sleep_for(span); }

/// One timeout of `limit` around work that waits for `e`. Returns 7 if in time, 0 if late.
task<int> waits(time_limit limit, event& e, journal& log) {
  const auto end = co_await timeout(limit, work_on(e, log, "work"));
  log.add(end.has_value() ? "in-time" : "late");
  co_return end.value_or(0);
}

struct world {
  manual_scheduler s;
  event e;
  journal log;
  const time_point begin = s.time;
  time_limit limit = time_limit::at(begin + 10ms);

  void run_at(time_point time) {
    s.advance(time - s.time);
    s.run_until_idle();
  }
  [[nodiscard]] join_handle<int> start() {
    auto h = s.spawn(waits(limit, e, log));
    s.run_until_idle();
    return h;
  }
};

TEST(time_limit, ends_what_is_late) {
  world w;
  auto h = w.start();
  w.run_at(w.begin + 10ms - 1ns);
  EXPECT_FALSE(h.is_done());
  EXPECT_EQ(w.limit.deadline(), w.begin + 10ms);
  w.run_at(w.begin + 10ms);
  EXPECT_EQ(w.log.text(), "[work] late");
  EXPECT_EQ(h.join(), 0);
  EXPECT_EQ(w.e.reason, cancel_reason::timeout);
  EXPECT_TRUE(w.limit.has_passed());
  EXPECT_EQ(w.limit.deadline(), w.begin + 10ms);
  EXPECT_EQ(w.s.cancelled, 0);
}

TEST(time_limit, gives_the_value_of_work_that_is_in_time_and_cancels_its_timer) {
  world w;
  auto h = w.start();
  w.run_at(w.begin + 9ms);
  w.e.fire();
  w.s.run_until_idle();
  EXPECT_EQ(h.join(), 7);
  EXPECT_EQ(w.s.shard.counts().armed, 1U);
  EXPECT_EQ(w.s.shard.counts().cancelled, 1U);
}

TEST(time_limit, a_later_time_is_only_stored_and_the_timer_is_armed_again_when_it_fires) {
  world w;
  auto h = w.start();
  for (int i = 1; i <= 5; ++i) EXPECT_TRUE(w.limit.reset_at(w.begin + 10ms + i * 1ms));
  EXPECT_EQ(w.s.run_until_idle(), 0);  // no task was woken
  EXPECT_EQ(w.s.shard.counts().armed, 1U);
  w.run_at(w.begin + 10ms);
  EXPECT_FALSE(h.is_done());
  EXPECT_EQ(w.s.shard.counts().armed, 2U);
  w.run_at(w.begin + 15ms - 1ns);
  EXPECT_FALSE(h.is_done());
  w.run_at(w.begin + 15ms);
  EXPECT_EQ(h.join(), 0);
}

TEST(time_limit, an_earlier_time_wakes_the_task_which_arms_its_timer_earlier) {
  world w;
  auto h = w.start();
  EXPECT_TRUE(w.limit.reset_at(w.begin + 3ms));
  EXPECT_EQ(w.s.run_until_idle(), 1);
  EXPECT_EQ(w.s.shard.earliest(), w.begin + 3ms);
  w.run_at(w.begin + 3ms);
  EXPECT_EQ(h.join(), 0);
}

TEST(time_limit, reset_earlier_and_then_later_needs_no_second_wakeup) {
  world w;
  auto h = w.start();
  EXPECT_TRUE(w.limit.reset_at(w.begin + 3ms));
  EXPECT_TRUE(w.limit.reset_at(w.begin + 5ms));
  w.s.run_until_idle();
  w.run_at(w.begin + 5ms - 1ns);
  EXPECT_FALSE(h.is_done());
  w.run_at(w.begin + 5ms);
  EXPECT_EQ(h.join(), 0);
}

TEST(time_limit, reset_inside_the_work_uses_the_clock_of_the_runtime) {
  manual_scheduler s;
  const time_point begin = s.time;
  auto h = s.spawn([]() -> task<int> {
    const time_limit limit(10ms);
    int steps = 0;
    const auto body = [](const time_limit& l, int& n) -> task<> {
      for (; n < 5; ++n) {
        co_await sleep_for(8ms);
        EXPECT_TRUE(l.reset(10ms));
      }
      co_await sleep_for(1h);
    };
    const auto end = co_await timeout(limit, body(limit, steps));
    EXPECT_FALSE(end.has_value());
    EXPECT_TRUE(limit.has_passed());
    EXPECT_FALSE(limit.reset(1h));
    co_return steps;
  });
  s.run_with_time();
  EXPECT_EQ(h.join(), 5);
  EXPECT_EQ(s.time, begin + 50ms);
}

TEST(time_limit, that_has_passed_cannot_be_reset_or_lifted) {
  world w;
  auto h = w.start();
  w.run_at(w.begin + 10ms);
  EXPECT_EQ(h.join(), 0);
  EXPECT_FALSE(w.limit.reset_at(w.begin + 1h));
  EXPECT_FALSE(w.limit.lift());
  EXPECT_FALSE(w.limit.reset(1h));
  EXPECT_EQ(w.limit.deadline(), w.begin + 10ms);
  // A second timeout with it ends at its first wait and needs no timer; work without a wait is in time.
  const auto armed = w.s.shard.counts().armed;
  auto again = w.start();
  EXPECT_EQ(again.join(), 0);
  EXPECT_EQ(w.s.shard.counts().armed, armed);
  w.e.fire();
  auto ready = w.start();
  EXPECT_EQ(ready.join(), 7);
}

TEST(time_limit, reset_fails_if_the_time_has_passed_before_the_task_notices) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<bool> {
        const time_limit limit(10ms);
        const auto body = [](manual_scheduler& mm, const time_limit& l) -> task<> {
          mm.time += 10ms;  // stands for a computation
          EXPECT_FALSE(l.reset(1h));
          EXPECT_TRUE(this_task::cancel_requested());
          co_await checkpoint();
          ADD_FAILURE() << "not delivered";
        };
        co_return (co_await timeout(limit, body(m, limit))).has_value();
      },
      std::ref(s));
  s.run_until_idle();
  EXPECT_FALSE(h.join());
}

TEST(time_limit, ends_nothing_after_a_lift_until_it_is_reset) {
  world w;
  auto h = w.start();
  EXPECT_TRUE(w.limit.lift());
  EXPECT_EQ(w.limit.deadline(), time_point::max());
  w.run_at(w.begin + 1h);
  EXPECT_FALSE(h.is_done());
  EXPECT_EQ(w.s.shard.earliest(), base::never);
  EXPECT_TRUE(w.limit.reset_at(w.begin + 2h));
  w.s.run_until_idle();
  w.run_at(w.begin + 2h);
  EXPECT_EQ(h.join(), 0);
}

TEST(time_limit, without_a_time_it_arms_nothing) {
  world w;
  w.limit = time_limit();
  auto h = w.start();
  EXPECT_EQ(w.s.shard.counts().armed, 0U);
  EXPECT_TRUE(w.limit.reset_at(w.begin));  // the past
  w.s.run_until_idle();
  EXPECT_EQ(h.join(), 0);
  EXPECT_EQ(w.s.shard.counts().armed, 0U);
}

TEST(time_limit, reset_to_the_past_ends_the_work_at_once) {
  manual_scheduler s;
  for (const std::chrono::nanoseconds span :
       {0ns, -1ns, std::chrono::nanoseconds(-5s), std::chrono::nanoseconds::min()}) {
    auto h = s.spawn(
        [](std::chrono::nanoseconds past) -> task<bool> {
          const time_limit limit(1h);
          const auto body = [](const time_limit& l, std::chrono::nanoseconds p) -> task<> {
            EXPECT_TRUE(l.reset(p));
            EXPECT_TRUE(l.has_passed());
            EXPECT_FALSE(l.reset(1h));
            co_await sleep_for(1h);
          };
          co_return (co_await timeout(limit, body(limit, past))).has_value();
        },
        span);
    s.run_until_idle();
    EXPECT_FALSE(h.join());
  }
}

TEST(time_limit, spans_saturate) {
  EXPECT_EQ(time_limit(std::chrono::hours::max()).deadline(), time_point::max());
  EXPECT_EQ(time_limit(std::chrono::duration<double>(1e300)).deadline(), time_point::max());
  EXPECT_EQ(time_limit::at(time_point::max()).deadline(), time_point::max());
  const time_limit past(std::chrono::hours::min());
  EXPECT_TRUE(past.has_passed());
  EXPECT_EQ(time_limit::at(time_point::min()).deadline(), time_point());
  const time_limit limit;
  EXPECT_TRUE(limit.reset(std::chrono::hours::max()));
  EXPECT_EQ(limit.deadline(), time_point::max());
  EXPECT_FALSE(limit.has_passed());
  EXPECT_TRUE(limit.reset(1.5s));
  EXPECT_NE(limit.deadline(), time_point::max());
  EXPECT_TRUE(limit.reset(std::chrono::hours::min()));
  EXPECT_TRUE(limit.has_passed());
}

// This thread's clock may differ from the one that the limit was made with.
TEST(time_limit, has_passed_reads_no_clock_outside_of_tasks) {
  const time_limit limit = time_limit::at(time_point(1ns));
  EXPECT_FALSE(limit.has_passed());
  EXPECT_TRUE(limit.reset_at(time_point(5s)));
  manual_scheduler s;
  s.time = time_point(5s);
  auto h = s.spawn([](time_limit l) -> task<bool> { co_return l.has_passed(); }, limit);
  s.run_until_idle();
  EXPECT_TRUE(h.join());
  EXPECT_TRUE(limit.has_passed());
  EXPECT_FALSE(limit.lift());
  EXPECT_EQ(limit.deadline(), time_point(5s));
}

TEST(time_limit, copies_are_the_same_limit) {
  time_limit one = time_limit::at(time_point(5s));
  const time_limit two = one;  // NOLINT
  EXPECT_TRUE(two.reset_at(time_point(7s)));
  EXPECT_EQ(one.deadline(), time_point(7s));
  one = time_limit::at(time_point(9s));
  EXPECT_EQ(two.deadline(), time_point(7s));
  time_limit three = std::move(one);
  EXPECT_EQ(three.deadline(), time_point(9s));
  one = two;
  EXPECT_EQ(one.deadline(), time_point(7s));
  static_assert(std::is_nothrow_move_constructible_v<time_limit>);
}

TEST(time_limit_death, moved_from_limit_ends_the_program_with_a_message) {
  time_limit limit(1s);
  const time_limit taken = std::move(limit);
  const char* const text = "an empty time_limit: moved from";
  // NOLINTBEGIN: moved from
  EXPECT_DEATH(static_cast<void>(limit.reset(1s)), text);
  EXPECT_DEATH(static_cast<void>(limit.lift()), text);
  EXPECT_DEATH(static_cast<void>(limit.has_passed()), text);
  EXPECT_DEATH(static_cast<void>(limit.deadline()), text);
  EXPECT_DEATH(static_cast<void>(timeout(limit, sleep_for(1s))), text);
  // NOLINTEND
  const time_limit copy = limit;  // a copy needs no limit
  limit = taken;
  EXPECT_TRUE(limit.reset(1s));
}

TEST(time_limit, yields_what_timeout_yields) {
  using plain = decltype(timeout(std::declval<const time_limit&>(), std::declval<task<int>>()));
  using coded = decltype(timeout(std::declval<time_limit>(),
                                 std::declval<task<std::expected<int, std::error_code>>>()));
  static_assert(std::is_same_v<decltype(std::declval<plain&>().await_resume()), result<int>>);
  static_assert(
      std::is_same_v<decltype(std::declval<coded&>().await_resume()), std::expected<int, std::error_code>>);
  manual_scheduler s;
  auto h = s.spawn([]() -> task<std::error_code> {
    const auto work = []() -> task<std::expected<int, std::error_code>> {
      co_await sleep_for(1h);
      co_return 1;
    };
    const auto end = co_await timeout(time_limit(1ms), work());
    co_return end.has_value() ? std::error_code() : end.error();
  });
  s.run_with_time();
  EXPECT_EQ(h.join(), make_error_code(errc::timed_out));
}

TEST(time_limit, rethrows_what_the_work_throws) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<> {
    const auto work = []() -> task<> {
      co_await sleep_for(1ms);
      throw 7;
    };
    static_cast<void>(co_await timeout(time_limit(1h), work()));
  });
  s.run_with_time();
  EXPECT_THROW(h.join(), int);
}

TEST(time_limit, ends_every_timeout_that_uses_it) {
  world w;
  std::optional<join_handle<int>> all[40];
  event events[40];
  for (int i = 0; i < 40; ++i) all[i] = w.s.spawn(waits(w.limit, events[i], w.log));
  w.s.run_until_idle();
  EXPECT_TRUE(w.limit.reset_at(w.begin + 1ms));
  EXPECT_EQ(w.s.run_until_idle(), 40);  // each task was woken once
  EXPECT_TRUE(w.limit.reset_at(w.begin));
  EXPECT_EQ(w.s.run_until_idle(), 40);
  for (auto& each : all) EXPECT_EQ(each->join(), 0);
  EXPECT_EQ(w.log.count("late"), 40U);
}

TEST(time_limit, can_be_used_by_several_timeouts_in_sequence) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<std::string> {
    const time_limit limit(10ms);
    std::string ends;
    for (int i = 0; i < 4; ++i) {
      const auto end = co_await timeout(limit, sleep_for(4ms));
      ends += end.has_value() ? 'v' : 'l';
    }
    co_return ends;
  });
  s.run_with_time();
  EXPECT_EQ(h.join(), "vvll");
}

TEST(time_limit, outer_timeout_is_reported_if_nested_timeouts_share_it) {
  world w;
  auto h = w.s.spawn(
      [](const time_limit& l, event& e, journal& log) -> task<int> {
        const auto end = co_await timeout(l, waits(l, e, log));
        co_return end.value_or(-1);
      },
      std::cref(w.limit),
      std::ref(w.e),
      std::ref(w.log));
  w.s.run_until_idle();
  w.run_at(w.begin + 10ms);
  EXPECT_EQ(h.join(), -1);
  EXPECT_EQ(w.log.text(), "[work]");
}

// --- beside deadlines: of those of one task that have passed the outer one is reported

enum class place : unsigned char { in_the_task, in_a_scope, in_a_group, in_any, deep };
constexpr place children[] = {place::in_a_scope, place::in_a_group, place::in_any, place::deep};

/// Reports the boundary that has ended the work: "limit" or "fixed".
task<void> inside(std::chrono::nanoseconds fixed, std::string& report) {
  const auto end = co_await timeout(fixed, sleep_for(1h));
  report += end.has_value() ? "value" : "fixed";
}
task<void> put(place where, std::chrono::nanoseconds fixed, std::string& report) {
  switch (where) {
    case place::in_the_task: co_return co_await inside(fixed, report);
    case place::in_a_scope: {
      const auto body = [&](scope& c) -> task<> {
        c.fork(inside, fixed, std::ref(report));
        co_return;
      };
      co_return co_await with_scope(body);
    }
    case place::in_a_group: {
      co_await when_all(inside(fixed, report), sleep_for(0ns));
      co_return;
    }
    case place::in_any: {
      co_await when_any(inside(fixed, report), sleep_for(1h));
      co_return;
    }
    case place::deep: {
      co_await when_all(put(place::in_a_scope, fixed, report), sleep_for(0ns));
      co_return;
    }
  }
}
task<void> put_and_wait(place where, std::chrono::nanoseconds fixed, std::string& report) {
  co_await put(where, fixed, report);
  co_await sleep_for(1h);
}

task<std::string> limit_around(task<void> (*what)(place, std::chrono::nanoseconds, std::string&),
                               place where,
                               std::chrono::nanoseconds limit,
                               std::chrono::nanoseconds fixed) {
  std::string report;
  const time_limit outer(limit);
  const auto end = co_await timeout(outer, what(where, fixed, report));
  co_return report + (end.has_value() ? "" : "limit");
}
task<std::string> limit_inside(std::chrono::nanoseconds limit, std::chrono::nanoseconds fixed) {
  std::string report;
  const time_limit inner(limit);
  const auto body = [](const time_limit& l, std::string& r) -> task<> {
    const auto end = co_await timeout(l, sleep_for(1h));
    r += end.has_value() ? "value" : "limit";
  };
  const auto end = co_await timeout(fixed, body(inner, report));
  co_return report + (end.has_value() ? "" : "fixed");
}

class time_limit_and_deadline : public ::testing::TestWithParam<bool> {
 protected:
  static std::string ask(task<std::string> work) {
    manual_scheduler s;
    s.lifo = GetParam();
    auto h = s.spawn(std::move(work));
    s.run_with_time();
    return h.join();
  }
};

TEST_P(time_limit_and_deadline, earlier_one_is_reported_and_the_outer_one_if_they_are_equal) {
  const auto around = [](std::chrono::nanoseconds limit, std::chrono::nanoseconds fixed) {
    return ask(limit_around(put, place::in_the_task, limit, fixed));
  };
  EXPECT_EQ(around(10ms, 5ms), "fixed");
  EXPECT_EQ(around(10ms, 10ms), "limit");
  EXPECT_EQ(around(10ms, 20ms), "limit");
  EXPECT_EQ(around(0ms, 0ms), "limit");
  EXPECT_EQ(ask(limit_inside(5ms, 10ms)), "limit");
  EXPECT_EQ(ask(limit_inside(10ms, 10ms)), "fixed");
  EXPECT_EQ(ask(limit_inside(20ms, 10ms)), "fixed");
}

// Unwinding the task, which waits for its children, cancels the children.
TEST_P(time_limit_and_deadline, earlier_one_is_reported_if_the_deadline_is_in_a_child) {
  for (const place where : children) {
    EXPECT_EQ(ask(limit_around(put, where, 10ms, 5ms)), "fixed") << static_cast<int>(where);
    EXPECT_EQ(ask(limit_around(put, where, 10ms, 20ms)), "limit") << static_cast<int>(where);
  }
}

// A child may report its own deadline first. The limit is reported at the next wait of its task.
TEST_P(time_limit_and_deadline, limit_is_reported_if_it_equals_a_deadline_in_a_child) {
  for (const place where : children) {
    const std::string got = ask(limit_around(put_and_wait, where, 10ms, 10ms));
    EXPECT_TRUE(got == "limit" || got == "fixedlimit") << got << ' ' << static_cast<int>(where);
  }
}

// No task runs until both have passed, so the order of the timers does not matter.
TEST_P(time_limit_and_deadline, outer_limit_is_reported_if_both_pass_before_the_task_runs) {
  for (const std::chrono::nanoseconds fixed : {5ms, 10ms, 15ms}) {
    manual_scheduler s;
    s.lifo = GetParam();
    auto h = s.spawn(limit_around(put, place::in_the_task, 10ms, fixed));
    s.run_until_idle();
    s.advance(15ms);
    s.run_until_idle();
    EXPECT_EQ(h.join(), "limit");
  }
}

// No timer has fired. The woken task finds by the clock that the limit and the deadline around it are over.
TEST_P(time_limit_and_deadline, outer_deadline_is_reported_if_both_pass_before_a_timer_fires) {
  manual_scheduler s;
  s.lifo = GetParam();
  event never;
  journal log;
  auto awaited = s.spawn(work_on(never, log, "awaited"));
  const auto joins = [](join_handle<int>& other) -> task<> { static_cast<void>(co_await other.result()); };
  const auto body = [&](const time_limit& l, std::string& r) -> task<> {
    const auto end = co_await timeout(l, joins(awaited));
    r += end.has_value() ? "value" : "limit";
  };
  const auto root = [&]() -> task<std::string> {
    std::string report;
    const time_limit limit(10ms);
    const auto end = co_await timeout(10ms, body(limit, report));
    co_return report + (end.has_value() ? "" : "fixed");
  };
  auto h = s.spawn(root);
  s.run_until_idle();
  s.time += 10ms;
  awaited.cancel();
  s.run_until_idle();
  EXPECT_EQ(h.join(), "fixed");
}
INSTANTIATE_TEST_SUITE_P(time_limit, time_limit_and_deadline, ::testing::Bool());

TEST(time_limit, cancels_awaited_tasks_and_not_spawned_ones) {
  manual_scheduler s;
  event e;
  journal log;
  std::optional<join_handle<int>> free;
  auto h = s.spawn(
      [](manual_scheduler& m, event& ev, journal& l, std::optional<join_handle<int>>& f) -> task<bool> {
        const time_limit limit(10ms);
        const auto body =
            [](manual_scheduler& mm, event& ee, journal& ll, std::optional<join_handle<int>>& ff) -> task<> {
          ff = core::spawn_on(mm, core::inherit_deadline(work_on(ee, ll, "free")));
          auto mine = core::spawn_on(mm, core::inherit_deadline([](journal& lll) -> task<> {
                                       EXPECT_EQ(this_task::deadline(), time_point::max());
                                       const note here(lll, "awaited");
                                       co_await sleep_for(1h);
                                     }(ll)));
          co_await mine;
          ADD_FAILURE();
        };
        co_return (co_await timeout(limit, body(m, ev, l, f))).has_value();
      },
      std::ref(s),
      std::ref(e),
      std::ref(log),
      std::ref(free));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "[awaited]");
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(free->join(), 7);
}

TEST(time_limit, deadline_of_the_task_follows_each_reset) {
  manual_scheduler s;
  const time_point begin = s.time;
  auto h = s.spawn(
      [](time_point b) -> task<> {
        const time_limit limit(10ms);
        const auto body = [](const time_limit& l, time_point t) -> task<> {
          EXPECT_EQ(this_task::deadline(), t + 10ms);
          EXPECT_TRUE(l.reset(30ms));
          EXPECT_EQ(this_task::deadline(), t + 30ms);
          const auto ask = []() -> task<time_point> { co_return this_task::deadline(); };
          const auto earlier = co_await with_deadline(t + 20ms, ask());
          EXPECT_EQ(earlier, t + 20ms);
          const auto later = co_await with_deadline(t + 40ms, ask());
          EXPECT_EQ(later, t + 30ms);
          const auto scope_body = [&](scope& c) -> task<> {
            auto child = c.spawn(ask);
            const time_point of_child = co_await child;
            EXPECT_EQ(of_child, time_point::max());  // the limit is not inherited
          };
          co_await with_scope(scope_body);
          {
            const auto guard = shield(50ms);
            EXPECT_EQ(this_task::deadline(), t + 50ms);
            const auto shielded = co_await with_deadline(t + 20ms, ask());
            EXPECT_EQ(shielded, t + 20ms);
            // A task spawned here would inherit only deadlines.
            EXPECT_EQ(core::deadline_to_inherit(), time_point::max());
          }
          EXPECT_TRUE(l.lift());
          EXPECT_EQ(this_task::deadline(), time_point::max());
          EXPECT_TRUE(l.reset(0ms));  // it has passed, and keeps its time
          EXPECT_EQ(this_task::deadline(), t);
        };
        const auto end = co_await timeout(limit, body(limit, b));
        EXPECT_TRUE(end.has_value());
        EXPECT_EQ(this_task::deadline(), time_point::max());
      },
      begin);
  s.run_with_time();
  h.join();
}

// --- shields

TEST(time_limit, deadline_of_the_task_is_the_outer_limit_after_the_inner_has_ended) {
  manual_scheduler s;
  const time_point begin = s.time;
  auto inside = [&]() -> task<bool> {
    const auto inner = co_await timeout(time_limit::at(begin + 5ms), sleep_for_task(1ms));
    co_return inner.has_value() && this_task::deadline() == begin + 50ms;
  };
  auto work = [&]() -> task<bool> {
    auto task_inside = inside();
    const auto end = co_await timeout(time_limit::at(begin + 50ms), std::move(task_inside));
    co_return end.value_or(false) && this_task::deadline() == time_point::max();
  };
  auto h = s.spawn(work);
  s.run_with_time();
  ASSERT_TRUE(h.is_done());
  EXPECT_TRUE(h.join());
}

TEST(time_limit, a_shield_holds_it_off_until_its_own_limit) {
  world w;
  auto h = w.s.spawn(
      [](const time_limit& l, event& e, journal& log) -> task<bool> {
        const auto body = [](event& ev, journal& j) -> task<> {
          const auto guard = shield(30ms);
          co_await work_on(ev, j, "shielded");
        };
        co_return (co_await timeout(l, body(e, log))).has_value();
      },
      std::cref(w.limit),
      std::ref(w.e),
      std::ref(w.log));
  w.s.run_until_idle();
  w.run_at(w.begin + 10ms);
  EXPECT_FALSE(h.is_done());
  // The limit has passed and waits for the end of the shield: its timer is not armed again.
  EXPECT_EQ(w.s.shard.earliest(), w.begin + 30ms);
  EXPECT_EQ(w.s.shard.counts().armed, 2U);
  EXPECT_EQ(w.s.run_until_idle(), 0);
  EXPECT_FALSE(w.limit.reset_at(w.begin + 1h));
  w.run_at(w.begin + 30ms);
  EXPECT_FALSE(h.join());
  EXPECT_EQ(w.log.text(), "[shielded]");
  EXPECT_EQ(w.s.shard.counts().armed, 2U);
}

TEST(time_limit, arms_no_timer_on_spurious_wakeups_after_it_passes_under_a_shield) {
  world w;
  auto h = w.s.spawn(
      [](const time_limit& l, event& e) -> task<bool> {
        const auto body = [](event& ev) -> task<> {
          const auto guard = shield(30ms);
          co_await ev();
        };
        co_return (co_await timeout(l, body(e))).has_value();
      },
      std::cref(w.limit),
      std::ref(w.e));
  w.s.run_until_idle();
  w.run_at(w.begin + 10ms);
  for (int i = 0; i < 10; ++i) {
    w.e.wake_for_nothing();
    EXPECT_EQ(w.s.run_until_idle(), 1);
    w.s.advance(1ms);
    EXPECT_EQ(w.s.run_until_idle(), 0);
  }
  EXPECT_EQ(w.s.shard.counts().armed, 2U);
  w.e.fire();
  w.s.run_until_idle();
  EXPECT_TRUE(h.join());  // the task has not waited since the shield ended
}

TEST(time_limit, a_shield_without_a_limit_holds_it_off_for_good) {
  world w;
  auto h = w.s.spawn(
      [](const time_limit& l, event& e, journal& log) -> task<bool> {
        const auto body = [](event& ev, journal& j) -> task<> {
          {
            const auto guard = shield(std::chrono::hours::max());
            co_await ev();
          }
          j.add("unshielded");
          co_await sleep_for(1h);
        };
        co_return (co_await timeout(l, body(e, log))).has_value();
      },
      std::cref(w.limit),
      std::ref(w.e),
      std::ref(w.log));
  w.s.run_until_idle();
  w.run_at(w.begin + 1h);
  EXPECT_FALSE(h.is_done());
  w.e.fire();
  w.s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(w.log.text(), "unshielded");
}

TEST(time_limit, reset_to_a_later_time_after_a_shield_lets_the_work_finish) {
  world w;
  auto h = w.s.spawn(
      [](const time_limit& l, event& e) -> task<bool> {
        const auto body = [](const time_limit& ll, event& ev) -> task<> {
          {
            const auto guard = shield(5ms);
            co_await ev();
          }
          EXPECT_TRUE(ll.reset(10ms));
          co_await sleep_for(5ms);
        };
        co_return (co_await timeout(l, body(l, e))).has_value();
      },
      std::cref(w.limit),
      std::ref(w.e));
  w.s.run_until_idle();
  w.run_at(w.begin + 9ms);
  w.e.fire();
  w.s.run_with_time();
  EXPECT_TRUE(h.join());
}

// A raised shield protects what runs under it, including children of children.
TEST(time_limit, a_shield_that_is_up_holds_it_off_from_children) {
  for (const place where : children) {
    manual_scheduler s;
    const auto work = [](place in) -> task<std::string> {
      std::string report;
      const time_limit limit(10ms);
      const auto body = [](place p, std::string& r) -> task<> {
        const auto guard = shield(1h);
        co_await put(p, 20ms, r);
      };
      const auto end = co_await timeout(limit, body(in, report));
      co_return report + (end.has_value() ? "" : "limit");
    };
    auto h = s.spawn(work, where);
    s.run_until_idle();
    s.advance(30ms);
    s.run_until_idle();
    EXPECT_EQ(h.join(), "fixed") << static_cast<int>(where);
  }
}

// The task is cancelled and waits behind the shield when the limit passes: one wake, and no further timer.
TEST(time_limit, that_passes_while_a_cancelled_task_is_shielded_wakes_it_once) {
  world w;
  const auto work = [](const time_limit& l, event& e) -> task<> {
    const auto body = [](event& ev) -> task<> {
      const auto guard = shield(300ms);
      co_await ev();
    };
    static_cast<void>(co_await timeout(l, body(e)));
  };
  auto h = w.s.spawn(work, std::cref(w.limit), std::ref(w.e));
  w.s.run_until_idle();
  w.s.advance(1ms);
  h.cancel();
  w.s.run_until_idle();
  EXPECT_EQ(w.s.shard.counts().armed, 2U);
  w.s.advance(9ms);
  int runs = 0;
  while (runs < 10 && w.s.run_one()) ++runs;
  EXPECT_LE(runs, 2);
  EXPECT_TRUE(w.limit.has_passed());
  EXPECT_EQ(w.s.shard.counts().armed, 2U);
  EXPECT_EQ(w.s.shard.earliest(), w.begin + 300ms);
  w.e.fire();
  w.s.run_until_idle();
  EXPECT_TRUE(h.is_done());
}

TEST(time_limit, a_shield_in_a_child_holds_it_off_there) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<std::string> {
    std::string report;
    const time_limit limit(10ms);
    const auto child = [](std::string& r) -> task<> {
      const auto guard = shield(1s);
      co_await inside(10ms, r);
    };
    const auto body = [&](scope& c) -> task<> {
      c.fork(child, std::ref(report));
      co_await sleep_for(1h);
    };
    const auto end = co_await timeout(limit, with_scope(body));
    co_return report + (end.has_value() ? "" : "limit");
  });
  s.run_with_time();
  EXPECT_EQ(h.join(), "fixedlimit");
}

TEST(time_limit, lets_a_clean_up_that_takes_longer_finish) {
  manual_scheduler s;
  const time_point begin = s.time;
  journal log;
  auto h = s.spawn(
      [](journal& l) -> task<bool> {
        const time_limit limit(10ms);
        const auto cleanup = [](journal& j, const time_limit& ll) -> task<> {
          EXPECT_FALSE(ll.reset(1h));
          co_await sleep_for(5ms);
          j.add("clean");
        };
        const auto end =
            co_await timeout(limit, finally(sleep_for_task(1h), [&] { return cleanup(l, limit); }, 1s));
        l.add(end.has_value() ? "in-time" : "late");
        co_return end.has_value();
      },
      std::ref(log));
  s.run_with_time();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "clean late");
  EXPECT_EQ(s.time, begin + 15ms);
}

TEST(time_limit, ends_work_inside_a_clean_up) {
  manual_scheduler s;
  journal log;
  auto h = s.spawn(
      [](journal& l) -> task<> {
        const auto cleanup = [](journal& j) -> task<> {
          const time_limit limit(5ms);
          const auto end = co_await timeout(limit, sleep_for(1h));
          j.add(end.has_value() ? "in-time" : "late");
        };
        co_await finally(sleep_for_task(1ms), [&] { return cleanup(l); }, 1s);
        l.add("done");
      },
      std::ref(log));
  s.run_with_time();
  h.join();
  EXPECT_EQ(log.text(), "late done");
}

TEST(time_limit, is_released_by_a_loser_of_when_any) {
  world w;
  auto h = w.s.spawn(
      [](const time_limit& l, event& e, journal& log) -> task<std::size_t> {
        const auto got = co_await when_any(waits(l, e, log), sleep_for(1ms));
        co_return got.index();
      },
      std::cref(w.limit),
      std::ref(w.e),
      std::ref(w.log));
  w.s.run_with_time();
  EXPECT_EQ(h.join(), 1U);
  EXPECT_EQ(w.log.text(), "[work]");
  EXPECT_EQ(w.s.shard.counts().armed, w.s.shard.counts().fired + w.s.shard.counts().cancelled);
  EXPECT_TRUE(w.limit.reset_at(w.begin));  // no region is left that uses the limit
  EXPECT_EQ(w.s.run_until_idle(), 0);
}

TEST(time_limit, is_released_by_a_cancelled_task) {
  world w;
  auto h = w.start();
  h.cancel();
  w.s.run_until_idle();
  EXPECT_EQ(w.s.cancelled, 1);
  EXPECT_EQ(w.log.text(), "[work]");
  EXPECT_TRUE(w.limit.reset_at(w.begin));
  EXPECT_EQ(w.s.run_until_idle(), 0);
}

// A value that is ready when the limit passes wins.
TEST(time_limit, result_that_is_ready_wins_over_the_limit) {
  world w;
  auto h = w.start();
  w.e.fire();
  w.s.advance(10ms);
  w.s.run_until_idle();
  EXPECT_EQ(h.join(), 7);
}

TEST(time_limit, outlives_its_last_handle) {
  manual_scheduler s;
  auto h = s.spawn(
      []() -> task<bool> { co_return (co_await timeout(time_limit(1ms), sleep_for(1h))).has_value(); });
  s.run_with_time();
  EXPECT_FALSE(h.join());
}

// Another thread moves the limit many times, and finally into the past.
TEST(time_limit, can_be_reset_by_another_thread) {
  for (int i = 0; i < 200; ++i) {
    world w;
    auto h = w.s.spawn(waits(w.limit, w.e, w.log));
    std::thread mover([&w] {
      for (int k = 0; k < 10; ++k) EXPECT_TRUE(w.limit.reset_at(w.begin + 1h - k * 1ms));
      EXPECT_TRUE(w.limit.reset_at(w.begin));
    });
    w.s.run_until_idle();
    mover.join();
    w.s.run_until_idle();
    EXPECT_EQ(h.join(), 0);
  }
}

}  // namespace
}  // namespace rota::time_limit_test
