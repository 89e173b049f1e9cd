// A limit that moves: against its passing, against the task that arms its timer, around children, and beside
// a deadline and a shield. Every execution ends, and the outermost boundary reports. The real task core runs.
#include "model/parent_and_children.hpp"

#include <rota/cancel.hpp>
#include <rota/scope.hpp>
#include <rota/sync/event.hpp>
#include <rota/time_limit.hpp>
#include <rota/when.hpp>

#include <functional>
#include <string_view>
#include <utility>

namespace rota::model {
namespace {

using namespace std::chrono_literals;

constexpr base::time_point start_of_time{1'000s};
constexpr base::time_point due = start_of_time + 10ms;

struct limited : household {
  time_limit limit = time_limit::at(due);
  base::atomic<int> over{0};  // parents that have ended
  int parents = 1;
  sync::event ended;
  int seen = 0;  // reports of boundaries further in
  bool moved = false;
};

/// Reports at its end that one more is over, also after an exception.
struct tells_the_poller {
  explicit tells_the_poller(limited& of) : x(of) {}
  tells_the_poller(const tells_the_poller&) = delete;
  tells_the_poller& operator=(const tells_the_poller&) = delete;
  ~tells_the_poller() {
    // release. Pairs with let_pass(): nothing comes after it.
    x.over.fetch_add(1, base::order::release);
  }
  limited& x;
};

task<void> waits(limited& x) {
  const guard here(&x.guards);
  co_await x.event();
}
using work = task<void> (*)(limited&);

/// 1: in time; 0: late.
task<int> under(limited& x, work what) {
  const tells_the_poller last(x);
  const auto end = co_await timeout(x.limit, what(x));
  co_return end.has_value() ? 1 : 0;
}

/// Time stands at `now` until all parents have ended.
void let_pass(execution& e, limited& x, base::time_point now) {
  e.thread("time", [&x, now] {
    // acquire. Pairs with tells_the_poller.
    x.s.let_time_pass(now, [&x] { return x.over.load(base::order::acquire) == x.parents; });
  });
}

TEST(time_limit_model, passes_when_it_is_moved_earlier_while_its_timer_is_armed) {
  expect_holds_everywhere("limit_earlier", [](execution& e) {
    auto& x = e.make<limited>();
    x.limit = time_limit::at(start_of_time + 1h);
    x.s.have_timers(start_of_time);
    start(e, x, 1, under(x, waits));
    e.thread("mover", [&x] {
      check(x.limit.reset_at(start_of_time + 1min), "it had not passed");
      check(x.limit.reset_at(due), "it had not passed");
    });
    let_pass(e, x, due);
    e.finally([&x] { check(end_of_parent(x) == 0, "late"); });
  });
}

// The timer fires for the old time.
TEST(time_limit_model, is_armed_again_when_it_is_moved_later) {
  expect_holds_everywhere("limit_again", [](execution& e) {
    auto& x = e.make<limited>();
    x.s.have_timers(start_of_time);
    start(e, x, 1, under(x, waits));
    e.thread("mover", [&x] { static_cast<void>(x.limit.reset_at(due + 1ms)); });
    e.thread("time", [&x] {
      int looks = 2;
      x.s.let_time_pass(due, [&looks] { return --looks < 0; });
      // acquire. Pairs with tells_the_poller.
      x.s.let_time_pass(due + 1ms, [&x] { return x.over.load(base::order::acquire) == x.parents; });
    });
    e.finally([&x] { check(end_of_parent(x) == 0, "late"); });
  });
}

TEST(time_limit_model, passes_or_is_moved_when_a_reset_races_with_its_passing) {
  expect_holds_everywhere("limit_later", [](execution& e) {
    auto& x = e.make<limited>();
    x.s.have_timers(start_of_time);
    start(e, x, 1, under(x, waits));
    e.thread("mover", [&x] {
      x.moved = x.limit.reset_at(due + 1h);
      x.event.fire();
    });
    let_pass(e, x, due);
    e.finally([&x] {
      const int end = end_of_parent(x);
      check(end == 1 || !x.moved, "what was moved in time does not pass");
      check(x.guards == 1, "the work has ended once");
    });
  });
}

TEST(time_limit_model, passes_when_two_threads_move_it) {
  expect_holds_everywhere(
      "limit_two_movers",
      [](execution& e) {
        auto& x = e.make<limited>();
        x.limit = time_limit::at(start_of_time + 1h);
        x.s.have_timers(start_of_time);
        start(e, x, 1, under(x, waits));
        e.thread("first", [&x] { static_cast<void>(x.limit.reset_at(due)); });
        e.thread("second", [&x] { static_cast<void>(x.limit.reset_at(due - 1ms)); });
        let_pass(e, x, due);
        e.finally([&x] { check(end_of_parent(x) == 0, "late"); });
      },
      1);
}

TEST(time_limit_model, wakes_all_users_when_it_is_moved_earlier) {
  expect_holds_everywhere(
      "limit_two_users",
      [](execution& e) {
        auto& x = e.make<limited>();
        auto& y = e.make<household>();
        auto& second = e.make<model_event>();
        x.limit = time_limit::at(start_of_time + 1h);
        x.parents = 2;
        x.s.have_timers(start_of_time);
        const auto other = [](limited& l, model_event& never) -> task<int> {
          const tells_the_poller last(l);
          const auto end = co_await timeout(l.limit, never());
          co_return end.has_value() ? 1 : 0;
        };
        y.parent.emplace(x.s.spawn(other(x, second)));
        start(e, x, 1, under(x, waits));
        e.thread("mover", [&x] { check(x.limit.reset_at(due), "it had not passed"); });
        let_pass(e, x, due);
        e.finally([&x, &y] {
          check(end_of_parent(x) == 0, "late");
          check(end_of_parent(y) == 0, "both");
        });
      },
      1);
}

// The mover has the last handle, and the task may end while it wakes it.
TEST(time_limit_model, is_destroyed_with_its_last_user) {
  expect_holds_everywhere("limit_last_handle", [](execution& e) {
    auto& x = e.make<limited>();
    x.limit = time_limit::at(start_of_time + 1h);
    x.s.have_timers(start_of_time);
    start(e, x, 1, under(x, waits));
    auto& mine = e.make<time_limit>(x.limit);
    e.thread("mover", [&x, &mine] {
      time_limit taken = std::move(mine);
      check(taken.reset_at(due), "it had not passed");
      x.event.fire();
    });
    e.finally([&x] { check(end_of_parent(x) == 1, "in time"); });
  });
}

// No timeout uses it: the thread that drops the last handle sees what the other one has done.
TEST(time_limit_model, is_destroyed_after_the_last_use_of_each_handle) {
  expect_holds_everywhere("limit_two_handles", [](execution& e) {
    auto& first = e.make<time_limit>(time_limit::at(due));
    auto& second = e.make<time_limit>(first);
    for (time_limit* const each : {&first, &second}) {
      e.thread("owner", [each, moves = each == &first] {
        const time_limit mine = std::move(*each);
        if (moves) check(mine.reset_at(start_of_time), "it had not passed");
      });
    }
  });
}

// The parent waits for its children. It is unwound, and that cancels them.
task<void> in_a_scope(limited& x) {
  const auto body = [&x](scope& children) -> task<> {
    children.fork(waits, std::ref(x));
    co_return;
  };
  co_await with_scope(body);
}
task<void> in_a_group(limited& x) { co_await when_all(waits(x), ends(x)); }

void expect_that_children_end(std::string_view name, work what, int tasks) {
  expect_holds_everywhere(
      name,
      [what, tasks](execution& e) {
        auto& x = e.make<limited>();
        x.s.have_timers(start_of_time);
        start(e, x, 2, under(x, what));
        let_pass(e, x, due);
        e.finally([&x, tasks] {
          check(end_of_parent(x) == 0, "late");
          check(x.s.ended == tasks, "each task has ended once");
        });
      },
      1);
}

TEST(time_limit_model, ends_the_children_of_a_scope) {
  expect_that_children_end("limit_scope", in_a_scope, 2);
}
TEST(time_limit_model, ends_the_children_of_a_group) {
  expect_that_children_end("limit_group", in_a_group, 3);
}

// No timer has fired. The task is woken, and sees by the clock the passed limit, then the outer deadline.
task<void> hears_of_an_end(limited& x) { co_await x.ended.wait(); }
task<int> under_a_deadline_and(limited& x) {
  const tells_the_poller last(x);
  const auto inner = [](limited& l) -> task<void> {
    const auto end = co_await timeout(l.limit, hears_of_an_end(l));
    if (!end.has_value()) ++l.seen;
  };
  const auto end = co_await with_deadline(due, inner(x));
  co_return end.has_value() ? 1 : 0;
}

TEST(time_limit_model, leaves_the_report_to_an_outer_deadline_of_the_same_time) {
  expect_holds_everywhere("limit_deadline_outside", [](execution& e) {
    auto& x = e.make<limited>();
    x.s.have_timers(start_of_time);
    start(e, x, 1, under_a_deadline_and(x));
    e.thread("other", [&x] { x.ended.set(); });
    let_pass(e, x, due);
    e.finally([&x] {
      static_cast<void>(end_of_parent(x));
      check(x.seen == 0, "the deadline is further out");
    });
  });
}

// The task is cancelled, and waits behind a shield that ends later than the limit.
task<void> is_shielded(limited& x) {
  const auto guard = shield(1h);
  co_await x.event();
}

TEST(time_limit_model, does_not_end_the_shielded_wait_of_a_cancelled_task) {
  expect_holds_everywhere("limit_shield", [](execution& e) {
    auto& x = e.make<limited>();
    x.s.have_timers(start_of_time);
    start(e, x, 1, under(x, is_shielded));
    e.thread("other", [&x] {
      x.parent->cancel();
      x.event.fire();
    });
    // It may be cancelled before it has begun.
    e.thread("time", [&x] { x.s.let_time_pass(due, [&x] { return x.parent->is_done(); }); });
    e.finally([&x] { static_cast<void>(end_of_parent(x)); });
  });
}

}  // namespace
}  // namespace rota::model
