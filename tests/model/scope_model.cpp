// Children that end while their scope closes, fails or is cancelled, and while their handles are taken or
// dropped. No access to a scope that has gone. Every end is seen once, and every failure once: by the scope,
// by the owner of the handle, or, if neither is left, by the scheduler.
#include "flow/brood.hpp"
#include "model/parent_and_children.hpp"
#include "time/shard.hpp"

#include <rota/async_scope.hpp>
#include <rota/scope.hpp>

#include <functional>
#include <utility>

namespace rota::model {
namespace {

/// A parent on `workers` threads, with a scope that runs `body`.
template <class Body>
void start_scope(execution& e, household& h, int workers, Body body) {
  auto work = [](Body inner) -> task<int> { co_return co_await with_scope(inner); };
  start(e, h, workers, work(body));
}

/// From now on a foreign thread owns its handle.
void give_away(household& h, join_handle<void> child) {
  h.child.emplace(std::move(child));
  // release. Pairs with wait_for_handle(): the handle is there.
  h.given_away.store(1, base::order::release);
}
void wait_for_handle(household& h) {
  // acquire. Pairs with give_away().
  while (h.given_away.load(base::order::acquire) == 0) base::cpu_relax();
}

TEST(scope_model, two_children_end_beside_each_other) {
  expect_holds_everywhere("scope_two", [](execution& e) {
    auto& h = e.make<household>();
    start_scope(e, h, 2, [&h](scope& c) -> task<int> {
      c.fork(ends, std::ref(h));
      c.fork(ends, std::ref(h));
      co_return 1;
    });
    e.finally([&h] {
      check(end_of_parent(h) == 1, "the body's value");
      check_end(h, 3, 2);
    });
  });
}

TEST(scope_model, the_scope_waits_for_an_awaited_and_for_a_forked_child) {
  expect_holds_everywhere("scope_body_waits", [](execution& e) {
    auto& h = e.make<household>();
    start_scope(e, h, 2, [&h](scope& c) -> task<int> {
      c.fork(ends, std::ref(h));
      auto second = c.spawn(ends, std::ref(h));
      co_await second;
      co_return 1;
    });
    e.finally([&h] {
      check(end_of_parent(h) == 1, "the body's value");
      check_end(h, 3, 2);
    });
  });
}

TEST(scope_model, two_children_fail_beside_each_other) {
  expect_holds_everywhere(
      "scope_fail_twice",
      [](execution& e) {
        auto& h = e.make<household>();
        start_scope(e, h, 2, [&h](scope& c) -> task<int> {
          c.fork(fails, std::ref(h));
          c.fork(fails, std::ref(h));
          co_return 1;
        });
        e.finally([&h] {
          check(end_of_parent(h) == 7, "the first failure is the scope's");
          check(h.s.unhandled == 0, "the second one is nobody's");
          check(h.s.ended == 3, "all have ended");
        });
      },
      1);
}

TEST(scope_model, a_closed_scope_refuses_new_children) {
  expect_holds_everywhere("scope_closed", [](execution& e) {
    auto& h = e.make<household>();
    auto work = [](household& all) -> task<int> {
      async_scope children;
      children.fork(ends, std::ref(all));
      co_await children.close();
      children.cancel();
      auto refused = children.spawn(ends, std::ref(all));
      check(refused.is_done(), "it is cancelled at once");
      co_return 1;
    };
    start(e, h, 2, work(h));
    e.finally([&h] {
      check(end_of_parent(h) == 1, "the body's value");
      check_end(h, 3, 1);
    });
  });
}

// The parent is cancelled, and leaves, while a foreign thread gives it a failure.
TEST(scope_model, parent_fails_or_is_cancelled_when_a_failed_childs_handle_drops) {
  expect_holds_everywhere(
      "scope_stranger_unwinds",
      [](execution& e) {
        auto& h = e.make<household>();
        start_scope(e, h, 1, [&h](scope& c) -> task<int> {
          give_away(h, c.spawn(fails, std::ref(h)));
          co_await h.event();
          co_return 1;
        });
        e.thread("stranger", [&h] {
          wait_for_handle(h);
          h.child.reset();
        });
        e.thread("canceller", [&h] {
          wait_for_handle(h);
          h.parent->cancel();
        });
        e.finally([&h] {
          const int end = end_of_parent(h);
          check(end == 7 || end == -1, "the scope failed, or its task was cancelled");
          check(h.s.ended == 2, "both have ended");
        });
      },
      1);
}

TEST(scope_model, a_failure_whose_handle_is_dropped_fails_the_scope) {
  expect_holds_everywhere("scope_drop_fails", [](execution& e) {
    auto& h = e.make<household>();
    start_scope(e, h, 2, [&h](scope& c) -> task<int> {
      auto child = c.spawn(fails, std::ref(h));
      child.detach();
      co_return 1;
    });
    e.finally([&h] {
      check(end_of_parent(h) == 7, "it fails the scope, whoever comes first");
      check(h.s.unhandled == 0, "which has seen it");
      check_end(h, 2, 1);
    });
  });
}

TEST(scope_model, a_failure_whose_handle_another_thread_drops_is_reported_once) {
  expect_holds_everywhere("scope_stranger_drops", [](execution& e) {
    auto& h = e.make<household>();
    start_scope(e, h, 1, [&h](scope& c) -> task<int> {
      give_away(h, c.spawn(fails, std::ref(h)));
      co_return 1;
    });
    e.thread("stranger", [&h] {
      wait_for_handle(h);
      h.child.reset();
    });
    e.finally([&h] {
      const int end = end_of_parent(h);
      check(end == 7 || end == 1, "the scope fails, or has closed before");
      check(h.s.unhandled == (end == 7 ? 0 : 1), "seen by the one or the other, once");
      check_end(h, 2, 1);
    });
  });
}

TEST(scope_model, a_failure_that_another_thread_joins_does_not_fail_the_scope) {
  expect_holds_everywhere("scope_stranger_takes", [](execution& e) {
    auto& h = e.make<household>();
    start_scope(e, h, 1, [&h](scope& c) -> task<int> {
      give_away(h, c.spawn(fails, std::ref(h)));
      co_return 1;
    });
    e.thread("stranger", [&h] {
      wait_for_handle(h);
      try {
        h.child->join();
        check(false, "it throws");
      } catch (int seven) {
        check(seven == 7, "what the child threw");
      }
    });
    e.finally([&h] {
      check(end_of_parent(h) == 1, "no failure of the scope");
      check(h.s.unhandled == 0, "somebody has seen it");
      check_end(h, 2, 1);
    });
  });
}

TEST(scope_model, a_failure_unwinds_the_body_and_a_sibling) {
  expect_holds_everywhere("scope_fails", [](execution& e) {
    auto& h = e.make<household>();
    start_scope(e, h, 2, [&h](scope& c) -> task<int> {
      const guard body(&h.guards);
      c.fork(ends_later, std::ref(h));
      c.fork(fails, std::ref(h));
      co_await h.event();
      co_return 1;
    });
    e.finally([&h] {
      check(end_of_parent(h) == 7, "the failure");
      // The sibling may have been cancelled before it ran.
      check_end(h, 3, h.guards == 2 ? 2 : 3);
    });
  });
}

TEST(scope_model, its_task_is_cancelled_while_a_child_ends) {
  expect_holds_everywhere("scope_cancel", [](execution& e) {
    auto& h = e.make<household>();
    start_scope(e, h, 1, [&h](scope& c) -> task<int> {
      const guard body(&h.guards);
      c.fork(ends_later, std::ref(h));
      co_await h.event();
      co_return 1;
    });
    e.thread("canceller", [&h] { h.parent->cancel(); });
    e.finally([&h] {
      check(end_of_parent(h) == -1, "cancelled");
      check(h.s.ended == 1 || h.s.ended == 2, "a child that was never spawned does not end");
      check(h.guards == 0 || h.guards == 2, "every frame was destroyed once");
    });
  });
}

TEST(scope_model, its_task_is_cancelled_while_a_child_fails) {
  expect_holds_everywhere(
      "scope_cancel_fails",
      [](execution& e) {
        auto& h = e.make<household>();
        start_scope(e, h, 2, [&h](scope& c) -> task<int> {
          c.fork(fails, std::ref(h));
          co_await h.event();
          co_return 1;
        });
        e.thread("canceller", [&h] { h.parent->cancel(); });
        e.finally([&h] {
          const int end = end_of_parent(h);
          check(end == -1 || end == 7, "cancelled, or failed before");
          check(h.s.unhandled == 0, "a scope has seen it");
        });
      },
      1);
}

TEST(scope_model, a_child_spawns_into_the_scope_while_another_fails) {
  expect_holds_everywhere(
      "scope_spawns",
      [](execution& e) {
        auto& h = e.make<household>();
        start_scope(e, h, 2, [&h](scope& c) -> task<int> {
          c.fork(fails, std::ref(h));
          c.fork(
              [](scope& s, household& all) -> task<void> {
                s.fork(ends_later, std::ref(all));
                co_return;
              },
              std::ref(c),
              std::ref(h));
          co_return 1;
        });
        e.finally([&h] { check(end_of_parent(h) == 7, "the failure"); });
      },
      1);
}

}  // namespace
}  // namespace rota::model
