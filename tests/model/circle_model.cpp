// Tasks that join each other, or their waiters, and are cancelled: one task of a circle lets go.
#include "flow/brood.hpp"
#include "model/model_scheduler.hpp"
#include "task/header.hpp"
#include "time/shard.hpp"

#include <rota/scope.hpp>

#include <cstring>
#include <functional>
#include <optional>
#include <utility>

namespace rota::model {
namespace {

TEST(circle_model, two_tasks_that_join_each_other_end_when_one_is_cancelled) {
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

// A child joins its own parent, which awaits it: the one that unwinds last finds the note of the other.
TEST(circle_model, a_child_that_joins_its_parent_is_cancelled_with_it) {
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

// The first joins the second, which joins the third. When the first follows the notes, the third may have
// gone and the second not yet.
TEST(circle_model, a_chain_of_joins_is_cancelled_from_its_end) {
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
        // Cancels the others too: a task that was cancelled before it ran passes nothing on.
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
