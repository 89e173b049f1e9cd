// Reports of tasks that the program has forgotten to await.
#pragma once

#include <rota/detail/promise.hpp>

namespace rota::core {

/// Before the frame of a task object is destroyed: prints a report on stderr if the task was never awaited or spawned, its file was compiled
/// with asserts, and neither an exception nor the library destroys it. Returns true if it has.
bool report_never_awaited(const promise_base& frame) noexcept;

}  // namespace rota::core
