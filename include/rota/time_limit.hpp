// A limit on how long something may take, which can be moved while it lasts.
#pragma once

#include <type_traits>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/deadline.hpp>
#include <rota/detail/limit_region.hpp>
#include <rota/timeout.hpp>

namespace rota {

/// A handle to a limit that any thread may move. Copies are handles to the same limit.
///
///   rota::time_limit idle(30s);
///   const auto end = co_await rota::timeout(idle, serve(connection, idle));  // timed_out if it has passed
///   ...
///   idle.reset(30s);  // in serve(), for each byte that came
///
/// A limit passes when its time has come and a timeout, a `reset` or a task that calls `has_passed` finds
/// that. A limit that has passed stays so: `reset`, `reset_at` and `lift` then return false and change
/// nothing. If several timeouts use one limit, it ends all of them. A timeout that begins after the passing
/// ends at its first wait.
///
/// Threads       Any, at the same time, on different handles. One handle needs the same care as an int.
/// Ownership     The handles and the timeouts share the limit. The last of them destroys it.
/// Ordering      A move to a later time only stores it: the timer of each timeout fires, its task finds the
///               later time and arms the timer again. A move to an earlier time wakes the tasks that wait.
/// Failure       Throws std::bad_alloc. Use of an empty handle, one that was moved from, ends the program
///               with a message.
/// Cost          An allocation. `reset` to a later time costs a read of the clock and a compare-exchange; to
///               an earlier one, a lock and a wake for each timeout that waits.
/// Example       examples/time_limit.cpp
///
/// In a task a span is counted from the time of the task's runtime. Outside of tasks it is counted from the
/// steady clock. The time of a testing::runtime is virtual: outside of its tasks use `at`, `reset_at` and
/// `lift`, which read no clock. Timeouts of runtimes with different clocks cannot share a limit.
class ROTA_API time_limit {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  /// Makes a handle without a limit, until `reset`.
  time_limit() : time_limit(time_point::max(), time_point::min()) {}
  /// Makes a limit `span` from now. With zero or less it has passed.
  template <core::span_of_time Span>
  explicit time_limit(Span span) : time_limit(span, now()) {}
  template <class Duration>
  [[nodiscard]] static time_limit at(std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    return time_limit(detail::saturating_deadline(time), time_point::min());
  }
  time_limit(const time_limit& other) noexcept;
  time_limit(time_limit&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  time_limit& operator=(time_limit other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~time_limit();

  /// Sets the limit to `span` from now, earlier or later than before. With zero or less it passes now.
  /// Returns false if its time had come.
  template <core::span_of_time Span>
  bool reset(Span span) const noexcept {
    const time_point here = now();
    return move(detail::saturating_deadline(here, span), here);
  }
  /// Sets the limit to `time`. If that is not after now, the limit passes when a task finds that. Returns
  /// false if it had passed.
  template <class Duration>
  bool reset_at(std::chrono::time_point<std::chrono::steady_clock, Duration> time) const noexcept {
    return move(detail::saturating_deadline(time), time_point::min());
  }
  /// Removes the limit until the next `reset`. Returns false if it had passed.
  bool lift() const noexcept { return move(time_point::max(), time_point::min()); }

  /// In a task: compares the limit with the clock of the task's runtime. Outside of tasks: returns true if a
  /// timeout, a task or a `reset` has found that it has passed.
  [[nodiscard]] bool has_passed() const noexcept;
  /// Returns the time that was set last, also after it has passed; time_point::max() if there is no limit.
  [[nodiscard]] time_point deadline() const noexcept;

 private:
  template <class A>
  friend core::with_limit<A, core::limit_region> timeout(const time_limit& limit, A&& work);

  template <core::span_of_time Span>
  time_limit(Span span, time_point now) : time_limit(detail::saturating_deadline(now, span), now) {}
  time_limit(time_point at, time_point now);
  [[nodiscard]] static time_point now() noexcept;
  bool move(time_point to, time_point now) const noexcept;
  [[nodiscard]] core::limit_state* share() const noexcept;

  core::limit_state* state_;
};

/// Awaits `work`, but no longer than until the time of `limit`, which may move meanwhile. At that time `work`
/// is unwound, as by a cancellation, and the result is `timed_out`. All that timeout(span, work) says holds
/// here, too, except for what is inherited.
///
/// Inside, in this task, `this_task::deadline()` is the earliest of the limit's time now and the deadlines
/// around it. That call costs a step for each timeout, shield and scope around it. If a limit and a deadline
/// of this task have both passed, the outer one is reported.
///
/// Other tasks do not know the limit. When it passes, this task is unwound. That cancels the children of
/// scopes and of `when_*` inside, and the tasks that are awaited there by their handles. A task of `spawn`
/// does not inherit the limit: if no task awaits the handle, put a `timeout` with the same limit around its
/// work. In a child, `this_task::deadline()` does not count the limit. If a deadline of a child passes at
/// about the same time as the limit, the child may report its own `timed_out` first, as a value. This timeout
/// still reports `timed_out`, when its task next waits or reaches a checkpoint. If the work ends without
/// that, its value counts.
///
/// Threads       Any task of a runtime.
/// Ownership     As timeout(span, work); shares the limit.
/// Ordering      As timeout(span, work).
/// Failure       As timeout(span, work). An empty handle ends the program.
/// Cost          No allocation. If the work has to wait: an entry in the list of the limit, under its lock; a
///               read of the clock for each wait; and a timer, which is armed again when it fires before the
///               limit has passed.
/// Example       examples/time_limit.cpp
template <class A>
core::with_limit<A, core::limit_region> timeout(const time_limit& limit, A&& work) {
  return core::with_limit<A, core::limit_region>(limit.share(), std::forward<A>(work));
}

}  // namespace rota
