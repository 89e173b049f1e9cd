// A task sees another's end after a third has acted on a deadline of the first. The test moves the clock.
#include "support/manual_scheduler.hpp"
#include "task/header.hpp"

#include <rota/cancel.hpp>
#include <rota/finally.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/event.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <utility>

namespace rota::cause_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

/// The deadline of 10 ms has passed, and another task has acted on it. No timer has fired.
void let_others_act(manual_scheduler& s) {
  s.time += 20ms;
  s.passed->note(s.time);
}

TEST(cause, when_any_keeps_its_winner_if_the_deadline_passes_while_a_loser_ends) {
  manual_scheduler s;
  sync::event decides;
  sync::event lets_go;
  sync::event never;
  const auto gives = [](sync::event& when) -> task<int> {
    co_await when.wait();
    co_return 5;
  };
  const auto ends_slowly = [](sync::event& body, sync::event& end) -> task<int> {
    const auto waits = [](sync::event& of) -> task<> { co_await of.wait(); };
    const auto cleanup = [&end](const outcome<void>&) -> task<> { co_await end.wait(); };
    co_await finally(waits(body), cleanup, 1h);
    co_return 6;
  };
  const auto first_of_two = [&]() -> task<std::size_t> {
    const auto first = co_await when_any(gives(decides), ends_slowly(never, lets_go));
    co_return first.index();
  };
  auto end = s.spawn([&]() -> task<int> {
    const auto got = co_await with_deadline(s.time + 10ms, first_of_two());
    co_return got.has_value() ? static_cast<int>(*got) : -1;
  });
  s.run_until_idle();
  decides.set();
  s.run_until_idle();
  lets_go.set();
  let_others_act(s);
  s.run_until_idle();
  EXPECT_EQ(end.join(), 0);
}

TEST(cause, a_shield_of_the_parent_holds_a_deadline_off_from_a_scopes_child) {
  manual_scheduler s;
  sync::event ended;
  int got = 0;
  auto end = s.spawn([&]() -> task<> {
    const auto body = [&](scope& children) -> task<> {
      const auto waits = [](sync::event& of) -> task<int> {
        co_await of.wait();
        co_return 1;
      };
      auto child = children.spawn(waits(ended));
      const auto guard = shield(1h);
      got = co_await child;
    };
    static_cast<void>(co_await with_deadline(s.time + 10ms, with_scope(body)));
  });
  s.run_until_idle();
  let_others_act(s);
  ended.set();
  s.run_until_idle();
  EXPECT_TRUE(end.is_done());
  EXPECT_EQ(got, 1);
}

/// Has its own limit, a little later than the deadline that a shield holds off.
task<int> reports_its_own_limit(manual_scheduler& s) {
  const auto end = co_await with_deadline(s.time + 12ms, sleep_for(1h));
  co_return end.has_value() ? 1 : 2;
}
task<int> gives_what_its_child_reports(manual_scheduler& s) {
  int got = 0;
  co_await with_scope([&](scope& children) -> task<> {
    auto child = children.spawn(reports_its_own_limit(s));
    got = co_await child;
  });
  co_return got;
}

TEST(cause, shield_holds_the_outer_deadline_off_from_a_grandchild_with_its_own) {
  manual_scheduler s;
  int got = 0;
  auto end = s.spawn([&]() -> task<> {
    const auto body = [&](scope& children) -> task<> {
      auto child = children.spawn(gives_what_its_child_reports(s));
      const auto guard = shield(1h);
      got = co_await child;
    };
    static_cast<void>(co_await with_deadline(s.time + 10ms, with_scope(body)));
  });
  s.run_until_idle();
  s.advance(15ms);
  s.run_until_idle();
  EXPECT_TRUE(end.is_done());
  EXPECT_EQ(got, 2);
}

TEST(cause, a_child_that_another_thread_spawns_has_the_deadline_of_the_scope) {
  manual_scheduler s;
  sync::event ended;
  sync::event never;
  scope* known = nullptr;
  int seen = 0;
  auto end = s.spawn([&]() -> task<bool> {
    const auto body = [&](scope& children) -> task<> {
      known = &children;
      co_await never.wait();
    };
    const auto in_time = co_await with_deadline(s.time + 10ms, with_scope(body));
    co_return in_time.has_value();
  });
  s.run_until_idle();
  known->fork(
      [](sync::event& of, int& count) -> task<> {
        co_await of.wait();
        ++count;
      },
      std::ref(ended),
      std::ref(seen));
  s.run_until_idle();
  let_others_act(s);
  ended.set();
  s.run_until_idle();
  EXPECT_EQ(seen, 0);
  s.advance(0ms);
  s.run_until_idle();
  EXPECT_FALSE(end.join());
}

TEST(cause, task_that_never_suspended_is_cancelled_by_shutdown_at_a_set_event) {
  manual_scheduler s;
  int seen = 0;
  auto end = s.spawn([&]() -> task<> {
    sync::event done;
    s.closed = true;
    done.set();
    co_await done.wait();
    ++seen;
  });
  s.run_until_idle();
  s.closed = false;
  const outcome<void> how = *end.wait_for(0s);
  EXPECT_EQ(how.reason(), cancel_reason::shutdown);
  EXPECT_EQ(seen, 0);
}

// A shutdown refuses new tasks shortly before it cancels the existing ones.
TEST(cause, registered_task_sees_no_refusal_before_its_own_cancellation) {
  manual_scheduler s;
  int seen = 0;
  const auto scopes = [&]() -> task<> {
    co_await sleep_for(1ms);
    try {
      co_await with_scope([&](scope& inside) -> task<> {
        s.closed = true;
        inside.fork([]() -> task<> { co_return; });
        co_await sleep_for(1h);
      });
    } catch (const cancelled_error&) {
      ++seen;
    }
    ++seen;
  };
  auto end = s.spawn(scopes);
  s.run_until_idle();
  s.advance(1ms);
  s.run_until_idle();
  EXPECT_EQ(seen, 0);
  end.cancel(cancel_reason::shutdown);
  s.run_until_idle();
  s.closed = false;
  const outcome<void> how = *end.wait_for(0s);
  EXPECT_EQ(how.reason(), cancel_reason::shutdown);
  EXPECT_EQ(seen, 0);
}

// --- the same for the children of a when_all_settled, for each way of a refusal

/// A registered task that awaits a group, and counts the children that it has seen cancelled.
struct refused_group {
  manual_scheduler s;
  int seen = 0;
  join_handle<void> end;

  core::header* parent = nullptr;

  explicit refused_group(bool in_place) { s.forks_in_place = in_place; }

  /// Acts as a shutdown does: it announces the cancellation before it refuses tasks.
  void close() {
    core::announce_cancel(*parent);
    s.closed = true;
  }
  task<> awaits_one_that_closes() {
    co_await sleep_for(1ms);
    parent = core::current_task();
    const auto closes = [](refused_group& of) -> task<int> {
      of.close();
      co_await yield();
      co_return 1;
    };
    const auto [x] = co_await when_all_settled(closes(*this));
    if (x.is_cancelled()) ++seen;
  }
  static task<int> yields() {
    co_await yield();
    co_return 2;
  }
  static task<int> waits() {
    co_await sleep_for(1h);
    co_return 3;
  }
  task<> awaits(task<int> first, task<int> second) {
    co_await sleep_for(1ms);
    parent = core::current_task();
    const auto [x, y] = co_await when_all_settled(std::move(first), std::move(second));
    if (x.is_cancelled() || y.is_cancelled()) ++seen;
  }
  /// The child that awaits the handle must start although it is refused: it must cancel the other task.
  task<> awaits_a_handle() {
    co_await sleep_for(1ms);
    parent = core::current_task();
    auto work = rota::spawn(waits());
    close();
    const auto [x] = co_await when_all_settled(std::move(work));
    if (x.is_cancelled()) ++seen;
  }
  void start(task<> work) {
    end = s.spawn(std::move(work));
    s.run_until_idle();
    s.advance(1ms);
  }
  void expect_unseen() {
    s.run_until_idle();
    EXPECT_FALSE(end.is_done()) << "it waits for its own cancellation";
    end.cancel(cancel_reason::shutdown);
    s.run_until_idle();
    s.closed = false;
    const outcome<void> how = *end.wait_for(0s);
    EXPECT_EQ(how.reason(), cancel_reason::shutdown);
    EXPECT_EQ(seen, 0);
  }
};

TEST(cause, refusal_of_an_in_place_child_is_not_seen_before_the_shutdown) {
  refused_group x(true);
  x.start(x.awaits_one_that_closes());
  x.expect_unseen();
}

TEST(cause, refusal_of_a_queued_child_is_not_seen_before_the_shutdown) {
  refused_group x(true);
  x.start(x.awaits(refused_group::yields(), refused_group::yields()));
  x.s.run_one();
  x.close();
  x.expect_unseen();
}

TEST(cause, refusal_of_an_awaited_handle_is_not_seen_before_the_shutdown) {
  refused_group x(false);
  x.start(x.awaits_a_handle());
  x.expect_unseen();
}

// --- the task's scope has failed, and its inherited deadline has passed on the clock; no timer has fired

struct too_late {};

/// Inherits a deadline. The only child of its scope fails after `when`.
task<int> has_a_scope_that_fails(manual_scheduler& s, base::nanoseconds when, int& seen) {
  co_await with_scope([&](scope& children) -> task<> {
    children.fork([&]() -> task<> {
      s.time += when;
      throw too_late();
      co_return;
    });
    co_await sleep_for(1h);
  });
  ++seen;
  co_return 1;
}
/// Returns "late" if the timeout has ended the work, and "thrown" if the child's exception has left it.
task<std::string> times_out_around_it(manual_scheduler& s, base::nanoseconds when, int& seen) {
  const auto awaits_it = [&]() -> task<int> {
    auto work = spawn(has_a_scope_that_fails(s, when, seen));
    co_return co_await work;
  };
  try {
    const auto end = co_await timeout(10ms, awaits_it());
    co_return end.has_value() ? "in time" : "late";
  } catch (const too_late&) {
    co_return "thrown";
  }
}
std::string end_of_a_scope_that_fails_after(base::nanoseconds when) {
  manual_scheduler s;
  int seen = 0;
  auto end = s.spawn(times_out_around_it(s, when, seen));
  s.run_until_idle();
  EXPECT_EQ(seen, 0);
  EXPECT_TRUE(end.is_done()) << "no timer is needed";
  s.run_with_time();
  return end.join();
}

TEST(cause, deadline_is_reported_if_the_scope_fails_after_it) {
  EXPECT_EQ(end_of_a_scope_that_fails_after(20ms), "late");
}

TEST(cause, deadline_is_reported_if_the_scope_fails_exactly_when_it_passes) {
  EXPECT_EQ(end_of_a_scope_that_fails_after(10ms), "late");
  EXPECT_EQ(end_of_a_scope_that_fails_after(10ms - 1ns), "thrown");
}

TEST(cause, a_scope_that_failed_before_the_deadline_is_reported) {
  EXPECT_EQ(end_of_a_scope_that_fails_after(5ms), "thrown");
}

}  // namespace
}  // namespace rota::cause_test
