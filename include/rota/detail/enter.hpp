// Running a task on the caller's own thread.
#pragma once

#include <rota/join_handle.hpp>

namespace rota::core {

struct scheduler;

/// Throws `errc::nested_block_on` inside a task.
ROTA_API void demand_outside_of_tasks();
/// Runs the task to its end on this thread. The caller then holds the one handle.
[[nodiscard]] ROTA_API header& enter(promise_base& root,
                                     const result_vtable& type,
                                     scheduler* services) noexcept;

/// `services`: of the runtime around it; null: none.
template <class T>
T run_on_this_thread(task<T> work, scheduler* services) {
  demand_outside_of_tasks();
  header& done = enter(*work.release(), result_vtable_of<T>, services);
  struct dropper {
    header& task;
    ~dropper() { drop(&task); }
  } const last{done};
  return take_outcome<T>(done).value();
}

}  // namespace rota::core
