// A task that runs on the caller's own thread: the root of block_on.
#pragma once

#include "base/futex.hpp"
#include "task/header.hpp"
#include "task/outside_polls.hpp"

namespace rota::core {

// PROTOCOL: the thread inside block_on
//
//   value       means                                          set by
//   nothing     the thread runs, or checks the word            the thread
//   has_entry   the task is to be run                          schedule(), reschedule()
//   asleep      the thread sleeps on the word, or is about to  the thread, if the word was `nothing`
//
//   schedule() exchanges the word to `has_entry` after the task's word has become `scheduled`. It wakes the
//   address if the old value was `asleep`, and touches nothing more: the thread may have run the task,
//   returned, and destroyed this object. The thread exchanges the word back to `nothing` and pops the entry.
//   There is at most one entry, since the task's word says `queued` once.
//
//   One word, with read-modify-writes on both sides: of {entry published, thread asleep} at least one side
//   sees the other's, so there is no lost wakeup.

/// The scheduler of exactly one task. It lives on the stack of the thread that runs the task. It passes on to
/// `services`, the scheduler of the runtime around it, what it does not do itself.
class entered : public scheduler {
 public:
  explicit entered(scheduler& services) noexcept;
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;

  /// Runs `task` until it is complete. Its word is `entered_word`.
  void run_to_end(header& task) noexcept;

 private:
  void sleep_until_entry(const outside_run& here) noexcept;
  static void schedule(header& task) noexcept;
  static void reschedule(header& task) noexcept;
  static scheduler& services_of(const scheduler& self) noexcept;
  static const scheduler_ops ops_table;

  scheduler* services_;
  enum value : std::uint32_t { nothing, has_entry, asleep };
  base::atomic<std::uint32_t> awake_{nothing};
};

/// Returns the services of a task that has no runtime. It keeps no list of the task, and an unhandled
/// exception ends the program.
[[nodiscard]] scheduler& no_services() noexcept;

}  // namespace rota::core
