// Leaves: the awaitables that suspend a task. Derive from `leaf` to write your own.
#pragma once

#include <coroutine>
#include <cstddef>

#include <rota/cancel_reason.hpp>
#include <rota/detail/activation.hpp>
#include <rota/waker.hpp>

namespace rota::core {
class unwinder;
}
namespace rota::channel::detail {
class select_core;
}

namespace rota {

/// What a request to cancel a leaf did.
enum class [[nodiscard]] cancel_progress : unsigned char {
  ended,  // no thread uses the leaf any more: its frame may be destroyed
  // the event's side may still use it; it wakes the task when it is done, and then `cancel_ended()` is true
  pending,
};

/// An event that a task waits for. A class derived from it, with an `await_resume()` of its own, can be
/// awaited:
///
///   Lookup     `start()` tries the operation. It either succeeds at once, or arranges that the waker of
///              `make_waker()` is woken when `is_ready()` is true. Any thread may wake it, even before
///              `start` has returned.
///   Waking     The task then calls `is_ready()`. Early, repeated and spurious wakeups are harmless.
///   Cancel     `try_cancel()` takes the operation back. It passes a grant that was made already to the next
///              waiter in line.
///   Select     A leaf may be a case of channel::select if it has `static constexpr bool may_lose = true`.
///              This promises two things. Only start() and is_ready() take what the leaf waits for, and only
///              if they then return true. A cancelled leaf ends at once. Leaves that need another way to
///              start or to lose override start_beside() and lose().
///
/// Threads       The thread that runs the task calls all members. The event's side calls only the waker.
/// Ownership     A leaf is a temporary in the awaiting frame. The event's side must not touch the leaf after
///               it was cancelled, or after it has become ready and the task was woken.
/// Ordering      What the event's side did before the wake happens before `is_ready()` and `await_resume()`
///               run.
/// Failure       `start` may throw: the exception appears at the `co_await`, and nothing was started.
/// Cost          Suspending: one read-modify-write of the task's word. No allocation.
/// Example       examples/custom_leaf.cpp
class ROTA_API leaf {
 public:
  leaf(const leaf&) = delete;
  leaf& operator=(const leaf&) = delete;

  /// Returns true if the task may go on. Decided under the primitive's lock or by its atomic.
  [[nodiscard]] virtual bool is_ready() noexcept = 0;
  /// Takes the operation back; see Cancel above. Called only while the task is suspended in this leaf.
  virtual cancel_progress try_cancel(cancel_reason reason) noexcept = 0;
  /// Returns true if a cancel that was `pending` has ended.
  [[nodiscard]] virtual bool cancel_ended() noexcept { return is_ready(); }
  /// Called after is_ready() or start() returned true. Returns true if two conditions hold: the outcome is an
  /// end that a cancellation may have caused, such as that of a task or of a channel; and the outcome is not
  /// lost if the task does not go on with it. If the task itself is to be cancelled for the same cause, it is
  /// then unwound here and does not see the outcome. Returns false for an outcome that was taken and cannot
  /// be given back.
  [[nodiscard]] virtual bool is_discardable() noexcept { return false; }
  /// Returns true if the co_await itself starts tasks, which inherit the deadline of a timeout directly
  /// around it.
  [[nodiscard]] virtual bool starts_tasks() const noexcept { return false; }
  /// Returns a name for reports: "sleep", "socket read".
  [[nodiscard]] virtual const char* what() const noexcept { return "leaf"; }

  static bool await_ready() noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    // `root` is a task: the caller of bind() has made one of frames that ran in place.
    task_ = static_cast<core::activation*>(frame.promise().root);
    return suspend_in(frame.promise());
  }

  /// Sets the task. The awaiting coroutine calls it before anything else.
  void bind(core::activation& task) noexcept { task_ = &task; }

 protected:
  leaf() = default;
  ~leaf() = default;

  /// Starts the operation. Returns true if it is ready at once and no waker was kept.
  virtual bool start() { return is_ready(); }
  /// Starts the operation as one of several that are awaited at once. It must not give the thread to the
  /// awaited task.
  virtual bool start_beside();
  /// Called for each of several leaves that are to be awaited at once, before the first of them is started.
  /// Throws what start() would throw. Returns the object for which no two of the leaves may wait at the same
  /// time, such as a task; null if other leaves may wait for the same.
  virtual const void* check_beside();
  /// Takes the wait back, at once. Called if the leaf was started beside others and one of these was faster.
  /// What it waited for goes on.
  virtual void lose() noexcept;
  /// Announces a cancel. Called before try_cancel(), when several leaves are about to be cancelled one after
  /// the other: those of the children of the scopes around this one, or those that this one was started, or
  /// was to be started, beside. All of them are told first, and each tells the task that it waits for.
  virtual void announce_cancel() noexcept;
  /// Called after announce_cancel(). Returns true if the leaf must be cancelled, even if it was not started
  /// yet.
  virtual bool begin_cancel(cancel_reason reason) noexcept;

  /// Returns a waker for the task that awaits this leaf. The waker owns a reference: wake it, or drop it.
  [[nodiscard]] waker make_waker() const noexcept;

  [[nodiscard]] core::activation& task() const noexcept { return *task_; }

  /// Counts one operation that did not have to wait. Returns false if the budget is spent: the task suspends,
  /// and other tasks run first.
  [[nodiscard]] bool within_budget() noexcept {
    if (--task_->budget != 0) [[likely]]
      return true;
    task_->why = core::stop_reason::yield;
    return false;
  }

  /// Charges the budget for a leaf that copies. This operation has moved `bytes`; it counts as one for each
  /// 16 KiB begun. May be called for each part of an operation. Never spends the whole budget: the task gets
  /// what was done, and its next leaf yields.
  void charge(std::size_t bytes) noexcept {
    if (bytes > core::bytes_per_operation) [[unlikely]]
      charge_more((bytes - 1) / core::bytes_per_operation);
  }
  /// Returns true if charge() has left nothing. An operation of many parts should then wake its own task and
  /// wait, so that other tasks run between two of its parts.
  [[nodiscard]] bool has_spent_budget() const noexcept { return task_->budget <= least_left; }

  /// Suspends the task in this leaf. Returns false if the operation is complete and the frame goes on.
  bool suspend_in(core::promise_base& frame);

 private:
  friend class channel::detail::select_core;
  friend class core::unwinder;

  /// What charge() leaves: one for within_budget() of the operation itself, and one more. With that the next
  /// leaf tries nothing and lets other tasks run first.
  static constexpr unsigned char least_left = 2;

  [[gnu::noinline]] bool start_or_suspend();
  [[gnu::noinline]] void charge_more(std::size_t operations) noexcept;

  core::activation* task_ = nullptr;
};

}  // namespace rota
