// The real workers and the real scheduler, with tasks, timers and the driver that only sleeps: P2, P3, P13,
// and the ledger's part of P16. A stranded task is a deadlock, since no park has a deadline.
#include <rota/testing/explore.hpp>
#include "base/thread.hpp"
#include "model/exploring.hpp"
#include "sched/scheduler.hpp"
#include "sched/sleep_driver.hpp"

#include <rota/detail/spawn_on.hpp>
#include <rota/sync/event.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace rota::sched {
namespace {

using model::by_priority;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// The clock may move while others could still run.
testing::options hurried(std::string_view name) {
  testing::options o = by_priority(name, 5'000);
  o.early_timeouts = 1;
  return o;
}

/// Blocks its thread until `whole` callers have come: so each needs a thread of its own.
struct gathering {
  explicit gathering(std::uint32_t n) : whole(n) {}
  /// Returns how many have come.
  std::uint32_t arrive() {
    // acq_rel. What the test counts.
    const std::uint32_t seen = come.fetch_add(1, base::order::acq_rel) + 1;
    if (seen == whole) static_cast<void>(base::futex_wake(&come, 100));
    return seen;
  }
  void arrive_and_block() { wait_for_all(arrive()); }
  /// `seen`: how many have come, as the caller knows.
  void wait_for_all(std::uint32_t seen = 0) {
    while (seen < whole) {
      static_cast<void>(base::futex_wait(come, seen, base::never));
      // acquire. Pairs with arrive().
      seen = come.load(base::order::acquire);
    }
  }
  const std::uint32_t whole;
  base::atomic<std::uint32_t> come{0};
};

/// A scheduler, its driver, and what the runtime does around them.
struct house {
  explicit house(unsigned workers) : tasks(workers, 1, base::now()) {
    tasks.around.driver = driver.port();
    tasks.around.abandoned = [](void* self) noexcept { static_cast<house*>(self)->abandoned = true; };
    tasks.around.holder = this;
    core::install_thread_ports(scheduler::ports_of_thread);
  }
  house(const house&) = delete;
  house& operator=(const house&) = delete;
  ~house() = default;

  /// Does what runtime::shutdown does, without its pool.
  void shut_down() {
    refuse_tasks();
    end_tasks();
  }
  void refuse_tasks() {
    tasks.set_phase(phase::announcing);
    tasks.tasks().for_each(core::announce_cancel);
    tasks.set_phase(phase::cancelling);
    tasks.wake_all();
  }
  void end_tasks() {
    tasks.tasks().act_on_each([](core::header& task) { core::cancel(task, cancel_reason::shutdown); });
    check(tasks.books().wait_until_none(base::never), "every task ends");
    check(tasks.clocks().counts().armed == tasks.clocks().counts().fired + tasks.clocks().counts().cancelled,
          "no timer outlives its task");
    tasks.set_phase(phase::stopping);
    tasks.wake_all();
  }

  void check_end() {
    tasks.drain();
    std::uint64_t spawned = tasks.foreign_spawned();
    std::uint64_t ended = tasks.foreign_ended();
    for (unsigned i = 0; i < tasks.workers(); ++i) {
      spawned += tasks.at(i).counts().spawned.read();
      ended += tasks.at(i).counts().ended.read();
    }
    check(spawned == ended, "what was spawned has ended");
    if (tasks.books().let_go()) abandoned = true;
    check(abandoned, "and its memory is back");
  }

  /// No thread is ever free for a lent role.
  void has_no_thread() {
    tasks.around.start_role = [](void*, worker&) noexcept { return false; };
    tasks.around.offer_role = [](void*, worker&) noexcept {};
    tasks.around.take_role_back = [](void*, worker&) noexcept { return true; };
  }

  std::string describe() {
    const queue::idle::counts now = tasks.sleepers().guess();
    return "parked " + std::to_string(now.parked) + ", searching " + std::to_string(now.searching) +
           ", injector " + std::to_string(tasks.injector().length_guess());
  }

  sleep_driver driver;
  scheduler tasks;
  bool abandoned = false;
};

task<> gather(gathering& all) {
  all.arrive_and_block();
  co_return;
}

// The watchdog asks for the task of a poll that it has seen, and never gets the task of a later one.
TEST(worker_model, watchdog_never_reads_the_task_of_a_later_poll) {
  const auto body = [](execution& e) {
    auto& h = e.make<house>(1U);
    const std::uint64_t before = h.tasks.at(0).poll_stamp();
    e.thread("worker", [&h] {
      h.tasks.at(0).note_poll(1);
      h.tasks.at(0).note_poll(2);
    });
    e.thread("watchdog", [&h, before] {
      const std::uint64_t stamp = h.tasks.at(0).poll_stamp();
      check(h.tasks.at(0).task_of_poll(stamp) <= stamp - before, "it belongs to this poll, or to one before");
    });
  };
  testing::options stale = exhaustive("worker_poll_stale");
  stale.stale_reads = 2;
  expect_holds(stale, body);
}

house& furnish(execution& e, unsigned workers) {
  house& h = e.make<house>(workers);
  for (unsigned i = 0; i < workers; ++i) {
    e.thread("worker", [&h, i] {
      check(h.tasks.at(i).play() == worker::on_play::stopped, "a role that was not lent ends by a stop");
    });
  }
  e.on_failure([&h] { return h.describe(); });
  e.finally([&h] { h.check_end(); });
  return h;
}

// Each of two tasks blocks its worker until the other has started: the first must not strand the second.
void two_tasks(execution& e) {
  house& h = furnish(e, 2);
  auto& all = e.make<gathering>(2U);
  e.thread("main", [&] {
    auto first = core::spawn_on(h.tasks, gather(all));
    auto second = core::spawn_on(h.tasks, gather(all));
    first.join();
    second.join();
    h.shut_down();
  });
}

TEST(worker_model, two_tasks_that_need_two_workers_both_run) {
  expect_holds(exhaustive("worker_two_dfs", 1), two_tasks);
  expect_holds(hurried("worker_two"), two_tasks);
}

task<> spawn_and_gather(house& h, gathering& all, unsigned children) {
  for (unsigned i = 0; i < children; ++i) core::spawn_on(h.tasks, gather(all)).detach();
  all.arrive_and_block();
  co_return;
}

// One child goes to the ring of the spawner, which blocks: another worker must steal it. The last one stays
// in the LIFO slot, which the watchdog opens.
TEST(worker_model, children_of_a_blocked_worker_are_stolen) {
  const auto body = [](execution& e) {
    house& h = furnish(e, 3);
    auto& all = e.make<gathering>(3U);
    e.thread("main", [&] {
      core::spawn_on(h.tasks, spawn_and_gather(h, all, 2)).join();
      h.shut_down();
    });
    e.thread("watchdog", [&] {
      // acquire. What the test counts.
      for (int i = 0; all.come.load(base::order::acquire) < 3; ++i) {
        check(i < 1000, "no task is stranded while its workers sleep");
        const std::uint32_t seen = all.come.load(base::order::acquire);
        if (seen == 3) break;
        static_cast<void>(base::futex_wait(all.come, seen, base::now() + std::chrono::milliseconds(1)));
        for (unsigned w = 0; w < 3; ++w) {
          if (h.tasks.at(w).slot().ripen()) h.tasks.look_after_ring();
        }
      }
    });
  };
  expect_holds(hurried("worker_children"), body);
}

task<> sleeper(int milliseconds) { co_await sleep_for(std::chrono::milliseconds(milliseconds)); }

// Timers are armed while a worker sleeps until a later one, or for good.
void timers(execution& e) {
  house& h = furnish(e, 2);
  e.thread("main", [&] {
    auto later = core::spawn_on(h.tasks, sleeper(50));
    auto sooner = core::spawn_on(h.tasks, sleeper(1));
    const base::time_point began = base::now();
    sooner.join();
    check(base::now() - began < std::chrono::milliseconds(50),
          "the earlier timer does not wait for the later one");
    later.join();
    h.shut_down();
  });
}

TEST(worker_model, an_earlier_timer_interrupts_the_poller) {
  expect_holds(exhaustive("worker_timers_dfs", 1), timers);
  expect_holds(by_priority("worker_timers", 5'000), timers);
}

task<> hold_until_fired(base::atomic<std::uint32_t>& fired) {
  // acquire. What the test waits for.
  while (fired.load(base::order::acquire) == 0) static_cast<void>(base::futex_wait(fired, 0, base::never));
  co_return;
}

task<> fire(base::atomic<std::uint32_t>& fired) {
  co_await sleep_for(std::chrono::milliseconds(1));
  // release. Pairs with hold_until_fired().
  fired.exchange(1, base::order::release);
  static_cast<void>(base::futex_wake(&fired, 100));
}

/// Does the watchdog's part for waiters in the driver, until `fired`. On the main thread: one more is slow.
void watch_the_driver(house& h, base::atomic<std::uint32_t>& fired) {
  // acquire. What the test waits for.
  for (int i = 0; fired.load(base::order::acquire) == 0; ++i) {
    check(i < 1000, "no timer waits for a worker that stays in a poll");
    static_cast<void>(base::futex_wait(fired, 0, base::now() + std::chrono::milliseconds(1)));
    h.tasks.look_for_poller();
  }
}

// One worker stays in user code until a timer fires: the other is in the driver, whichever held the token.
void one_busy_one_poller(execution& e) {
  house& h = furnish(e, 2);
  auto& fired = e.make<base::atomic<std::uint32_t>>(0U);
  e.thread("main", [&] {
    auto armed = core::spawn_on(h.tasks, fire(fired));
    auto busy = core::spawn_on(h.tasks, hold_until_fired(fired));
    watch_the_driver(h, fired);
    busy.join();
    armed.join();
    h.shut_down();
  });
}

TEST(worker_model, a_busy_worker_does_not_keep_timers_waiting) {
  expect_holds(exhaustive("worker_busy_dfs", 1), one_busy_one_poller);
  expect_holds(hurried("worker_busy"), one_busy_one_poller);
}

task<> fire_behind_a_child(house& h, base::atomic<std::uint32_t>& fired) {
  core::spawn_on(h.tasks, hold_until_fired(fired)).detach();
  co_await sleep_for(std::chrono::milliseconds(1));
  // release. Pairs with hold_until_fired().
  fired.exchange(1, base::order::release);
  static_cast<void>(base::futex_wake(&fired, 100));
}

// The busy task comes out of the worker's own slot, and no other worker searches. If the other worker parks
// while this one has the token for a poll of the driver, the watchdog must wake it to take the token.
void a_look_at_the_driver_before_a_long_poll(execution& e) {
  house& h = furnish(e, 2);
  auto& fired = e.make<base::atomic<std::uint32_t>>(0U);
  e.thread("main", [&] {
    auto armed = core::spawn_on(h.tasks, fire_behind_a_child(h, fired));
    watch_the_driver(h, fired);
    armed.join();
    h.shut_down();
  });
}

TEST(worker_model, driver_poll_before_a_long_task_leaves_another_poller) {
  expect_holds(exhaustive("worker_look_dfs", 1), a_look_at_the_driver_before_a_long_poll);
  expect_holds(hurried("worker_look"), a_look_at_the_driver_before_a_long_poll);
}

task<> arrive(gathering& all) {
  all.arrive();
  co_return;
}
task<> sleep_and_arrive(gathering& all) {
  co_await sleep_for(std::chrono::milliseconds(1));
  all.arrive();
}

/// Fills the slot when the timer of another task is due, and so is a poll of the timers.
task<> fill_the_slot_beside_a_timer(house& h, gathering& all) {
  core::spawn_on(h.tasks, sleep_and_arrive(all)).detach();
  co_await yield();
  const base::time_point due = base::now() + std::chrono::milliseconds(2);
  base::atomic<std::uint32_t> nothing{0};
  while (base::now() < due) static_cast<void>(base::futex_wait(nothing, 0, due));
  core::spawn_on(h.tasks, arrive(all)).detach();
  h.tasks.begin_slice();
}

TEST(worker_model, a_task_that_a_timer_displaces_runs_later) {
  const auto body = [](execution& e) {
    house& h = furnish(e, 1);
    auto& all = e.make<gathering>(2U);
    e.thread("main", [&] {
      core::spawn_on(h.tasks, fill_the_slot_beside_a_timer(h, all)).detach();
      all.wait_for_all();
      h.shut_down();
    });
  };
  expect_holds(exhaustive("worker_displaced_dfs", 1), body);
  expect_holds(hurried("worker_displaced"), body);
}

task<int> number(int n) { co_return n; }

/// It comes into the registry at its yield if another task waits.
task<> hears_before_tasks_are_refused(house& h) {
  co_await yield();
  if (h.tasks.takes_tasks()) co_return;
  check(core::current_task()->may_have_to_stop(), "it looks at the phase itself, or was told");
}

TEST(worker_model, task_that_registers_during_a_shutdown_learns_of_it) {
  const auto body = [](execution& e) {
    house& h = furnish(e, 1);
    e.thread("main", [&h] {
      auto one = core::spawn_on(h.tasks, hears_before_tasks_are_refused(h));
      auto other = core::spawn_on(h.tasks, hears_before_tasks_are_refused(h));
      h.refuse_tasks();
      static_cast<void>(one.wait_for(std::chrono::hours(1)));
      static_cast<void>(other.wait_for(std::chrono::hours(1)));
      h.end_tasks();
    });
  };
  expect_holds(exhaustive("worker_told_dfs", 2), body);
  expect_holds(hurried("worker_told"), body);
}

// A foreign thread spawns while the scheduler shuts down: accepted tasks end, refused ones are cancelled, and
// the memory of all comes back.
TEST(worker_model, spawned_task_ends_or_is_cancelled_when_a_shutdown_races) {
  const auto body = [](execution& e) {
    house& h = furnish(e, 2);
    h.tasks.books().made();  // the foreign thread's handle of the runtime
    e.thread("foreign", [&h] {
      for (int i = 0; i < 2; ++i) {
        auto handle = core::spawn_on(h.tasks, number(i));
        const std::optional<outcome<int>> end = handle.wait_for(std::chrono::hours(1));
        check(end.has_value(), "it ends, either way");
        if (end->has_value()) check(end->value() == i, "with its value");
      }
      h.tasks.note_freed();
    });
    e.thread("main", [&h] {
      core::spawn_on(h.tasks, sleeper(1000)).detach();
      h.shut_down();
    });
  };
  expect_holds(by_priority("worker_shutdown", 5'000), body);
  expect_holds(model::at_random("worker_shutdown_uniform", 5'000), body);
}

/// Plays a role that a blocked worker lends, once.
struct spare {
  house* in = nullptr;
  worker* role = nullptr;
  base::thread thread;

  static void main(void* self) noexcept {
    // A stopped role needs no work; a role that is lent again gets its next thread.
    static_cast<void>(static_cast<spare*>(self)->role->play());
  }
};

task<> join_inside(join_handle<int> inner, int& got) {
  got = inner.join();
  co_return;
}

/// Ends only after the role was lent, and suspends until then.
task<int> after(const spare& s, int n) {
  bool lent = false;
  while (!lent) {
    co_await sleep_for(std::chrono::milliseconds(1));
    lent = s.role != nullptr;
  }
  co_return n;
}

// P13: a blocking join of a task that is suspended lends the role; queue and timers of that worker go on.
TEST(worker_model, a_blocking_join_lends_the_role) {
  const auto body = [](execution& e) {
    house& h = e.make<house>(1U);
    auto& extra = e.make<spare>();
    int& got = e.make<int>(0);
    extra.in = &h;
    h.tasks.around.start_role = [](void* threads, worker& role) noexcept {
      auto& s = *static_cast<spare*>(threads);
      check(s.role == nullptr, "one role is lent, once");
      s.role = &role;
      auto started = base::thread::start("spare", spare::main, &s);
      check(started.has_value(), "a fibre is to be had");
      s.thread = std::move(*started);
      return true;
    };
    h.tasks.around.threads = &extra;
    e.thread("worker",
             [&h] { check(h.tasks.at(0).play() == worker::on_play::role_lent, "the role is gone"); });
    e.on_failure([&h] { return h.describe(); });
    e.thread("main", [&] {
      auto inner = core::spawn_on(h.tasks, after(extra, 7));
      // It suspends first: a task that has not begun would run inside the join, and nothing would be lent.
      while (h.tasks.clocks().counts().armed == 0) base::cpu_relax();
      core::spawn_on(h.tasks, join_inside(std::move(inner), got)).join();
      check(got == 7, "the join has its value");
      h.shut_down();
      extra.thread.join();
    });
    e.finally([&h] { h.check_end(); });
  };
  expect_holds(by_priority("worker_lend", 5'000), body);
}

task<> yields_once() { co_await yield(); }

/// The newer child runs inside the join and yields to the older one: then it is in the ring of this thread.
task<> blocks_for_a_child(scheduler& by) {
  auto older = core::spawn_on(by, yields_once());
  auto newer = core::spawn_on(by, yields_once());
  newer.join();
  older.join();
  co_return;
}

// No thread can take the role, so only the other worker can run the children: it must know of both.
TEST(worker_model, worker_that_blocks_notifies_others_of_the_tasks_it_leaves) {
  const auto body = [](execution& e) {
    house& h = furnish(e, 2);
    h.has_no_thread();
    e.thread("main", [&h] {
      core::spawn_on(h.tasks, blocks_for_a_child(h.tasks)).join();
      h.shut_down();
    });
  };
  expect_holds(hurried("worker_debt"), body);
}

/// How far a test has come. Threads wait for a stage by a futex.
class stages {
 public:
  void reach(std::uint32_t stage) {
    // release. Pairs with wait_for().
    reached_.exchange(stage, base::order::release);
    static_cast<void>(base::futex_wake(&reached_, 100));
  }
  void wait_for(std::uint32_t stage) {
    // acquire. Pairs with reach().
    for (std::uint32_t seen = reached_.load(base::order::acquire); seen < stage;
         seen = reached_.load(base::order::acquire)) {
      static_cast<void>(base::futex_wait(reached_, seen, base::never));
    }
  }

 private:
  base::atomic<std::uint32_t> reached_{0};
};

/// Worker 1 is held in a system call between two tasks: its poll stamp is constant, and it has not announced
/// the task in its ring. Worker 0 steals that task as a neighbour, and is a searcher. Worker 2 sleeps.
struct neighbours {
  static constexpr std::uint32_t owner_runs = 1;   // worker 1 is in the poll of `stolen`
  static constexpr std::uint32_t others_play = 2;  // worker 2 sleeps in the driver
  static constexpr std::uint32_t neighbour_runs =
      3;  // worker 0 has noted the stamp of worker 1, and is in another poll
  static constexpr std::uint32_t task_is_left = 4;  // `stolen` is in the ring of worker 1

  explicit neighbours(house& in) : h(in) { h.tasks.around.driver = {&ops, this}; }

  /// Between the poll of `stolen` and the next choice of worker 1.
  void flush() {
    if (worker::current()->index() != 1 || !holds_owner) return;
    holds_owner = false;
    at.reach(task_is_left);
    both.arrive_and_block();
  }
  driver_port inner() { return h.driver.port(); }

  static const driver_ops ops;
  house& h;
  stages at;
  gathering both{3};         // the owner, the task that is stolen, and one of the injector
  bool holds_owner = false;  // by worker 1 alone
};

const driver_ops neighbours::ops{
    .wait = [](void* self, base::time_point until, event_buffer& found) noexcept -> unsigned {
      const driver_port to = static_cast<neighbours*>(self)->inner();
      return to.ops->wait(to.self, until, found);
    },
    .dispatch = [](void*, const event_buffer&, unsigned) noexcept {},
    .interrupt =
        [](void* self) noexcept {
          const driver_port to = static_cast<neighbours*>(self)->inner();
          to.ops->interrupt(to.self);
        },
    .flush = [](void* self) noexcept { static_cast<neighbours*>(self)->flush(); },
};

task<> be_stolen(neighbours& n) {
  n.at.reach(neighbours::owner_runs);
  n.at.wait_for(neighbours::neighbour_runs);
  n.holds_owner = true;
  n.h.tasks.begin_slice();  // so the worker polls the driver after this poll
  co_await yield();
  n.both.arrive_and_block();
}

/// A second task in the same tick: only behind one does a worker check its neighbour.
task<> spawn_one(house& h) {
  core::spawn_on(h.tasks, number(0)).detach();
  co_return;
}

task<> spawn_one_beside_the_owner(neighbours& n) {
  n.at.reach(neighbours::neighbour_runs);
  n.at.wait_for(neighbours::task_is_left);
  core::spawn_on(n.h.tasks, number(0)).detach();
  co_return;
}

/// Worker `index` plays from `stage` on.
void play_from(execution& e, neighbours& n, unsigned index, std::uint32_t stage) {
  e.thread("worker", [&n, index, stage] {
    n.at.wait_for(stage);
    check(n.h.tasks.at(index).play() == worker::on_play::stopped, "a role that was not lent ends by a stop");
  });
}

void wait_until_parked(house& h, int workers) {
  while (h.tasks.sleepers().guess().parked < workers) base::cpu_relax();
}

// A task that is injected while the neighbour is the only searcher wakes no worker. So the neighbour, which
// runs the stolen task, must wake the sleeper: both tasks block their workers until both have begun.
void a_task_beside_a_steal(execution& e) {
  house& h = e.make<house>(3U);
  auto& n = e.make<neighbours>(h);
  play_from(e, n, 1, 0);
  play_from(e, n, 2, neighbours::owner_runs);
  play_from(e, n, 0, neighbours::others_play);
  e.on_failure([&h] { return h.describe(); });
  e.finally([&h] { h.check_end(); });
  e.thread("main", [&] {
    auto stolen = core::spawn_on(h.tasks, be_stolen(n));
    n.at.wait_for(neighbours::owner_runs);
    wait_until_parked(h, 1);
    n.at.reach(neighbours::others_play);
    core::spawn_on(h.tasks, spawn_one(h)).join();
    wait_until_parked(h, 2);
    auto beside = core::spawn_on(h.tasks, spawn_one_beside_the_owner(n));
    n.at.wait_for(neighbours::task_is_left);
    auto injected = core::spawn_on(h.tasks, gather(n.both));
    injected.join();
    stolen.join();
    beside.join();
    h.shut_down();
  });
}

TEST(worker_model, a_worker_that_steals_from_its_neighbour_leaves_no_task_behind) {
  expect_holds(by_priority("worker_neighbour", 2'000), a_task_beside_a_steal);
}

// --- a driver with events

/// One event for each time that a device is ready: wait() reports it, and dispatch() wakes the waiting tasks.
struct device {
  explicit device(house& in) : h(in) { h.tasks.around.driver = {&ops, this}; }

  /// Any thread.
  void become_ready() {
    // release. Pairs with take().
    is_ready.store(1, base::order::release);
    inner().ops->interrupt(inner().self);
  }
  /// The holder of the token.
  unsigned wait(base::time_point until, event_buffer& found) {
    if (until == base::time_point::min()) ++looks;
    if (take(found) != 0) return 1;
    inner().ops->wait(inner().self, until, found);
    return take(found);
  }
  unsigned take(event_buffer& found) {
    found[0] = {.key = 7, .what = 0};
    // acquire. Pairs with become_ready().
    return is_ready.exchange(0, base::order::acquire);
  }
  void dispatch(const event_buffer& found, unsigned count) {
    check(count == 1 && found[0].key == 7, "the event is the one that wait() has reported");
    heard.set();
  }
  driver_port inner() { return h.driver.port(); }

  static const driver_ops ops;
  house& h;
  sync::event heard;
  unsigned looks = 0;  // between tasks; written by the holder of the token
  base::atomic<std::uint32_t> is_ready{0};
};

const driver_ops device::ops{
    .wait = [](void* self, base::time_point until, event_buffer& found) noexcept -> unsigned {
      return static_cast<device*>(self)->wait(until, found);
    },
    .dispatch = [](void* self,
                   const event_buffer& found,
                   unsigned count) noexcept { static_cast<device*>(self)->dispatch(found, count); },
    .interrupt =
        [](void* self) noexcept {
          const driver_port to = static_cast<device*>(self)->inner();
          to.ops->interrupt(to.self);
        },
};

task<> hears_and_gathers(device& d, gathering& all) {
  co_await d.heard.wait();
  all.arrive_and_block();
}

// One event wakes two tasks, each blocking its worker for the other: the finder must wake another worker.
void an_event_of_two_tasks(execution& e) {
  house& h = furnish(e, 2);
  auto& d = e.make<device>(h);
  auto& all = e.make<gathering>(2U);
  e.thread("device", [&d] { d.become_ready(); });
  e.thread("main", [&] {
    auto first = core::spawn_on(h.tasks, hears_and_gathers(d, all));
    auto second = core::spawn_on(h.tasks, hears_and_gathers(d, all));
    first.join();
    second.join();
    h.shut_down();
  });
}

TEST(worker_model, worker_that_finds_an_event_of_two_tasks_wakes_another_worker) {
  expect_holds(exhaustive("worker_event_dfs", 0), an_event_of_two_tasks);
  expect_holds(by_priority("worker_event", 3'000), an_event_of_two_tasks);
}

task<> yields(int times) {
  for (int i = 0; i < times; ++i) co_await yield();
}

// The driver is polled before the polls 1, 62, 123 of each 128: seven times in 260, five with a longer tick.
TEST(worker_model, a_tick_is_128_polls) {
  const auto body = [](execution& e) {
    house& h = furnish(e, 1);
    auto& d = e.make<device>(h);
    e.thread("main", [&] {
      core::spawn_on(h.tasks, yields(260)).join();
      h.shut_down();
    });
    e.finally([&d] { check(d.looks >= 7, "the driver is looked at after 128 polls, and after 61 between"); });
  };
  expect_holds(by_priority("worker_tick", 20), body);
}

}  // namespace
}  // namespace rota::sched
