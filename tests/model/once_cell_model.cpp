// The once_cell: one makes the value, all see it; an abandoned claim goes on; cancels and destruction.
#include "model/waiting.hpp"

#include <rota/sync/once_cell.hpp>

namespace rota::sync {
namespace {

using core::once_claim;
using core::once_core;
using model::add_workers;
using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::on_heap;
using model::watched;
using testing::check;
using testing::execution;

/// A cell with a value that the model watches.
struct shared {
  on_heap<once_core> cell;
  base::cell<int> value;
  base::cell<int> attempts;  // of the thread that has the claim
  model_scheduler s;

  void attempt() { attempts.set(attempts.get() + 1); }
  void make() {
    once_claim mine(*cell);
    attempt();
    value.set(1);
    mine.fill();
  }
  void fail() {
    const once_claim mine(*cell);
    attempt();
  }
  void check_value() { check(value.get() == 1, "it is there"); }
  /// In a thread. Returns true if it had the claim.
  bool gets(bool fails = false) {
    core::wait_node me;
    static_cast<void>(core::block(cell->claiming(), me));
    if (!once_core::has_claim(me)) {
      check_value();
      return false;
    }
    fails ? fail() : make();
    return true;
  }
  void looks() {
    core::wait_node me;
    static_cast<void>(core::block(cell->looking(), me));
    check_value();
  }
};

TEST(once_cell_model, one_thread_makes_the_value_and_all_see_it) {
  expect_holds_everywhere("once_threads", [](execution& e) {
    auto& x = e.make<shared>();
    for (int i = 0; i < 2; ++i) e.thread("gets", [&x] { x.gets(); });
    e.thread("looks", [&x] { x.looks(); });
    e.finally([&x] { check(x.attempts.get() == 1, "once"); });
  });
}

TEST(once_cell_model, a_thread_that_does_not_wait_sees_the_value_or_is_refused) {
  expect_holds_everywhere("once_by", [](execution& e) {
    auto& x = e.make<shared>();
    for (int i = 0; i < 2; ++i) {
      e.thread("sets", [&x] {
        const auto got = x.cell->try_claim();
        if (got.has_value()) x.make();
        if (!got.has_value() && got.error() == set_refusal::full) check(x.cell->is_full(), "it stays full");
      });
    }
    e.thread("comes by", [&x] {
      if (x.cell->is_full()) x.check_value();
    });
    e.finally([&x] { check(x.cell->is_full() && x.attempts.get() == 1, "one has"); });
  });
}

TEST(once_cell_model, a_failed_initialization_passes_the_claim_to_the_next) {
  expect_holds_everywhere("once_fails", [](execution& e) {
    auto& x = e.make<shared>();
    auto& failed = e.make<base::cell<bool>>();
    e.thread("fails", [&x, &failed] { failed.set(x.gets(true)); });
    e.thread("gets", [&x] { x.gets(); });
    e.thread("looks", [&x] { x.looks(); });
    e.finally([&x, &failed] {
      check(x.cell->is_full() && x.attempts.get() == (failed.get() ? 2 : 1), "the other has made it");
    });
  });
}

// It has seen a failure, and takes the claim after another one that has failed meanwhile.
TEST(once_cell_model, a_claim_sees_what_the_last_failed_attempt_did) {
  expect_holds_everywhere(
      "once_again",
      [](execution& e) {
        auto& x = e.make<shared>();
        for (int i = 0; i < 2; ++i) {
          e.thread("fails", [&x] {
            if (x.cell->try_claim().has_value()) x.fail();
          });
        }
        e.thread("gets", [&x] { x.gets(); });
      },
      3);
}

// No other thread would make it: the cell is empty again, with a waiter that only looks. Then it is set.
TEST(once_cell_model, a_reader_keeps_waiting_when_the_cell_is_empty_again) {
  expect_holds_everywhere("once_empty", [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("fails", [&x] {
      if (x.cell->try_claim().has_value()) x.fail();
    });
    e.thread("sets", [&x] {
      while (!x.cell->try_claim().has_value()) {
        if (x.cell->is_full()) return;
        base::cpu_relax();
      }
      x.make();
    });
    e.thread("looks", [&x] { x.looks(); });
  });
}

task<void> makes_it(shared& x) {
  const bool is_mine = co_await core::claim_leaf(*x.cell);
  if (is_mine) {
    x.make();
  } else {
    x.check_value();
  }
}

/// A thread has the claim, and two tasks wait for it.
struct with_a_line : shared {
  with_a_line() {
    check(cell->try_claim().has_value(), "it was empty");
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
  }

  watched<void> first{s, makes_it(*this)};
  watched<void> second{s, makes_it(*this)};
  canceller of_first{first.header()};
  canceller of_second{second.header()};
};

TEST(once_cell_model, a_cancelled_waiter_passes_the_claim_to_the_next) {
  expect_holds_everywhere("once_cancel", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("fails", [&x] { x.fail(); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { check(!x.second.was_cancelled() && x.cell->is_full(), "one of them has made it"); });
  });
}

// All tasks that would make it are cancelled: it is free.
TEST(once_cell_model, a_claim_that_no_waiter_takes_leaves_the_cell_empty) {
  expect_holds_everywhere("once_nobody", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("fails", [&x] { x.fail(); });
    e.thread("canceller", [&x] {
      x.of_first.cancel();
      x.of_second.cancel();
    });
    e.thread("gets", [&x] { x.gets(); });
    e.finally([&x] { check(x.cell->is_full(), "somebody has made it"); });
  });
}

TEST(once_cell_model, waiters_see_the_value_although_another_waiter_is_cancelled) {
  expect_holds_everywhere("once_line", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("makes", [&x] { x.make(); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.thread("comes by", [&x] {
      if (x.cell->is_full()) x.check_value();
    });
    e.finally([&x] {
      check(!x.second.was_cancelled() && x.cell->is_full() && x.attempts.get() == 1, "it is there");
    });
  });
}

// A thread that sees the value destroys the cell. The other may still be inside of fill().
TEST(once_cell_model, a_reader_that_sees_the_value_may_destroy_the_cell) {
  expect_holds_everywhere(
      "once_destroyed",
      [](execution& e) {
        auto& x = e.make<shared>();
        e.thread("makes", [&x] { x.gets(); });
        e.thread("looks", [&x] {
          x.looks();
          x.cell.destroy();
        });
      },
      3);
}

}  // namespace
}  // namespace rota::sync
