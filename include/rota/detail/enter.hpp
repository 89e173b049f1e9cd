// Running a task on the caller's own thread.
#pragma once

#include <optional>
#include <source_location>

#include <rota/detail/blocking_section.hpp>
#include <rota/join_handle.hpp>

namespace rota::core {

struct scheduler;

/// Throws `errc::nested_block_on` inside a task.
ROTA_API void demand_outside_of_tasks();

/// A thread on which a task may run to its end. It runs no task, or it runs a closure of spawn_blocking; that
/// closure is a blocking section while this object lives.
class ROTA_API place_to_enter {
 public:
  /// Throws `errc::nested_block_on` inside any other task.
  place_to_enter();

 private:
  std::optional<blocking_section> section_;
};

/// Runs the task to its end on this thread. The caller then holds the only handle.
[[nodiscard]] ROTA_API header& enter(promise_base& root,
                                     const result_vtable& type,
                                     scheduler* services,
                                     std::source_location site) noexcept;

/// Runs `work` on this thread and returns its result. `services`: of the runtime around it; null: none.
template <class T>
T run_on_this_thread(task<T> work, scheduler* services, std::source_location site = {}) {
  const place_to_enter here;
  header& done = enter(*work.release(), result_vtable_of<T>, services, site);
  struct dropper {
    header& task;
    ~dropper() { drop(&task); }
  } const last{done};
  return take_outcome<T>(done).value();
}

}  // namespace rota::core
