// Cancels a task from any thread, beside the only handle that joins it.
#pragma once

#include <utility>

#include <rota/cancel_reason.hpp>
#include <rota/detail/config.hpp>
#include <rota/join_handle.hpp>

namespace rota {

/// Cancels a task, and asks whether it has ended, while another thread owns its join_handle.
///
///   auto work = rt.spawn(serve());
///   const rota::abort_handle stop = work.abort_handle();
///   std::thread watchdog([stop] { if (too_late()) stop.cancel(); });
///   auto end = work.join();
///
/// Threads       Any thread, several at a time. Only assignment, a move and destruction need exclusive access
///               to the handle, as for any object.
/// Ownership     Copyable. Keeps the memory of the task, not its frames, and not its outcome: an outcome that
///               was not taken is destroyed with the join_handle, or at the end of a detached task. The
///               abort_handle stays usable after the join_handle has joined, is detached or destroyed.
///               Dropping it does not stop the task.
/// Ordering      If `is_finished` returns true, the task's last line happens before that return.
/// Failure       None. An empty handle (default-constructed or moved from) cancels nothing, is not finished,
///               and has the id 0.
/// Cost          A copy is one relaxed read-modify-write of the task's word; its end is one more.
/// Example       examples/join_set.cpp
class abort_handle {
 public:
  abort_handle() noexcept = default;
  abort_handle(const abort_handle& other) noexcept : task_(other.task_) {
    if (task_ != nullptr) core::retain_task(*task_);
  }
  abort_handle(abort_handle&& other) noexcept : task_(std::exchange(other.task_, nullptr)) {}
  abort_handle& operator=(abort_handle other) noexcept {
    std::swap(task_, other.task_);
    return *this;
  }
  ~abort_handle() {
    if (task_ != nullptr) core::release_task(*task_);
  }

  /// Takes over one reference that the caller has counted.
  [[nodiscard]] static abort_handle adopt(core::header& task) noexcept {
    abort_handle made;
    made.task_ = &task;
    return made;
  }

  /// Requests cancellation of the task. Without a reason, or with `none`, the reason is `user`. Returns false
  /// if the task had ended, or if the handle is empty.
  bool cancel(cancel_reason reason = cancel_reason::user) const noexcept {
    return task_ != nullptr && core::cancel_task(*task_, reason);
  }
  /// Returns true if the task has ended, normally or cancelled.
  [[nodiscard]] bool is_finished() const noexcept { return task_ != nullptr && core::is_complete(*task_); }
  [[nodiscard]] task_id id() const noexcept { return {task_ == nullptr ? 0 : core::id_of(*task_)}; }
  /// Returns false for an empty handle.
  [[nodiscard]] bool valid() const noexcept { return task_ != nullptr; }

  /// Two handles are equal if they name the same task, or if both are empty.
  friend bool operator==(const abort_handle& a, const abort_handle& b) noexcept { return a.task_ == b.task_; }

 private:
  core::header* task_ = nullptr;
};

template <class T>
abort_handle join_handle<T>::abort_handle() const noexcept {
  if (task_ == nullptr) return {};
  core::retain_task(*task_);
  return rota::abort_handle::adopt(*task_);
}

}  // namespace rota
