// P10, the semaphore: permits are conserved, waiters get them in order, and a cancelled waiter passes its on.
#include "model/waiting.hpp"

#include <rota/sync/semaphore.hpp>

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
  explicit shared(std::uint64_t permits) : sem(permits) {}

  on_heap<semaphore> sem;
  base::atomic<std::uint64_t> out{0};  // permits in use
  model_scheduler s;

  /// With `n` permits; there are at most `most`.
  void use(std::uint64_t n, std::uint64_t most) {
    // relaxed. A count of the model's.
    check(out.fetch_add(n, base::order::relaxed) + n <= most, "not more than there are");
    // relaxed. A count of the model's.
    out.fetch_sub(n, base::order::relaxed);
    sem->release(n);
  }
};

TEST(semaphore_model, threads_share_permits_and_all_come_back) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(2U);
    for (const std::uint64_t n : {1U, 2U, 2U}) {
      e.thread("thread", [&x, n] {
        check(x.sem->blocking_acquire(n).has_value(), "nobody closes it");
        x.use(n, 2);
      });
    }
    e.finally([&x] { check(x.sem->available() == 2, "all permits are back"); });
  };
  expect_holds(exhaustive("semaphore_threads"), body);
  expect_holds(at_random("semaphore_threads random"), body);
}

// One permit is a lock: what was done under it is seen by the next owner, however the permit moves.
TEST(semaphore_model, one_permit_is_a_lock) {
  struct scene : shared {
    scene() : shared(1) {}
    base::cell<int> visits;
    void visit() {
      visits.set(visits.get() + 1);
      sem->release();
    }
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    for (int i = 0; i < 2; ++i) {
      e.thread("thread", [&x] {
        check(x.sem->blocking_acquire().has_value(), "nobody closes it");
        x.visit();
      });
    }
    e.thread("late", [&x] {
      if (x.sem->blocking_acquire_for(std::chrono::milliseconds(1)).has_value()) x.visit();
    });
    e.finally([&x] { check(x.visits.get() >= 2 && x.sem->available() == 1, "it is back"); });
  };
  expect_holds(exhaustive("semaphore_lock"), body);
  expect_holds(at_random("semaphore_lock random"), body);
}

// A waiter sees what was done before the release: also before the first of two that each give a part.
TEST(semaphore_model, a_waiter_sees_what_happened_before_each_of_two_releases) {
  struct scene : shared {
    scene() : shared(0) {}
    base::cell<int> left;
    base::cell<int> right;
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("left", [&x] {
      x.left.set(1);
      x.sem->release();
    });
    e.thread("right", [&x] {
      x.right.set(1);
      x.sem->release();
    });
    e.thread("waiter", [&x] {
      check(x.sem->blocking_acquire(2).has_value(), "nobody closes it");
      check(x.left.get() + x.right.get() == 2, "both have released");
    });
  };
  expect_holds(exhaustive("semaphore_parts"), body);
  expect_holds(at_random("semaphore_parts random"), body);
}

task<bool> takes(shared& x, std::uint64_t n) {
  const auto got = co_await x.sem->acquire(n);
  co_return got.has_value();
}

/// Two tasks wait: for 2, of which one is there, and for 1.
struct with_a_line : shared {
  watched<bool> first{s, takes(*this, 2)};
  watched<bool> second{s, takes(*this, 1)};
  canceller of_first{first.header()};

  with_a_line() : shared(1) {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one() && s.run_one(), "both wait");
    base::this_thread_locals().worker = nullptr;
    check(sem->available() == 0, "what was there is a part");
  }
  /// `given` were put in, in all.
  void check_end(std::uint64_t given) {
    const std::uint64_t first_has = first.was_cancelled() ? 0 : 2;
    check(!second.was_cancelled(), "nobody asked");
    check(sem->available() + first_has + 1 == given, "permits are conserved");
  }
};

TEST(semaphore_model, a_cancelled_waiter_passes_on_its_partial_or_full_grant) {
  const auto body = [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("giver", [&x] {
      x.sem->release();
      x.sem->release();
    });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { x.check_end(3); });
  };
  expect_holds(exhaustive("semaphore_cancel"), body);
  expect_holds(at_random("semaphore_cancel random"), body);
}

// Without a release: the part of the first is all that the second needs.
TEST(semaphore_model, a_partial_grant_of_a_cancelled_waiter_goes_to_the_next) {
  const auto body = [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] { x.check_end(1); });
  };
  expect_holds(exhaustive("semaphore_part"), body);
}

task<void> takes_and_gives_back(shared& x, std::uint64_t n) {
  const auto got = co_await x.sem->acquire(n);
  check(got.has_value(), "nobody closes it");
  x.sem->release(n);
}

// One release: what the first does not use must reach the second.
TEST(semaphore_model, a_grant_of_a_cancelled_waiter_goes_to_the_next) {
  struct scene : shared {
    scene() : shared(1) {}
    watched<void> first{s, takes_and_gives_back(*this, 2)};
    watched<void> second{s, takes_and_gives_back(*this, 1)};
    canceller of_first{first.header()};
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("giver", [&x] { x.sem->release(); });
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.finally([&x] {
      check(!x.second.was_cancelled(), "nobody asked");
      check(x.sem->available() == 2, "permits are conserved");
    });
  };
  expect_holds(exhaustive("semaphore_passed_on"), body);
  expect_holds(at_random("semaphore_passed_on random"), body);
}

/// One thread has the only permit, and a task waits for it.
struct with_one_permit : shared {
  base::cell<int> visits;
  watched<void> waiter{s, visits_with_it(*this)};
  canceller of_waiter{waiter.header()};

  with_one_permit() : shared(0) {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one(), "it waits");
    base::this_thread_locals().worker = nullptr;
  }
  void visit() {
    visits.set(visits.get() + 1);
    sem->release();
  }
  static task<void> visits_with_it(with_one_permit& x) {
    const auto got = co_await x.sem->acquire();
    check(got.has_value(), "nobody closes it");
    x.visit();
  }
};

// A release has seen a waiter, and finds none; then a third thread takes the permit in passing.
TEST(semaphore_model, a_permit_released_without_a_waiter_publishes_what_happened_before) {
  const auto body = [](execution& e) {
    auto& x = e.make<with_one_permit>();
    add_workers(e, x.s, 1);
    e.thread("owner", [&x] { x.visit(); });
    e.thread("canceller", [&x] { x.of_waiter.cancel(); });
    e.thread("comes by", [&x] {
      if (x.sem->try_acquire()) x.visit();
    });
    e.finally([&x] { check(x.sem->available() == 1, "it is back"); });
  };
  expect_holds(exhaustive("semaphore_put_down"), body);
  expect_holds(at_random("semaphore_put_down random"), body);
}

TEST(semaphore_model, try_acquire_does_not_overtake_waiters) {
  const auto body = [](execution& e) {
    auto& x = e.make<with_a_line>();
    add_workers(e, x.s, 1);
    e.thread("comes by", [&x] {
      x.sem->release();  // the first has two now
      check(x.sem->try_acquire().error() == acquire_refusal::empty, "the second waits");
      x.sem->release();
    });
    e.finally([&x] { x.check_end(3); });
  };
  expect_holds(exhaustive("semaphore_overtake"), body);
  expect_holds(at_random("semaphore_overtake random"), body);
}

TEST(semaphore_model, a_waiter_that_times_out_returns_its_partial_grant) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(1U);
    auto& got = e.make<base::cell<bool>>();
    e.thread("late", [&x, &got] {
      got.set(x.sem->blocking_acquire_for(std::chrono::milliseconds(1), 2).has_value());
    });
    e.thread("patient", [&x] { check(x.sem->blocking_acquire().has_value(), "nobody closes it"); });
    e.thread("giver", [&x] {
      x.sem->release();
      x.sem->release();
    });
    e.finally(
        [&x, &got] { check(x.sem->available() + (got.get() ? 2U : 0U) + 1 == 3, "permits are conserved"); });
  };
  expect_holds(exhaustive("semaphore_late"), body);
  expect_holds(at_random("semaphore_late random"), body);
}

// Both limits pass at once: a grant from before the waiter has given up counts.
TEST(semaphore_model, a_grant_that_races_with_a_timeout_is_not_lost) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(0U);
    auto& never = e.make<semaphore>(0U);
    auto& got = e.make<base::cell<bool>>();
    static constexpr auto limit = std::chrono::milliseconds(1);
    e.thread("late", [&x, &got] { got.set(x.sem->blocking_acquire_for(limit).has_value()); });
    e.thread("giver", [&x, &never] {
      check(!never.blocking_acquire_for(limit).has_value(), "nobody gives");
      x.sem->release();
    });
    e.finally([&x, &got] { check(x.sem->available() == (got.get() ? 0U : 1U), "permits are conserved"); });
  };
  expect_holds(exhaustive("semaphore_both_late", 3), body);
  expect_holds(at_random("semaphore_both_late random"), body);
}

TEST(semaphore_model, a_close_that_races_with_waits_and_releases_loses_no_permit) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(0U);
    auto& a = e.make<base::cell<bool>>();
    e.thread("waiter", [&x, &a] { a.set(x.sem->blocking_acquire(2).has_value()); });
    e.thread("giver", [&x] {
      x.sem->release();
      x.sem->release();
    });
    e.thread("closer", [&x] { x.sem->close(); });
    e.finally([&x, &a] {
      check(x.sem->is_closed() && x.sem->try_acquire().error() == acquire_refusal::closed, "it is closed");
      check(x.sem->available() == (a.get() ? 0U : 2U), "permits are conserved");
    });
  };
  expect_holds(exhaustive("semaphore_close"), body);
  expect_holds(at_random("semaphore_close random"), body);
}

// Granted its permit, it destroys the semaphore, while the giver may still be inside of release().
TEST(semaphore_model, a_granted_waiter_may_destroy_the_semaphore) {
  const auto body = [](execution& e) {
    auto& x = e.make<shared>(0U);
    e.thread("giver", [&x] { x.sem->release(); });
    e.thread("waiter", [&x] {
      check(x.sem->blocking_acquire().has_value(), "nobody closes it");
      x.sem.destroy();
    });
  };
  expect_holds(exhaustive("semaphore_destroyed", 3), body);
  expect_holds(at_random("semaphore_destroyed random"), body);
}

// More waiters than one release wakes at once. The last to leave destroys it, perhaps while the giver wakes.
TEST(semaphore_model, the_last_of_many_woken_waiters_may_destroy_the_semaphore) {
  struct scene : shared {
    scene() : shared(0) {
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
        if (of->inside.fetch_sub(1, base::order::acq_rel) == 1) of->sem.destroy();
      }
      scene* of;
    };
    static task<void> acquires(scene& x) {
      const leaving out(x);
      const auto got = co_await x.sem->acquire();
      check(got.has_value(), "nobody closes it");
    }
    static task<void> acquires_and_cancels(scene& x) {
      const leaving out(x);
      const auto got = co_await x.sem->acquire();
      check(got.has_value(), "nobody closes it");
      x.of_third.cancel();
    }

    base::atomic<int> inside{3};
    watched<void> first{s, acquires_and_cancels(*this)};
    watched<void> second{s, acquires(*this)};
    watched<void> third{s, acquires(*this)};
    canceller of_third{third.header()};
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    add_workers(e, x.s, 1);
    e.thread("giver", [&x] { x.sem->release(3); });
    e.finally([&x] { check(!x.first.was_cancelled() && !x.second.was_cancelled(), "the others pass"); });
  };
  expect_holds(exhaustive("semaphore_crowd"), body);
  expect_holds(at_random("semaphore_crowd random"), body);
}

TEST(semaphore_model, a_semaphore_that_is_seen_closed_shows_what_was_done_before) {
  struct scene : shared {
    scene() : shared(0) {}
    base::cell<int> before;
  };
  const auto body = [](execution& e) {
    auto& x = e.make<scene>();
    e.thread("closer", [&x] {
      x.before.set(1);
      x.sem->close();
    });
    e.thread("looks", [&x] {
      if (x.sem->is_closed()) check(x.before.get() == 1, "it was done before the close");
    });
  };
  expect_holds(exhaustive("semaphore_seen_closed"), body);
}

}  // namespace
}  // namespace rota::sync
