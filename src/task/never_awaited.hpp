// Reports of tasks that the program has forgotten to await.
#pragma once

#include <rota/detail/promise.hpp>

namespace rota::core {

/// Prints a report on stderr if a task was never awaited or spawned. Called before the frame of a task object
/// is destroyed. It prints only if the task's file was compiled with asserts, and if neither an exception nor
/// the library destroys the task. Returns true if it has printed.
bool report_never_awaited(const promise_base& frame) noexcept;

}  // namespace rota::core
