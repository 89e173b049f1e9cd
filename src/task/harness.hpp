// Runs a task: the trampoline, what follows a suspension, and the end.
#pragma once

#include "task/header.hpp"

namespace rota::core {

/// Runs a task of which the word has just become `running`, and every task that it awaits and may run itself,
/// until this thread owns none of them any more. The native stack does not grow with their number, nor with
/// the depth of their awaits. Returns the number of looks at tasks.
unsigned run(header& task) noexcept;

/// Suspends the task that runs here in the leaf that it has named. Afterwards another thread may run it; this
/// thread goes on with another task.
void park(header& task) noexcept;

/// Takes an entry that came out of a queue, and runs the task if it is runnable. Returns the number of looks;
/// 0 if the entry was stale.
unsigned run_entry(header& task) noexcept;

/// Ends a task that will never run: destroys its frames and sets its outcome to `cancelled`. The word is
/// `running`.
void abandon(header& task, cancel_reason reason) noexcept;

}  // namespace rota::core
