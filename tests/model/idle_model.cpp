// P2, P3: publish and check against announce, park and re-scan. The idle word, the bitmap, the parkers, the
// rings, the LIFO slots and the injector are real; the loop around them is worker.cpp's without state words,
// timers and the driver. tests/model/worker_model.cpp runs the real workers, in fewer interleavings.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "queue/idle.hpp"
#include "queue/injector.hpp"
#include "queue/ring.hpp"
#include "sched/lifo_slot.hpp"
#include "sched/parker.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <string>
#include <string_view>

namespace rota::sched {
namespace {

using model::by_priority;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// It blocks its worker until all have started: so each of them needs a worker of its own.
struct work {
  base::cell<work*> next;
  unsigned children = 0;
};

using work_ring = queue::ring<work, 4>;

struct bunk {
  lifo_slot<work> slot;
  work_ring ring;
  work_ring::owner mine{ring.take_owner_end()};
  parker bed;
  bool searching = false;
};

/// Not more tasks than workers.
template <unsigned Workers>
struct dormitory {
  explicit dormitory(unsigned total) : tasks(total) {}

  // ---- the producer's side

  void unpark(std::optional<queue::idle::claim> whom) {
    if (whom.has_value()) static_cast<void>(bunks[whom->worker].bed.unpark());
  }
  void inject(work& w) {
    check(injector.push(w) == queue::on_inject::accepted, "the injector is open");
    unpark(sleepers.after_injector());
  }
  void push_ring(unsigned me, work& w) {
    work_ring::batch half;
    check(bunks[me].mine.push(w, half) == queue::on_push::stored, "there is room");
    unpark(sleepers.after_ring());
  }
  void push_newest(unsigned me, work& w) {
    if (work* const displaced = bunks[me].slot.put(w)) push_ring(me, *displaced);
  }
  void ripen(unsigned victim) {
    if (bunks[victim].slot.ripen()) unpark(sleepers.after_ring());
  }

  // ---- the worker's side

  work* next_entry(unsigned me) {
    if (work* const w = bunks[me].slot.take()) return w;
    if (work* const w = bunks[me].mine.pop()) return w;
    work* first[1];
    return injector.pop_batch(first) == 1 ? first[0] : nullptr;
  }
  work* search(unsigned me) {
    if (work* const w = next_entry(me)) return w;
    for (unsigned i = 1; i < Workers; ++i) {
      const work_ring::steal_result got =
          bunks[(me + i) % Workers].ring.thief_end().steal_into(bunks[me].mine);
      if (got.status != queue::on_steal::stolen) continue;
      if (got.count > 1) unpark(sleepers.after_ring());
      return got.first;
    }
    for (unsigned i = 1; i < Workers; ++i) {
      if (work* const w = bunks[(me + i) % Workers].slot.steal()) return w;
    }
    return next_entry(me);
  }
  bool sees_work(unsigned me) {
    if (is_stopping()) return true;
    return !bunks[me].slot.is_empty() || others_have_work(me);
  }
  bool others_have_work(unsigned me) {
    if (injector.has_items()) return true;
    for (unsigned i = 0; i < Workers; ++i) {
      if (bunks[i].ring.thief_end().has_items() || (i != me && bunks[i].slot.is_ripe())) return true;
    }
    return false;
  }
  void get_up(unsigned me, bool consumed) {
    bool first_awake = false;
    if (sleepers.rise(me, first_awake) == queue::idle::on_rise::claimed && !consumed) bunks[me].bed.park();
    if (first_awake) ++awoken;
    bunks[me].searching = true;
  }
  void park(unsigned me) {
    sleepers.announce_park(me, bunks[me].searching);
    bunks[me].searching = false;
    if (sees_work(me)) {
      get_up(me, false);
    } else {
      bunks[me].bed.park();
      get_up(me, true);
    }
  }
  void leave_search(unsigned me) {
    if (!bunks[me].searching) return;
    bunks[me].searching = false;
    if (sleepers.leave_with_work() && others_have_work(me)) unpark(sleepers.after_ring());
  }
  void run(unsigned me, work& w) {
    for (unsigned i = 0; i < w.children; ++i) push_newest(me, tasks_[1 + i]);
    // acq_rel. What the test counts.
    const std::uint32_t now = started.fetch_add(1, base::order::acq_rel) + 1;
    if (now == tasks) static_cast<void>(base::futex_wake(&started, 100));
    // acquire. Pairs with the fetch_add.
    for (std::uint32_t seen = now; seen < tasks; seen = started.load(base::order::acquire)) {
      static_cast<void>(base::futex_wait(started, seen, base::never));
    }
  }
  void stop() {
    // seq_cst. As the scheduler's phase.
    stopping.store(true, base::order::seq_cst);
  }
  bool is_stopping() {
    // seq_cst. As the scheduler's phase.
    return stopping.load(base::order::seq_cst);
  }
  void play(unsigned me) {
    while (!is_stopping()) {
      bunk& my = bunks[me];
      if (!my.searching) {
        while (work* const w = next_entry(me)) run(me, *w);
        my.searching = sleepers.try_search();
      }
      if (work* const w = my.searching ? search(me) : next_entry(me)) {
        leave_search(me);
        run(me, *w);
      } else {
        park(me);
      }
    }
  }

  void check_end() {
    // relaxed: all threads are at rest.
    check(started.load(base::order::relaxed) == tasks, "no task is stranded while its workers sleep");
    const queue::idle::counts now = sleepers.guess();
    check(now.searching == 0, "nobody sleeps with a searching token");
    check(now.parked == static_cast<int>(Workers), "every worker has parked, and is counted once");
  }

  std::string describe() {
    const queue::idle::counts now = sleepers.guess();
    return "parked " + std::to_string(now.parked) + ", searching " + std::to_string(now.searching) +
           ", injector " + std::to_string(injector.length_guess());
  }

  const std::uint32_t tasks;
  std::array<work, 8> tasks_;
  queue::idle sleepers{Workers};
  queue::injector<work> injector;
  std::array<bunk, Workers> bunks;
  base::atomic<std::uint32_t> started{0};
  base::atomic<bool> stopping{false};
  int awoken = 0;
};

/// `outside`: tasks from foreign threads, one each; `children`: spawned by the first of them. `ripening`: a
/// thread marks LIFO slots whenever time passes, as the watchdog does.
struct shape {
  unsigned outside;
  unsigned children;
};

template <unsigned Workers>
void build(execution& e, shape s) {
  auto& d = e.make<dormitory<Workers>>(s.outside + s.children);
  d.tasks_[0].children = s.children;
  for (unsigned me = 0; me < Workers; ++me) e.daemon("worker", [&d, me] { d.play(me); });
  for (unsigned p = 0; p < s.outside; ++p) {
    work& w = d.tasks_[p == 0 ? 0 : s.children + p];
    e.thread("producer", [&d, &w] { d.inject(w); });
  }
  if (s.children > 0) {
    // Ends only when all have started: until then time passes, and the watchdog marks whatever it finds.
    e.thread("watchdog", [&d] {
      for (;;) {
        // acquire. What the test counts.
        const std::uint32_t seen = d.started.load(base::order::acquire);
        if (seen == d.tasks) return;
        for (unsigned v = 0; v < Workers; ++v) d.ripen(v);
        if (base::futex_wait(d.started, seen, base::now() + std::chrono::milliseconds(1)) ==
            base::wait_result::timed_out) {
          check(++d.awoken < 1000, "no task is stranded while its workers sleep");
        }
      }
    });
  }
  e.finally([&d] { d.check_end(); });
  e.on_failure([&d] { return d.describe(); });
}

TEST(idle_model, one_worker_and_one_task) {
  expect_holds(exhaustive("idle_1_1", 3), [](execution& e) { build<1>(e, {1, 0}); });
}

/// A producer that finds no parked worker leaves the task to a later parker. That parker sees the task, since
/// every publish is a read-modify-write. A load would return the same, without this guarantee.
void look_then_park(std::string_view name, bool searching) {
  struct board {
    queue::idle sleepers{1};
    base::cell<int> task;
    bool looked = false;
  };
  const auto body = [searching](execution& e) {
    auto& b = e.make<board>();
    if (searching) b.sleepers.force_search();
    e.thread("producer", [&b] {
      b.task.set(1);
      b.looked = !b.sleepers.after_injector().has_value();
    });
    e.thread("worker", [&b, searching] {
      b.sleepers.announce_park(0, searching);
      if (b.looked) check(b.task.get() == 1, "the re-scan sees what was published");
    });
  };
  expect_holds(exhaustive(name, 3), body);
}

TEST(idle_model, a_parking_worker_sees_a_task_whose_producer_saw_no_parked_worker) {
  look_then_park("idle_look", false);
}

TEST(idle_model, a_searcher_that_parks_sees_a_task_whose_producer_relied_on_it) {
  look_then_park("idle_look_searcher", true);
}

/// A task and a parker, each with its re-check, with stale loads: the producer finds the parker, or the
/// parker finds the task.
template <class Publish, class See>
void publish_and_park(std::string_view name, Publish publish, See see) {
  struct board {
    queue::idle sleepers{1};
    bunk of_a_blocked_worker;
    queue::injector<work> injector;
    work task;
    bool told = false;
    bool saw = false;
  };
  const auto body = [publish, see](execution& e) {
    auto& b = e.make<board>();
    e.thread("producer", [&b, publish] { b.told = publish(b); });
    e.thread("worker", [&b, see] {
      b.sleepers.announce_park(0, false);
      b.saw = see(b);
    });
    e.finally([&b] { check(b.told || b.saw, "one of the two sees the other"); });
  };
  testing::options o = exhaustive(name, 3);
  o.stale_reads = 2;
  expect_holds(o, body);
}

/// The watchdog announces its sleep, then checks that all are parked; the first to unpark checks for it.
template <class GetUp>
void sleep_and_get_up(std::string_view name, GetUp get_up) {
  struct board {
    queue::idle sleepers{1};
    base::atomic<std::uint32_t> watchdog_sleeps{0};
    bool told = false;
    bool saw = false;
  };
  const auto body = [get_up](execution& e) {
    auto& b = e.make<board>();
    b.sleepers.announce_park(0, false);
    e.thread("watchdog", [&b] {
      // seq_cst. As watchdog::sleep().
      b.watchdog_sleeps.exchange(1, base::order::seq_cst);
      b.saw = !b.sleepers.all_parked();
    });
    e.thread("first", [&b, get_up] {
      check(get_up(b.sleepers), "all were parked");
      // seq_cst. As watchdog::first_awake().
      b.told = b.watchdog_sleeps.load(base::order::seq_cst) != 0;
    });
    e.finally([&b] { check(b.told || b.saw, "one of the two sees the other"); });
  };
  testing::options o = exhaustive(name, 3);
  o.stale_reads = 2;
  expect_holds(o, body);
}

TEST(idle_model, a_watchdog_and_the_first_worker_that_is_claimed_do_not_miss_each_other) {
  sleep_and_get_up("idle_watchdog_claim", [](queue::idle& sleepers) {
    const auto whom = sleepers.after_injector();
    return whom.has_value() && whom->first_awake;
  });
}

TEST(idle_model, a_watchdog_and_the_first_worker_that_rises_do_not_miss_each_other) {
  sleep_and_get_up("idle_watchdog_rise", [](queue::idle& sleepers) {
    bool first_awake = false;
    return sleepers.rise(0, first_awake) == queue::idle::on_rise::alone && first_awake;
  });
}

TEST(idle_model, a_task_in_a_ring_and_a_parker_do_not_miss_each_other) {
  publish_and_park(
      "idle_ring",
      [](auto& b) {
        work_ring::batch half;
        check(b.of_a_blocked_worker.mine.push(b.task, half) == queue::on_push::stored, "there is room");
        return b.sleepers.after_ring().has_value();
      },
      [](auto& b) { return b.of_a_blocked_worker.ring.thief_end().has_items(); });
}

TEST(idle_model, a_task_in_the_lifo_slot_and_a_parker_do_not_miss_each_other) {
  publish_and_park(
      "idle_ripe",
      [](auto& b) {
        static_cast<void>(b.of_a_blocked_worker.slot.put(b.task));
        check(b.of_a_blocked_worker.slot.ripen(), "it is there");
        return b.sleepers.after_ring().has_value();
      },
      [](auto& b) { return b.of_a_blocked_worker.slot.is_ripe(); });
}

TEST(idle_model, a_task_in_the_injector_and_a_parker_do_not_miss_each_other) {
  publish_and_park(
      "idle_injector",
      [](auto& b) {
        check(b.injector.push(b.task) == queue::on_inject::accepted, "it is open");
        return b.sleepers.after_injector().has_value();
      },
      [](auto& b) { return b.injector.has_items(); });
}

// The claim that ends "all parked" is recognized, however many coincide: the watchdog is woken.
TEST(idle_model, exactly_one_thread_is_told_that_it_ended_the_all_parked_state) {
  struct two {
    queue::idle sleepers{2};
    int told = 0;
  };
  const auto body = [](execution& e) {
    auto& t = e.make<two>();
    t.sleepers.announce_park(0, false);
    t.sleepers.announce_park(1, false);
    e.thread("producer", [&t] {
      if (const auto claimed = t.sleepers.after_injector(); claimed.has_value())
        t.told += claimed->first_awake ? 1 : 0;
    });
    for (unsigned me = 0; me < 2; ++me) {
      e.thread("riser", [&t, me] {
        bool first_awake = false;
        static_cast<void>(t.sleepers.rise(me, first_awake));
        t.told += first_awake ? 1 : 0;
      });
    }
    e.finally([&t] {
      check(t.told == 1, "exactly one is told");
      check(!t.sleepers.all_parked(), "and all are up");
    });
  };
  expect_holds(exhaustive("idle_first_awake", 3), body);
}

TEST(idle_model, two_workers_and_one_task) {
  expect_holds(exhaustive("idle_2_1"), [](execution& e) { build<2>(e, {1, 0}); });
}

// Two preemptions are slow: only in the long runs.
TEST(idle_model, a_child_in_the_lifo_slot_of_a_blocked_worker_is_stolen) {
  const unsigned bound = std::getenv("ROTA_MODEL_RUNS") != nullptr ? 2 : 1;
  expect_holds(exhaustive("idle_child", bound), [](execution& e) { build<2>(e, {1, 1}); });
}

TEST(idle_model, three_workers_at_random) {
  expect_holds(by_priority("idle_3_3"), [](execution& e) { build<3>(e, {3, 0}); });
}

TEST(idle_model, children_in_ring_and_slot_at_random) {
  expect_holds(by_priority("idle_3_children"), [](execution& e) { build<3>(e, {1, 2}); });
}

TEST(idle_model, four_workers_at_random) {
  expect_holds(by_priority("idle_4"), [](execution& e) { build<4>(e, {2, 2}); });
}

// Wakes all workers while there is work: a redundant wake is harmless, and loses no task.
TEST(idle_model, a_wake_of_all_workers_that_races_with_a_task_loses_no_task) {
  const auto body = [](execution& e) {
    auto& d = e.make<dormitory<2>>(2U);
    for (unsigned me = 0; me < 2; ++me) e.daemon("worker", [&d, me] { d.play(me); });
    e.thread("producer", [&d] { d.inject(d.tasks_[0]); });
    e.thread("waker", [&d] {
      for (unsigned me = 0; me < 2; ++me) d.unpark(d.sleepers.claim_parked(me));
      d.inject(d.tasks_[1]);
    });
    e.finally([&d] { d.check_end(); });
    e.on_failure([&d] { return d.describe(); });
  };
  expect_holds(by_priority("idle_wake_and_task"), body);
  expect_holds(exhaustive("idle_wake_and_task"), body);
}

// Only the worker that the finder of the first task wakes is left for the second one.
TEST(idle_model, two_workers_and_two_tasks) {
  expect_holds(exhaustive("idle_2_2"), [](execution& e) { build<2>(e, {2, 0}); });
}

// A shutdown wakes all workers, and all leave, also while a producer claims one of them.
TEST(idle_model, a_shutdown_wakes_every_worker) {
  const auto body = [](execution& e) {
    auto& d = e.make<dormitory<2>>(1U);
    for (unsigned me = 0; me < 2; ++me) e.thread("worker", [&d, me] { d.play(me); });
    e.thread("producer", [&d] { d.inject(d.tasks_[0]); });
    e.thread("shutdown", [&d] {
      d.stop();
      for (unsigned me = 0; me < 2; ++me) d.unpark(d.sleepers.claim_parked(me));
    });
    e.on_failure([&d] { return d.describe(); });
  };
  expect_holds(exhaustive("idle_wake_all"), body);
}

}  // namespace
}  // namespace rota::sched
