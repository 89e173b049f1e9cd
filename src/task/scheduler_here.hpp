// The scheduler of tasks that are spawned at this place.
#pragma once

#include "base/thread.hpp"
#include "task/header.hpp"

namespace rota::core {

/// Returns the scheduler of the children of the task that runs on this thread. Throws `errc::no_runtime` if
/// there is none, and `errc::forked` if the task's runtime belongs to a parent of this process.
[[nodiscard]] scheduler& scheduler_here();
/// As scheduler_here(), for a task that is known.
[[nodiscard]] scheduler& scheduler_for_children_of(const header& task);
[[noreturn, gnu::cold]] void throw_forked();
/// Throws `errc::forked` in a child of the process that made `by`: it has none of the threads that would run
/// a task.
inline void demand_own_process(const scheduler& by) {
  if (by.process != scheduler::any_process && !base::is_this_process(by.process)) [[unlikely]]
    throw_forked();
}
/// Returns true if the task that runs on this thread may call spawn_blocking. A coroutine job of a pool may
/// not.
[[nodiscard]] bool can_spawn_blocking() noexcept;

}  // namespace rota::core
