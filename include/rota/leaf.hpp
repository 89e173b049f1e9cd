// Leaves: the awaitables that really suspend a task. Derive from `leaf` to write your own.
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

/// What became of a request to cancel a leaf.
enum class [[nodiscard]] cancel_progress : unsigned char {
  ended,    // nobody will touch the leaf any more: its frame may go
  pending,  // somebody still may; they wake the task when they are done, and `cancel_ended()` is true then
};

/// An event that a task waits for. A class derived from it, with an `await_resume()` of its own, can be awaited:
///
///   Lookup     `start()` tries the operation. It either succeeds at once, or arranges for `make_waker()`'s waker to be
///              woken once `is_ready()` is true, from any thread, as early as it likes: before `start` has returned.
///   Waking     The task then asks `is_ready()`. A wake that comes too early, twice or for no reason does no harm.
///   Cancel     `try_cancel()` takes the operation back, giving what was granted already to whoever is next in line.
///   Select     A leaf may be a case of channel::select if it says `static constexpr bool may_lose = true`, by which it promises that it
///              takes what it waits for in start() and is_ready() alone, and only if these then say yes; and that it ends at once when
///              it is cancelled. See start_beside() and lose() for those that must do something else there.
///
/// Threads       All members are called by the thread that runs the task; what the event's side calls is the waker alone.
/// Ownership     A leaf is a temporary in the awaiting frame. The event's side must not touch it after it was cancelled
///               or has become ready and the task was woken.
/// Ordering      What the event's side did before the wake happens before `is_ready()` and `await_resume()`.
/// Failure       `start` may throw: the exception appears at the `co_await`, and nothing was started.
/// Cost          Suspending: one read-modify-write of the task's word. No allocation.
/// Example       examples/custom_leaf.cpp
class ROTA_API leaf {
 public:
  leaf(const leaf&) = delete;
  leaf& operator=(const leaf&) = delete;

  /// May the task go on? Decided under the primitive's lock or by its atomic.
  [[nodiscard]] virtual bool is_ready() noexcept = 0;
  /// See above; called only while the task is suspended in this leaf.
  virtual cancel_progress try_cancel(cancel_reason reason) noexcept = 0;
  /// After `pending`: has it ended?
  [[nodiscard]] virtual bool cancel_ended() noexcept { return is_ready(); }
  /// Asked after is_ready() or start() said yes. Returns true if the outcome is an end that a cancellation may have caused, such as that of
  /// a task or of a channel, and is not lost if the task does not go on with it: then a task that is to be cancelled itself for the
  /// same cause is unwound here, and does not see it. Returns false for an outcome that was taken and cannot be given back.
  [[nodiscard]] virtual bool is_discardable() noexcept { return false; }
  /// Does the co_await itself start tasks, which inherit the deadline of a timeout directly around it?
  [[nodiscard]] virtual bool starts_tasks() const noexcept { return false; }
  /// For reports: "sleep", "socket read".
  [[nodiscard]] virtual const char* what() const noexcept { return "leaf"; }

  static bool await_ready() noexcept { return false; }
  template <class Promise>
  bool await_suspend(std::coroutine_handle<Promise> frame) {
    // Bound before: what runs in place has become a task.
    task_ = static_cast<core::activation*>(frame.promise().root);
    return suspend_in(frame.promise());
  }

  /// Called by the awaiting coroutine before anything else.
  void bind(core::activation& task) noexcept { task_ = &task; }

 protected:
  leaf() = default;
  ~leaf() = default;

  /// True: ready at once, and no waker was kept.
  virtual bool start() { return is_ready(); }
  /// The same as one of several that are awaited at once: the thread must not be given away to what is awaited.
  virtual bool start_beside();
  /// Called for each of several leaves that are to be awaited at once, before the first of them is started. Throws what start() would throw.
  /// Returns what no two leaves may wait for at the same time, such as a task; null if others may wait for the same.
  virtual const void* check_beside();
  /// It was started beside others, and one of these was faster: takes the wait back, at once; what was waited for goes on.
  virtual void lose() noexcept;
  /// Called before try_cancel(). The leaf is about to be cancelled, and so are others, one after the other: children of the scopes around
  /// it, or what it was, or was to be, started beside. Each of them hears of it first, and tells the task that it waits for.
  virtual void announce_cancel() noexcept;
  /// Then this. True: it must be cancelled, even if it was not started yet.
  virtual bool begin_cancel(cancel_reason reason) noexcept;

  /// A waker for the task that awaits this leaf. Owns a reference: wake it, or drop it.
  [[nodiscard]] waker make_waker() const noexcept;

  [[nodiscard]] core::activation& task() const noexcept { return *task_; }

  /// Counts one operation that did not have to wait. False: it did, but others must come first, so suspend.
  [[nodiscard]] bool within_budget() noexcept {
    if (--task_->budget != 0) [[likely]]
      return true;
    task_->why = core::stop_reason::yield;
    return false;
  }

  /// For a leaf that copies: this operation has moved `bytes`, and counts as one for each 16 KiB that it has begun. It may be called for each
  /// part of an operation. It never spends the budget whole: what is done goes to the task, and the next leaf gives the turn up.
  void charge(std::size_t bytes) noexcept {
    if (bytes > core::bytes_per_operation) [[unlikely]]
      charge_more((bytes - 1) / core::bytes_per_operation);
  }
  /// Returns true if charge() has left nothing. An operation of many parts then does well to wake its own task and to wait: so others come
  /// first between two of its parts.
  [[nodiscard]] bool has_spent_budget() const noexcept { return task_->budget <= least_left; }

  /// False: the operation is complete, and the frame goes on.
  bool suspend_in(core::promise_base& frame);

 private:
  friend class channel::detail::select_core;
  friend class core::unwinder;

  /// within_budget() counts the operation itself, and one more is left: the next leaf tries nothing, and lets others go first.
  static constexpr unsigned char least_left = 2;

  [[gnu::noinline]] bool start_or_suspend();
  [[gnu::noinline]] void charge_more(std::size_t operations) noexcept;

  core::activation* task_ = nullptr;
};

}  // namespace rota
