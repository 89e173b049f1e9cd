// P10, the mutex: waiters, barging threads, cancellations, destruction. Never two owners, no lost wakeup.
#include "model/waiting.hpp"

#include <rota/sync/mutex.hpp>

#include <optional>

namespace rota::sync {
namespace {

using model::add_workers;
using model::at_random;
using model::canceller;
using model::exhaustive;
using model::expect_holds;
using model::model_scheduler;
using model::on_heap;
using model::watched;
using testing::check;
using testing::execution;

struct shared {
  on_heap<mutex> m;
  base::cell<int> visits;  // under the lock
  model_scheduler s;

  void visit() { visits.set(visits.get() + 1); }
  void check_end(int least, int most) {
    check(!m->is_locked(), "in the end it is free");
    check(m->try_lock().has_value(), "and can be taken");
    check(visits.get() >= least && visits.get() <= most, "who waits gets it");
  }
};

void blocks(shared& x) {
  const auto held = x.m->blocking_lock();
  x.visit();
}

task<void> waits(shared& x) {
  const auto held = co_await x.m->lock();
  x.visit();
}

TEST(mutex_model, threads_exclude_each_other) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("a", [&x] { blocks(x); });
    e.thread("b", [&x] { blocks(x); });
    e.thread("c", [&x] { blocks(x); });
    e.finally([&x] { x.check_end(3, 3); });
  };
  expect_holds(exhaustive("mutex_threads"), body);
  expect_holds(at_random("mutex_threads random"), body);
}

// In the model a waiter that has lost once is starving: the second unlock grants.
TEST(mutex_model, a_barging_thread_may_take_the_mutex_from_a_woken_waiter) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("waiter", [&x] { blocks(x); });
    e.thread("another", [&x] { blocks(x); });
    e.thread("barger", [&x] {
      for (int i = 0; i < 3; ++i) {
        if (const auto held = x.m->try_lock()) x.visit();
      }
    });
    e.finally([&x] { x.check_end(2, 5); });
  };
  expect_holds(exhaustive("mutex_barging"), body);
  expect_holds(at_random("mutex_barging random"), body);
}

/// One owner, and one waiter. A third comes behind that one, or barges.
struct with_a_line : shared {
  std::optional<mutex::guard> held = m->try_lock();
  watched<void> first{s, waits(*this)};
  watched<void> second{s, waits(*this)};
  canceller of_first{first.header()};

  with_a_line() {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
  }
};

TEST(mutex_model, a_cancelled_waiter_passes_the_mutex_to_the_next) {
  const auto body = [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("owner", [&x] { x.held.reset(); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { x.check_end(x.first.was_cancelled() ? 1 : 2, x.first.was_cancelled() ? 1 : 2); });
  };
  expect_holds(exhaustive("mutex_cancel"), body);
  expect_holds(at_random("mutex_cancel random"), body);
}

TEST(mutex_model, a_cancelled_waiter_loses_no_wakeup_when_a_thread_barges_in) {
  const auto body = [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 2);
    e.thread("owner", [&x] {
      x.held.reset();
      if (const auto again = x.m->try_lock()) x.visit();
      if (const auto again = x.m->try_lock()) x.visit();
    });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { x.check_end(x.first.was_cancelled() ? 1 : 2, 4); });
  };
  expect_holds(exhaustive("mutex_cancel_barging", 1), body);
  expect_holds(at_random("mutex_cancel_barging random"), body);
}

TEST(mutex_model, tasks_and_threads_wait_in_one_queue) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    auto& a = e.make<watched<void>>(x.s, waits(x));
    auto& b = e.make<watched<void>>(x.s, waits(x));
    add_workers(e, x.s, 2);
    e.thread("thread", [&x] { blocks(x); });
    e.finally([&x, &a, &b] {
      x.check_end(3, 3);
      check(!a.was_cancelled() && !b.was_cancelled(), "nobody asked");
    });
  };
  expect_holds(exhaustive("mutex_mixed"), body);
  expect_holds(at_random("mutex_mixed random"), body);
}

TEST(mutex_model, a_timeout_that_races_with_a_wakeup_passes_the_mutex_on) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>();
    e.thread("owner", [&x] { blocks(x); });
    e.thread("late", [&x] {
      const auto got = x.m->blocking_lock_for(std::chrono::milliseconds(1));
      if (got.has_value()) x.visit();
    });
    e.thread("patient", [&x] { blocks(x); });
    e.finally([&x] { x.check_end(2, 3); });
  };
  expect_holds(exhaustive("mutex_late"), body);
  expect_holds(at_random("mutex_late random"), body);
}

// The last to leave destroys it, while the other may still be inside of its unlock.
TEST(mutex_model, the_last_owner_may_destroy_the_mutex_while_another_unlocks) {
  struct scene : shared {
    base::cell<int> owners;  // under the lock
    void leave() {
      auto held = m->blocking_lock();
      const int left = owners.get() - 1;
      owners.set(left);
      held.unlock();
      if (left == 0) m.destroy();
    }
  };
  for (const int owners : {2, 3}) {
    const auto body = [owners](execution& e) {
      auto& x = e.make<scene>();
      x.owners.set(owners);
      for (int i = 0; i < owners; ++i) e.thread("owner", [&x] { x.leave(); });
    };
    const std::string name = "mutex_destroyed_" + std::to_string(owners);
    expect_holds(exhaustive(name, owners == 2 ? 3 : 2), body);
    expect_holds(at_random(name + " random"), body);
  }
}

}  // namespace
}  // namespace rota::sync
