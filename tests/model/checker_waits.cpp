// Locks, futexes, threads and spinning: what waits, what wakes, and what never does.
#include <rota/testing/explore.hpp>
#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"

#include <rota/detail/base.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

namespace rota {
namespace {

using base::order;
using testing::check;
using testing::execution;
using testing::explore;

bool mentions(const testing::report& r, std::string_view words) {
  return r.what.find(words) != std::string::npos;
}

TEST(checker_waits, two_locks_in_two_orders_deadlock) {
  struct locks {
    base::mutex a;
    base::mutex b;
  };
  const auto r = explore({}, [](execution& e) {
    auto& l = e.make<locks>();
    e.thread("ab", [&l] {
      const base::lock_guard first(l.a);
      const base::lock_guard second(l.b);
    });
    e.thread("ba", [&l] {
      const base::lock_guard first(l.b);
      const base::lock_guard second(l.a);
    });
  });
  EXPECT_TRUE(mentions(r, "deadlock")) << to_string(r);
  EXPECT_TRUE(mentions(r, "T1 ab waits for the mutex")) << r.what;
  EXPECT_TRUE(mentions(r, "T2 ba waits for the mutex")) << r.what;
  EXPECT_EQ(r.preemptions, 1U);
}

TEST(checker_waits, a_lock_taken_twice_is_a_deadlock) {
  const auto r = explore({}, [](execution& e) {
    auto& m = e.make<base::mutex>();
    e.thread([&m] {
      const base::lock_guard first(m);
      const base::lock_guard second(m);
    });
  });
  EXPECT_TRUE(mentions(r, "locks a mutex that it holds")) << to_string(r);
}

TEST(checker_waits, unlock_by_a_thread_that_does_not_hold_the_mutex_is_a_failure) {
  const auto r = explore({}, [](execution& e) {
    auto& m = e.make<base::mutex>();
    e.thread([&m] { m.unlock(); });
  });
  EXPECT_TRUE(mentions(r, "does not hold the mutex")) << to_string(r);
}

TEST(checker_waits, any_waiter_may_get_the_lock) {
  unsigned firsts = 0;
  const auto r = explore({}, [&firsts](execution& e) {
    auto& m = e.make<base::mutex>();
    auto& got = e.make<int>(0);
    e.thread([&m] { const base::lock_guard held(m); });
    for (int i = 1; i <= 2; ++i) {
      e.thread([&, i] {
        const base::lock_guard held(m);
        if (got == 0) got = i;
      });
    }
    e.finally([&] { firsts |= 1U << static_cast<unsigned>(got); });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(firsts, 0b110U);
}

TEST(checker_waits, try_lock_does_not_wait) {
  bool held_seen = false;
  const auto r = explore({}, [&held_seen](execution& e) {
    auto& m = e.make<base::mutex>();
    for (int i = 0; i < 2; ++i) {
      e.thread([&] {
        if (m.try_lock()) {
          m.unlock();
        } else {
          held_seen = true;
        }
      });
    }
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(held_seen);
}

// One sleeper, one waker; the mutants leave out what makes it right.
enum class fault { none, wake_before_publish, no_recheck, wrong_expected };

void sleep_and_wake(execution& e, fault f) {
  struct state {
    base::atomic<std::uint32_t> sleeping{0};
    base::atomic<std::uint32_t> work{0};
  };
  auto& s = e.make<state>();
  e.thread("waker", [&s, f] {
    const auto wake = [&s] {
      // seq_cst. One of four: see the sleeper.
      if (s.sleeping.exchange(0, order::seq_cst) == 1) base::futex_wake(&s.sleeping, 1);
    };
    if (f == fault::wake_before_publish) wake();
    s.work.store(1, order::seq_cst);  // seq_cst. One of four.
    if (f != fault::wake_before_publish) wake();
  });
  e.thread("sleeper", [&s, f] {
    while (s.work.load(order::seq_cst) ==
           0) {  // seq_cst. Of {work published, sleeper asleep} one side sees the other.
      s.sleeping.store(1, order::seq_cst);  // seq_cst. One of four.
      // seq_cst. One of four.
      if (f != fault::no_recheck && s.work.load(order::seq_cst) == 1) return;
      const std::uint32_t expected =
          f == fault::wrong_expected ? s.sleeping.load(order::relaxed) : 1;  // relaxed. The fault.
      (void)base::futex_wait(s.sleeping, expected, base::never);
    }
  });
}

TEST(checker_waits, a_right_sleeper_is_always_woken) {
  const auto r =
      explore({.preemptions = 4, .spurious_wakes = 2}, [](execution& e) { sleep_and_wake(e, fault::none); });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

TEST(checker_waits, a_wake_before_the_publish_is_a_lost_wakeup) {
  const auto r = explore({}, [](execution& e) { sleep_and_wake(e, fault::wake_before_publish); });
  EXPECT_TRUE(mentions(r, "lost wakeup")) << to_string(r);
  EXPECT_TRUE(mentions(r, "sleeper sleeps on the futex")) << r.what;
  EXPECT_FALSE(mentions(r, "not reproduced")) << r.what;
}

TEST(checker_waits, a_sleep_without_a_recheck_is_a_lost_wakeup) {
  const auto r = explore({}, [](execution& e) { sleep_and_wake(e, fault::no_recheck); });
  EXPECT_TRUE(mentions(r, "lost wakeup")) << to_string(r);
}

TEST(checker_waits, a_sleeper_with_the_wrong_expected_value_is_a_lost_wakeup) {
  const auto r = explore({}, [](execution& e) { sleep_and_wake(e, fault::wrong_expected); });
  EXPECT_TRUE(mentions(r, "lost wakeup")) << to_string(r);
}

TEST(checker_waits, a_spurious_wake_comes_only_when_it_is_asked_for) {
  const auto with = [](unsigned wakes) {
    return explore({.spurious_wakes = wakes}, [](execution& e) {
      auto& word = e.make<base::atomic<std::uint32_t>>(0U);
      e.thread([&word] {
        if (base::futex_wait(word, 0, base::never) == base::wait_result::woken) {
          check(word.load(order::relaxed) == 1,
                "woken means changed");  // relaxed. The assumption under test.
        }
      });
      e.thread([&word] {
        word.store(1, order::relaxed);  // relaxed. The assumption under test.
        base::futex_wake(&word, 1);
      });
    });
  };
  EXPECT_FALSE(with(0).failed) << to_string(with(0));
  EXPECT_TRUE(with(1).failed);
}

TEST(checker_waits, any_sleeper_may_be_woken) {
  unsigned woken = 0;
  const auto r = explore({}, [&woken](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    auto& who = e.make<unsigned>(0U);
    for (unsigned i = 1; i <= 3; ++i) {
      e.daemon([&, i] {
        (void)base::futex_wait(word, 0, base::never);
        who = i;
      });
    }
    e.finally([&] {  // all three sleep by now
      check(base::futex_wake(&word, 1) == 1, "one of them");
      while (who == 0) base::cpu_relax();
      woken |= 1U << who;
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(woken, 0b1110U);
}

TEST(checker_waits, a_wake_of_many_wakes_no_more_than_it_says) {
  const auto r = explore({.preemptions = 1}, [](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    auto& awake = e.make<int>(0);
    for (int i = 0; i < 3; ++i) {
      e.daemon([&] {
        (void)base::futex_wait(word, 0, base::never);
        ++awake;
      });
    }
    e.finally([&] {
      check(base::futex_wake(&word, 2) == 2, "two of three");
      for (int i = 0; i < 5; ++i) base::cpu_relax();
      check(awake == 2, "the third sleeps on");
      check(base::futex_wake(&word, 1000) == 1, "the rest");
      check(base::futex_wake(&word, 1) == 0, "nobody is left");
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_waits, a_daemon_may_sleep_at_the_end) {
  const auto r = explore({}, [](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    e.daemon([&word] { (void)base::futex_wait(word, 0, base::never); });
    e.thread([] {});
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

TEST(checker_waits, a_thread_that_sleeps_at_the_end_is_a_deadlock) {
  const auto r = explore({}, [](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    e.thread([&word] { (void)base::futex_wait(word, 0, base::never); });
  });
  EXPECT_TRUE(mentions(r, "deadlock")) << to_string(r);
}

TEST(checker_waits, a_spin_loop_with_cpu_relax_ends) {
  const auto r = explore({.preemptions = 3}, [](execution& e) {
    auto& flag = e.make<base::atomic<int>>(0);
    e.thread([&flag] {
      while (flag.load(order::acquire) == 0) base::cpu_relax();  // acquire. Pairs with the store.
    });
    e.thread([&flag] { flag.store(1, order::release); });  // release. Pairs with the load.
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
  EXPECT_EQ(r.runs, 2U);  // one looks first, or the other stores first: a second look is no other run
}

// Fairness takes no result away: the spinner may see every value on the way.
TEST(checker_waits, a_spinner_may_read_between_any_two_steps_of_another_thread) {
  unsigned seen = 0;
  const auto r = explore({.preemptions = 3}, [&seen](execution& e) {
    auto& word = e.make<base::atomic<unsigned>>(0U);
    e.thread([&] {
      // relaxed. Values only. So below.
      for (unsigned value = 0; value != 4; base::cpu_relax()) {
        value = word.load(order::relaxed);
        seen |= 1U << value;
      }
    });
    e.thread([&word] {
      for (int i = 0; i < 4; ++i) word.fetch_add(1, order::relaxed);  // relaxed.
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(seen, 0b11111U);
}

// Two spinners must not starve the third thread by watching each other, and must wait only for its next step.
testing::report two_spinners_and(int steps) {
  return explore({.preemptions = 0}, [=](execution& e) {
    auto& flag = e.make<base::atomic<int>>(0);
    for (int i = 0; i < 2; ++i) {
      e.thread([&flag, steps] {
        while (flag.load(order::acquire) != steps) base::cpu_relax();  // acquire. Pairs with the addition.
      });
    }
    e.thread([&flag, steps] {
      for (int i = 0; i < steps; ++i) {
        flag.fetch_add(1, order::release);  // release. Pairs with the loads.
        base::cpu_relax();
      }
    });
  });
}

TEST(checker_waits, two_spinners_let_a_third_thread_run) {
  const auto once = two_spinners_and(1);
  EXPECT_FALSE(once.failed) << to_string(once);
  EXPECT_EQ(once.runs, 36U);
  const auto twice = two_spinners_and(2);
  EXPECT_FALSE(twice.failed) << to_string(twice);
  EXPECT_EQ(twice.runs, 262U);  // every change of the rule of fairness changes these numbers
}

TEST(checker_waits, a_bounded_spin_before_a_sleep_is_no_lost_wakeup) {
  const auto r = explore({}, [](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    e.thread([&word] {
      // acquire. Pairs with the store. Also below.
      for (int i = 0; i < 3 && word.load(order::acquire) == 0; ++i) base::cpu_relax();
      // acquire. Pairs with the store. Also below.
      while (word.load(order::acquire) == 0) (void)base::futex_wait(word, 0, base::never);
    });
    e.thread([&word] {
      word.store(1, order::release);  // release. Pairs with the loads.
      base::futex_wake(&word, 1);
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(r.complete);
}

TEST(checker_waits, a_loop_that_no_thread_ends_is_a_livelock) {
  const auto r = explore({.steps = 1'000}, [](execution& e) {
    auto& flag = e.make<base::atomic<int>>(0);
    e.thread([&flag] {
      while (flag.load(order::relaxed) == 0) base::cpu_relax();  // relaxed: no thread stores
    });
  });
  EXPECT_EQ(r.what, "livelock: more than 1000 steps");
}

TEST(checker_waits, a_loop_of_plain_reads_is_a_livelock) {
  const auto r = explore({.steps = 1'000}, [](execution& e) {
    auto& flag = e.make<base::cell<int>>(0);
    e.thread([&flag] {
      while (flag.get() == 0) {
      }
    });
  });
  EXPECT_TRUE(mentions(r, "livelock")) << r.what;
}

struct increment {
  base::cell<int> value{0};
  static void run(void* self) noexcept {
    auto& i = *static_cast<increment*>(self);
    i.value.set(i.value.get() + 1);
  }
};

TEST(checker_waits, thread_start_and_join_order_memory_accesses) {
  const auto r = explore({}, [](execution& e) {
    auto& i = e.make<increment>();
    e.thread([&i] {
      i.value.set(1);
      auto t = base::thread::start("child", increment::run, &i);
      t->join();
      check(i.value.get() == 2, "the child has run");
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_waits, a_thread_that_is_not_joined_yet_races) {
  const auto r = explore({}, [](execution& e) {
    auto& i = e.make<increment>();
    e.thread([&i] {
      auto t = base::thread::start("child", increment::run, &i);
      (void)i.value.get();
      t->join();
    });
  });
  EXPECT_TRUE(mentions(r, "data race: T2 child writes")) << to_string(r);
}

TEST(checker_waits, thread_start_fails_with_eagain_if_failures_are_enabled) {
  bool refused = false;
  const auto r = explore({.thread_failures = 1}, [&refused](execution& e) {
    auto& i = e.make<increment>();
    e.thread([&] {
      auto t = base::thread::start("child", increment::run, &i);
      if (t) return t->join();
      refused = true;
      check(t.error() == std::errc::resource_unavailable_try_again, "EAGAIN");
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_EQ(r.runs, 2U);
  EXPECT_TRUE(refused);
}

TEST(checker_waits, weak_compare_exchange_fails_spuriously_only_if_enabled) {
  const auto with = [](unsigned failures) {
    return explore({.weak_cas_failures = failures}, [](execution& e) {
      auto& word = e.make<base::atomic<int>>(0);
      e.thread([&word] {
        int expected = 0;
        // relaxed. failure: relaxed. Only the result matters.
        const bool done = word.compare_exchange_weak(expected, 1, order::relaxed, order::relaxed);
        check(done, "weak is strong");
      });
    });
  };
  EXPECT_FALSE(with(0).failed);
  EXPECT_TRUE(with(1).failed);
}

TEST(checker_waits, more_than_15_threads_are_reported_as_a_failure) {
  const auto r = explore({}, [](execution& e) {
    for (int i = 0; i < 16; ++i) e.thread([] {});
  });
  EXPECT_TRUE(mentions(r, "more than 15 threads")) << r.what;
}

}  // namespace
}  // namespace rota
