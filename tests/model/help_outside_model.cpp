// P13: join(help) on threads without a role, beside held workers. No deadlines: a lost call deadlocks.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "sched/scheduler.hpp"
#include "sched/sleep_driver.hpp"
#include "task/harness.hpp"

#include <rota/detail/spawn_on.hpp>
#include <rota/join_handle.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <array>
#include <span>

namespace rota::sched {
namespace {

using model::by_priority;
using model::exhaustive;
using model::expect_holds;
using sync::event;
using testing::check;
using testing::execution;

/// Blocks threads until it has been raised to `whole`.
class level {
 public:
  void raise() {
    // acq_rel. What the test counts.
    word_.fetch_add(1, base::order::acq_rel);
    base::futex_wake(&word_, 100);
  }
  void wait(std::uint32_t whole) {
    for (;;) {
      // acquire. Pairs with raise().
      const std::uint32_t seen = word_.load(base::order::acquire);
      if (seen >= whole) return;
      static_cast<void>(base::futex_wait(word_, seen, base::never));
    }
  }

 private:
  base::atomic<std::uint32_t> word_{0};
};

/// A scheduler with one worker. The worker's thread begins to run tasks only on command.
struct setting {
  setting() : tasks(1, 1, base::now()) {
    tasks.around.driver = driver.port();
    tasks.around.abandoned = [](void* self) noexcept { static_cast<setting*>(self)->is_abandoned = true; };
    tasks.around.holder = this;
    core::install_thread_ports(scheduler::ports_of_thread);
  }
  setting(const setting&) = delete;
  setting& operator=(const setting&) = delete;
  ~setting() = default;

  /// Does what runtime::shutdown does.
  void shut_down() {
    begins.raise();
    tasks.set_phase(phase::cancelling);
    tasks.wake_all();
    tasks.tasks().act_on_each([](core::header& task) { core::cancel(task, cancel_reason::shutdown); });
    check(tasks.books().wait_until_none(base::never), "every task ends");
    tasks.set_phase(phase::stopping);
    tasks.wake_all();
    tasks.helping().wait_until_none();
    check(tasks.helping().read() == 0, "no thread runs a task any more");
  }
  void check_end() {
    tasks.drain();
    if (tasks.books().let_go()) is_abandoned = true;
    check(is_abandoned, "the memory of every task is back");
  }

  sleep_driver driver;
  scheduler tasks;
  level begins;
  bool is_abandoned = false;
};

setting& with_a_worker(execution& e) {
  setting& s = e.make<setting>();
  e.thread("worker", [&s] {
    s.begins.wait(1);
    check(s.tasks.at(0).play() == worker::on_play::stopped, "the role ends by a stop");
  });
  e.finally([&s] { s.check_end(); });
  return s;
}

task<> waits_for(event& gate) { co_await gate.wait(); }
task<> opens(event& gate) {
  gate.set();
  co_return;
}

// The helper is about to sleep when the task comes on which its target depends.
TEST(help_outside_model, a_helper_is_woken_by_a_task_that_comes) {
  const auto body = [](execution& e) {
    setting& s = with_a_worker(e);
    event& gate = e.make<event>();
    e.thread("helper", [&] {
      core::spawn_on(s.tasks, waits_for(gate)).join(help);
      s.shut_down();
    });
    e.thread("producer", [&] { core::spawn_on(s.tasks, opens(gate)).detach(); });
  };
  testing::options stale = exhaustive("help_one", 1);
  stale.stale_reads = 2;
  expect_holds(stale, body);
  expect_holds(by_priority("help_one_pct", 3'000), body);
}

// One helper may run all tasks. The other is woken for a task, finds its own target ended, and leaves.
TEST(help_outside_model, a_leaving_helper_passes_its_wakeup_to_another) {
  const auto body = [](execution& e) {
    setting& s = with_a_worker(e);
    auto& gates = e.make<std::array<event, 2>>();
    level& over = e.make<level>();
    for (event& gate : gates) {
      e.thread("helper", [&] {
        core::spawn_on(s.tasks, waits_for(gate)).join(help);
        over.raise();
      });
    }
    e.thread("producer", [&] {
      for (event& gate : gates) core::spawn_on(s.tasks, opens(gate)).detach();
      over.wait(2);
      s.shut_down();
    });
  };
  expect_holds(exhaustive("help_two_dfs", 1), body);
  expect_holds(by_priority("help_two", 5'000), body);
}

task<> raises_and_blocks(level& come, std::uint32_t whole) {
  come.raise();
  come.wait(whole);
  co_return;
}

/// The ring overflows: its older half goes to the injector by one push.
task<> spawns_a_batch(scheduler& by, level& come, event& gate) {
  for (std::uint32_t i = 0; i < ring_capacity + 2; ++i)
    core::spawn_on(by, raises_and_blocks(come, 3)).detach();
  come.raise();
  come.wait(3);
  gate.set();
  co_return;
}

// A push of two tasks wakes one helper. Each task blocks its thread until the other one has begun.
TEST(help_outside_model, a_helper_that_takes_one_of_several_tasks_wakes_the_next) {
  const auto body = [](execution& e) {
    setting& s = with_a_worker(e);
    event& gate = e.make<event>();
    level& come = e.make<level>();
    level& over = e.make<level>();
    s.begins.raise();
    for (int i = 0; i < 2; ++i) {
      e.thread("helper", [&] {
        core::spawn_on(s.tasks, waits_for(gate)).join(help);
        over.raise();
      });
    }
    e.thread("main", [&] {
      core::spawn_on(s.tasks, spawns_a_batch(s.tasks, come, gate)).join();
      over.wait(2);
      s.shut_down();
    });
  };
  expect_holds(by_priority("help_batch", 3'000), body);
}

/// A task that only a helper may run while the end comes.
struct late_task {
  base::atomic<bool> is_over{false};
  base::atomic<bool> has_begun{false};
};
task<> runs_before_the_end(late_task& seen) {
  // seq_cst, all of them. What the test counts.
  seen.has_begun.store(true, base::order::seq_cst);
  check(!seen.is_over.load(base::order::seq_cst), "the scheduler has not ended");
  co_return;
}

/// Such a task stays in memory, which a model takes for a leak: it is cancelled here.
void end_what_is_left(scheduler& tasks) {
  core::header* entry = nullptr;
  if (tasks.injector().pop_batch(std::span(&entry, 1)) == 0) return;
  tasks.pass_end_on(*entry);
  core::run_entry(*entry);
}

// A shutdown that abandons tasks of closures may end while a task lives. Then no helper runs one.
TEST(help_outside_model, the_end_waits_for_a_task_that_a_helper_runs) {
  const auto body = [](execution& e) {
    setting& s = with_a_worker(e);
    late_task& seen = e.make<late_task>();
    level& over = e.make<level>();
    core::outside_helper& me = e.make<core::outside_helper>();
    e.thread("helper", [&] {
      core::spawn_on(s.tasks, runs_before_the_end(seen)).detach();
      s.tasks.help_until_end(me);
      over.raise();
    });
    e.thread("main", [&] {
      s.tasks.set_phase(phase::stopping);
      s.tasks.helping().wait_until_none();
      seen.is_over.store(true, base::order::seq_cst);
      me.waker_of_end().wake();
      over.wait(1);
      end_what_is_left(s.tasks);
      s.begins.raise();
    });
  };
  expect_holds(exhaustive("help_end", 1), body);
}

}  // namespace
}  // namespace rota::sched
