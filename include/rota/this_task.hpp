// What a running task can learn and change about itself.
#pragma once

#include <string_view>

#include <rota/detail/chrono.hpp>
#include <rota/join_handle.hpp>

namespace rota {

namespace core {

class ROTA_DETAIL_AWAIT_IT ROTA_API yield_leaf final : public leaf {
 public:
  yield_leaf() noexcept = default;
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  [[nodiscard]] const char* what() const noexcept override { return "yield"; }
  bool await_ready() noexcept {
    task().why = stop_reason::turn;
    return false;
  }
  static void await_resume() noexcept {}
};

class ROTA_DETAIL_AWAIT_IT ROTA_API checkpoint_leaf final : public leaf {
 public:
  checkpoint_leaf() noexcept = default;
  [[nodiscard]] bool is_ready() noexcept override;
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  [[nodiscard]] const char* what() const noexcept override { return "checkpoint"; }
  static void await_resume() noexcept {}
};

}  // namespace core

/// Lets other tasks run first: the task goes to the end of its worker's queue.
///
/// Threads       Any task.  Failure  Never.  Cost  One read-modify-write and a push.
/// Example       examples/switches.cpp
inline core::yield_leaf yield() noexcept { return {}; }

/// A cancellation point: delivers a cancellation that is due; otherwise does nothing. For long loops that
/// never suspend.
///
/// Threads       Any task.  Failure  Never.  Cost  A load.  Example  examples/switches.cpp
inline core::checkpoint_leaf checkpoint() noexcept { return {}; }

/// Functions about the task that runs on this thread. Outside of a task: id 0, false, no deadline; set_name
/// does nothing.
namespace this_task {

[[nodiscard]] ROTA_API task_id id() noexcept;
/// Sets the name for reports. At most 255 bytes are kept, control characters as '?'. Throws std::bad_alloc.
ROTA_API void set_name(std::string_view name);
/// Returns true if cancellation of this task was requested, or if a deadline around this place has passed;
/// whether or not a shield holds it off.
[[nodiscard]] ROTA_API bool cancel_requested() noexcept;
/// Returns true if the task's frames are being destroyed because it was cancelled. It is true in destructors
/// of locals, where std::uncaught_exceptions() is 0. A guard that commits or rolls back must ask this.
[[nodiscard]] ROTA_API bool unwinding() noexcept;

/// Returns the time at which a deadline would end what runs here: the earliest of with_deadline, timeout and
/// the inherited deadline; under a shield not before the shield's limit. time_point::max() if there is none.
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point deadline() noexcept;

}  // namespace this_task
}  // namespace rota
