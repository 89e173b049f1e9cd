// The message before a program ends in the middle of a task.
#pragma once

namespace rota::detail {

/// Installs, once for the process, a handler by which std::terminate() on a thread that runs a task names
/// that task on standard error; then it calls the handler that was installed before. A handler that is set
/// later replaces it. A fatal error of rota names the task, too, and aborts.
void name_the_task_at_the_end() noexcept;

}  // namespace rota::detail
