// The barrier: all that pass see what was done before each arrival; one leads; a late arrival may be undone.
#include "model/waiting.hpp"

#include <rota/sync/barrier.hpp>

#include <array>
#include <cstddef>

namespace rota::sync {
namespace {

using model::add_workers;
using model::canceller;
using model::expect_holds_everywhere;
using model::model_scheduler;
using model::watched;
using testing::check;
using testing::execution;

struct shared {
  explicit shared(std::uint32_t participants) : b(participants) {}

  barrier b;
  std::array<base::cell<int>, 3> at;
  base::atomic<int> leaders{0};
  model_scheduler s;

  void note(const barrier::passage& p) {
    // relaxed. A count of the model's.
    if (p.is_leader) leaders.fetch_add(1, base::order::relaxed);
  }
  void check_leaders(int count) {
    // relaxed. A count of the model's.
    check(leaders.load(base::order::relaxed) == count, "one leader of each generation");
  }
};

TEST(barrier_model, all_pass_and_see_what_was_done_before) {
  expect_holds_everywhere("barrier_threads", [](execution& e) {
    auto& x = e.make<shared>(3U);
    for (std::size_t me = 0; me < 3; ++me) {
      e.thread("thread", [&x, me] {
        x.at[me].set(1);
        x.note(x.b.blocking_arrive_and_wait());
        check(x.at[0].get() + x.at[1].get() + x.at[2].get() == 3, "all have arrived");
      });
    }
    e.finally([&x] { x.check_leaders(1); });
  });
}

TEST(barrier_model, two_generations_pass_one_after_the_other) {
  expect_holds_everywhere("barrier_generations", [](execution& e) {
    auto& x = e.make<shared>(2U);
    for (std::size_t me = 0; me < 2; ++me) {
      e.thread("thread", [&x, me] {
        for (int i = 1; i <= 2; ++i) {
          x.at[me].set(i);
          const auto p = x.b.blocking_arrive_and_wait();
          x.note(p);
          check(p.generation + 1 == static_cast<std::uint32_t>(i), "one after the other");
          // After the first generation the other thread may already write for the second: no check then.
          if (i == 2) check(x.at[0].get() + x.at[1].get() == 4, "both have arrived");
        }
      });
    }
    e.finally([&x] { x.check_leaders(2); });
  });
}

task<void> arrives(shared& x) { x.note(co_await x.b.arrive_and_wait()); }

/// One of two waits.
struct with_one : shared {
  with_one() : shared(2) {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one(), "it waits");
    base::this_thread_locals().worker = nullptr;
  }

  watched<void> first{s, arrives(*this)};
  canceller of_first{first.header()};
};

// The last one passes, whether the first is still there, has passed and is cancelled, or comes back.
TEST(barrier_model, cancelled_thread_has_passed_or_has_not_arrived) {
  expect_holds_everywhere("barrier_cancel", [](execution& e) {
    auto& x = e.make<with_one>();
    auto& second = e.make<base::cell<bool>>();
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.thread("second", [&x, &second] {
      const auto p = x.b.blocking_arrive_and_wait_for(std::chrono::milliseconds(1));
      second.set(p.has_value());
    });
    e.finally([&x, &second] {
      check(x.b.arrived() == 0, "nobody is left");
      check(second.get() || x.first.was_cancelled(), "two have arrived, or one has given up");
    });
  });
}

// Both have a limit, and both limits pass at once: both pass, or none.
TEST(barrier_model, two_arrivals_that_time_out_at_once_both_pass_or_neither_does) {
  expect_holds_everywhere(
      "barrier_late",
      [](execution& e) {
        auto& x = e.make<shared>(2U);
        auto& never = e.make<barrier>(2U);
        auto& a = e.make<base::cell<bool>>();
        auto& b = e.make<base::cell<bool>>();
        static constexpr auto limit = std::chrono::milliseconds(1);
        e.thread("late", [&x, &a] { a.set(x.b.blocking_arrive_and_wait_for(limit).has_value()); });
        e.thread("later", [&x, &b, &never] {
          check(!never.blocking_arrive_and_wait_for(limit).has_value(), "nobody else arrives there");
          b.set(x.b.blocking_arrive_and_wait_for(limit).has_value());
        });
        e.finally([&x, &a, &b] {
          check(a.get() == b.get(), "both pass, or none");
          check(x.b.arrived() == 0, "nobody is left");
        });
      },
      3);
}

TEST(barrier_model, arrive_and_drop_lets_the_other_threads_pass) {
  expect_holds_everywhere("barrier_drop", [](execution& e) {
    auto& x = e.make<shared>(3U);
    for (std::size_t me = 0; me < 2; ++me) {
      e.thread("thread", [&x, me] {
        x.at[me].set(1);
        x.note(x.b.blocking_arrive_and_wait());
        check(x.at[0].get() + x.at[1].get() + x.at[2].get() == 3, "all have arrived");
      });
    }
    e.thread("drops out", [&x] {
      x.at[2].set(1);
      x.b.arrive_and_drop();
    });
    e.finally([&x] {
      x.check_leaders(1);
      check(x.b.participants() == 2 && x.b.arrived() == 0, "two are left");
    });
  });
}

// More arrivals than participants: each passes a generation of its own.
TEST(barrier_model, surplus_arrivals_each_pass_a_generation_of_their_own) {
  expect_holds_everywhere("barrier_one", [](execution& e) {
    auto& x = e.make<shared>(1U);
    auto& sum = e.make<base::atomic<std::uint32_t>>(0U);
    for (int i = 0; i < 3; ++i) {
      e.thread("thread", [&x, &sum] {
        const auto p = x.b.blocking_arrive_and_wait();
        // relaxed. A count of the model's.
        sum.fetch_add(1U << p.generation, base::order::relaxed);
        x.note(p);
      });
    }
    e.finally([&x, &sum] {
      // relaxed. A count of the model's.
      check(sum.load(base::order::relaxed) == 7, "generations 0, 1 and 2");
      x.check_leaders(3);
    });
  });
}

// The only remaining participant needs no lock.
TEST(barrier_model, last_participant_sees_writes_made_before_the_drop) {
  expect_holds_everywhere("barrier_alone", [](execution& e) {
    auto& x = e.make<shared>(2U);
    e.thread("alone", [&x] {
      const auto p = x.b.blocking_arrive_and_wait();
      check(x.at[0].get() == 1, "it has dropped out");
      check(x.b.blocking_arrive_and_wait().generation == p.generation + 1, "and again");
      x.note(p);
    });
    e.thread("drops out", [&x] {
      x.at[0].set(1);
      x.b.arrive_and_drop();
    });
    e.finally([&x] { x.check_leaders(1); });
  });
}

// Arrivals in two steps: each thread that sees the last one sees what all did before, and one of them leads.
TEST(barrier_model, split_arrivals_see_all_earlier_writes_and_have_one_leader) {
  expect_holds_everywhere("barrier_split", [](execution& e) {
    auto& x = e.make<shared>(2U);
    e.thread("waits", [&x] {
      x.at[0].set(1);
      const auto mine = x.b.arrive();
      const auto p = x.b.blocking_wait(mine);
      check(p.is_leader == mine.is_leader() && p.generation == 0, "as it arrived");
      x.note(p);
      check(x.at[1].get() == 1, "both have arrived");
    });
    e.thread("tries", [&x] {
      x.at[1].set(1);
      const auto mine = x.b.arrive();
      if (mine.is_leader()) x.note({0, true});
      if (x.b.try_wait(mine)) check(x.at[0].get() == 1, "both have arrived");
    });
    e.finally([&x] { x.check_leaders(1); });
  });
}

TEST(barrier_model, split_arrival_passes_together_with_arrive_and_wait) {
  expect_holds_everywhere("barrier_mixed", [](execution& e) {
    auto& x = e.make<shared>(2U);
    e.thread("two steps", [&x] {
      for (int i = 1; i <= 2; ++i) {
        x.at[0].set(i);
        const auto mine = x.b.arrive();
        x.note(x.b.blocking_wait(mine));
      }
      check(x.at[1].get() == 2, "both have arrived");
    });
    e.thread("one step", [&x] {
      for (int i = 1; i <= 2; ++i) {
        x.at[1].set(i);
        x.note(x.b.blocking_arrive_and_wait());
      }
      check(x.at[0].get() == 2, "both have arrived");
    });
    e.finally([&x] { x.check_leaders(2); });
  });
}

task<void> waits_for(shared& x, barrier::arrival mine) { x.note(co_await x.b.wait(mine)); }

struct with_a_wait : shared {
  with_a_wait() : shared(2) {
    base::this_thread_locals().worker = &s.core();
    check(s.run_one(), "it waits");
    base::this_thread_locals().worker = nullptr;
  }

  watched<void> first{s, waits_for(*this, b.arrive())};
  canceller of_first{first.header()};
};

// The arrival stays, so the other one passes in any case.
TEST(barrier_model, a_cancelled_wait_takes_no_arrival_back) {
  expect_holds_everywhere("barrier_split_cancel", [](execution& e) {
    auto& x = e.make<with_a_wait>();
    add_workers(e, x.s, 1);
    e.thread("canceller", [&x] { x.of_first.cancel(); });
    e.thread("second", [&x] {
      const auto p = x.b.blocking_arrive_and_wait();
      check(p.is_leader, "it is the last");
    });
    e.finally([&x] { check(x.b.arrived() == 0, "both have passed"); });
  });
}

}  // namespace
}  // namespace rota::sync
