// How the rooms reach one another without including one another: structs of function pointers, filled in by `runtime`.
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

/// What a driver found. Its scheduler only carries it to dispatch().
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
  not_here,  // this thread must not run it
  entry,     // it may, and the caller holds the entry
  no_entry,  // it may, and the entry is in another queue
};

/// What a task's scheduler does for it. All from any thread; the caller holds a reference to the task throughout.
struct scheduler_ops {
  /// A new task is about to be scheduled for the first time. Counts it. False: no more are taken.
  bool (*admit)(scheduler& self) noexcept;
  /// A task became runnable and has an entry to be queued: the newest first, on a worker of this scheduler.
  void (*schedule)(header& task) noexcept;
  /// The same for a task that ran just now and would go on: after those that wait already. Telling others of it may be put
  /// off until the thread chooses what it runs next; if it goes on without choosing, settle() is called first.
  void (*reschedule)(header& task) noexcept;
  void (*settle)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// A task that runs here would let others go first: are there none? Then it goes on as if it had been queued and taken
  /// out again. Now and then the answer is no all the same, so that its thread looks after other things.
  /// `looks` at tasks have been made since the thread chose one.
  bool (*keeps_turn)(scheduler& self, unsigned looks) noexcept = [](scheduler&, unsigned) noexcept {
    return false;
  };
  /// May this thread run tasks of this scheduler, here and now? If so, the entry of `task` is taken out of this worker's
  /// LIFO slot, if it is there.
  on_take (*take_entry)(header& task) noexcept;
  /// A task suspends, or raises a shield, for the first time: it must be found in a list of all tasks. And its end.
  void (*enroll)(scheduler& self, header& task) noexcept;
  void (*withdraw)(scheduler& self, header& task) noexcept;
  /// The task takes `name`, a block of task_label, for its own.
  void (*rename)(scheduler& self, header& task, void* name) noexcept;
  /// A task was spawned and is about to be scheduled, and this thread owns no range of `births`, or that is full: notes it elsewhere.
  void (*born)(scheduler& self, header& task) noexcept = [](scheduler&, header&) noexcept {};
  /// A task ended. Before its word says so.
  void (*ended)(scheduler& self, header& task, bool was_cancelled) noexcept;
  /// Nobody will ever look at this exception. May end the program.
  void (*unhandled)(scheduler& self, header& task, std::exception_ptr what) noexcept;
  /// Where the tasks that a task of this scheduler spawns belong.
  scheduler& (*children)(scheduler& self) noexcept;
  /// Time as this scheduler's tasks see it; where a timer armed by this thread goes; and, after a shard said so, that its
  /// earliest deadline has moved forward: whoever sleeps until a later one must be told.
  base::time_point (*now)(const scheduler& self) noexcept;
  timing::shard& (*timer_shard)(scheduler& self) noexcept;
  void (*deadline_moved)(scheduler& self, base::time_point earliest) noexcept;
  /// The limit of a shield of this task has passed while a cancellation or a deadline waits behind it.
  void (*shield_overridden)(scheduler& self, header& task) noexcept = [](scheduler&, header&) noexcept {};
  /// An exception of a child will reach nobody, since another decided how its scope or when_* ends. Counted, not reported.
  void (*suppressed)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// Work that no worker knows of begins (+1) or ends (-1): the root of block_on, a closure that may block, a task whose
  /// thread has lent its role. A virtual clock stands still while there is any.
  void (*outside)(scheduler& self, int by) noexcept = [](scheduler&, int) noexcept {};
  /// Where closures that may block run; null: nowhere.
  scheduler* (*blocking)(scheduler& self) noexcept = [](scheduler&) noexcept -> scheduler* {
    return nullptr;
  };
  /// What waits for the kernel; null if nothing does.
  driver::io_driver* (*io)(scheduler& self) noexcept = [](scheduler&) noexcept -> driver::io_driver* {
    return nullptr;
  };
  /// What tasks have prepared for the kernel goes to it: by a thread that plays no role, before it sleeps.
  void (*flush)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// Something that is no task, and that its owner may keep for longer than the runtime, needs this scheduler's memory: a
  /// socket. It gives it back by freed().
  void (*held)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// The task that runs on this thread is another one from now on: reports say so.
  void (*runs)(header& task) noexcept = [](header&) noexcept {};
  /// The task is about to begin a clean-up: if the scheduler's end has begun, it reaches the task now, and does not end that clean-up later. If the
  /// end is only announced, the task is told that, and the clean-up is one that began before the end.
  void (*pass_end_on)(scheduler& self, header& task) noexcept = [](scheduler&, header&) noexcept {};
  /// Would admit() say yes now? Nothing is counted.
  bool (*is_open)(const scheduler& self) noexcept = [](const scheduler&) noexcept { return true; };
  /// A task has forked: on this thread lies what others may take.
  void (*forked)(scheduler& self) noexcept = [](scheduler&) noexcept {};
  /// Do tasks wait on this thread that others may take?
  bool (*has_waiting)(scheduler& self) noexcept = [](scheduler&) noexcept { return false; };
  /// Of a scheduler whose tasks all run on one thread, which would block for one of them: runs another, if this place may, or
  /// moves time to the next timer that is not after `limit`. False: there is none. Null: it has more threads.
  bool (*run_another)(scheduler& self, base::time_point limit) noexcept = nullptr;
  /// On a thread that plays no role: runs tasks that wait for any thread, until the task that `me` waits for has ended. Sleeps while there are none.
  /// Null: no such thread runs tasks of this scheduler.
  void (*help_until_end)(scheduler& self, outside_helper& me) noexcept = nullptr;
  /// Where threads without a role note the tasks of this scheduler that they run; null if no watchdog looks at them.
  outside_polls* (*polls_outside)(scheduler& self) noexcept = [](scheduler&) noexcept -> outside_polls* {
    return nullptr;
  };
  /// A number for a task that runs on this thread and would be fair. Who has a seed gives the same ones again for it.
  std::uint64_t (*draw)(scheduler& self) noexcept = [](scheduler&) noexcept { return draw_of_thread(); };
  /// What dump() of the runtime of this scheduler returns. Null: it is not a runtime's. The default of an entered task's and a pool's.
  std::string (*dump)(scheduler& self) = nullptr;
  /// The memory of a task of this scheduler was given back: the last thing that its owner hears of it.
  void (*freed)(scheduler& self) noexcept;
};

/// The base of every scheduler: what a header points to.
struct scheduler {
  const scheduler_ops* ops;
  // Of the clock that ops->now() reads.
  passed_deadlines* passed = &passed_on_steady_clock;
  // The process that has the threads of this scheduler: base::this_process_id(). An entered task's runs on its caller's thread, in any process.
  static constexpr std::uint64_t any_process = 0;
  std::uint64_t process = any_process;
  // The tasks that have not suspended yet, for reports; null: they are not noted. See births.hpp.
  birth* births = nullptr;
};

}  // namespace rota::core
