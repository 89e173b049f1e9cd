// Clean-up that may wait. It runs after its body however the body ends.
#pragma once

#include <coroutine>
#include <exception>
#include <type_traits>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/inner_task.hpp>
#include <rota/detail/timed_region.hpp>
#include <rota/outcome.hpp>
#include <rota/time.hpp>

namespace rota {

namespace core {

/// Stops unwinding at its frame, and resumes it after the clean-up. Meanwhile nothing from outside interrupts
/// the clean-up, except its limit and the end of a shutdown's grace.
class ROTA_API cleanup_region final : public region {
 public:
  explicit cleanup_region(promise_base& frame) noexcept
      : region(kind::catcher, task_of(*frame.root), &frame) {}
  ~cleanup_region();

  /// Called when the body has ended.
  void begin() noexcept;
  /// Called when the clean-up has ended. `failure` is its exception, or null. `late` is true if its time was
  /// up. Returns true if the failure must be thrown. Otherwise the failure has been reported, because the
  /// body's own end stands.
  [[nodiscard]] bool end(std::exception_ptr failure, bool late, bool body_has_value) noexcept;

  // The region is awaited last. The await does nothing, except if unwinding stopped here: then the unwinding
  // goes on.
  void bind(activation& /*task*/) noexcept {}
  [[nodiscard]] bool await_ready() const noexcept { return !stopped_here(); }
  template <class Promise>
  void await_suspend(std::coroutine_handle<Promise> frame) noexcept {
    go_on(frame.promise());
  }
  static void await_resume() noexcept {}

 private:
  /// Holds off every cancellation and deadline, without a limit.
  class quiet_region final : public timed_region {
   public:
    quiet_region() noexcept : timed_region(kind::shield) {}
    ~quiet_region() = default;
    void begin(activation& task) noexcept { enter(task, nullptr, time_point::max()); }
    void end() noexcept { leave(); }
  };

  void go_on(promise_base& frame) noexcept;

  quiet_region quiet_;
  bool holds_shield_ = false;
};

template <class Body>
struct finally_task {
  using type = std::invoke_result_t<Body&>;
};
template <class T>
struct finally_task<task<T>> {
  using type = task<T>;
};
template <class Body>
using finally_result = typename finally_task<Body>::type::value_type;

/// Makes the body's task: `body` is a task, or is called for one.
struct start_body {
  template <class Body>
  ROTA_DETAIL_WRAPPER auto operator()(Body& body) const {
    if constexpr (is_task<Body>) {
      return std::move(body);
    } else {
      return body();
    }
  }
};

struct start_cleanup {
  template <class Cleanup, class T>
  ROTA_DETAIL_WRAPPER task<void> operator()(Cleanup& cleanup, const outcome<T>& end) const {
    if constexpr (std::is_invocable_v<Cleanup&, const outcome<T>&>) {
      return cleanup(end);
    } else {
      return cleanup();
    }
  }
};

}  // namespace core

/// Runs `body`, and then `cleanup`, however `body` ends: with a value, an exception, or a cancellation.
/// Yields what `body` yields.
///
///   auto work = serve(connection);
///   auto close = [&](const rota::outcome<void>&) -> rota::task<void> { co_await connection.say_goodbye(); };
///   co_await rota::finally(std::move(work), close, 500ms);
///
/// `body` is a task, or is called for one. `cleanup` is called with the outcome of the body, or without
/// arguments, and returns a task<void>. It may await, spawn and open scopes. Cancellation, and the deadlines
/// around this place, are held off until it has ended or `limit` has passed; then it is unwound itself.
/// `this_task::unwinding()` is false inside.
///
/// Threads       Any task of a runtime.
/// Ownership     Keeps both callables, and the outcome until `cleanup` has ended.
/// Ordering      All locals of the body are destroyed when `cleanup` is called. A cancellation that was held
///               off is delivered at the next suspension after `cleanup`. Unwinding that was interrupted goes
///               on at once.
/// Failure       If the body ended with a value, an exception of `cleanup` is thrown instead, and
///               `errc::timed_out` if the limit passed. Otherwise the body's own end stands: an exception of
///               `cleanup` goes to `runtime_options::on_unhandled`, since no caller will see it, and a limit
///               that passed is counted as an overridden shield. After a cancellation, a `cancelled_error` of
///               `cleanup` with the reason of that cancellation is only counted (`total_suppressed`): the
///               likely source is a task that was cancelled with this one, and that `cleanup` awaits. A task
///               that another cause with the same reason has cancelled is not told apart. If the body never
///               starts, because the task is cancelled before, `cleanup` is not called.
///               The end of a shutdown's grace unwinds a `cleanup` that runs. A `cleanup` that begins after
///               it has its whole `limit`, and the shutdown waits for it: choose a limit that is acceptable
///               as a delay. With the default grace of 0 this is the case for every `cleanup` that the
///               shutdown's own cancellation begins.
/// Cost          Three frames: its own, the body's and the clean-up's. A timer if `cleanup` has to wait.
/// Example       examples/finally.cpp
template <class Body, class Cleanup, core::span_of_time Span>
task<core::finally_result<Body>> finally(Body body, Cleanup cleanup, Span limit) {
  using result = core::finally_result<Body>;
  core::promise_base& here = co_await core::this_frame();
  core::cleanup_region rule(here);
  const core::start_body start;
  core::inner_task<result> inner(start, body);
  co_await inner;
  rule.begin();
  outcome<result>& end = inner.end(rule.reason());
  const core::start_cleanup start_last;
  core::inner_task<void> last(start_last, cleanup, std::as_const(end));
  const auto in_time = co_await timeout(limit, last);
  const std::exception_ptr failure = last.exception();
  const bool must_throw = rule.end(failure, !in_time.has_value(), end.has_value());
  co_await rule;
  if (must_throw && failure != nullptr) std::rethrow_exception(failure);
  if (must_throw) throw error(errc::timed_out);
  co_return std::move(end).value();
}

}  // namespace rota
