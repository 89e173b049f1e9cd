// timeout and with_deadline: who wins, what is unwound, and what it costs.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "unit/task/task_support.hpp"

#include <rota/cancel.hpp>
#include <rota/time.hpp>

namespace rota {
namespace {

using namespace std::chrono_literals;
using test::counted;
using test::event;
using test::journal;
using test::manual_scheduler;
using test::note;
using test::ready_leaf;
using test::slow_operation;
using time_point = std::chrono::steady_clock::time_point;

task<int> give(int value) {
  const int mine = value;
  co_return mine;
}

task<int> after(event& e, int value) {
  const int mine = value;
  co_await e();
  co_return mine;
}

/// Waits for an event, with a local in its frame.
task<int> work_on(event& e, journal& log, std::string name) {
  const note mine(log, std::move(name));
  co_await e();
  co_return 7;
}

task<int> around(event& e, journal& log) {
  const note outer(log, "outer");
  const int inner = co_await work_on(e, log, "inner");
  co_return inner + 1;
}

template <class T>
using result = std::expected<T, timed_out>;

/// One timeout of ten milliseconds around `work_on`, in a task of its own.
task<result<int>> limited(event& e, journal& log) {
  const note caller(log, "caller");
  auto r = co_await timeout(10ms, around(e, log));
  log.add("back");
  co_return r;
}

TEST(timeout, gives_the_value_of_work_that_is_in_time) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(limited, std::ref(e), std::ref(log));
  s.run_until_idle();
  s.advance(10ms - 1ns);
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), result<int>(8));
  EXPECT_EQ(log.text(), "inner outer back caller");
  EXPECT_EQ(s.shard.counts().armed, 1U);
  EXPECT_EQ(s.shard.counts().cancelled, 1U);
}

TEST(timeout, unwinds_work_that_is_late_once_and_innermost_first) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(limited, std::ref(e), std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_EQ(h.join(), result<int>(std::unexpected(timed_out{})));
  EXPECT_EQ(log.text(), "[inner] [outer] back caller");
  EXPECT_EQ(e.cancels, 1);
  EXPECT_EQ(e.reason, cancel_reason::timeout);
  EXPECT_EQ(e.resumes, 0);
  EXPECT_EQ(s.cancelled, 0);
}

TEST(timeout, a_wake_that_comes_after_it_does_no_harm) {
  manual_scheduler s;
  event first;
  event second;
  auto h = s.spawn(
      [](event& a, event& b) -> task<int> {
        auto r = co_await timeout(10ms, a());
        EXPECT_FALSE(r.has_value());
        co_await b();
        co_return 1;
      },
      std::ref(first),
      std::ref(second));
  s.run_until_idle();
  waker late = first.steal_waker();
  s.advance(10ms);
  s.run_until_idle();
  late.wake();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_FALSE(h.is_done());
  EXPECT_EQ(second.resumes, 0);
  second.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), 1);
}

TEST(timeout, that_lost_does_no_harm_when_its_timer_fires_on) {
  manual_scheduler s;
  event first;
  event second;
  auto h = s.spawn(
      [](event& a, event& b) -> task<int> {
        auto r = co_await timeout(10ms, a());
        EXPECT_TRUE(r.has_value());
        co_await b();
        co_return 1;
      },
      std::ref(first),
      std::ref(second));
  s.run_until_idle();
  // Both have happened when the task is looked at: the value wins, and the timer's wake is used up by that
  // look.
  first.fire();
  s.advance(10ms);
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_FALSE(h.is_done());
  EXPECT_EQ(second.resumes, 0);
  second.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), 1);
}

TEST(timeout, around_a_leaf_destroys_no_frame) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(
      [](event& ev, journal& j) -> task<bool> {
        const note mine(j, "mine");
        auto r = co_await timeout(10ms, ev());
        j.add("back");
        co_return r.has_value();
      },
      std::ref(e),
      std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "back mine");
  EXPECT_EQ(e.cancels, 1);
}

TEST(timeout, around_work_that_never_waits_costs_no_timer) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<int> {
    auto r = co_await timeout(10ms, give(3));
    auto leaf = co_await timeout(10ms, ready_leaf());
    EXPECT_TRUE(leaf.has_value());
    co_return *r;
  });
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(s.looks, 1U);
  EXPECT_EQ(s.shard.counts().armed, 0U);
  EXPECT_EQ(h.join(), 3);
}

TEST(timeout, arms_one_timer_however_often_the_work_waits) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<int> {
    auto r = co_await timeout(1s, []() -> task<int> {
      int n = 0;
      while (n < 100) {
        co_await sleep_for(1ms);
        ++n;
      }
      co_return n;
    }());
    co_return *r;
  });
  s.run_with_time();
  EXPECT_EQ(h.join(), 100);
  EXPECT_EQ(s.shard.counts().armed, 101U);
  EXPECT_EQ(s.shard.counts().fired, 100U);
}

TEST(timeout, of_nothing_ends_work_that_would_wait) {
  for (const auto span : {0ns, -1ns, std::chrono::nanoseconds::min()}) {
    manual_scheduler s;
    event e;
    journal log;
    auto h = s.spawn(
        [](event& ev, journal& j, std::chrono::nanoseconds limit) -> task<bool> {
          auto r = co_await timeout(limit, work_on(ev, j, "work"));
          co_return r.has_value();
        },
        std::ref(e),
        std::ref(log),
        span);
    // At the suspension itself: no timer, no second look.
    EXPECT_EQ(s.run_until_idle(), 1);
    EXPECT_FALSE(h.join());
    EXPECT_EQ(log.text(), "[work]");
    EXPECT_EQ(s.shard.counts().armed, 0U);
  }
}

TEST(timeout, of_nothing_lets_work_that_does_not_wait_win) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<int> {
    auto r = co_await timeout(0s, give(3));
    auto leaf = co_await timeout(-1s, ready_leaf());
    auto turn = co_await timeout(0s, yield());
    EXPECT_TRUE(leaf.has_value());
    EXPECT_TRUE(turn.has_value());
    co_return *r;
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), 3);
}

TEST(timeout, of_the_longest_duration_never_ends_anything) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event& ev) -> task<bool> {
        auto r = co_await timeout(std::chrono::hours::max(), [](event& v) -> task<> {
          EXPECT_EQ(core::current_task()->regions, nullptr);
          co_await v();
        }(ev));
        co_return r.has_value();
      },
      std::ref(e));
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 0U);
  s.advance(24h * 365 * 100);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  e.fire();
  s.run_until_idle();
  EXPECT_TRUE(h.join());
}

TEST(timeout, passes_an_exception_on) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<int> {
    auto r = co_await timeout(10ms, []() -> task<int> {
      co_await sleep_for(1ms);
      throw std::runtime_error("broken");
    }());
    co_return *r;
  });
  s.run_with_time();
  EXPECT_THROW(static_cast<void>(h.join()), std::runtime_error);
  EXPECT_EQ(s.shard.earliest(), base::never);
}

TEST(timeout, ends_its_deadline_before_an_exception_is_seen) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event& ev) -> task<int> {
        try {
          auto r = co_await timeout(10ms, []() -> task<int> {
            const int never = 0;
            throw std::runtime_error("broken");
            co_return never;
          }());
          EXPECT_FALSE(r.has_value());
        } catch (const std::runtime_error&) {
          EXPECT_EQ(this_task::deadline(), time_point::max());
        }
        EXPECT_EQ(core::current_task()->regions, nullptr);
        co_await ev();
        co_return 1;
      },
      std::ref(e));
  s.run_until_idle();
  s.advance(1h);
  s.run_until_idle();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), 1);
}

struct failing_leaf final : leaf {
  failing_leaf() noexcept = default;
  [[nodiscard]] bool is_ready() noexcept override { return false; }
  cancel_progress try_cancel(cancel_reason) noexcept override { return cancel_progress::ended; }
  static void await_resume() noexcept {}

 protected:
  bool start() override { throw std::runtime_error("cannot start"); }
};

TEST(timeout, of_a_leaf_that_cannot_start_leaves_nothing_behind) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<bool> {
    bool thrown = false;
    try {
      co_await timeout(10ms, failing_leaf());
    } catch (const std::runtime_error&) {
      thrown = true;
    }
    EXPECT_EQ(core::current_task()->regions, nullptr);
    EXPECT_EQ(this_task::deadline(), time_point::max());
    co_return thrown;
  });
  s.run_until_idle();
  EXPECT_TRUE(h.join());
}

TEST(timeout, that_races_the_event_ends_in_exactly_one_way) {
  constexpr int rounds = 2000;
  int values = 0;
  int late = 0;
  for (int i = 0; i < rounds; ++i) {
    manual_scheduler s;
    event e;
    auto h = s.spawn(
        [](event& ev) -> task<bool> {
          auto r = co_await timeout(10ms, after(ev, 1));
          co_return r.has_value();
        },
        std::ref(e));
    s.run_until_idle();
    const time_point due = s.time + 10ms;
    std::thread timers([&] { static_cast<void>(s.shard.poll(due, 1)); });
    std::thread other([&] { e.fire(); });
    s.run_until_idle();
    timers.join();
    other.join();
    s.run_until_idle();
    ASSERT_TRUE(h.is_done());
    const bool won = h.join();
    values += won ? 1 : 0;
    late += won ? 0 : 1;
    EXPECT_EQ(e.resumes + e.cancels, 1);
  }
  EXPECT_EQ(values + late, rounds);
}

// --- result types

template <class A>
using type_of =
    typename decltype(std::declval<decltype(timeout(1s, std::declval<A>()))&>().await_resume())::value_type;
static_assert(
    std::is_same_v<decltype(std::declval<core::with_limit<task<int>>&>().await_resume()), result<int>>);
static_assert(
    std::is_same_v<decltype(std::declval<core::with_limit<task<>>&>().await_resume()), result<void>>);
static_assert(
    std::is_same_v<decltype(std::declval<core::with_limit<join_handle<std::string>&>&>().await_resume()),
                   result<std::string>>);
static_assert(
    std::is_same_v<
        decltype(std::declval<core::with_limit<task<std::expected<int, std::error_code>>>&>().await_resume()),
        std::expected<int, std::error_code>>);
static_assert(std::is_same_v<type_of<core::with_limit<task<int>>>, result<int>>);

TEST(timeout, of_an_io_result_is_an_error_code) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event& ev) -> task<> {
        using io = std::expected<int, std::error_code>;
        const auto reading = [](event* waits) -> task<io> {
          if (waits != nullptr) co_await (*waits)();
          co_return 5;
        };
        io late = co_await timeout(10ms, reading(&ev));
        EXPECT_EQ(late, io(std::unexpected(make_error_code(errc::timed_out))));
        io good = co_await timeout(10ms, reading(nullptr));
        EXPECT_EQ(good, io(5));
      },
      std::ref(e));
  s.run_with_time();
  EXPECT_TRUE(h.is_done());
}

TEST(timeout, moves_the_value_and_never_copies_it) {
  manual_scheduler s;
  counted::reset();
  {
    auto h = s.spawn([]() -> task<int> {
      auto r = co_await timeout(10ms, []() -> task<counted> { co_return counted(9); }());
      co_return r->value;
    });
    s.run_until_idle();
    EXPECT_EQ(h.join(), 9);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(counted::copies, 0);
}

// --- handles

TEST(timeout, of_a_handle_cancels_the_task_and_waits_for_its_end) {
  manual_scheduler s;
  slow_operation op;
  journal log;
  auto child = s.spawn(
      [](slow_operation& o, journal& j) -> task<int> {
        const note mine(j, "child");
        co_await o();
        co_return 1;
      },
      std::ref(op),
      std::ref(log));
  auto h = s.spawn(
      [](join_handle<int>& c, journal& j) -> task<bool> {
        auto r = co_await timeout(10ms, c);
        j.add("back");
        auto end = co_await c.result();
        EXPECT_TRUE(end.is_cancelled());
        EXPECT_EQ(end.reason(), cancel_reason::timeout);
        co_return r.has_value();
      },
      std::ref(child),
      std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_EQ(op.cancels, 1);
  EXPECT_FALSE(h.is_done());
  EXPECT_EQ(log.text(), "");
  op.end();
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "[child] back");
}

TEST(timeout, of_a_handle_gives_the_value_of_a_child_that_runs_inside_its_parent) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<int> {
        auto child = m.spawn(give(4));
        auto r = co_await timeout(10ms, child);
        co_return *r;
      },
      std::ref(s));
  EXPECT_EQ(s.run_one(), true);
  EXPECT_EQ(h.join(), 4);
  EXPECT_EQ(s.shard.counts().armed, 0U);
}

TEST(timeout, of_a_child_that_runs_inside_its_parent_and_waits_is_kept) {
  manual_scheduler s;
  event e;
  journal log;
  auto h = s.spawn(
      [](manual_scheduler& m, event& ev, journal& j) -> task<bool> {
        auto child = m.spawn(work_on(ev, j, "child"));
        auto r = co_await timeout(10ms, child);
        co_return r.has_value();
      },
      std::ref(s),
      std::ref(e),
      std::ref(log));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_FALSE(h.join());
  EXPECT_EQ(log.text(), "[child]");
}

TEST(timeout, of_a_detached_wait_leaves_the_task_running) {
  manual_scheduler s;
  event e;
  journal log;
  auto child = s.spawn(work_on(e, log, "child"));
  auto h = s.spawn(
      [](join_handle<int>& c) -> task<bool> {
        auto r = co_await timeout(10ms, c.detached_wait());
        co_return r.has_value();
      },
      std::ref(child));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_FALSE(child.is_done());
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(child.join(), 7);
}

TEST(timeout, of_a_slow_leaf_waits_until_it_has_ended) {
  manual_scheduler s;
  slow_operation op;
  auto h = s.spawn(
      [](slow_operation& o) -> task<bool> {
        auto r = co_await timeout(10ms, o());
        co_return r.has_value();
      },
      std::ref(op));
  s.run_until_idle();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  op.wake_for_nothing();
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  op.end();
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(op.cancels, 1);
}

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

TEST(timeout, outside_counts_when_both_have_passed_at_once) {
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

TEST(timeout, inside_an_equal_one_costs_no_timer_and_counts_for_nothing) {
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

TEST(timeout, of_the_outside_that_passes_while_the_inside_unwinds_is_not_lost) {
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
  // The budget lets others run at times, but no checkpoint waits for anything.
  s.run_until_idle();
  EXPECT_FALSE(h.join());
  EXPECT_EQ(rounds, 10);
}

TEST(timeout, is_known_to_a_loop_that_asks) {
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

TEST(timeout, and_cancellation_at_once_end_the_task) {
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

TEST(with_deadline, is_over_where_its_co_await_is) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](manual_scheduler& m, event& ev) -> task<int> {
        // Both awaits lie in one full expression: the first one's deadline must not hold around the second.
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
}  // namespace rota
