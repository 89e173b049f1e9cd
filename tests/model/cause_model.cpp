// One cause ends several tasks, delivered in every order. The boundary of the cause reports it. No task sees,
// at a join or in what it receives, the end of another task for the same cause. The real task core runs.
#include "base/futex.hpp"
#include "flow/brood.hpp"
#include "model/parent_and_children.hpp"

#include <rota/async_scope.hpp>
#include <rota/cancel.hpp>
#include <rota/channel/select.hpp>
#include <rota/join_set.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>

namespace rota::model {
namespace {

using namespace std::chrono_literals;

constexpr base::time_point start_of_time{1'000s};
constexpr base::nanoseconds limit = 10ms;

struct causes : household {
  sync::event ended;
  sync::semaphore permits{0};
  base::atomic<int> is_over{0};
  base::atomic<std::uint32_t> is_ready{0};
  join_set<void>* set = nullptr;
  sync::event is_cancelled;  // all of the set
  int seen = 0;              // ends that a task must not see
  int shielded = 0;          // waits behind a shield, and
  int heard = 0;             // ends that they have seen
  int spawned = 0;           // beside the parent

  /// The canceller may begin.
  void let_cancel() {
    // release. Pairs with the canceller: the tasks are there.
    is_ready.store(1, base::order::release);
    base::futex_wake(&is_ready, 1);
  }
  void wait_for_tasks() {
    // acquire. Pairs with let_cancel().
    while (is_ready.load(base::order::acquire) == 0)
      static_cast<void>(base::futex_wait(is_ready, 0, base::never));
  }
};

/// Sets the event, and releases a permit, when its frame goes.
struct tells_its_end {
  explicit tells_its_end(causes& which) : of(which) {}
  tells_its_end(const tells_its_end&) = delete;
  tells_its_end& operator=(const tells_its_end&) = delete;
  ~tells_its_end() {
    of.ended.set();
    of.permits.release();
  }
  causes& of;
};
task<void> waits_for_ever(causes& x) {
  const guard here(&x.guards);
  const tells_its_end end(x);
  co_await x.event();
}

task<void> joins(causes& x) {
  auto work = spawn(waits_for_ever(x));
  ++x.spawned;
  co_await work;
  ++x.seen;
}
task<void> takes_the_result(causes& x) {
  auto work = spawn(waits_for_ever(x));
  ++x.spawned;
  static_cast<void>(co_await work.result());
  ++x.seen;
}
task<void> waits_for_what_the_end_sets(causes& x) {
  auto work = spawn(waits_for_ever(x));
  ++x.spawned;
  co_await x.ended.wait();
  ++x.seen;
}
task<void> waits_for_a_permit_of_its_end(causes& x) {
  auto work = spawn(waits_for_ever(x));
  ++x.spawned;
  static_cast<void>(co_await x.permits.acquire());
  ++x.seen;
}
task<void> takes_the_next_of_a_set(causes& x) {
  join_set<void> works;
  works.spawn(waits_for_ever(x));
  ++x.spawned;
  static_cast<void>(co_await works.next());
  ++x.seen;
}

/// The shield holds the cause off: so the end of the other task is data.
task<void> joins_behind_a_shield(causes& x) {
  auto work = spawn(waits_for_ever(x));
  ++x.spawned;
  {
    const auto held = shield(std::chrono::hours::max());
    ++x.shielded;
    static_cast<void>(co_await work.result());
    ++x.heard;
  }
  co_await x.event();
  ++x.seen;
}
/// Two limits that pass at one time are one cause, and the outer one reports it.
task<void> joins_within_an_equal_limit(causes& x) {
  static_cast<void>(co_await with_deadline(start_of_time + limit, joins(x)));
  ++x.seen;
}

using way_to_wait = task<void> (*)(causes&);

/// Reports at its end that the limit is over, also after an exception.
struct tells_the_poller {
  explicit tells_the_poller(causes& of) : x(of) {}
  tells_the_poller(const tells_the_poller&) = delete;
  tells_the_poller& operator=(const tells_the_poller&) = delete;
  ~tells_the_poller() {
    // release. Pairs with the poller: nothing comes after it.
    x.is_over.store(1, base::order::release);
  }
  causes& x;
};

/// 1: in time; 0: late.
task<int> under_a_limit(causes& x, way_to_wait waits) {
  const tells_the_poller last(x);
  const auto end = co_await with_deadline(start_of_time + limit, waits(x));
  co_return end.has_value() ? 1 : 0;
}

void expect_late(std::string_view name, way_to_wait waits, unsigned bound = 2) {
  expect_holds_everywhere(
      name,
      [waits](execution& e) {
        auto& x = e.make<causes>();
        x.s.have_timers(start_of_time);
        start(e, x, 2, under_a_limit(x, waits));
        e.thread("time", [&x] {
          // acquire. Pairs with under_a_limit().
          x.s.let_time_pass(start_of_time + limit, [&x] {
            return x.is_over.load(base::order::acquire) != 0 && x.s.ended == 1 + x.spawned;
          });
        });
        e.finally([&x] {
          check(end_of_parent(x) == 0, "the timeout reports its deadline");
          check(x.seen == 0, "no line after the wait has run");
          check(x.heard == x.shielded, "what waits behind a shield goes on");
          check(x.guards <= 1, "what had begun was unwound");
        });
      },
      bound);
}

/// Fails if the deadline has passed by the clock: the timer of the parent may not have fired.
task<void> fails_after_the_limit(causes& x) {
  core::scheduler& by = x.s.core();
  if (by.ops->now(by) >= start_of_time + limit) throw 7;
  co_return;
}
task<void> has_a_child_that_fails_late(causes& x) {
  const auto body = [&x](scope& children) -> task<> {
    ++x.spawned;
    children.fork(fails_after_the_limit, std::ref(x));
    co_await x.event();
  };
  co_await with_scope(body);
}
task<void> joins_one_whose_scope_fails(causes& x) {
  auto work = spawn(has_a_child_that_fails_late(x));
  ++x.spawned;
  co_await work;
  ++x.seen;
}

TEST(cause_model, timeout_reports_a_deadline_that_also_ends_the_joined_task) {
  expect_late("cause_join", joins);
}

TEST(cause_model, timeout_reports_a_deadline_that_ends_the_task_awaited_by_result) {
  expect_late("cause_result", takes_the_result, 1);
}

TEST(cause_model, timeout_reports_a_deadline_that_causes_the_awaited_event) {
  expect_late("cause_event", waits_for_what_the_end_sets, 1);
}

TEST(cause_model, timeout_reports_a_deadline_that_frees_the_awaited_permit) {
  expect_late("cause_permit", waits_for_a_permit_of_its_end, 1);
}

TEST(cause_model, timeout_reports_a_deadline_that_also_ends_a_join_set_member) {
  expect_late("cause_set", takes_the_next_of_a_set, 1);
}

TEST(cause_model, timeout_reports_a_deadline_although_a_joined_task_fails_after_it) {
  expect_late("cause_failure", joins_one_whose_scope_fails, 1);
}

TEST(cause_model, timeout_reports_a_deadline_that_a_shielded_join_has_seen) {
  expect_late("cause_shield", joins_behind_a_shield, 1);
}

TEST(cause_model, outer_timeout_reports_two_nested_equal_deadlines) {
  expect_late("cause_equal", joins_within_an_equal_limit, 1);
}

// --- a scope that is cancelled

task<void> joins_another(causes& x, join_handle<void> other) {
  const guard here(&x.guards);
  static_cast<void>(co_await other.result());
  ++x.seen;
}
task<void> hears_of_another(causes& x) {
  const guard here(&x.guards);
  co_await x.ended.wait();
  ++x.seen;
}
/// Its own thread, so that children run meanwhile.
task<int> cancels_both(causes& x, bool by_handle) {
  auto body = [&x, by_handle](scope& children) -> task<> {
    auto first = children.spawn(waits_for_ever, std::ref(x));
    if (by_handle) {
      children.fork(joins_another, std::ref(x), std::move(first));
    } else {
      children.fork(hears_of_another, std::ref(x));
    }
    children.cancel();
    co_return;
  };
  co_await with_scope(body);
  co_return 1;
}

void expect_unseen(std::string_view name, bool by_handle) {
  expect_holds_everywhere(name, [by_handle](execution& e) {
    auto& x = e.make<causes>();
    start(e, x, 2, cancels_both(x, by_handle));
    e.finally([&x] {
      check(end_of_parent(x) == 1, "children that were asked to stop have not failed");
      check(x.seen == 0, "no child sees that another was cancelled with it");
    });
  });
}

TEST(cause_model, child_does_not_see_a_joined_sibling_end_if_their_scope_cancels_both) {
  expect_unseen("cause_scope_join", true);
}

TEST(cause_model, child_does_not_see_an_event_of_a_sibling_that_their_scope_cancels) {
  expect_unseen("cause_scope_event", false);
}

// --- scopes inside of each other

task<void> fails(causes& /*x*/) {
  throw 7;
  co_return;
}
task<void> has_a_scope_in_a_scope(causes& x) {
  const auto inner = [&x](scope& children) -> task<> {
    children.fork(waits_for_ever, std::ref(x));
    x.let_cancel();
    co_await x.event();
  };
  const auto outer = [&x, &inner](scope& children) -> task<> {
    children.fork(hears_of_another, std::ref(x));
    co_await with_scope(inner);
  };
  co_await with_scope(outer);
}
/// The unwinding ends in this task: its word has no cancellation.
task<int> fails_around_two_scopes(causes& x) {
  const auto body = [&x](scope& children) -> task<> {
    children.fork(fails, std::ref(x));
    co_await has_a_scope_in_a_scope(x);
  };
  try {
    co_await with_scope(body);
  } catch (int) {
    co_return 1;
  }
  co_return 0;
}

TEST(cause_model, outer_child_does_not_see_the_end_of_an_inner_child_on_a_failure) {
  expect_holds_everywhere(
      "cause_inner_scopes",
      [](execution& e) {
        auto& x = e.make<causes>();
        start(e, x, 2, fails_around_two_scopes(x));
        e.finally([&x] {
          check(end_of_parent(x) == 1, "the failure is reported");
          check(x.seen == 0, "no child sees that another was cancelled with it");
        });
      },
      1);
}

task<int> waits_in_two_scopes(causes& x) {
  co_await has_a_scope_in_a_scope(x);
  co_return 1;
}

// --- a scope, and what its body awaits meanwhile

task<void> lets_cancel_and_hears(causes& x) {
  x.let_cancel();
  co_await hears_of_another(x);
}
task<void> awaits_a_handle(causes& x) {
  auto other = spawn(hears_of_another(x));
  x.let_cancel();
  co_await other;
}
task<void> awaits_a_group(causes& x) { co_await when_all(lets_cancel_and_hears(x), hears_of_another(x)); }
task<void> closes_an_async_scope(causes& x) {
  async_scope others;
  others.spawn(hears_of_another(x));
  x.let_cancel();
  co_await others.close();
}
template <way_to_wait waits>
task<int> has_a_child_and(causes& x) {
  const auto body = [&x](scope& children) -> task<> {
    children.fork(waits_for_ever, std::ref(x));
    co_await waits(x);
  };
  co_await with_scope(body);
  co_return 1;
}

// --- a task that is cancelled in a select

task<int> selects(causes& x) {
  auto one = spawn(waits_for_ever(x));
  auto other = spawn(hears_of_another(x));
  x.let_cancel();
  static_cast<void>(co_await channel::select(one, other));
  co_return 1;
}

void expect_unseen_from_outside(std::string_view name, task<int> (*waits)(causes&), unsigned bound = 2) {
  expect_holds_everywhere(
      name,
      [waits](execution& e) {
        auto& x = e.make<causes>();
        start(e, x, 2, waits(x));
        e.thread("canceller", [&x] {
          x.wait_for_tasks();
          x.parent->cancel(cancel_reason::user);
        });
        e.finally([&x] {
          check(end_of_parent(x) == -1, "it was cancelled");
          check(x.seen == 0, "none sees that another was cancelled with it");
        });
      },
      bound);
}

TEST(cause_model, tasks_of_a_cancelled_select_do_not_see_each_others_end) {
  expect_unseen_from_outside("cause_select", selects);
}

TEST(cause_model, children_of_nested_scopes_do_not_see_each_others_end_on_a_cancel) {
  expect_unseen_from_outside("cause_two_scopes", waits_in_two_scopes, 1);
}

TEST(cause_model, awaited_task_does_not_see_the_end_of_a_child_cancelled_with_it) {
  expect_unseen_from_outside("cause_child_handle", has_a_child_and<awaits_a_handle>, 1);
}

TEST(cause_model, awaited_group_does_not_see_the_end_of_a_child_cancelled_with_it) {
  expect_unseen_from_outside("cause_child_group", has_a_child_and<awaits_a_group>, 1);
}

TEST(cause_model, closed_async_scope_does_not_see_the_end_of_a_child_cancelled_with_it) {
  expect_unseen_from_outside("cause_async_scope", has_a_child_and<closes_an_async_scope>, 1);
}

// --- a set that another thread cancels while a task is spawned into it

/// Checks at its end, when the set was cancelled for certain.
struct hears_before_it_is_cancelled {
  explicit hears_before_it_is_cancelled(causes& of) : x(of) {}
  hears_before_it_is_cancelled(const hears_before_it_is_cancelled&) = delete;
  hears_before_it_is_cancelled& operator=(const hears_before_it_is_cancelled&) = delete;
  ~hears_before_it_is_cancelled() {
    if (has_heard && this_task::cancel_requested()) ++x.seen;
  }
  causes& x;
  bool has_heard = false;
};
task<void> comes_beside_a_cancellation(causes& x) {
  hears_before_it_is_cancelled last(x);
  co_await x.ended.wait();
  last.has_heard = true;
  co_await x.is_cancelled.wait();
}
/// Has begun when the set is cancelled: else its end would set no event.
task<void> lets_cancel_and_waits(causes& x) {
  const tells_its_end end(x);
  x.let_cancel();
  co_await x.event();
}
task<int> spawns_beside_a_cancellation(causes& x) {
  join_set<void> works;
  x.set = &works;
  works.spawn(lets_cancel_and_waits(x));
  works.spawn(comes_beside_a_cancellation(x));
  co_await x.is_cancelled.wait();
  int ends = 0;
  for (;;) {
    const auto next = co_await works.next();
    if (!next) break;
    ++ends;
  }
  co_return ends;
}

TEST(cause_model, task_spawned_into_a_set_during_its_cancel_sees_no_end_of_another) {
  const auto body = [](execution& e) {
    auto& x = e.make<causes>();
    start(e, x, 2, spawns_beside_a_cancellation(x));
    e.thread("canceller", [&x] {
      x.wait_for_tasks();
      x.set->cancel_all();
      x.is_cancelled.set();
    });
    e.finally([&x] {
      check(end_of_parent(x) == 2, "both have ended");
      check(x.seen == 0, "a task that is cancelled has seen no end of another");
    });
  };
  expect_holds(by_priority("cause_set_spawn", 5'000), body);
}

}  // namespace
}  // namespace rota::model
