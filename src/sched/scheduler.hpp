// The work-stealing scheduler: what its workers share.
#pragma once

#include "base/mutex.hpp"
#include "queue/idle.hpp"
#include "queue/injector.hpp"
#include "sched/help_count.hpp"
#include "sched/helper_list.hpp"
#include "sched/ledger.hpp"
#include "sched/poller.hpp"
#include "sched/worker.hpp"
#include "task/births.hpp"
#include "task/ports.hpp"
#include "task/registry.hpp"
#include "task/thread_ports.hpp"
#include "time/shard.hpp"

#include <rota/detail/clock_source.hpp>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace rota::sched {

/// How far a shutdown has come. It only moves forward.
enum class phase : std::uint32_t {
  open,  // takes tasks
  announcing,  // the same; the tasks in the registry, and those that come into it, are told that they will be cancelled
  cancelling,  // refuses new ones; every other one is cancelled
  forcing,     // the same, and the shields that were up when that reached a task do not count
  stopping,    // all tasks have ended: the workers leave
};

/// What the scheduler needs and does not own. Set before the first worker plays.
struct surroundings {
  driver_port driver;
  driver::io_driver* io = nullptr;
  core::scheduler* blocking = nullptr;  // the pool
  /// Finds a thread to play `role`. False: none is free now.
  bool (*start_role)(void* self, worker& role) noexcept = nullptr;
  /// Then the next thread that is free shall play it.
  void (*offer_role)(void* self, worker& role) noexcept = nullptr;
  /// Ends the offer, on the thread that made it. Returns false if another thread has taken the role.
  bool (*take_role_back)(void* self, worker& role) noexcept = nullptr;
  /// Tries again for blocking work that found no thread. False: there is none.
  bool (*start_missing)(void* self) noexcept = nullptr;
  void* threads = nullptr;
  /// An exception that nobody will see.
  void (*unhandled)(void* self, core::header& task, std::exception_ptr what) noexcept = nullptr;
  /// The limit of a task's shield has passed, and what waited behind it is delivered.
  void (*shield_overridden)(void* self, core::header& task) noexcept = nullptr;
  void* policy = nullptr;
  /// For the first time a blocking call has found no thread for its worker's role.
  void (*first_shortage)() noexcept = nullptr;
  /// Workers are no longer all parked: the watchdog gets up.
  void (*first_awake)(void* self) noexcept = nullptr;
  void* watchdog = nullptr;
  /// Where threads without a role note what they run; null if no watchdog looks at them.
  core::outside_polls* polls = nullptr;
  /// What the runtime says of its tasks.
  std::string (*dump)(void* self) = [](void*) { return std::string(); };
  /// The last task's memory has gone after the runtime has: frees the scheduler.
  void (*abandoned)(void* self) noexcept = nullptr;
  void* holder = nullptr;
  /// Time as tasks see it; null: the machine's monotonic clock.
  core::clock_source* clock = nullptr;
};

class scheduler : public core::scheduler {
 public:
  /// Throws std::bad_alloc. `workers`: 1 .. 4096.
  scheduler(unsigned workers, std::uint64_t seed, base::time_point now);
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;
  ~scheduler() = default;

  [[nodiscard]] unsigned workers() const noexcept { return static_cast<unsigned>(workers_.size()); }
  [[nodiscard]] worker& at(unsigned index) noexcept { return *workers_[index]; }

  /// From any thread, at the end of the queue that every worker looks into.
  /// Out of line, so that a push into the ring beside it saves no registers.
  [[gnu::noinline]] void inject(core::header& task) noexcept;
  void inject_batch(core::header& first, core::header& last, std::size_t count) noexcept;

  /// After a seq_cst publish into a ring or a ripe slot; after a push into the injector.
  void look_after_ring() noexcept {
    const std::optional<queue::idle::claim> whom = idle_.after_ring();
    if (whom.has_value()) [[unlikely]]
      unpark(whom);
  }
  void look_after_injector() noexcept { unpark(idle_.after_injector()); }

  /// See core::scheduler_ops.
  void help_until_end(core::outside_helper& me) noexcept;
  /// The threads that play no role, and run tasks of the injector.
  help_count& helping() noexcept { return helping_; }

  /// See driver_ops::flush.
  void flush_driver() noexcept { around.driver.ops->flush(around.driver.self); }

  // PROTOCOL: time slices
  //   slice_  counts the milliseconds while a worker is awake. The watchdog writes it, and only it; each worker reads it between two tasks
  //           and compares it with the slice of its last look at the driver; when a look at the driver begins, and when the worker gets up or
  //           helps, also with that of its last look at the injector. So a worker asks by time without reading a clock, which costs 20 to 100 ns. Nothing depends on the count: without it, as where the time is not the
  //           machine's, and while the watchdog is late, both looks come by the number of polls alone.
  /// For the watchdog: another millisecond has begun.
  void begin_slice() noexcept {
    // relaxed, both. One writer; it says when to look, and publishes nothing.
    slice_.store(slice_.load(base::order::relaxed) + 1, base::order::relaxed);
  }
  [[nodiscard]] std::uint32_t slice() const noexcept {
    // relaxed. A worker that sees it late looks at the driver a poll later.
    return slice_.load(base::order::relaxed);
  }

  /// For the watchdog: a worker that sleeps gets up and goes to the driver, if nobody is there.
  void look_for_poller() noexcept {
    if (poller_.is_free()) look_after_injector();
  }

  /// Of the time that its clock shows from now on, which is not the machine's.
  void has_own_time() noexcept { passed = &passed_; }
  [[nodiscard]] base::time_point now() const noexcept {
    return around.clock == nullptr ? base::now() : around.clock->now();
  }
  // PROTOCOL: a clock that jumps
  //   It may jump once no worker is awake, nothing is in the injector, and outside_ is 0. Only the poller asks, after it
  //   has announced that it parks, and after it has taken what the driver had. Whoever makes the last of these true (a
  //   worker that goes to sleep beside the poller; the last end of something outside) interrupts the driver afterwards.
  //   An interrupt is kept until the next wait: so the poller either sees the change, or is woken and asks again.
  //   jump_     held while the poller asks, reads the first timer and lets time jump. Whoever gets up, or begins something
  //             outside, passes through it first: it sees one time, before the jump or after it, and arms no timer between.
  //   outside_  under jump_. Counted up by who makes such work runnable, before it is; down by who ran it, after everything
  //             that it woke is queued or counted itself. So a chain of wakes never passes through "nothing can run".
  /// See core::scheduler_ops.
  void note_outside(int by) noexcept;
  /// For a worker that gets up.
  void pass_jump() noexcept {
    if (around.clock == nullptr) return;
    const base::lock_guard lock(jump_);
  }
  /// For a worker that sleeps and is not the poller.
  void tell_poller_of_sleep() noexcept;
  /// For the poller: true if there are due timers, now or after the jump.
  [[nodiscard]] bool time_has_come() noexcept;

  [[nodiscard]] phase current_phase() const noexcept {
    // seq_cst. In one order with the counting of tasks and with the parking of workers.
    return phase_.load(base::order::seq_cst);
  }
  [[nodiscard]] bool takes_tasks() const noexcept { return current_phase() < phase::cancelling; }
  void set_phase(phase p) noexcept {
    // seq_cst. A publish like any other: before the wake of every worker.
    phase_.store(p, base::order::seq_cst);
  }
  /// Once the end is announced: tells the task. Once it has begun: cancels the task; while the end is forced, whatever shields are up. Of several
  /// such calls for a task in the last phase the first one counts.
  void pass_end_on(core::header& task) const noexcept {
    const phase now = current_phase();
    if (now == phase::open) [[likely]]
      return;
    if (now == phase::announcing) {
      core::announce_cancel(task);
    } else if (now == phase::cancelling) {
      core::cancel(task, cancel_reason::shutdown);
    } else {
      core::force_end(task);
    }
  }
  /// After a change of the phase: wakes every worker that sleeps.
  void wake_all() noexcept;
  /// After every role has ended: drops what is left in the queues.
  void drain() noexcept;

  void note_foreign_spawn() noexcept {
    // relaxed. A sum for a report; the ledger's count is the one that decides.
    foreign_spawned_.fetch_add(1, base::order::relaxed);
    ledger_.spawned();
    ledger_.made();
  }
  /// The memory of a task, without the task being waited for.
  void note_made() noexcept;
  void note_freed() noexcept;
  /// A task ended on a thread that plays no role.
  void note_foreign_end(bool was_cancelled) noexcept {
    // relaxed. Sums for reports.
    foreign_ended_.fetch_add(1, base::order::relaxed);
    // relaxed. The same.
    if (was_cancelled) foreign_cancelled_.fetch_add(1, base::order::relaxed);
    ledger_.ended();
  }
  [[nodiscard]] std::uint64_t foreign_spawned() const noexcept { return sum(foreign_spawned_); }
  [[nodiscard]] std::uint64_t foreign_ended() const noexcept { return sum(foreign_ended_); }
  [[nodiscard]] std::uint64_t foreign_cancelled() const noexcept { return sum(foreign_cancelled_); }
  [[nodiscard]] std::uint64_t shortages() const noexcept { return sum(shortages_); }
  [[nodiscard]] std::uint64_t suppressed() const noexcept { return sum(suppressed_); }
  [[nodiscard]] std::uint64_t shields_overridden() const noexcept { return sum(shields_overridden_); }
  /// An exception of a child reaches nobody: another one decided how its scope ends.
  void note_suppressed() noexcept {
    // relaxed. A sum for a report.
    suppressed_.fetch_add(1, base::order::relaxed);
  }
  void note_shield_overridden(core::header& task) noexcept {
    // relaxed. A sum for a report.
    shields_overridden_.fetch_add(1, base::order::relaxed);
    // NOT IN A MODEL: a scheduler without a runtime
    if (around.shield_overridden != nullptr) around.shield_overridden(around.policy, task);
  }
  /// A blocking call found no thread for its worker's role.
  void note_shortage() noexcept {
    // NOT IN A MODEL: a scheduler without a runtime
    // relaxed. A sum for a report.
    if (shortages_.fetch_add(1, base::order::relaxed) == 0 && around.first_shortage != nullptr)
      around.first_shortage();
  }

  queue::injector<core::header>& injector() noexcept { return injector_; }
  queue::idle& sleepers() noexcept { return idle_; }
  poller& poll() noexcept { return poller_; }
  timing::timers& clocks() noexcept { return timers_; }
  core::registry& tasks() noexcept { return registry_; }
  core::births& newborn() noexcept { return newborn_; }
  ledger& books() noexcept { return ledger_; }

  surroundings around;

  static const core::thread_ports& ports_of_thread() noexcept;

 private:
  friend class worker;
  [[nodiscard]] static std::uint64_t sum(const base::atomic<std::uint64_t>& of) noexcept {
    // relaxed. A sum for a report.
    return of.load(base::order::relaxed);
  }
  void unpark(std::optional<queue::idle::claim> whom) noexcept;
  [[nodiscard]] bool helpers_have_work() const noexcept;
  [[nodiscard]] bool help_once() noexcept;
  [[nodiscard]] core::header* take_for_helper() noexcept;
  void note_first_awake() noexcept {
    if (around.first_awake != nullptr) around.first_awake(around.watchdog);
  }
  static const core::scheduler_ops ops_table;

  queue::injector<core::header> injector_;
  queue::idle idle_;
  helper_list helpers_;
  help_count helping_;
  poller poller_;
  alignas(base::cache_line) base::atomic<std::uint32_t> slice_{0};  // read by every worker after each task
  timing::timers timers_;
  core::registry registry_;
  core::births newborn_;
  ledger ledger_;
  core::passed_deadlines passed_;
  base::atomic<std::uint64_t> foreign_spawned_{0};
  base::atomic<std::uint64_t> foreign_ended_{0};
  base::atomic<std::uint64_t> foreign_cancelled_{0};
  base::atomic<std::uint64_t> shortages_{0};
  base::atomic<std::uint64_t> suppressed_{0};
  base::atomic<std::uint64_t> shields_overridden_{0};
  base::mutex jump_;
  std::int64_t outside_ = 0;  // under jump_
  base::atomic<phase> phase_{phase::open};
  std::vector<std::unique_ptr<worker>> workers_;
};

}  // namespace rota::sched
