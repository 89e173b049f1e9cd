// Ports: structs of function pointers by which modules reach each other without including each other.
// `runtime` fills them in.
#pragma once

#include "base/clock.hpp"
#include "task/passed_deadlines.hpp"

#include <rota/detail/thread_wait.hpp>

#include <cstdint>
#include <exception>
#include <string>

namespace rota::timing {
class shard;
}

namespace rota::driver {
class io_driver;
}

namespace rota::core {

/// An event that a driver found. Its scheduler only carries it to dispatch().
struct driver_event {
  std::uint64_t key;
  std::uint32_t what;
};

class birth;
struct header;
struct scheduler;
class outside_helper;
class outside_polls;

enum class [[nodiscard]] on_take : unsigned char {
  not_here,  // this thread must not run the task
  entry,     // it may run the task, and the caller holds the entry
  no_entry,  // it may run the task, and the entry is in another queue
};

/// What a task's scheduler does for it. Any thread may call all of these. The caller holds a reference to the
/// task throughout.
struct scheduler_ops {
  /// Counts a new task, which is about to be scheduled for the first time. Returns false if no more tasks are
  /// taken.
  bool (*admit)(scheduler& self) noexcept;
  /// Queues the entry of a task that became runnable. On a worker of this scheduler the newest entry runs
  /// first.
  void (*schedule)(header& task) noexcept;
  /// Queues a task that ran just now and wants to go on, behind those that wait already. It may delay the
  /// notification of other workers until the thread chooses its next task; a thread that goes on without
  /// choosing calls settle() first.
  void (*reschedule)(header& task) noexcept;
  void (*settle)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// Returns true if a running task that would let others go first finds none. It then goes on as if it had
  /// been queued and taken out again. Now and then it returns false all the same, so that the thread does its
  /// other duties. `looks`: the number of looks at tasks since the thread chose one.
  bool (*keeps_turn)(scheduler& self, unsigned looks) noexcept = [](scheduler&, unsigned) noexcept {
    return false;
  };
  /// Says whether this thread may run tasks of this scheduler here and now. If so, it takes the entry of
  /// `task` out of this worker's LIFO slot, if the entry is there.
  on_take (*take_entry)(header& task) noexcept;
  /// Puts a task into the list of all tasks when it suspends, or raises a shield, for the first time; and
  /// removes it at its end.
  void (*enroll)(scheduler& self, header& task) noexcept;
  void (*withdraw)(scheduler& self, header& task) noexcept;
  /// Gives the task the name `name`, a block of task_label.
  void (*rename)(scheduler& self, header& task, void* name) noexcept;
  /// Notes the birth of a task that is about to be scheduled, if this thread owns no range of `births`, or if
  /// that range is full.
  void (*born)(scheduler& self, header& task) noexcept = [](scheduler&, header&) noexcept {};
  /// Called at a task's end, before its word says so.
  void (*ended)(scheduler& self, header& task, bool was_cancelled) noexcept;
  /// Handles an exception that no caller can see any more. May end the program.
  void (*unhandled)(scheduler& self, header& task, std::exception_ptr what) noexcept;
  /// Returns the scheduler of the tasks that a task of this scheduler spawns.
  scheduler& (*children)(scheduler& self) noexcept;
  /// now: the time as this scheduler's tasks see it. timer_shard: the shard for a timer that this thread
  /// arms. deadline_moved: called when a shard has reported an earlier first deadline: a thread that sleeps
  /// until a later one must be woken.
  base::time_point (*now)(const scheduler& self) noexcept;
  timing::shard& (*timer_shard)(scheduler& self) noexcept;
  void (*deadline_moved)(scheduler& self, base::time_point earliest) noexcept;
  /// Called if the limit of a shield of this task has passed while a cancellation or a deadline waits behind
  /// it.
  void (*shield_overridden)(scheduler& self, header& task) noexcept = [](scheduler&, header&) noexcept {};
  /// Counts an exception of a child that no caller will see, since another child decided how its scope or
  /// when_* ends. It is not reported.
  void (*suppressed)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// Counts work that no worker knows of: it begins (+1) or ends (-1). This is the root of block_on, a
  /// closure that may block, or a task of which the thread has lent its role. A virtual clock stands still
  /// while there is any.
  void (*outside)(scheduler& self, int by) noexcept = [](scheduler&, int) noexcept {};
  /// Returns the scheduler of closures that may block; null if there is none.
  scheduler* (*blocking)(scheduler& self) noexcept = [](scheduler&) noexcept -> scheduler* {
    return nullptr;
  };
  /// Returns the driver that waits for the kernel; null if there is none.
  driver::io_driver* (*io)(scheduler& self) noexcept = [](scheduler&) noexcept -> driver::io_driver* {
    return nullptr;
  };
  /// Submits to the kernel what tasks have prepared. Called by a thread that plays no role, before it sleeps.
  void (*flush)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// Holds this scheduler's memory for an object that is no task and may outlive the runtime, such as a
  /// socket. The object gives it back by freed().
  void (*held)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// Tells reports that another task runs on this thread from now on.
  void (*runs)(header& task) noexcept = [](header&) noexcept {};
  /// Called when the task is about to begin a clean-up. If the scheduler's end has begun, it reaches the task
  /// now, and does not end that clean-up later. If the end is only announced, the task is told so, and the
  /// clean-up counts as one that began before the end.
  void (*pass_end_on)(scheduler& self, header& task) noexcept = [](scheduler&, header&) noexcept {};
  /// Returns true if admit() would return true now. Counts nothing.
  bool (*is_open)(const scheduler& self) noexcept = [](const scheduler&) noexcept { return true; };
  /// Called when a task has forked: this thread's deque holds children that others may steal.
  void (*forked)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// Returns true if tasks that others may take wait on this thread.
  bool (*has_waiting)(scheduler& self) noexcept = [](scheduler&) noexcept { return false; };
  /// For a scheduler with one thread, when that thread would block for one of its tasks. Runs another task,
  /// if this place may, or moves time to the next timer that is not after `limit`. Returns false if there is
  /// none. The pointer is null if the scheduler has more threads.
  bool (*run_another)(scheduler& self, base::time_point limit) noexcept = nullptr;
  /// On a thread that plays no role: runs tasks that any thread may run, until the task that `me` waits for
  /// has ended. Sleeps while there are none. Null if no such thread runs tasks of this scheduler.
  void (*help_until_end)(scheduler& self, outside_helper& me) noexcept = nullptr;
  /// Returns where threads without a role note the tasks of this scheduler that they run; null if no watchdog
  /// reads that.
  outside_polls* (*polls_outside)(scheduler& self) noexcept = [](scheduler&) noexcept -> outside_polls* {
    return nullptr;
  };
  /// Returns a random number for a fair choice of a task that runs on this thread. A scheduler with a seed
  /// gives the same sequence for the same seed.
  std::uint64_t (*draw)(scheduler& self) noexcept = [](scheduler&) noexcept { return draw_of_thread(); };
  /// Returns what dump() of this scheduler's runtime returns. Null, the default, for the scheduler of an
  /// entered task or of a pool.
  std::string (*dump)(scheduler& self) = nullptr;
  /// Called when the memory of a task of this scheduler was given back. It is the last call that its owner
  /// receives for that task.
  void (*freed)(scheduler& self) noexcept;
};

/// The base of every scheduler. Headers point to it.
struct scheduler {
  const scheduler_ops* ops;
  // Of the clock that ops->now() reads.
  passed_deadlines* passed = &passed_on_steady_clock;
  // The process that has the threads of this scheduler: base::this_process_id(). The scheduler of an entered
  // task runs it on its caller's thread, in any process.
  static constexpr std::uint64_t any_process = 0;
  std::uint64_t process = any_process;
  // The tasks that have not suspended yet, for reports; null: they are not noted. See births.hpp.
  birth* births = nullptr;
};

}  // namespace rota::core
