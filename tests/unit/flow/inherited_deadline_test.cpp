// Tasks that are spawned inside of a deadline.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <utility>

#include "unit/task/task_support.hpp"

#include <rota/cancel.hpp>
#include <rota/detail/under_deadline.hpp>
#include <rota/time.hpp>

namespace rota::inherited_deadline_test {
namespace {

using namespace std::chrono_literals;
using test::event;
using test::journal;
using test::manual_scheduler;
using test::note;
using time_point = std::chrono::steady_clock::time_point;

task<int> work_on(event& e, journal& log) {
  const note mine(log, "work");
  co_await e();
  co_return 7;
}

/// Spawns as spawn() does.
template <class T>
join_handle<T> spawn_here(manual_scheduler& s, task<T> work) {
  return s.spawn(core::inherit_deadline(std::move(work)));
}

TEST(inherited_deadline, a_task_that_is_spawned_without_one_is_not_wrapped) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        const auto nothing = []() -> task<> { co_return; };
        auto work = nothing();
        auto* const frame = work.release();
        task<> again = std::move(work);
        EXPECT_FALSE(again.valid());
        core::header& made = core::launch(*frame, m, core::result_vtable_of<void>, {});
        EXPECT_EQ(made.deadline.get(), base::never);
        auto child = join_handle<void>(made);
        co_await child;
      },
      std::ref(s));
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_EQ(s.shard.counts().armed, 0U);
}

TEST(inherited_deadline, cancels_a_child_that_outlives_its_parent) {
  manual_scheduler s;
  event e;
  journal log;
  join_handle<int> child;
  auto h = s.spawn(
      [](manual_scheduler& m, event& ev, journal& j, join_handle<int>& out) -> task<> {
        const time_point limit = m.time + 10ms;
        auto r = co_await with_deadline(
            limit, [](manual_scheduler& ms, event& v, journal& l, join_handle<int>& o) -> task<> {
              o = spawn_here(ms, work_on(v, l));
              co_return;
            }(m, ev, j, out));
        EXPECT_TRUE(r.has_value());
      },
      std::ref(s),
      std::ref(e),
      std::ref(log),
      std::ref(child));
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_FALSE(child.is_done());
  s.advance(10ms - 1ns);
  s.run_until_idle();
  EXPECT_FALSE(child.is_done());
  s.advance(1ns);
  s.run_until_idle();
  const auto end = child.wait_for(0s);
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled());
  EXPECT_EQ(end->reason(), cancel_reason::timeout);
  EXPECT_EQ(log.text(), "[work]");
}

TEST(inherited_deadline, is_known_to_the_child_and_to_its_children) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler& m) -> task<> {
        const time_point limit = m.time + 5s;
        auto r = co_await with_deadline(limit, [](manual_scheduler& ms, time_point t) -> task<> {
          auto child = spawn_here(ms, [](manual_scheduler& mm, time_point tt) -> task<> {
            EXPECT_EQ(this_task::deadline(), tt);
            auto grandchild = spawn_here(mm, []() -> task<time_point> { co_return this_task::deadline(); }());
            const time_point below = co_await grandchild;
            EXPECT_EQ(below, tt);
            auto earlier = co_await with_deadline(
                tt - 1s, []() -> task<time_point> { co_return this_task::deadline(); }());
            EXPECT_EQ(earlier.value(), tt - 1s);
            auto later = co_await with_deadline(
                tt + 1s, []() -> task<time_point> { co_return this_task::deadline(); }());
            EXPECT_EQ(later.value(), tt);
            EXPECT_EQ(this_task::deadline(), tt);
          }(ms, t));
          co_await child;
        }(m, limit));
        EXPECT_TRUE(r.has_value());
      },
      std::ref(s));
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_EQ(s.shard.earliest(), base::never);
}

TEST(inherited_deadline, that_has_passed_keeps_the_child_from_starting) {
  manual_scheduler s;
  journal log;
  event e;
  auto h = s.spawn(
      [](manual_scheduler& m, journal& j, event& ev) -> task<> {
        auto work = work_on(ev, j);
        auto child = m.spawn(core::under_deadline(m.time, std::move(work)));
        auto end = co_await child.result();
        EXPECT_TRUE(end.is_cancelled());
        EXPECT_EQ(end.reason(), cancel_reason::timeout);
      },
      std::ref(s),
      std::ref(log),
      std::ref(e));
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_EQ(log.text(), "");
  EXPECT_EQ(s.shard.counts().armed, 0U);
}

TEST(inherited_deadline, cancels_its_timer_when_the_child_ends_in_time) {
  manual_scheduler s;
  event e;
  journal log;
  auto child = s.spawn(core::under_deadline(s.time + 10ms, work_on(e, log)));
  s.run_until_idle();
  EXPECT_EQ(s.shard.counts().armed, 1U);
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(child.join(), 7);
  EXPECT_EQ(s.shard.counts().cancelled, 1U);
  EXPECT_EQ(s.live, 0);
}

TEST(inherited_deadline, cancels_a_woken_child_if_it_passes_before_the_child_runs) {
  manual_scheduler s;
  event e;
  journal log;
  auto child = s.spawn(core::under_deadline(s.time + 10ms, work_on(e, log)));
  s.run_until_idle();
  e.fire();
  s.advance(10ms);
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(log.text(), "[work]");
  EXPECT_TRUE(child.is_done());
}

TEST(inherited_deadline, that_passes_while_the_child_ends_does_no_harm) {
  constexpr int rounds = 2000;
  for (int i = 0; i < rounds; ++i) {
    manual_scheduler s;
    event e;
    auto child = s.spawn(core::under_deadline(s.time + 10ms, [](event& ev) -> task<> { co_await ev(); }(e)));
    s.run_until_idle();
    const time_point due = s.time + 10ms;
    std::thread other([&] { static_cast<void>(s.shard.poll(due, 1)); });
    e.fire();
    s.run_until_idle();
    other.join();
    s.run_until_idle();
    EXPECT_TRUE(child.is_done());
  }
}

TEST(inherited_deadline, is_held_off_by_a_shield_of_the_child) {
  manual_scheduler s;
  event e;
  journal log;
  auto child = s.spawn(core::under_deadline(s.time + 10ms, [](event& ev, journal& j) -> task<> {
    const note mine(j, "mine");
    auto guard = shield(1s);
    co_await ev();
    j.add("kept");
  }(e, log)));
  s.run_until_idle();
  s.advance(500ms);
  s.run_until_idle();
  EXPECT_EQ(log.text(), "");
  s.advance(500ms);
  s.run_until_idle();
  EXPECT_EQ(log.text(), "[mine]");
  EXPECT_EQ(s.overrides, 1);
  EXPECT_TRUE(child.is_done());
}

TEST(inherited_deadline, is_the_limit_of_the_shield_for_a_child_spawned_under_it) {
  manual_scheduler s;
  event never;
  auto h = s.spawn(
      [](manual_scheduler& m, event& n) -> task<> {
        const time_point t = m.time;
        auto r =
            co_await with_deadline(t + 1s, [](manual_scheduler& ms, event& ev, time_point begin) -> task<> {
              auto guard = shield(10s);
              auto child = spawn_here(ms, [](event& x) -> task<time_point> {
                const time_point mine = this_task::deadline();
                auto late = co_await timeout(2s, x());
                EXPECT_FALSE(late.has_value());
                co_return mine;
              }(ev));
              const time_point known = co_await child;
              EXPECT_EQ(known, begin + 10s);
              EXPECT_EQ(ms.time, begin + 2s);
            }(m, n, t));
        EXPECT_TRUE(r.has_value());
      },
      std::ref(s),
      std::ref(never));
  s.run_with_time();
  EXPECT_TRUE(h.is_done());
  EXPECT_EQ(s.cancelled, 0);
}

}  // namespace
}  // namespace rota::inherited_deadline_test
