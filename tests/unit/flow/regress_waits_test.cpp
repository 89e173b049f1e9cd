// Objects that are awaited or used a second time keep no state of the first time.
#include "flow_support.hpp"

#include <rota/async_scope.hpp>
#include <rota/cancel.hpp>
#include <rota/join_set.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/time.hpp>

#include <optional>
#include <string>
#include <utility>

namespace regress_waits_test {
namespace {

using namespace rota;
using namespace rota::test;

TEST(wait_regressions, reused_timeout_reports_each_await_on_its_own) {
  manual_scheduler s;
  auto work = []() -> task<std::string> {
    std::string all;
    auto nap = sleep_for(20ms);
    auto limited = timeout(10ms, nap);
    for (const auto span : {20ms, 5ms, 20ms, 5ms}) {
      nap.reset(span);
      const auto in_time = co_await limited;
      all += in_time ? "in time;" : "late;";
    }
    co_return all;
  };
  const auto begin = s.time;
  auto h = s.spawn(work);
  s.run_with_time();
  ASSERT_TRUE(h.is_done());
  EXPECT_EQ(h.join(), "late;in time;late;in time;");
  EXPECT_EQ(s.time - begin, 30ms);
}

TEST(wait_regressions, reused_timeout_that_was_late_keeps_a_result_that_is_ready) {
  manual_scheduler s;
  sync::mutex m;
  auto work = [&m]() -> task<std::string> {
    std::string all;
    auto lock = m.lock();
    auto limited = timeout(10ms, lock);
    {
      const auto held = co_await m.lock();
      const auto first = co_await limited;
      all += first ? "in time;" : "late;";
    }
    const auto second = co_await limited;
    all += second ? "in time" : "late";
    co_return all;
  };
  auto h = s.spawn(work);
  s.run_with_time();
  ASSERT_TRUE(h.is_done());
  EXPECT_EQ(h.join(), "late;in time");
  EXPECT_TRUE(m.try_lock().has_value());
}

// The outer timeout is left first. The second time the inner one has no effect, as the outer one is earlier.
TEST(wait_regressions, nested_timeouts_can_be_awaited_again) {
  manual_scheduler s;
  const auto until = s.time + 15ms;
  auto work = [&]() -> task<std::string> {
    std::string all;
    auto nap = sleep_for(3ms);
    auto inner = timeout(10ms, nap);
    auto outer = with_deadline(until, inner);
    for (int i = 0; i < 3; ++i) {
      nap.reset(6ms);
      const auto end = co_await outer;
      all += end ? "in time;" : "late;";
    }
    const auto rest = co_await timeout(10ms, sleep_for(20ms));
    all += rest ? "in time" : "late";
    co_return all;
  };
  auto h = s.spawn(work);
  s.run_with_time();
  ASSERT_TRUE(h.is_done());
  EXPECT_EQ(h.join(), "in time;in time;late;late");
}

TEST(wait_regressions, late_timeout_reused_under_an_earlier_deadline_is_in_time) {
  manual_scheduler s;
  auto work = []() -> task<std::string> {
    auto nap = sleep_for(20ms);
    auto limited = timeout(10ms, nap);
    const auto first = co_await limited;
    nap.reset(1ms);
    auto again = [&]() -> task<std::string> {
      const auto second = co_await limited;
      co_return second ? "in time" : "late";
    };
    auto inner = again();
    const auto both = co_await timeout(5ms, std::move(inner));
    co_return std::string(first ? "in time;" : "late;") + both.value_or("covered");
  };
  auto h = s.spawn(work);
  s.run_with_time();
  ASSERT_TRUE(h.is_done());
  EXPECT_EQ(h.join(), "late;in time");
}

TEST(wait_regressions, shield_assigned_over_another_has_its_own_limit) {
  manual_scheduler s;
  held_event go_on;
  auto work = [&]() -> task<void> {
    auto guard = shield(1s);
    co_await go_on.wait();
    guard = shield(10s);
    co_await forever();
  };
  const auto begin = s.time;
  auto h = s.spawn(work);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  s.advance(500ms);
  go_on.set();
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  s.run_with_time();
  EXPECT_EQ(s.time - begin, 10s + 500ms);
  EXPECT_EQ(s.overrides, 1);
  EXPECT_EQ(end_of(h), "cancelled user");
}

TEST(wait_regressions, detached_wait_that_timed_out_can_be_awaited_again) {
  manual_scheduler s;
  s.claims = false;
  held_event done;
  auto child = s.spawn(waits_for(done));
  auto work = [&]() -> task<std::string> {
    auto waiting = child.detached_wait();
    const auto first = co_await timeout(1ms, waiting);
    co_await waiting;
    co_return first ? "in time" : "late, then there";
  };
  auto h = s.spawn(work);
  s.run_with_time();
  EXPECT_FALSE(h.is_done());
  done.set();
  s.run_until_idle();
  EXPECT_EQ(h.is_done() ? h.join() : "not ended", "late, then there");
  h.cancel();
}

TEST(wait_regressions, detached_wait_waits_for_the_next_task_in_its_handle) {
  manual_scheduler s;
  s.claims = false;
  held_event first;
  held_event second;
  auto child = s.spawn(waits_for(first));
  auto work = [&]() -> task<void> {
    auto waiting = child.detached_wait();
    co_await waiting;
    child = s.spawn(waits_for(second));
    co_await waiting;
  };
  auto h = s.spawn(work);
  s.run_until_idle();
  first.set();
  s.run_until_idle();
  second.set();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value");
  h.cancel();
}

TEST(wait_regressions, second_next_does_not_take_the_outcome_of_the_first) {
  manual_scheduler s;
  held_event done;
  join_set<void> set;
  auto next_of = [&]() -> task<std::string> {
    try {
      const auto next = co_await set.next();
      co_return next ? in_words(*next) : "empty";
    } catch (const error& e) {
      co_return e.code() == errc::already_joined ? "already joined" : e.what();
    }
  };
  auto first_of = [&]() -> task<std::string> {
    set.spawn(waits_for(done));
    auto work = next_of();
    co_return co_await std::move(work);
  };
  auto first = s.spawn(first_of);
  s.run_until_idle();
  s.lifo = true;
  done.set();
  s.run_one();  // the child ends and wakes the first task
  auto second = s.spawn(next_of);
  s.run_until_idle();
  EXPECT_EQ(second.is_done() ? second.join() : "not ended", "already joined");
  EXPECT_EQ(first.is_done() ? first.join() : "not ended", "value");
  first.cancel();
}

TEST(wait_regressions, join_set_next_can_be_repeated_after_a_ready_outcome) {
  manual_scheduler s;
  auto work = []() -> task<std::string> {
    join_set<int> set;
    set.spawn(gives(1));
    set.spawn(gives(2));
    for (int i = 0; i < 4; ++i) co_await yield();
    std::string all;
    for (int i = 0; i < 3; ++i) {
      const auto next = co_await set.next();
      all += next ? in_words(*next) + ";" : "empty";
    }
    co_return all;
  };
  auto h = s.spawn(work);
  s.run_until_idle();
  EXPECT_EQ(h.is_done() ? h.join() : "not ended", "value 1;value 2;empty");
}

TEST(wait_regressions, failure_is_counted_if_close_of_an_async_scope_is_not_awaited) {
  manual_scheduler s;
  auto work = []() -> task<void> {
    async_scope children;
    children.fork(throws(1));
    for (int i = 0; i < 4; ++i) co_await yield();
    [[maybe_unused]] const auto never_awaited = children.close();
  };
  auto h = s.spawn(work);
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value");
  EXPECT_EQ(s.suppressed, 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST(wait_regressions, a_failure_that_close_throws_is_not_counted_too) {
  manual_scheduler s;
  auto work = []() -> task<void> {
    async_scope children;
    children.fork(throws(1));
    co_await children.close();
  };
  auto h = s.spawn(work);
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "failure 1");
  EXPECT_EQ(s.suppressed, 0);
}

TEST(wait_regressions, cancelled_close_counts_the_failure_that_it_does_not_throw) {
  manual_scheduler s;
  held_event done;
  auto last_words = [&]() -> task<void> {
    const auto guard = shield(1h);
    co_await done.wait();
    throw failure(7);
  };
  auto work = [&]() -> task<void> {
    async_scope children;
    children.fork(last_words);
    co_await children.close();
  };
  auto h = s.spawn(work);
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  done.set();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(s.suppressed, 1);
}

}  // namespace
}  // namespace regress_waits_test
