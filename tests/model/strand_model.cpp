// The strand: one at a time; no lost wakeup beside cancels, a close and destruction.
#include "model/waiting.hpp"

#include <rota/sync/strand.hpp>

#include <optional>
#include <utility>

namespace rota::sync {
namespace {

using model::add_workers;
using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::on_heap;
using model::watched;
using testing::check;
using testing::execution;

struct shared {
  on_heap<strand> line;
  base::cell<int> visits;  // in turn
  model_scheduler s;

  void visit() {
    check(line->running_here(), "it is its turn");
    visits.set(visits.get() + 1);
  }
  /// In a thread. Returns true if it was not closed.
  bool blocks() {
    try {
      line->blocking_run([this] { visit(); });
      check(!line->running_here(), "its turn is over");
      return true;
    } catch (const error&) {
      return false;
    }
  }
  void check_end(int count) {
    check(!line->is_busy(), "in the end nothing runs");
    check(visits.get() == count, "everybody had its turn");
    if (!line->is_closed()) line->blocking_run([this] { visit(); });  // it is free
  }
};

task<void> runs(shared& x) {
  const auto visit = [&x] { x.visit(); };
  co_await x.line->run(visit);
}

TEST(strand_model, threads_and_tasks_run_one_after_the_other) {
  expect_holds_everywhere("strand_threads", [](execution& e) {
    auto& x = e.make<shared>();
    for (int i = 0; i < 3; ++i) e.thread("thread", [&x] { x.blocks(); });
    e.finally([&x] { x.check_end(3); });
  });
  expect_holds_everywhere("strand_mixed", [](execution& e) {
    auto& x = e.make<shared>();
    auto& a = e.make<watched<void>>(x.s, runs(x));
    auto& b = e.make<watched<void>>(x.s, runs(x));
    add_workers(e, x.s, 2);
    e.thread("thread", [&x] { x.blocks(); });
    e.finally([&x, &a, &b] {
      check(!a.was_cancelled() && !b.was_cancelled(), "nobody asked");
      x.check_end(3);
    });
  });
}

/// A thread has the turn, and two tasks wait for it.
struct with_a_line : shared {
  std::optional<watched<void>> first;
  std::optional<watched<void>> second;
  std::optional<canceller> of_first;

  with_a_line() {
    line->blocking_run([this] {
      first.emplace(s, runs(*this));
      second.emplace(s, runs(*this));
      of_first.emplace(first->header());
      base::this_thread_locals().worker = &s.core();
      check(s.run_one() && s.run_one(), "both wait");
      base::this_thread_locals().worker = nullptr;
    });
  }
};

// The first is granted its turn already when the threads begin.
TEST(strand_model, a_cancelled_waiter_passes_its_turn_to_the_next) {
  expect_holds_everywhere("strand_cancel", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] { x.of_first->cancel(); });
    e.thread("thread", [&x] { x.blocks(); });
    e.finally([&x] {
      check(!x.second->was_cancelled(), "nobody asked it");
      x.check_end(x.first->was_cancelled() ? 2 : 3);
    });
  });
}

// Waiters are cancelled while a thread ends its turn.
TEST(strand_model, a_waiter_cancelled_before_its_turn_leaves_the_queue) {
  expect_holds_everywhere("strand_leaves", [](execution& e) {
    auto& x = e.make<shared>();
    auto& task_in_line = e.make<watched<void>>(x.s, runs(x));
    auto& of_it = e.make<canceller>(task_in_line.header());
    add_workers(e, x.s, 1);
    e.thread("thread", [&x] { x.blocks(); });
    e.thread("canceller", [&of_it] { of_it.cancel(); });
    e.finally([&x, &task_in_line] { x.check_end(task_in_line.was_cancelled() ? 1 : 2); });
  });
}

// The task leaves the line as the turn ends: so there is no hand-off, and a thread takes the turn later.
TEST(strand_model, a_turn_sees_the_previous_turn_when_the_waiter_between_has_left) {
  expect_holds_everywhere("strand_comes_after", [](execution& e) {
    auto& x = e.make<shared>();
    auto& task_in_line = e.make<watched<void>>(x.s, runs(x));
    auto& of_it = e.make<canceller>(task_in_line.header());
    add_workers(e, x.s, 1);
    for (int i = 0; i < 2; ++i) e.thread("thread", [&x] { x.blocks(); });
    e.thread("canceller", [&of_it] { of_it.cancel(); });
    e.finally([&x, &task_in_line] { x.check_end(task_in_line.was_cancelled() ? 2 : 3); });
  });
}

// The tasks may begin in any order.
TEST(strand_model, posts_take_their_places_in_order) {
  struct scene : shared {
    base::cell<int> last;
    join_handle<void> first = line->post_on(s, [this] { comes(1); });
    join_handle<void> second = line->post_on(s, [this] { comes(2); });
    void comes(int n) {
      visit();
      check(last.get() == n - 1, "in the order of the posts");
      last.set(n);
    }
  };
  expect_holds_everywhere("strand_post", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 2);
    e.finally([&x] {
      check(x.first.is_done() && x.second.is_done(), "both have run");
      x.check_end(2);
    });
  });
}

// In each state of its task: not begun, in line, in its turn, at its end.
TEST(strand_model, a_cancelled_post_leaves_the_queue) {
  expect_holds_everywhere("strand_post_cancelled", [](execution& e) {
    auto& x = e.make<shared>();
    auto& was_cancelled = e.make<base::cell<bool>>();
    add_workers(e, x.s, 1);
    e.thread("posts", [&x, &was_cancelled] {
      auto a = x.line->post_on(x.s, [&x] { x.visit(); });
      a.cancel();
      const auto got = a.wait_for(std::chrono::hours(1));
      was_cancelled.set(got.has_value() && got->is_cancelled());
    });
    e.thread("thread", [&x] { x.blocks(); });
    e.finally([&x, &was_cancelled] { x.check_end(was_cancelled.get() ? 1 : 2); });
  });
}

// A join is behind all that came in, and admits none after it. Then the strand may be destroyed.
TEST(strand_model, a_join_runs_last_and_admits_no_later_turn) {
  expect_holds_everywhere(
      "strand_join",
      [](execution& e) {
        auto& x = e.make<shared>();
        auto& came_in = e.make<base::atomic<int>>(0);
        for (int i = 0; i < 2; ++i) {
          e.thread("thread", [&x, &came_in] {
            // relaxed. A count of the model's.
            if (x.blocks()) came_in.fetch_add(1, base::order::relaxed);
          });
        }
        e.thread("joins", [&x] {
          x.line->blocking_join();
          const int seen = x.visits.get();  // a race if a turn is still running
          base::cpu_relax();
          check(x.visits.get() == seen, "nobody comes any more");
        });
        e.finally([&x, &came_in] {
          // relaxed. All are done.
          x.check_end(came_in.load(base::order::relaxed));
        });
      },
      3);
}

// The last turn destroys it. The thread of the turn before may still be leaving.
TEST(strand_model, a_joining_thread_may_destroy_the_strand) {
  expect_holds_everywhere(
      "strand_destroyed",
      [](execution& e) {
        auto& x = e.make<shared>();
        auto& begun = e.make<base::atomic<int>>(0);
        for (int i = 0; i < 2; ++i) {
          e.thread("thread", [&x, &begun] {
            x.line->blocking_run([&x, &begun] {
              x.visit();
              // relaxed. Says only that it is in.
              begun.fetch_add(1, base::order::relaxed);
            });
          });
        }
        e.thread("joins", [&x, &begun] {
          // relaxed. Says only that it is in.
          while (begun.load(base::order::relaxed) != 2) base::cpu_relax();
          x.line->blocking_join();
          x.line.destroy();
        });
      },
      3);
}

}  // namespace
}  // namespace rota::sync
