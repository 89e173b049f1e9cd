// Children of a when_*, and tasks of a join_set, that end beside each other while one decides, while the set
// is destroyed, and while the waiter is cancelled.
#include "flow/completion_queue.hpp"
#include "model/parent_and_children.hpp"
#include "time/shard.hpp"

#include <rota/join_set.hpp>
#include <rota/when.hpp>

#include <functional>
#include <utility>

namespace rota::model {
namespace {

// --- when

TEST(group_model, when_any_returns_the_first_of_two_children) {
  expect_holds_everywhere("when_any", [](execution& e) {
    auto& h = e.make<household>();
    auto work = [](household& all) -> task<int> {
      const auto first = co_await when_any(ends(all), ends(all));
      co_return static_cast<int>(first.index());
    };
    start(e, h, 2, work(h));
    e.finally([&h] {
      const int end = end_of_parent(h);
      check(end == 0 || end == 1, "one of them");
      check(h.s.ended == 3, "and both have ended");
    });
  });
}

TEST(group_model, when_all_reports_a_failure_while_the_other_child_ends) {
  expect_holds_everywhere("when_all_fails", [](execution& e) {
    auto& h = e.make<household>();
    auto work = [](household& all) -> task<int> {
      co_await when_all(fails(all), ends_later(all));
      co_return 1;
    };
    start(e, h, 2, work(h));
    e.finally([&h] {
      check(end_of_parent(h) == 7, "the failure");
      check(h.s.ended == 3, "all have ended");
      check(h.s.unhandled == 0, "it was seen");
    });
  });
}

TEST(group_model, when_all_is_cancelled_while_its_children_end) {
  expect_holds_everywhere(
      "when_all_cancelled",
      [](execution& e) {
        auto& h = e.make<household>();
        auto work = [](household& all) -> task<int> {
          co_await when_all(ends(all), ends_later(all));
          co_return 1;
        };
        start(e, h, 2, work(h));
        e.thread("canceller", [&h] { h.parent->cancel(); });
        e.finally([&h] { check(end_of_parent(h) == -1, "cancelled"); });
      },
      1);
}

TEST(group_model, when_all_is_cancelled_when_its_children_have_ended) {
  expect_holds_everywhere(
      "when_all_ended",
      [](execution& e) {
        auto& h = e.make<household>();
        auto work = [](household& all) -> task<int> {
          co_await when_all(ends(all), ends(all));
          co_return 1;
        };
        start(e, h, 2, work(h));
        e.thread("canceller", [&h] { h.parent->cancel(); });
        e.finally([&h] {
          const int end = end_of_parent(h);
          check(end == 1 || end == -1, "done, or cancelled before");
        });
      },
      1);
}

// --- join_set

/// How many its tasks come to.
task<int> count_ends(join_set<void>& set) {
  int ended = 0;
  for (;;) {
    const auto next = co_await set.next();
    if (!next) break;
    ++ended;
  }
  co_return ended;
}

TEST(group_model, a_join_set_returns_the_outcome_of_every_task) {
  expect_holds_everywhere("set_next", [](execution& e) {
    auto& h = e.make<household>();
    auto work = [](household& all) -> task<int> {
      join_set<void> set;
      set.spawn(ends, std::ref(all));
      set.spawn(ends, std::ref(all));
      co_return co_await count_ends(set);
    };
    start(e, h, 2, work(h));
    e.finally([&h] {
      check(end_of_parent(h) == 2, "both");
      check_end(h, 3, 2);
    });
  });
}

TEST(group_model, a_join_set_is_destroyed_while_its_tasks_end) {
  expect_holds_everywhere("set_goes", [](execution& e) {
    auto& h = e.make<household>();
    auto work = [](household& all) -> task<int> {
      join_set<void> set;
      set.spawn(ends, std::ref(all));
      set.spawn(fails, std::ref(all));
      co_return 1;
    };
    start(e, h, 2, work(h));
    e.finally([&h] {
      check(end_of_parent(h) == 1, "a set that goes waits for nobody");
      check(h.s.ended == 3, "all have ended");
      check(h.s.unhandled == 0, "what its tasks throw is counted only");
    });
  });
}

TEST(group_model, a_set_is_cancelled_while_its_tasks_end) {
  expect_holds_everywhere("set_cancel_all", [](execution& e) {
    auto& h = e.make<household>();
    auto work = [](household& all) -> task<int> {
      join_set<void> set;
      set.spawn(ends, std::ref(all));
      set.spawn(ends_later, std::ref(all));
      set.cancel_all();
      co_return co_await count_ends(set);
    };
    start(e, h, 2, work(h));
    e.finally([&h] {
      check(end_of_parent(h) == 2, "the set gives the ends of cancelled ones, too");
      check(h.s.ended == 3, "all have ended");
    });
  });
}

TEST(group_model, a_set_is_closed_while_its_tasks_end) {
  expect_holds_everywhere(
      "set_close",
      [](execution& e) {
        auto& h = e.make<household>();
        auto work = [](household& all) -> task<int> {
          join_set<void> set;
          set.spawn(ends, std::ref(all));
          set.spawn(ends_later, std::ref(all));
          set.spawn(fails, std::ref(all));
          co_await set.close();
          check(set.empty(), "nothing is left in it");
          join_set<void> other = std::move(set);
          co_return 1;
        };
        start(e, h, 2, work(h));
        e.finally([&h] {
          check(end_of_parent(h) == 1, "it is empty, and its tasks have ended");
          check(h.s.ended == 4 && h.s.unhandled == 0, "all have ended, and nobody reports what they threw");
        });
      },
      1);
}

TEST(group_model, a_task_is_cancelled_while_it_waits_for_a_join_set) {
  for (const bool closes : {false, true}) {
    expect_holds_everywhere(
        closes ? "set_close_cancelled" : "set_next_cancelled",
        [closes](execution& e) {
          auto& h = e.make<household>();
          auto work = [](household& all, bool closing) -> task<int> {
            join_set<void> set;
            set.spawn(ends, std::ref(all));
            set.spawn(ends_later, std::ref(all));
            if (closing) {
              co_await set.close();
              co_return 1;
            }
            static_cast<void>(co_await count_ends(set));
            co_return 1;
          };
          start(e, h, 2, work(h, closes));
          e.thread("canceller", [&h] { h.parent->cancel(); });
          e.thread("event", [&h] { h.event.fire(); });
          e.finally([&h] {
            const int end = end_of_parent(h);
            check(end == 1 || end == -1, "done, or cancelled before");
            check(h.s.ended == (h.s.freed), "whoever was begun has ended");
          });
        },
        1);
  }
}

}  // namespace
}  // namespace rota::model
