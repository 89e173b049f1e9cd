// Children that end while their scope closes, fails or is cancelled, and while their handles are taken or dropped. Nobody
// touches a scope that has gone, every end is seen once, and every failure once: by the scope, by the handle's owner, or,
// if neither is left, by the scheduler.
#include <cstring>
#include <optional>

#include "flow/brood.hpp"
#include "model/model_scheduler.hpp"
#include "task/header.hpp"
#include "time/shard.hpp"

#include <rota/async_scope.hpp>
#include <rota/join_set.hpp>
#include <rota/scope.hpp>
#include <rota/when.hpp>

namespace rota::model {
namespace {

struct world {
  model_scheduler s;
  model_event event;
  int guards = 0;
  std::optional<join_handle<int>> parent;
  std::optional<join_handle<void>> child;
  std::optional<join_set<void>> set;
  base::atomic<int> spawned{0};
};

task<void> ends(world& w) {
  const guard here(&w.guards);
  co_return;
}
task<void> ends_later(world& w) {
  const guard here(&w.guards);
  co_await w.event();
}
task<void> fails(world& w) {
  const guard here(&w.guards);
  throw 7;
  co_return;
}

void add_workers(execution& e, world& w, int count) {
  for (int i = 0; i < count; ++i) e.daemon("worker", [&w] { w.s.work(); });
}

/// How the parent ended: its value, 7 for an exception, -1 if it was cancelled.
int end_of_parent(world& w) {
  check(w.parent->is_done(), "the parent has ended");
  const std::optional<outcome<int>> end = w.parent->wait_for(std::chrono::seconds(0));
  w.parent.reset();
  if (end->is_cancelled()) return -1;
  return end->has_value() ? end->value() : 7;
}

void check_end(world& w, int tasks, int guards) {
  check(w.s.ended == tasks, "every task has ended once");
  check(w.guards == guards, "every frame was destroyed once");
}

/// A parent with a scope whose body is `body`, on `workers` threads.
template <class Body>
void start(execution& e, world& w, int workers, Body body) {
  auto work = [](Body inner) -> task<int> { co_return co_await with_scope(inner); };
  w.parent.emplace(w.s.spawn(work(body)));
  add_workers(e, w, workers);
}

TEST(scope_model, two_children_end_beside_each_other) {
  expect_holds_everywhere("scope_two", [](execution& e) {
    auto& w = e.make<world>();
    start(e, w, 2, [&w](scope& c) -> task<int> {
      c.fork(ends, std::ref(w));
      c.fork(ends, std::ref(w));
      co_return 1;
    });
    e.finally([&w] {
      check(end_of_parent(w) == 1, "the body's value");
      check_end(w, 3, 2);
    });
  });
}

TEST(scope_model, the_body_waits_for_one_and_drops_another) {
  expect_holds_everywhere("scope_body_waits", [](execution& e) {
    auto& w = e.make<world>();
    start(e, w, 2, [&w](scope& c) -> task<int> {
      c.fork(ends, std::ref(w));
      auto second = c.spawn(ends, std::ref(w));
      co_await second;
      co_return 1;
    });
    e.finally([&w] {
      check(end_of_parent(w) == 1, "the body's value");
      check_end(w, 3, 2);
    });
  });
}

TEST(scope_model, two_children_fail_beside_each_other) {
  expect_holds_everywhere(
      "scope_fail_twice",
      [](execution& e) {
        auto& w = e.make<world>();
        start(e, w, 2, [&w](scope& c) -> task<int> {
          c.fork(fails, std::ref(w));
          c.fork(fails, std::ref(w));
          co_return 1;
        });
        e.finally([&w] {
          check(end_of_parent(w) == 7, "the first failure is the scope's");
          check(w.s.unhandled == 0, "the second one is nobody's");
          check(w.s.ended == 3, "all have ended");
        });
      },
      1);
}

TEST(scope_model, what_is_closed_takes_no_more) {
  expect_holds_everywhere("scope_closed", [](execution& e) {
    auto& w = e.make<world>();
    auto work = [](world& all) -> task<int> {
      async_scope children;
      children.fork(ends, std::ref(all));
      co_await children.close();
      children.cancel();
      auto refused = children.spawn(ends, std::ref(all));
      check(refused.is_done(), "it is cancelled at once");
      co_return 1;
    };
    w.parent.emplace(w.s.spawn(work(w)));
    add_workers(e, w, 2);
    e.finally([&w] {
      check(end_of_parent(w) == 1, "the body's value");
      check_end(w, 3, 1);
    });
  });
}

// The parent is cancelled, and leaves, while a stranger gives it a failure.
TEST(scope_model, a_failure_of_a_stranger_meets_a_parent_that_unwinds) {
  expect_holds_everywhere(
      "scope_stranger_unwinds",
      [](execution& e) {
        auto& w = e.make<world>();
        start(e, w, 1, [&w](scope& c) -> task<int> {
          w.child.emplace(c.spawn(fails, std::ref(w)));
          // release. Pairs with the stranger: the handle is there.
          w.spawned.store(1, base::order::release);
          co_await w.event();
          co_return 1;
        });
        e.thread("stranger", [&w] {
          // acquire. Pairs with the parent.
          while (w.spawned.load(base::order::acquire) == 0) base::cpu_relax();
          w.child.reset();
        });
        e.thread("canceller", [&w] {
          // acquire. Pairs with the parent.
          while (w.spawned.load(base::order::acquire) == 0) base::cpu_relax();
          w.parent->cancel();
        });
        e.finally([&w] {
          const int end = end_of_parent(w);
          check(end == 7 || end == -1, "the scope failed, or its task was cancelled");
          check(w.s.ended == 2, "both have ended");
        });
      },
      1);
}

TEST(scope_model, a_failure_whose_handle_is_dropped_meanwhile) {
  expect_holds_everywhere("scope_drop_fails", [](execution& e) {
    auto& w = e.make<world>();
    start(e, w, 2, [&w](scope& c) -> task<int> {
      auto child = c.spawn(fails, std::ref(w));
      child.detach();
      co_return 1;
    });
    e.finally([&w] {
      check(end_of_parent(w) == 7, "it fails the scope, whoever comes first");
      check(w.s.unhandled == 0, "which has seen it");
      check_end(w, 2, 1);
    });
  });
}

TEST(scope_model, a_failure_whose_handle_has_left_is_dropped_by_a_stranger) {
  expect_holds_everywhere("scope_stranger_drops", [](execution& e) {
    auto& w = e.make<world>();
    start(e, w, 1, [&w](scope& c) -> task<int> {
      w.child.emplace(c.spawn(fails, std::ref(w)));
      // release. Pairs with the stranger: the handle is there.
      w.spawned.store(1, base::order::release);
      co_return 1;
    });
    e.thread("stranger", [&w] {
      // acquire. Pairs with the parent.
      while (w.spawned.load(base::order::acquire) == 0) base::cpu_relax();
      w.child.reset();
    });
    e.finally([&w] {
      const int end = end_of_parent(w);
      check(end == 7 || end == 1, "the scope fails, or has closed before");
      check(w.s.unhandled == (end == 7 ? 0 : 1), "seen by the one or the other, once");
      check_end(w, 2, 1);
    });
  });
}

TEST(scope_model, a_failure_that_a_stranger_takes_is_nobody_elses) {
  expect_holds_everywhere("scope_stranger_takes", [](execution& e) {
    auto& w = e.make<world>();
    start(e, w, 1, [&w](scope& c) -> task<int> {
      w.child.emplace(c.spawn(fails, std::ref(w)));
      // release. Pairs with the stranger: the handle is there.
      w.spawned.store(1, base::order::release);
      co_return 1;
    });
    e.thread("stranger", [&w] {
      // acquire. Pairs with the parent.
      while (w.spawned.load(base::order::acquire) == 0) base::cpu_relax();
      try {
        w.child->join();
        check(false, "it throws");
      } catch (int seven) {
        check(seven == 7, "what the child threw");
      }
    });
    e.finally([&w] {
      check(end_of_parent(w) == 1, "no failure of the scope");
      check(w.s.unhandled == 0, "somebody has seen it");
      check_end(w, 2, 1);
    });
  });
}

TEST(scope_model, a_failure_unwinds_the_body_and_a_sibling) {
  expect_holds_everywhere("scope_fails", [](execution& e) {
    auto& w = e.make<world>();
    start(e, w, 2, [&w](scope& c) -> task<int> {
      const guard body(&w.guards);
      c.fork(ends_later, std::ref(w));
      c.fork(fails, std::ref(w));
      co_await w.event();
      co_return 1;
    });
    e.finally([&w] {
      check(end_of_parent(w) == 7, "the failure");
      // The sibling may have been cancelled before it ran.
      check_end(w, 3, w.guards == 2 ? 2 : 3);
    });
  });
}

TEST(scope_model, its_task_is_cancelled_while_a_child_ends) {
  expect_holds_everywhere("scope_cancel", [](execution& e) {
    auto& w = e.make<world>();
    start(e, w, 1, [&w](scope& c) -> task<int> {
      const guard body(&w.guards);
      c.fork(ends_later, std::ref(w));
      co_await w.event();
      co_return 1;
    });
    e.thread("canceller", [&w] { w.parent->cancel(); });
    e.finally([&w] {
      check(end_of_parent(w) == -1, "cancelled");
      check(w.s.ended == 1 || w.s.ended == 2, "a child that was never spawned does not end");
      check(w.guards == 0 || w.guards == 2, "every frame was destroyed once");
    });
  });
}

TEST(scope_model, its_task_is_cancelled_while_a_child_fails) {
  expect_holds_everywhere(
      "scope_cancel_fails",
      [](execution& e) {
        auto& w = e.make<world>();
        start(e, w, 2, [&w](scope& c) -> task<int> {
          c.fork(fails, std::ref(w));
          co_await w.event();
          co_return 1;
        });
        e.thread("canceller", [&w] { w.parent->cancel(); });
        e.finally([&w] {
          const int end = end_of_parent(w);
          check(end == -1 || end == 7, "cancelled, or failed before");
          check(w.s.unhandled == 0, "a scope has seen it");
        });
      },
      1);
}

TEST(scope_model, a_child_spawns_into_the_scope_while_another_fails) {
  expect_holds_everywhere(
      "scope_spawns",
      [](execution& e) {
        auto& w = e.make<world>();
        start(e, w, 2, [&w](scope& c) -> task<int> {
          c.fork(fails, std::ref(w));
          c.fork(
              [](scope& s, world& all) -> task<void> {
                s.fork(ends_later, std::ref(all));
                co_return;
              },
              std::ref(c),
              std::ref(w));
          co_return 1;
        });
        e.finally([&w] { check(end_of_parent(w) == 7, "the failure"); });
      },
      1);
}

// --- when

TEST(scope_model, the_first_of_two_decides) {
  expect_holds_everywhere("when_any", [](execution& e) {
    auto& w = e.make<world>();
    auto work = [](world& all) -> task<int> {
      const auto first = co_await when_any(ends(all), ends(all));
      co_return static_cast<int>(first.index());
    };
    w.parent.emplace(w.s.spawn(work(w)));
    add_workers(e, w, 2);
    e.finally([&w] {
      const int end = end_of_parent(w);
      check(end == 0 || end == 1, "one of them");
      check(w.s.ended == 3, "and both have ended");
    });
  });
}

TEST(scope_model, one_of_all_fails_while_the_other_ends) {
  expect_holds_everywhere("when_all_fails", [](execution& e) {
    auto& w = e.make<world>();
    auto work = [](world& all) -> task<int> {
      co_await when_all(fails(all), ends_later(all));
      co_return 1;
    };
    w.parent.emplace(w.s.spawn(work(w)));
    add_workers(e, w, 2);
    e.finally([&w] {
      check(end_of_parent(w) == 7, "the failure");
      check(w.s.ended == 3, "all have ended");
      check(w.s.unhandled == 0, "it was seen");
    });
  });
}

TEST(scope_model, whoever_waits_for_all_is_cancelled_while_they_end) {
  expect_holds_everywhere(
      "when_all_cancelled",
      [](execution& e) {
        auto& w = e.make<world>();
        auto work = [](world& all) -> task<int> {
          co_await when_all(ends(all), ends_later(all));
          co_return 1;
        };
        w.parent.emplace(w.s.spawn(work(w)));
        add_workers(e, w, 2);
        e.thread("canceller", [&w] { w.parent->cancel(); });
        e.finally([&w] { check(end_of_parent(w) == -1, "cancelled"); });
      },
      1);
}

TEST(scope_model, whoever_waits_for_all_is_cancelled_when_they_have_ended) {
  expect_holds_everywhere(
      "when_all_ended",
      [](execution& e) {
        auto& w = e.make<world>();
        auto work = [](world& all) -> task<int> {
          co_await when_all(ends(all), ends(all));
          co_return 1;
        };
        w.parent.emplace(w.s.spawn(work(w)));
        add_workers(e, w, 2);
        e.thread("canceller", [&w] { w.parent->cancel(); });
        e.finally([&w] {
          const int end = end_of_parent(w);
          check(end == 1 || end == -1, "done, or cancelled before");
        });
      },
      1);
}

// --- join_set

TEST(scope_model, a_set_gives_every_end) {
  expect_holds_everywhere("set_next", [](execution& e) {
    auto& w = e.make<world>();
    auto work = [](world& all) -> task<int> {
      join_set<void> set;
      set.spawn(ends, std::ref(all));
      set.spawn(ends, std::ref(all));
      int ended = 0;
      for (;;) {
        const auto next = co_await set.next();
        if (!next) break;
        ++ended;
      }
      co_return ended;
    };
    w.parent.emplace(w.s.spawn(work(w)));
    add_workers(e, w, 2);
    e.finally([&w] {
      check(end_of_parent(w) == 2, "both");
      check_end(w, 3, 2);
    });
  });
}

TEST(scope_model, a_set_goes_while_its_tasks_end) {
  expect_holds_everywhere("set_goes", [](execution& e) {
    auto& w = e.make<world>();
    auto work = [](world& all) -> task<int> {
      join_set<void> set;
      set.spawn(ends, std::ref(all));
      set.spawn(fails, std::ref(all));
      co_return 1;
    };
    w.parent.emplace(w.s.spawn(work(w)));
    add_workers(e, w, 2);
    e.finally([&w] {
      check(end_of_parent(w) == 1, "a set that goes waits for nobody");
      check(w.s.ended == 3, "all have ended");
      check(w.s.unhandled == 0, "what its tasks throw is counted only");
    });
  });
}

TEST(scope_model, a_set_is_cancelled_while_its_tasks_end) {
  expect_holds_everywhere("set_cancel_all", [](execution& e) {
    auto& w = e.make<world>();
    auto work = [](world& all) -> task<int> {
      join_set<void> set;
      set.spawn(ends, std::ref(all));
      set.spawn(ends_later, std::ref(all));
      set.cancel_all();
      int ended = 0;
      for (;;) {
        const auto next = co_await set.next();
        if (!next) break;
        ++ended;
      }
      co_return ended;
    };
    w.parent.emplace(w.s.spawn(work(w)));
    add_workers(e, w, 2);
    e.finally([&w] {
      check(end_of_parent(w) == 2, "the set gives the ends of cancelled ones, too");
      check(w.s.ended == 3, "all have ended");
    });
  });
}

TEST(scope_model, a_set_is_closed_while_its_tasks_end) {
  expect_holds_everywhere(
      "set_close",
      [](execution& e) {
        auto& w = e.make<world>();
        auto work = [](world& all) -> task<int> {
          join_set<void> set;
          set.spawn(ends, std::ref(all));
          set.spawn(ends_later, std::ref(all));
          set.spawn(fails, std::ref(all));
          co_await set.close();
          check(set.empty(), "nothing is left in it");
          join_set<void> other = std::move(set);
          co_return 1;
        };
        w.parent.emplace(w.s.spawn(work(w)));
        add_workers(e, w, 2);
        e.finally([&w] {
          check(end_of_parent(w) == 1, "it is empty, and its tasks have ended");
          check(w.s.ended == 4 && w.s.unhandled == 0, "all have ended, and nobody reports what they threw");
        });
      },
      1);
}

TEST(scope_model, whoever_waits_for_a_set_is_cancelled) {
  for (const bool closes : {false, true}) {
    expect_holds_everywhere(
        closes ? "set_close_cancelled" : "set_next_cancelled",
        [closes](execution& e) {
          auto& w = e.make<world>();
          auto work = [](world& all, bool closing) -> task<int> {
            join_set<void> set;
            set.spawn(ends, std::ref(all));
            set.spawn(ends_later, std::ref(all));
            if (closing) {
              co_await set.close();
              co_return 1;
            }
            for (;;) {
              const auto next = co_await set.next();
              if (!next) break;
            }
            co_return 1;
          };
          w.parent.emplace(w.s.spawn(work(w, closes)));
          add_workers(e, w, 2);
          e.thread("canceller", [&w] { w.parent->cancel(); });
          e.thread("event", [&w] { w.event.fire(); });
          e.finally([&w] {
            const int end = end_of_parent(w);
            check(end == 1 || end == -1, "done, or cancelled before");
            check(w.s.ended == (w.s.freed), "whoever was begun has ended");
          });
        },
        1);
  }
}

// --- circles of joins

TEST(scope_model, two_that_join_each_other_are_cancelled_at_once) {
  struct circle {
    model_scheduler s;
    model_event never;
    std::optional<join_handle<void>> first;
    std::optional<join_handle<void>> second;
    core::header* tasks[2] = {};
  };
  struct joiner {
    static task<void> join(std::optional<join_handle<void>>& other) {
      join_handle<void> mine = std::move(*other);
      co_await mine;
    }
  };
  expect_holds_everywhere(
      "circle",
      [](execution& e) {
        auto& c = e.make<circle>();
        c.s.claims = false;
        c.first.emplace(c.s.spawn(joiner::join(c.second)));
        c.second.emplace(c.s.spawn(joiner::join(c.first)));
        std::memcpy(&c.tasks[0], &*c.first, sizeof(core::header*));
        std::memcpy(&c.tasks[1], &*c.second, sizeof(core::header*));
        for (core::header* t : c.tasks) t->word.retain();
        for (int i = 0; i < 2; ++i) e.daemon("worker", [&c] { c.s.work(); });
        e.thread("canceller", [&c] {
          core::cancel(*c.tasks[0], cancel_reason::user);
          core::release(*c.tasks[0]);
          core::release(*c.tasks[1]);
        });
        e.finally([&c] {
          c.first.reset();
          c.second.reset();
          check(c.s.ended == 2, "both have ended");
        });
      },
      1);
}

// A child that joins its own parent, which waits for it: whoever unwinds last finds the other's note.
TEST(scope_model, a_child_that_joins_its_parent_is_cancelled_with_it) {
  struct home {
    model_scheduler s;
    std::optional<join_handle<void>> parent;
    std::optional<join_handle<void>> other;
  };
  struct people {
    static task<void> child(home& h) {
      join_handle<void> mine = std::move(*h.other);
      co_await mine;
    }
    static task<void> parent(home& h) {
      co_await with_scope([&h](scope& c) -> task<void> {
        c.fork(child, std::ref(h));
        co_return;
      });
    }
  };
  expect_holds_everywhere(
      "home",
      [](execution& e) {
        auto& h = e.make<home>();
        h.s.claims = false;
        core::header& parent = h.s.launch(people::parent(h));
        h.other.emplace(parent);
        auto& canceller_of_parent = e.make<canceller>(parent);
        for (int i = 0; i < 2; ++i) e.daemon("worker", [&h] { h.s.work(); });
        e.thread("canceller", [&] { canceller_of_parent.cancel(); });
        e.finally([&h] {
          h.other.reset();
          check(h.s.ended >= 1 && h.s.ended == h.s.freed, "whoever began has ended");
        });
      },
      1);
}

// The first joins the second, which joins the third. The third may have gone, and the second not yet, when the first follows
// the notes.
TEST(scope_model, a_chain_of_joins_is_cancelled_from_its_end) {
  struct chain {
    model_scheduler s;
    model_event never;
    std::optional<join_handle<void>> first;
    std::optional<join_handle<void>> second;
    std::optional<join_handle<void>> third;
  };
  struct links {
    static task<void> last(chain& c) { co_await c.never(); }
    static task<void> join(std::optional<join_handle<void>>& other) {
      join_handle<void> mine = std::move(*other);
      co_await mine;
    }
  };
  expect_holds_everywhere(
      "chain",
      [](execution& e) {
        auto& c = e.make<chain>();
        c.s.claims = false;
        core::header& third = c.s.launch(links::last(c));
        c.third.emplace(third);
        core::header& second = c.s.launch(links::join(c.third));
        c.second.emplace(second);
        core::header& first = c.s.launch(links::join(c.second));
        c.first.emplace(first);
        // The others too: who was cancelled before it ran passes nothing on.
        auto& one = e.make<canceller>(first);
        auto& two = e.make<canceller>(second);
        auto& three = e.make<canceller>(third);
        for (int i = 0; i < 2; ++i) e.daemon("worker", [&c] { c.s.work(); });
        e.thread("canceller", [&] {
          one.cancel();
          two.cancel();
          three.cancel();
        });
        e.finally([&c] {
          check(c.s.ended == 3, "all have ended: cancelled, or because whom they joined was");
          c.first.reset();
          c.second.reset();
          c.third.reset();
        });
      },
      1);
}

}  // namespace
}  // namespace rota::model
