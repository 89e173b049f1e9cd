// The event, manual and automatic: no set() is lost, beside waits, cancellations, resets and destruction.
#include "model/waiting.hpp"

#include <rota/sync/event.hpp>

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

constexpr event_reset manual = event_reset::manual;
constexpr event_reset automatic = event_reset::automatic;

struct shared {
  explicit shared(event_reset how) : e(how) {}

  on_heap<event> e;
  base::cell<int> left;
  base::cell<int> right;
  model_scheduler s;
};

TEST(event_model, a_set_is_not_lost_beside_a_wait_that_begins) {
  for (const event_reset how : {manual, automatic}) {
    expect_holds_everywhere(
        how == manual ? "event_wait_manual" : "event_wait_automatic",
        [how](execution& e) {
          auto& x = e.make<shared>(how);
          e.thread("setter", [&x] {
            x.left.set(1);
            x.e->set();
          });
          e.thread("waiter", [&x] {
            x.e->blocking_wait();
            check(x.left.get() == 1, "what was done before is seen");
          });
          e.finally([&x, how] { check(x.e->try_wait() == (how == manual), "manual: it stays set"); });
        },
        3);
  }
}

TEST(event_model, a_set_of_a_set_event_still_publishes_what_happened_before) {
  expect_both_are_brought_along<event>(
      "event_stored", begins::when_both_are_over, [](event& of) { of.set(); }, manual);
}

// Two pass a manual event, whatever a reset does; a waiter from before the set is through.
TEST(event_model, a_manual_event_releases_all_waiters_although_it_is_reset) {
  struct scene : shared {
    scene() : shared(manual) {}
    watched<void> first{s, waits(*this)};
    watched<void> second{s, waits(*this)};
    static task<void> waits(scene& x) {
      co_await x.e->wait();
      check(x.left.get() == 1, "what was done before is seen");
    }
  };
  expect_holds_everywhere("event_manual", [](execution& e) {
    auto& x = e.make<scene>();
    base::this_thread_locals().worker = &x.s.core();
    check(x.s.run_one() && x.s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
    add_workers(e, x.s, 1);
    e.thread("setter", [&x] {
      x.e->reset();  // no change: the waiters go on waiting
      x.left.set(1);
      x.e->set();
      x.e->reset();
    });
    e.thread("comes by", [&x] {
      if (x.e->try_wait()) check(x.left.get() == 1, "what was done before is seen");
    });
    e.finally([&x] {
      check(!x.first.was_cancelled() && !x.second.was_cancelled(), "both are through");
      check(!x.e->is_set(), "it was reset");
    });
  });
}

task<void> waits(shared& x) { co_await x.e->wait(); }

/// Two tasks wait.
struct with_a_line : shared {
  explicit with_a_line(event_reset how) : shared(how) {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
  }

  watched<void> first{s, waits(*this)};
  watched<void> second{s, waits(*this)};
  canceller of_first{first.header()};
  canceller of_second{second.header()};
};

TEST(event_model, a_cancelled_waiter_passes_the_set_to_the_next) {
  expect_holds_everywhere("event_cancel", [](execution& e) {
    auto& x = e.make<with_a_line>(automatic);
    add_workers(e, x.s, 1);
    e.thread("setter", [&x] { x.e->set(); });
    e.thread("canceller", [&x] {
      x.of_first.cancel();
      x.e->set();
    });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked");
      check(x.e->try_wait() == x.first.was_cancelled(), "two sets: two waits, or one and the bit");
    });
  });
}

TEST(event_model, a_set_without_a_waiter_stays_set) {
  for (const event_reset how : {manual, automatic}) {
    expect_holds_everywhere(how == manual ? "event_nobody_manual" : "event_nobody_automatic",
                            [how](execution& e) {
                              auto& x = e.make<with_a_line>(how);
                              add_workers(e, x.s, 1);
                              e.thread("canceller", [&x] {
                                x.of_first.cancel();
                                x.of_second.cancel();
                              });
                              e.thread("setter", [&x] {
                                x.left.set(1);
                                x.e->set();
                              });
                              e.thread("comes by", [&x] {
                                if (!x.e->try_wait()) return;
                                check(x.left.get() == 1, "what was done before is seen");
                                x.e->set();
                              });
                              e.finally([&x, how] {
                                const bool one_passed = !x.first.was_cancelled() || !x.second.was_cancelled();
                                check(x.e->try_wait() || (how == automatic && one_passed), "it is conserved");
                              });
                            });
  }
}

TEST(event_model, an_automatic_event_works_as_a_lock) {
  expect_holds_everywhere("event_lock", [](execution& e) {
    auto& x = e.make<shared>(automatic);
    x.e->set();
    for (int i = 0; i < 3; ++i) {
      e.thread("thread", [&x] {
        x.e->blocking_wait();
        x.left.set(x.left.get() + 1);
        x.e->set();
      });
    }
    e.finally([&x] { check(x.left.get() == 3 && x.e->try_wait(), "all have passed"); });
  });
}

TEST(event_model, a_set_that_races_with_a_timeout_is_not_lost) {
  expect_holds_everywhere(
      "event_late",
      [](execution& e) {
        auto& x = e.make<shared>(automatic);
        auto& never = e.make<event>();
        auto& got = e.make<base::cell<bool>>();
        static constexpr auto limit = std::chrono::milliseconds(1);
        e.thread("late", [&x, &got] { got.set(x.e->blocking_wait_for(limit).has_value()); });
        e.thread("setter", [&x, &never] {
          check(!never.blocking_wait_for(limit).has_value(), "nobody sets it");
          x.e->set();
        });
        e.finally([&x, &got] { check(x.e->try_wait() != got.get(), "the set is conserved"); });
      },
      3);
}

// The wait is late, but the event was set: its waiter destroys it. It was listed when set() saw the bit.
TEST(event_model, a_waiter_that_timed_out_and_sees_the_set_may_destroy_the_event) {
  expect_holds_everywhere(
      "event_late_destroyed",
      [](execution& e) {
        auto& x = e.make<shared>(manual);
        auto& never = e.make<event>();
        static constexpr auto limit = std::chrono::milliseconds(1);
        e.thread("late", [&x] {
          if (x.e->blocking_wait_for(limit).has_value() || x.e->try_wait()) x.e.destroy();
        });
        e.thread("setter", [&x, &never] {
          check(!never.blocking_wait_for(limit).has_value(), "nobody sets it");
          x.e->set();
        });
      },
      3);
}

// A passing waiter destroys it, while the other thread may still be inside of set().
TEST(event_model, a_released_waiter_may_destroy_the_event) {
  for (const event_reset how : {manual, automatic}) {
    expect_holds_everywhere(
        how == manual ? "event_destroyed_manual" : "event_destroyed_automatic",
        [how](execution& e) {
          auto& x = e.make<shared>(how);
          e.thread("setter", [&x] { x.e->set(); });
          e.thread("waiter", [&x] {
            x.e->blocking_wait();
            x.e.destroy();
          });
        },
        3);
  }
}

}  // namespace
}  // namespace rota::sync
