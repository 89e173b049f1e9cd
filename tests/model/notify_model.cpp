// The notify: each call lets one pass or is stored, beside waits that begin or end, and destruction.
#include "model/waiting.hpp"

#include <rota/sync/notify.hpp>

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
  on_heap<notify> n;
  base::cell<int> left;
  base::cell<int> right;
  model_scheduler s;
};

TEST(notify_model, a_call_is_not_lost_beside_a_wait_that_begins) {
  expect_holds_everywhere(
      "notify_wait",
      [](execution& e) {
        auto& x = e.make<shared>();
        e.thread("caller", [&x] {
          x.left.set(1);
          x.n->notify_one();
        });
        e.thread("waiter", [&x] {
          x.n->blocking_wait();
          check(x.left.get() == 1, "what was done before is seen");
        });
        e.finally([&x] { check(!x.n->try_wait(), "it is used up"); });
      },
      3);
}

// The second call finds the permit there: what was done before that call must be seen, too.
TEST(notify_model, a_call_while_a_permit_is_stored_publishes_what_happened_before) {
  expect_both_are_brought_along<notify>(
      "notify_stored", begins::when_both_are_over, [](notify& of) { of.notify_one(); });
}

// It sees the first permit, another takes that, it takes the second: it sees what was done before that.
TEST(notify_model, a_waiter_that_takes_a_second_permit_sees_what_happened_before) {
  expect_holds_everywhere(
      "notify_again",
      [](execution& e) {
        auto& x = e.make<shared>();
        auto& first_is_gone = e.make<base::atomic<int>>(0);
        e.thread("caller", [&x, &first_is_gone] {
          x.n->notify_one();
          // relaxed. The model's own: only the permit orders anything.
          if (first_is_gone.load(base::order::relaxed) == 0) return;
          x.left.set(1);
          x.n->notify_one();
        });
        e.thread("taker", [&x, &first_is_gone] {
          // relaxed. The model's own: only the permit orders anything.
          if (x.n->try_wait()) first_is_gone.store(1, base::order::relaxed);
        });
        e.thread("waiter", [&x, &first_is_gone] {
          if (!x.n->blocking_wait_for(std::chrono::milliseconds(1))) return;
          // relaxed. The model's own: only the permit orders anything.
          if (first_is_gone.load(base::order::relaxed) != 0) check(x.left.get() == 1, "it is the second");
        });
      },
      3);
}

TEST(notify_model, a_released_waiter_can_release_the_next) {
  expect_holds_everywhere("notify_two", [](execution& e) {
    auto& x = e.make<shared>();
    for (int i = 0; i < 2; ++i) {
      e.thread("waiter", [&x] {
        x.n->blocking_wait();
        x.n->notify_one();
      });
    }
    e.thread("caller", [&x] { x.n->notify_one(); });
    e.finally([&x] { check(x.n->try_wait() && !x.n->try_wait(), "the last one leaves it"); });
  });
}

task<void> waits(shared& x) { co_await x.n->wait(); }

/// Two tasks wait.
struct with_a_line : shared {
  watched<void> first{s, waits(*this)};
  watched<void> second{s, waits(*this)};
  canceller of_first{first.header()};
  canceller of_second{second.header()};

  with_a_line() {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
  }
};

TEST(notify_model, a_cancelled_waiter_passes_the_call_to_the_next) {
  expect_holds_everywhere("notify_cancel", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("caller", [&x] { x.n->notify_one(); });
    e.thread("canceller", [&x] {
      x.of_first.cancel();
      x.n->notify_one();
    });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked");
      check(x.n->try_wait() == x.first.was_cancelled(), "two calls: two waits, or one and the permit");
    });
  });
}

// Both waiters leave while the call is on its way: none is left.
TEST(notify_model, a_call_without_a_waiter_is_stored) {
  expect_holds_everywhere("notify_nobody", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("caller", [&x] {
      x.left.set(1);
      x.n->notify_one();
    });
    e.thread("canceller", [&x] {
      x.of_first.cancel();
      x.of_second.cancel();
    });
    e.finally([&x] {
      const bool one_passed = !x.first.was_cancelled() || !x.second.was_cancelled();
      check(x.first.was_cancelled() || x.second.was_cancelled(), "one call");
      check(x.n->try_wait() == !one_passed, "it is conserved");
    });
  });
}

// A third thread takes, in passing, a call that was stored because no waiter was left.
TEST(notify_model, a_stored_call_publishes_what_happened_before_it) {
  expect_holds_everywhere("notify_put_down", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] {
      x.of_first.cancel();
      x.of_second.cancel();
    });
    e.thread("caller", [&x] {
      x.left.set(1);
      x.n->notify_one();
    });
    e.thread("comes by", [&x] {
      if (x.n->try_wait()) check(x.left.get() == 1, "what was done before is seen");
    });
  });
}

TEST(notify_model, notify_all_releases_every_waiter_and_stores_nothing) {
  expect_holds_everywhere("notify_all", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("caller", [&x] { x.n->notify_all(); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked");
      check(!x.n->try_wait(), "nothing is stored");
    });
  });
}

// One call of each kind; the waiter that got the permit is cancelled.
TEST(notify_model, concurrent_notify_one_and_notify_all_release_both_waiters) {
  expect_holds_everywhere("notify_both", [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("one", [&x] { x.n->notify_one(); });
    e.thread("all", [&x] { x.n->notify_all(); });
    e.finally([&x] {
      check(!x.first.was_cancelled() && !x.second.was_cancelled(), "all pass");
      static_cast<void>(x.n->try_wait());  // either is right: the one came first, or last
      check(!x.n->try_wait(), "not more than one is stored");
    });
  });
}

// A thread asks for the next call, then checks, then waits: no lost wakeup, also if another waits already.
TEST(notify_model, a_check_between_wait_and_co_await_loses_no_call) {
  struct scene : shared {
    base::atomic<int> flag{0};
    watched<void> first{s, looks(*this)};
    watched<void> second{s, looks(*this)};
    static task<void> looks(scene& x) {
      for (;;) {
        auto next = x.n->wait();
        // relaxed. The call brings it along.
        if (x.flag.load(base::order::relaxed) != 0) co_return;
        co_await next;
      }
    }
  };
  expect_holds_everywhere(
      "notify_look",
      [](execution& e) {
        auto& x = e.make<scene>();
        add_workers(e, x.s, 1);
        e.thread("caller", [&x] {
          // relaxed. The call brings it along.
          x.flag.store(1, base::order::relaxed);
          x.n->notify_all();
        });
        e.finally(
            [&x] { check(!x.first.was_cancelled() && !x.second.was_cancelled(), "they have seen it"); });
      },
      3);
}

// A call of all reaches a thread that has asked and not yet waited; it sees what was done before.
TEST(notify_model, notify_all_publishes_what_happened_before_it) {
  struct scene : shared {
    watched<void> reader{s, reads(*this)};
    static task<void> reads(scene& x) {
      co_await x.n->wait();
      check(x.left.get() == 1, "what was done before is seen");
      x.n->notify_one();
    }
  };
  expect_holds_everywhere("notify_seen", [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("thread", [&x] {
      x.n->blocking_wait();
      check(x.left.get() == 1, "what was done before is seen");
      x.n->notify_one();
    });
    e.thread("caller", [&x] {
      x.left.set(1);
      x.n->notify_all();
      x.n->notify_one();
    });
  });
}

// Both limits pass at once: a call that arrives before the waiter has given up counts for it.
TEST(notify_model, a_call_that_races_with_a_timeout_is_not_lost) {
  expect_holds_everywhere(
      "notify_late",
      [](execution& e) {
        auto& x = e.make<shared>();
        auto& never = e.make<notify>();
        auto& got = e.make<base::cell<bool>>();
        static constexpr auto limit = std::chrono::milliseconds(1);
        e.thread("late", [&x, &got] { got.set(x.n->blocking_wait_for(limit).has_value()); });
        e.thread("caller", [&x, &never] {
          check(!never.blocking_wait_for(limit).has_value(), "nobody calls");
          x.n->notify_one();
        });
        e.finally([&x, &got] { check(x.n->try_wait() != got.get(), "the call is conserved"); });
      },
      3);
}

// A passing thread destroys it, while the caller may still be inside.
TEST(notify_model, a_released_waiter_may_destroy_the_notify) {
  expect_holds_everywhere(
      "notify_destroyed",
      [](execution& e) {
        auto& x = e.make<shared>();
        e.thread("caller", [&x] { x.n->notify_one(); });
        e.thread("waiter", [&x] {
          x.n->blocking_wait();
          x.n.destroy();
        });
      },
      3);
}

}  // namespace
}  // namespace rota::sync
