// What is said before a program ends in the middle of a task.
#pragma once

namespace rota::detail {

/// From now on std::terminate() on a thread that runs a task names that task on standard error, and then does what it would
/// have done: the handler that is in place now is called. A handler that is set later replaces it. A fatal error of rota
/// names the task, too, and aborts. Once for the process.
void name_the_task_at_the_end() noexcept;

}  // namespace rota::detail
