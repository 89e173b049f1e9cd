// A clock that jumps, over the real workers: it never jumps while a thread can run, and never stands still
// when none can. A forgotten jump is a deadlock, since no wait has a deadline then.
#include <rota/testing/explore.hpp>
#include "base/thread.hpp"
#include "model/exploring.hpp"
#include "sched/scheduler.hpp"
#include "sched/sleep_driver.hpp"

#include <rota/detail/clock_source.hpp>
#include <rota/detail/enter.hpp>
#include <rota/detail/spawn_on.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <string_view>

namespace rota::sched {
namespace {

using namespace std::chrono_literals;
using model::at_random;
using model::by_priority;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// Jumps whenever it is asked. `busy`: tasks that are runnable, or about to be; kept by the tasks themselves.
class jumping_clock final : public core::clock_source {
 public:
  time_point now() noexcept override {
    // acquire. Pairs with all_blocked().
    return time_point(std::chrono::nanoseconds(now_.load(base::order::acquire)));
  }
  bool all_blocked(time_point earliest) noexcept override {
    if (earliest == time_point::max()) return false;
    // acquire. Pairs with the tasks' counting.
    check(busy.load(base::order::acquire) == 0, "time jumps only when nothing can run");
    // release. Pairs with now().
    now_.store(earliest.time_since_epoch().count(), base::order::release);
    return true;
  }
  void listen(const listener&) noexcept override {}

  void begin() noexcept {
    // acq_rel. A balance.
    busy.fetch_add(1, base::order::acq_rel);
  }
  void end() noexcept {
    // acq_rel. A balance.
    busy.fetch_sub(1, base::order::acq_rel);
  }
  base::atomic<int> busy{0};

 private:
  base::atomic<std::int64_t> now_{std::chrono::nanoseconds(1h).count()};
};

struct house {
  explicit house(unsigned workers) : tasks(workers, 1, clock.now()) {
    tasks.around.driver = driver.port();
    tasks.around.clock = &clock;
    tasks.around.abandoned = [](void*) noexcept {};
    core::install_thread_ports(scheduler::ports_of_thread);
  }
  house(const house&) = delete;
  house& operator=(const house&) = delete;
  ~house() = default;

  void shut_down() {
    tasks.set_phase(phase::cancelling);
    tasks.wake_all();
    check(tasks.books().wait_until_none(base::never), "every task ends");
    tasks.set_phase(phase::stopping);
    tasks.wake_all();
  }

  jumping_clock clock;
  sleep_driver driver;
  scheduler tasks;
};

house& furnish(execution& e, unsigned workers) {
  house& h = e.make<house>(workers);
  for (unsigned i = 0; i < workers; ++i) {
    e.thread("worker", [&h, i] {
      check(h.tasks.at(i).play() == worker::on_play::stopped, "a role that was not lent ends by a stop");
    });
  }
  e.finally([&h] {
    h.tasks.drain();
    check(h.tasks.books().let_go(), "the memory of all is back");
  });
  return h;
}

/// The spawner counts it as busy; it is not busy while it sleeps.
task<> nap(house& h, std::chrono::nanoseconds span) {
  const auto until = h.clock.now() + span;
  h.clock.end();
  co_await sleep_for(span);
  h.clock.begin();
  check(h.clock.now() == until, "it wakes at exactly its time");
  h.clock.end();
}

task<> two_naps_at_once(house& h) {
  h.clock.begin();
  h.clock.begin();
  auto longer = core::spawn_on(h.tasks, nap(h, 2s));
  auto shorter = core::spawn_on(h.tasks, nap(h, 1s));
  co_await longer;
  co_await shorter;
}

// Two workers, two timers: the last worker that goes to sleep must let time go on.
void two_naps(execution& e) {
  house& h = furnish(e, 2);
  e.thread("main", [&] {
    core::spawn_on(h.tasks, two_naps_at_once(h)).join();
    h.shut_down();
  });
}

TEST(clock_model, it_jumps_when_nothing_can_run_and_not_before) {
  expect_holds(at_random("clock_naps_uniform", 2'000), two_naps);
  expect_holds(by_priority("clock_naps", 2'000), two_naps);
}

task<> exact_nap(house& h, std::chrono::nanoseconds span) {
  const auto until = h.clock.now() + span;
  co_await sleep_for(span);
  check(h.clock.now() == until, "it wakes at exactly its time");
}

// A foreign thread spawns while time jumps: the task sees the time before or after, nothing between.
void a_spawn_beside_a_jump(execution& e) {
  house& h = furnish(e, 2);
  e.thread("main", [&] {
    auto longer = core::spawn_on(h.tasks, exact_nap(h, 2s));
    auto shorter = core::spawn_on(h.tasks, exact_nap(h, 1s));
    longer.join();
    shorter.join();
    h.shut_down();
  });
}

TEST(clock_model, a_task_spawned_during_a_jump_sees_the_time_before_or_after_it) {
  expect_holds(at_random("clock_spawn_uniform", 2'000), a_spawn_beside_a_jump);
  expect_holds(by_priority("clock_spawn", 2'000), a_spawn_beside_a_jump);
}

task<> root(house& h) {
  h.clock.begin();
  h.clock.begin();
  auto child = core::spawn_on(h.tasks, nap(h, 1s));
  // The child may be asleep already: the root, on its own thread, keeps time from going on.
  const auto until = h.clock.now() + 2s;
  h.clock.end();
  co_await sleep_for(2s);
  h.clock.begin();
  check(h.clock.now() == until, "the root wakes at exactly its time");
  h.clock.end();
  co_await child;
}

// The root of block_on runs on a thread that no worker knows of.
void a_root_outside(execution& e) {
  house& h = furnish(e, 1);
  e.thread("main", [&] {
    core::run_on_this_thread(root(h), &h.tasks);
    h.shut_down();
  });
}

TEST(clock_model, it_stands_still_while_the_root_of_block_on_runs) {
  expect_holds(exhaustive("clock_root_dfs", 1), a_root_outside);
  expect_holds(by_priority("clock_root", 2'000), a_root_outside);
  expect_holds(at_random("clock_root_uniform", 2'000), a_root_outside);
}

}  // namespace
}  // namespace rota::sched
