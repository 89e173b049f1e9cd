// Running a task: the trampoline, what follows a suspension, and the end.
#pragma once

#include "task/header.hpp"

namespace rota::core {

/// Runs a task whose word has just become `running`, and every task that it awaits and may run itself, until this thread
/// owns none of them any more. The native stack does not grow with their number, nor with the depth of their awaits.
/// Returns how often a task was looked at.
unsigned run(header& task) noexcept;

/// The task that runs here waits for the leaf that it has named. Afterwards it may run elsewhere; this thread goes on with another.
void park(header& task) noexcept;

/// Takes an entry that came out of a queue, and runs the task if it is runnable. 0: the entry was stale.
unsigned run_entry(header& task) noexcept;

/// Ends a task that will never run: its frames are destroyed, its outcome is `cancelled`. The word is `running`.
void abandon(header& task, cancel_reason reason) noexcept;

}  // namespace rota::core
