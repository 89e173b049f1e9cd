// The latch: all that pass see what was done before each count, and the last count reaches all waiters.
#include "model/waiting.hpp"

#include <rota/sync/latch.hpp>

namespace rota::sync {
namespace {

using model::add_workers;
using model::begins;
using model::canceller;
using model::expect_both_are_brought_along;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::on_heap;
using model::watched;
using testing::check;
using testing::execution;

struct shared {
  explicit shared(std::uint64_t things) : l(things) {}

  on_heap<latch> l;
  base::cell<int> left;
  base::cell<int> right;
  model_scheduler s;

  void check_both() { check(left.get() + right.get() == 2, "what was done before is seen"); }
};

void add_counters(execution& e, shared& x) {
  e.thread("left", [&x] {
    x.left.set(1);
    x.l->count_down();
  });
  e.thread("right", [&x] {
    x.right.set(1);
    x.l->count_down();
  });
}

TEST(latch_model, a_waiter_sees_what_happened_before_every_count) {
  expect_both_are_brought_along<latch>(
      "latch_wait", begins::at_any_time, [](latch& of) { of.count_down(); }, 2U);
}

TEST(latch_model, a_successful_try_wait_sees_what_happened_before_every_count) {
  expect_holds_everywhere("latch_by", [](execution& e) {
    auto& x = e.make<shared>(2U);
    add_counters(e, x);
    e.thread("comes by", [&x] {
      if (x.l->try_wait()) x.check_both();
    });
  });
}

/// Two tasks wait.
struct with_a_line : shared {
  with_a_line() : shared(2) {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
  }
  static task<void> waits(with_a_line& x) {
    co_await x.l->wait();
    x.check_both();
  }

  watched<void> first{s, waits(*this)};
  watched<void> second{s, waits(*this)};
  canceller of_first{first.header()};
  canceller of_second{second.header()};
};

TEST(latch_model, the_last_count_lets_all_pass) {
  expect_holds_everywhere("latch_line", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    add_counters(e, x);
    e.thread("comes by", [&x] {
      if (x.l->try_wait()) x.check_both();
    });
    e.finally([&x] {
      check(!x.first.was_cancelled() && !x.second.was_cancelled() && x.l->try_wait(), "all pass");
    });
  });
}

TEST(latch_model, a_cancelled_wait_does_not_affect_the_other) {
  expect_holds_everywhere("latch_cancel", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("counter", [&x] {
      x.left.set(1);
      x.right.set(1);
      x.l->count_down(2);
    });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { check(!x.second.was_cancelled() && x.l->left() == 0, "the other passes"); });
  });
}

// Both leave while the last count is on its way; a third waits for it, or passes without a wait.
TEST(latch_model, a_last_count_without_waiters_opens_the_latch) {
  expect_holds_everywhere("latch_nobody", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] {
      x.of_first.cancel();
      x.of_second.cancel();
    });
    e.thread("counter", [&x] {
      x.left.set(1);
      x.right.set(1);
      x.l->count_down(2);
    });
    e.thread("waiter", [&x] {
      x.l->blocking_wait();
      x.check_both();
    });
  });
}

TEST(latch_model, a_released_waiter_may_destroy_the_latch) {
  expect_holds_everywhere(
      "latch_destroyed",
      [](execution& e) {
        auto& x = e.make<shared>(1U);
        e.thread("counter", [&x] { x.l->count_down(); });
        e.thread("waiter", [&x] {
          x.l->blocking_wait();
          x.l.destroy();
        });
      },
      3);
}

// More waiters than one section wakes. The last to leave destroys it, perhaps while the lock is released.
TEST(latch_model, the_last_of_many_woken_waiters_may_destroy_the_latch) {
  struct scene : shared {
    scene() : shared(1) {
      base::this_thread_locals().worker = &s.core();
      check(s.run_one() && s.run_one() && s.run_one(), "three wait");
      base::this_thread_locals().worker = nullptr;
    }
    struct leaving {
      explicit leaving(scene& all) noexcept : of(&all) {}
      leaving(const leaving&) = delete;
      leaving& operator=(const leaving&) = delete;
      ~leaving() {
        // acq_rel. The last one destroys what the others have used.
        if (of->inside.fetch_sub(1, base::order::acq_rel) == 1) of->l.destroy();
      }
      scene* of;
    };
    static task<void> waits(scene& x) {
      const leaving out(x);
      co_await x.l->wait();
    }
    static task<void> waits_and_cancels(scene& x) {
      const leaving out(x);
      co_await x.l->wait();
      x.of_third.cancel();
    }

    base::atomic<int> inside{3};
    watched<void> first{s, waits_and_cancels(*this)};
    watched<void> second{s, waits(*this)};
    watched<void> third{s, waits(*this)};
    canceller of_third{third.header()};
  };
  expect_holds_everywhere("latch_crowd", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("counter", [&x] { x.l->count_down(); });
    e.finally([&x] { check(!x.first.was_cancelled() && !x.second.was_cancelled(), "the others pass"); });
  });
}

}  // namespace
}  // namespace rota::sync
