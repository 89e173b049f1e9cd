// The work-stealing scheduler: the state that its workers share.
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

/// The progress of a shutdown. It only moves forward.
enum class phase : std::uint32_t {
  open,        // takes tasks
  announcing,  // the same; each task in the registry, and each that enrols, is told that it will be cancelled
  cancelling,  // refuses new tasks; all others are cancelled
  forcing,     // the same; shields that are active when it reaches a task are overridden
  stopping,    // all tasks have ended: the workers leave
};

/// Services that the scheduler needs and does not own. Set before the first worker plays.
struct surroundings {
  driver_port driver;
  driver::io_driver* io = nullptr;
  core::scheduler* blocking = nullptr;  // the pool
  /// Finds a thread to play `role`. Returns false if none is free now.
  bool (*start_role)(void* self, worker& role) noexcept = nullptr;
  /// Offers `role` to the next thread that becomes free.
  void (*offer_role)(void* self, worker& role) noexcept = nullptr;
  /// Ends the offer, on the thread that made it. Returns false if another thread has taken the role.
  bool (*take_role_back)(void* self, worker& role) noexcept = nullptr;
  /// Tries again to start a thread for blocking work that found none. Returns false if there is no such work.
  bool (*start_missing)(void* self) noexcept = nullptr;
  void* threads = nullptr;
  /// Reports an exception that no code will handle.
  void (*unhandled)(void* self, core::header& task, std::exception_ptr what) noexcept = nullptr;
  /// Called when the limit of a task's shield has passed, and the cancellation behind it is delivered.
  void (*shield_overridden)(void* self, core::header& task) noexcept = nullptr;
  void* policy = nullptr;
  /// Called when for the first time a blocking call has found no thread for the role of its worker.
  void (*first_shortage)() noexcept = nullptr;
  /// Called when a worker wakes while all were parked: wakes the watchdog.
  void (*first_awake)(void* self) noexcept = nullptr;
  void* watchdog = nullptr;
  /// Where threads without a role record what they run; null if there is no watchdog.
  core::outside_polls* polls = nullptr;
  /// Returns the dump of the runtime.
  std::string (*dump)(void* self) = [](void*) { return std::string(); };
  /// Called when the last task's memory is freed after the runtime has gone: frees the scheduler.
  void (*abandoned)(void* self) noexcept = nullptr;
  void* holder = nullptr;
  /// The time that tasks read; null: the monotonic clock of the machine.
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

  /// Appends to the queue that every worker polls. Any thread.
  /// Out of line, so that a push into the ring beside it saves no registers.
  [[gnu::noinline]] void inject(core::header& task) noexcept;
  void inject_batch(core::header& first, core::header& last, std::size_t count) noexcept;

  /// Notifies after a seq_cst publish into a ring or a ripe slot. look_after_injector() notifies after a push
  /// into the injector.
  void look_after_ring() noexcept {
    const std::optional<queue::idle::claim> whom = idle_.after_ring();
    if (whom.has_value()) [[unlikely]]
      unpark(whom);
  }
  void look_after_injector() noexcept { unpark(idle_.after_injector()); }

  /// See core::scheduler_ops.
  void help_until_end(core::outside_helper& me) noexcept;
  /// Counts the threads that play no role and run tasks of the injector.
  help_count& helping() noexcept { return helping_; }

  /// See driver_ops::flush.
  void flush_driver() noexcept { around.driver.ops->flush(around.driver.self); }

  // PROTOCOL: time slices
  //   slice_  counts the milliseconds while a worker is awake. Only the watchdog writes it. Each worker reads
  //           it between two tasks and compares it with the slice of its last poll of the driver. When a poll
  //           of the driver begins, and when the worker wakes up or helps, it also compares it with the slice
  //           of its last poll of the injector. So a worker observes time without reading a clock, which
  //           costs 20 to 100 ns. Correctness does not depend on the count: without it (if the time is not
  //           the machine's, or while the watchdog is late) both polls become due by the number of task polls
  //           alone.
  /// Called by the watchdog: another millisecond has begun.
  void begin_slice() noexcept {
    // relaxed, both: one writer; the value says when to poll, and publishes nothing.
    slice_.store(slice_.load(base::order::relaxed) + 1, base::order::relaxed);
  }
  [[nodiscard]] std::uint32_t slice() const noexcept {
    // relaxed: a worker that reads it late polls the driver a task poll later.
    return slice_.load(base::order::relaxed);
  }

  /// Called by the watchdog: if the poller token is free, wakes a sleeping worker, which then goes to the
  /// driver.
  void look_for_poller() noexcept {
    if (poller_.is_free()) look_after_injector();
  }

  /// Called once: from now on passed deadlines are those of the scheduler's own clock, not of the machine's.
  void has_own_time() noexcept { passed = &passed_; }
  [[nodiscard]] base::time_point now() const noexcept {
    return around.clock == nullptr ? base::now() : around.clock->now();
  }
  // PROTOCOL: a clock that jumps
  //   Time may jump once no worker is awake, the injector is empty, and outside_ is 0. Only the poller asks,
  //   after it has announced that it parks, and after it has taken the events of the driver. The thread that
  //   makes the last of these conditions true (a worker that goes to sleep beside the poller; the last end of
  //   something outside) interrupts the driver afterwards. An interrupt is kept until the next wait: so the
  //   poller either observes the change, or is woken and asks again.
  //   jump_     held while the poller asks, reads the first timer and lets time jump. A worker that wakes up,
  //             or a thread that begins something outside, locks it first. So it reads one time, before the
  //             jump or after it, and arms no timer between.
  //   outside_  under jump_. The thread that makes such work runnable increments it before. The thread that
  //             has run the work decrements it after everything that it woke is queued or counted itself. So
  //             no chain of wakes passes through a state in which nothing can run.
  /// See core::scheduler_ops.
  void note_outside(int by) noexcept;
  /// Called by a worker that wakes up.
  void pass_jump() noexcept {
    if (around.clock == nullptr) return;
    const base::lock_guard lock(jump_);
  }
  /// Called by a worker that goes to sleep and is not the poller.
  void tell_poller_of_sleep() noexcept;
  /// Called by the poller. Returns true if there are due timers, now or after the jump.
  [[nodiscard]] bool time_has_come() noexcept;

  [[nodiscard]] phase current_phase() const noexcept {
    // seq_cst: in one order with the counting of tasks and with the parking of workers.
    return phase_.load(base::order::seq_cst);
  }
  [[nodiscard]] bool takes_tasks() const noexcept { return current_phase() < phase::cancelling; }
  void set_phase(phase p) noexcept {
    // seq_cst: a publish like any other: before the wake of every worker.
    phase_.store(p, base::order::seq_cst);
  }
  /// Applies the current phase to the task: announces the cancellation, or cancels the task, or (while
  /// forcing) cancels it and overrides active shields. In the last phase only the first such call for a task
  /// has an effect.
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
  /// Wakes every sleeping worker, after a change of the phase.
  void wake_all() noexcept;
  /// Drops the remaining entries of the queues, after every role has ended.
  void drain() noexcept;

  void note_foreign_spawn() noexcept {
    // relaxed: a sum for a report; the count of the ledger decides.
    foreign_spawned_.fetch_add(1, base::order::relaxed);
    ledger_.spawned();
    ledger_.made();
  }
  /// Counts the memory of a task, without making the shutdown wait for the task.
  void note_made() noexcept;
  void note_freed() noexcept;
  /// Counts a task that ended on a thread without a role.
  void note_foreign_end(bool was_cancelled) noexcept {
    // relaxed: sums for reports.
    foreign_ended_.fetch_add(1, base::order::relaxed);
    // relaxed: a sum for a report.
    if (was_cancelled) foreign_cancelled_.fetch_add(1, base::order::relaxed);
    ledger_.ended();
  }
  [[nodiscard]] std::uint64_t foreign_spawned() const noexcept { return sum(foreign_spawned_); }
  [[nodiscard]] std::uint64_t foreign_ended() const noexcept { return sum(foreign_ended_); }
  [[nodiscard]] std::uint64_t foreign_cancelled() const noexcept { return sum(foreign_cancelled_); }
  [[nodiscard]] std::uint64_t shortages() const noexcept { return sum(shortages_); }
  [[nodiscard]] std::uint64_t suppressed() const noexcept { return sum(suppressed_); }
  [[nodiscard]] std::uint64_t shields_overridden() const noexcept { return sum(shields_overridden_); }
  /// Counts an exception of a child that was discarded because another one decided how its scope ends.
  void note_suppressed() noexcept {
    // relaxed: a sum for a report.
    suppressed_.fetch_add(1, base::order::relaxed);
  }
  void note_shield_overridden(core::header& task) noexcept {
    // relaxed: a sum for a report.
    shields_overridden_.fetch_add(1, base::order::relaxed);
    // NOT IN A MODEL: a scheduler without a runtime
    if (around.shield_overridden != nullptr) around.shield_overridden(around.policy, task);
  }
  /// Counts a blocking call that found no thread for the role of its worker.
  void note_shortage() noexcept {
    // NOT IN A MODEL: a scheduler without a runtime
    // relaxed: a sum for a report.
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
    // relaxed: a sum for a report.
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
