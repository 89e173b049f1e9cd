// Limits on how long something may take.
#pragma once

#include <coroutine>
#include <expected>
#include <system_error>
#include <type_traits>
#include <utility>

#include <rota/detail/awaited.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/detail/deadline.hpp>
#include <rota/detail/deadline_region.hpp>
#include <rota/error.hpp>

namespace rota {

/// The error of a timeout.
struct timed_out {
  friend bool operator==(timed_out, timed_out) = default;
};

namespace core {

/// The result of a timeout around work that yields a T.
template <class T>
struct timed_result {
  using type = std::expected<T, timed_out>;
  static type late() { return std::unexpected(timed_out{}); }
  template <class Awaited>
  static type in_time(Awaited& inner) {
    if constexpr (std::is_void_v<T>) {
      inner.await_resume();
      return {};
    } else {
      return type(std::in_place, inner.await_resume());
    }
  }
};

/// For a reference the result holds a pointer.
template <class T>
struct timed_result<T&> {
  using type = std::expected<T*, timed_out>;
  static type late() { return std::unexpected(timed_out{}); }
  template <class Awaited>
  static type in_time(Awaited& inner) {
    return __builtin_addressof(inner.await_resume());
  }
};

template <class U>
struct timed_result<std::expected<U, std::error_code>> {
  using type = std::expected<U, std::error_code>;
  static type late() { return std::unexpected(make_error_code(errc::timed_out)); }
  template <class Awaited>
  static type in_time(Awaited& inner) {
    return inner.await_resume();
  }
};

/// One co_await under a deadline, or under another `Region`.
template <class A, class Region = deadline_region>
class ROTA_DETAIL_AWAIT_IT with_limit final : public Region {
  using shape = timed_result<await_result<A>>;

 public:
  template <class Limit>
  with_limit(Limit limit, A&& work) : Region(limit), inner_(std::forward<A>(work)) {}
  with_limit(const with_limit&) = delete;
  with_limit& operator=(const with_limit&) = delete;
  ~with_limit() = default;

  void bind(activation& task) noexcept {
    Region::bind(task);
    inner_.bind(task);
  }
  bool await_ready() { return inner_.await_ready(); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> frame) {
    this->begin(frame.promise());
    return inner_.await_suspend(frame);
  }
  typename shape::type await_resume() {
    bool in_time = this->end() == deadline_end::in_time;
    // An event that came in the moment in which the work was given up, and that cannot be passed on to
    // another waiter.
    if constexpr (requires { inner_.has_passed(); }) in_time = in_time || inner_.has_passed();
    if (in_time) return shape::in_time(inner_);
    inner_.abandon();
    return shape::late();
  }
  /// For a limit around this one: returns true if such an event came.
  [[nodiscard]] bool has_passed() noexcept
    requires requires(awaited<A>& a) { a.has_passed(); }
  {
    return inner_.has_passed();
  }
  /// Called when a deadline around this one has passed.
  void abandon() noexcept {
    static_cast<void>(this->end());
    inner_.abandon();
  }

 private:
  awaited<A> inner_;
};

}  // namespace core

/// Awaits `work`, but no longer than until `time`. At that time `work` is unwound, as by a cancellation, and
/// the result is `timed_out`. `work` is a task, a handle by its name, a leaf such as `mutex.lock()`, or
/// another timeout. If it yields an `expected<U, std::error_code>`, this yields the same type, with
/// `errc::timed_out`. If it yields a reference, this yields a pointer.
///
/// Threads       Any task of a runtime.
/// Ownership     Keeps a task. Everything else is referred to and must live until the co_await is done. The
///               task of an awaited handle is cancelled for `timeout`, and has ended before this returns; its
///               handle keeps the outcome.
/// Ordering      A result that is there when the deadline passes wins. The work's destructors have run when
///               this returns, innermost first.
/// Failure       Rethrows what `work` throws. A deadline that has passed is delivered at the next suspension
///               or checkpoint inside. Under a shield inside it is delivered when the shield has ended or its
///               limit has passed.
/// Cost          No allocation. A timer is armed only if the work has to wait, and is disarmed in O(1).
/// Example       examples/timeout.cpp
///
/// Inside, `this_task::deadline()` is the earlier of `time` and the deadline around it. Tasks that are
/// spawned inside inherit it: they are cancelled when it passes. Of two equal deadlines the outer one counts.
template <class Duration, class A>
core::with_limit<A> with_deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                  A&& work) {
  return core::with_limit<A>(detail::saturating_deadline(time), std::forward<A>(work));
}

/// with_deadline, with a deadline `span` from the co_await. With zero or less `work` must complete without
/// waiting.
template <core::span_of_time Span, class A>
core::with_limit<A> timeout(Span span, A&& work) {
  return core::with_limit<A>(detail::saturating_span(span), std::forward<A>(work));
}

}  // namespace rota
