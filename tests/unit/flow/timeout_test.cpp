// timeout and with_deadline: which outcome wins, what is unwound, and the cost.
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "unit/flow/timeout_support.hpp"

#include <rota/cancel.hpp>
#include <rota/time.hpp>

namespace rota::timeout_test {
namespace {

using namespace std::chrono_literals;
using test::after;
using test::counted;
using test::event;
using test::give;
using test::journal;
using test::limited;
using test::manual_scheduler;
using test::note;
using test::ready_leaf;
using test::result;
using test::slow_operation;
using test::work_on;
using time_point = std::chrono::steady_clock::time_point;

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

TEST(timeout, that_lost_the_race_does_no_harm_when_its_timer_fires) {
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
  // Both have happened when the task runs: the value wins, and the timer's wake is consumed by this run.
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

TEST(timeout, of_zero_ends_work_that_would_wait) {
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
    // The suspension itself ends it: no timer, and no second run.
    EXPECT_EQ(s.run_until_idle(), 1);
    EXPECT_FALSE(h.join());
    EXPECT_EQ(log.text(), "[work]");
    EXPECT_EQ(s.shard.counts().armed, 0U);
  }
}

TEST(timeout, of_zero_lets_work_that_does_not_wait_win) {
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

TEST(timeout, ends_a_child_that_runs_inside_its_parent_and_waits) {
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

}  // namespace
}  // namespace rota::timeout_test
