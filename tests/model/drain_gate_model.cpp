// The drain gate: the drain waits for all admitted threads, and admits none afterwards.
#include "model/waiting.hpp"

#include <rota/detail/drain_gate.hpp>
#include <rota/sync/event.hpp>

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
  on_heap<drain_gate> gate;
  base::cell<int> left{0};
  base::cell<int> right{0};
  base::cell<int> let_in{0};
};

// Work inside the gate happens before the reported end: else the shared cell is a race.
TEST(drain_gate_model, a_drain_waits_for_every_admitted_thread) {
  expect_holds_everywhere("drain_gate_inside", [](execution& e) {
    auto& x = e.make<shared>();
    const auto works = [&x](base::cell<int>& mine) {
      if (!x.gate->enter()) return;
      mine.set(1);
      x.gate->leave();
    };
    e.thread("left", [&x, works] { works(x.left); });
    e.thread("right", [&x, works] { works(x.right); });
    e.thread("closer", [&x] {
      check(x.gate->close(), "it was open");
      x.gate->drained().blocking_wait();
      x.left.set(2);
      x.right.set(2);
    });
    e.finally([&x] {
      check(x.left.get() == 2 && x.right.get() == 2 && x.gate->inside() == 0, "nothing came afterwards");
      check(!x.gate->enter(), "nobody is let in");
    });
  });
}

TEST(drain_gate_model, a_waiter_woken_by_the_drain_may_destroy_the_gate) {
  expect_holds_everywhere("drain_gate_destroyed", [](execution& e) {
    auto& x = e.make<shared>();
    check(x.gate->enter() && x.gate->enter(), "two are inside");
    const auto leaves = [&x](base::cell<int>& mine) {
      mine.set(1);
      x.gate->leave();
    };
    e.thread("left", [&x, leaves] { leaves(x.left); });
    e.thread("right", [&x, leaves] { leaves(x.right); });
    e.thread("closer", [&x] {
      static_cast<void>(x.gate->close());
      x.gate->drained().blocking_wait();
      check(x.left.get() + x.right.get() == 2, "both are seen");
      x.gate.destroy();
    });
  });
}

TEST(drain_gate_model, one_of_two_closes_succeeds_and_the_waiter_is_woken) {
  struct scene : shared {
    base::atomic<int> closed_by{0};
  };
  expect_holds_everywhere("drain_gate_closers", [](execution& e) {
    auto& x = e.make<scene>();
    const auto closes = [&x] {
      // relaxed. A count of the model's.
      if (x.gate->close()) x.closed_by.fetch_add(1, base::order::relaxed);
    };
    e.thread("closer", closes);
    e.thread("another", closes);
    e.thread("waiter", [&x] {
      x.gate->closed().blocking_wait();
      check(!x.gate->enter(), "nobody is let in once somebody has heard of it");
    });
    e.finally([&x] {
      // relaxed. All have ended.
      check(x.closed_by.load(base::order::relaxed) == 1, "one of them has closed it");
      check(x.gate->drained().is_set(), "nobody is inside");
    });
  });
}

/// A task waits for the end, and is cancelled.
struct with_a_drainer : shared {
  with_a_drainer() {
    check(gate->enter(), "one is inside");
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
  }
  static task<void> drains(with_a_drainer& x) {
    co_await x.gate->drained().wait();
    check(x.left.get() == 1, "what was done inside is seen");
  }

  model_scheduler s;
  watched<void> first{s, drains(*this)};
  watched<void> second{s, drains(*this)};
  canceller of_first{first.header()};
};

TEST(drain_gate_model, a_cancelled_wait_for_the_drain_does_not_affect_the_other) {
  expect_holds_everywhere("drain_gate_cancel", [](execution& e) {
    auto& x = e.make<with_a_drainer>();
    add_workers(e, x.s, 1);
    e.thread("inside", [&x] {
      x.left.set(1);
      x.gate->leave();
    });
    e.thread("closer", [&x] { static_cast<void>(x.gate->close()); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { check(!x.second.was_cancelled(), "the other hears of the end"); });
  });
}

}  // namespace
}  // namespace rota::sync
