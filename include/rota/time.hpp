// Waiting for time to pass, and limits on how long something may take.
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
#include <rota/detail/task_timer.hpp>
#include <rota/error.hpp>
#include <rota/leaf.hpp>

namespace rota {

namespace core {

/// A leaf that ends when its timer fires.
class ROTA_API timer_leaf : public leaf {
 public:
  using time_point = std::chrono::steady_clock::time_point;
  static constexpr bool may_lose = true;

  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;

 protected:
  timer_leaf() noexcept = default;
  ~timer_leaf() = default;

  void wait_until(time_point at) noexcept;
  void wait_for_nothing() noexcept { waits_for_ = event::none; }

 private:
  enum class event : unsigned char { none, the_timer, cancellation };

  [[no_unique_address]] timing::task_timer timer_;
  event waits_for_ = event::none;
};

/// See sleep_for and sleep_until.
class ROTA_DETAIL_AWAIT_IT ROTA_API sleep_leaf final : public timer_leaf {
 public:
  explicit sleep_leaf(time_point until) noexcept : when_(until.time_since_epoch()) {}
  explicit sleep_leaf(std::chrono::nanoseconds span) noexcept : is_relative_(true), when_(span) {}

  /// For the next co_await of this object. Not while the task sleeps in it.
  template <class Rep, class Period>
  void reset(std::chrono::duration<Rep, Period> span) noexcept {
    when_ = detail::saturating_span(span);
    is_relative_ = true;
  }
  template <class Duration>
  void reset(std::chrono::time_point<std::chrono::steady_clock, Duration> until) noexcept {
    when_ = detail::saturating_deadline(until).time_since_epoch();
    is_relative_ = false;
  }

  [[nodiscard]] const char* what() const noexcept override { return "sleep"; }
  static void await_resume() noexcept {}

 protected:
  bool start() override;

 private:
  bool is_relative_ = false;
  std::chrono::nanoseconds when_;  // a span, or the time since the clock's epoch
};

}  // namespace core

/// Suspends the task for at least `span`, counted from the co_await.
///
/// Threads       Any task of a runtime.
/// Ownership     The timer lies in the awaiting frame. The result may be named, awaited again, and given
///               another time with `reset` in between.
/// Ordering      Sleeps of one worker end in the order of their times; equal ones in the order in which they
///               began.
/// Failure       Never. Zero and less: others run first, once. Longer than the clock can say, as
///               hours::max(): until the task is cancelled. Fractions of a nanosecond are rounded up. Never
///               early.
/// Cost          No allocation. One timer armed and one fired, or taken back in O(1) if the task is
///               cancelled.
/// Example       examples/timeout.cpp
template <class Rep, class Period>
core::sleep_leaf sleep_for(std::chrono::duration<Rep, Period> span) noexcept {
  return core::sleep_leaf(detail::saturating_span(span));
}

/// A number without a unit is refused with a sentence.
template <class Number>
  requires std::is_arithmetic_v<Number>
core::sleep_leaf sleep_for(Number /*span*/) noexcept {
  static_assert(detail::never<Number>,
                "sleep_for takes a std::chrono::duration, as 10ms or std::chrono::seconds(1)");
  __builtin_unreachable();
}

/// Suspends the task until `time` of the steady clock; time_point::max(): until it is cancelled. Else as
/// sleep_for.
template <class Duration>
core::sleep_leaf sleep_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
  return core::sleep_leaf(detail::saturating_deadline(time));
}

/// What an interval does about ticks that nobody waited for in time.
enum class missed_tick : unsigned char {
  burst,  // they all come, one after the other without a pause
  skip,   // they do not come; the next one is the first of the original schedule that lies in the future
  delay,  // they do not come; the next one is a full period from now, and the schedule moves
};

/// Ticks in even distances: the first one period after the first call of `tick` or `try_tick`, or at the time that the constructor or
/// `reset_at` names.
///
///   rota::interval every(100ms, rota::missed_tick::skip);
///   for (;;) {
///     const auto scheduled = co_await every.tick();
///     ...
///   }
///
/// Threads       One task at a time; `try_tick` also on a plain thread.
/// Ownership     Plain data; it must stay where it is while a tick is awaited.
/// Failure       The constructor throws `std::invalid_argument` unless the period is above zero.
/// Cost          No allocation. A tick that waits: as a sleep. One that is due already: two looks at the
///               clock.
/// Example       examples/timeout.cpp
class ROTA_API interval {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  template <class Rep, class Period>
  explicit interval(std::chrono::duration<Rep, Period> period, missed_tick policy = missed_tick::burst)
      : interval(checked, detail::saturating_span(period), policy) {}

  /// The first tick comes at `first`. If that has passed, the first tick is due at once, and the policy decides about those that were
  /// due since then. time_point::max(): no tick ever comes.
  template <class Duration, class Rep, class Period>
  interval(std::chrono::time_point<std::chrono::steady_clock, Duration> first,
           std::chrono::duration<Rep, Period> period,
           missed_tick policy = missed_tick::burst)
      : interval(checked, detail::saturating_span(period), policy) {
    reset_at(first);
  }

  class ROTA_DETAIL_AWAIT_IT ROTA_API tick_leaf final : public core::timer_leaf {
   public:
    explicit tick_leaf(interval& owner) noexcept : owner_(&owner) {}

    [[nodiscard]] const char* what() const noexcept override { return "interval"; }
    /// The time for which this tick was scheduled.
    time_point await_resume() noexcept;

   protected:
    bool start() override;

   private:
    interval* owner_;
  };

  /// Awaits the next tick, and gives the time for which it was scheduled: never later than now. A tick that
  /// is cancelled while it is awaited is not used up.
  tick_leaf tick() noexcept { return tick_leaf(*this); }

  /// Takes the next tick if it is due now, and returns the time for which it was scheduled. Otherwise no tick is used up, and the error
  /// says how long it is until the next one. The first call begins the schedule, as `tick` does. Reads the clock of the task that calls it, which a test may have
  /// replaced; outside of tasks the steady clock.
  [[nodiscard]] std::expected<time_point, std::chrono::nanoseconds> try_tick() noexcept;

  [[nodiscard]] std::chrono::nanoseconds period() const noexcept { return period_; }

  /// The next tick comes one period after the next call of `tick` or `try_tick`.
  void reset() noexcept { has_begun_ = is_due_ = false; }
  /// The next tick is due at once, and the schedule begins with it.
  void reset_immediately() noexcept {
    has_begun_ = true;
    is_due_ = true;
  }
  /// The next tick comes at `time`, and the schedule begins with it.
  template <class Duration>
  void reset_at(std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
    has_begun_ = true;
    is_due_ = false;
    next_ = detail::saturating_deadline(time);
  }

 private:
  enum check { checked };
  interval(check, std::chrono::nanoseconds period, missed_tick policy);
  /// Begins the schedule if it has not begun. Returns true if a tick is due at `now`.
  [[nodiscard]] bool is_due_at(time_point now) noexcept;
  /// The tick that is due at `now` is taken: returns the time for which it was scheduled.
  time_point take_tick(time_point now) noexcept;

  std::chrono::nanoseconds period_;
  time_point next_{};
  missed_tick policy_;
  bool has_begun_ = false;
  bool is_due_ = false;  // the next tick, whenever that is
};

/// The error of a timeout.
struct timed_out {
  friend bool operator==(timed_out, timed_out) = default;
};

namespace core {

/// What timeout makes of a T.
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

/// A reference: a pointer to it.
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

/// One co_await under a deadline.
template <class A>
class ROTA_DETAIL_AWAIT_IT with_limit final : public deadline_region {
  using shape = timed_result<await_result<A>>;

 public:
  template <class Limit>
  with_limit(Limit limit, A&& work) : deadline_region(limit), inner_(std::forward<A>(work)) {}
  with_limit(const with_limit&) = delete;
  with_limit& operator=(const with_limit&) = delete;
  ~with_limit() = default;

  void bind(activation& task) noexcept {
    deadline_region::bind(task);
    inner_.bind(task);
  }
  bool await_ready() { return inner_.await_ready(); }
  template <class Promise>
  auto await_suspend(std::coroutine_handle<Promise> frame) {
    begin(frame.promise());
    return inner_.await_suspend(frame);
  }
  typename shape::type await_resume() {
    bool in_time = end() == deadline_end::in_time;
    // What happened in the moment in which it was given up, and cannot be passed on to somebody else.
    if constexpr (requires { inner_.has_passed(); }) in_time = in_time || inner_.has_passed();
    if (in_time) return shape::in_time(inner_);
    inner_.abandon();
    return shape::late();
  }
  /// For a limit around this one.
  [[nodiscard]] bool has_passed() noexcept
    requires requires(awaited<A>& a) { a.has_passed(); }
  {
    return inner_.has_passed();
  }
  /// A deadline around this one passed.
  void abandon() noexcept {
    static_cast<void>(end());
    inner_.abandon();
  }

 private:
  awaited<A> inner_;
};

}  // namespace core

/// Awaits `work`, but no longer than until `time`: it is then unwound, as by a cancellation, and the result
/// is `timed_out`. What `work` is: a task, a handle by its name, a leaf such as `mutex.lock()`, or another
/// timeout. If it yields an `expected<U, std::error_code>`, so does this, with `errc::timed_out`; if it yields a reference, this yields
/// a pointer.
///
/// Threads       Any task of a runtime.
/// Ownership     Keeps a task; everything else is referred to and must live until the co_await is done. An
///               awaited handle's task is cancelled for `timeout`, and has ended before this returns; its
///               handle keeps the outcome.
/// Ordering      A result that is there when the deadline passes wins. The work's destructors have run when
///               this returns, innermost first.
/// Failure       What `work` throws is rethrown. A deadline that has passed is delivered at the next
///               suspension or checkpoint inside; under a shield inside, when the shield has gone or its
///               limit has passed.
/// Cost          No allocation. A timer is armed only if the work has to wait, and is taken back in O(1).
/// Example       examples/timeout.cpp
///
/// Inside, `this_task::deadline()` is the earlier of `time` and the deadline around it. Tasks that are
/// spawned inside inherit it: they are cancelled when it passes. Of two equal deadlines the outer one counts.
template <class Duration, class A>
core::with_limit<A> with_deadline(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                  A&& work) {
  return core::with_limit<A>(detail::saturating_deadline(time), std::forward<A>(work));
}

/// with_deadline, `span` from the co_await on. Zero and less: `work` must be done without waiting.
template <class Rep, class Period, class A>
core::with_limit<A> timeout(std::chrono::duration<Rep, Period> span, A&& work) {
  return core::with_limit<A>(detail::saturating_span(span), std::forward<A>(work));
}
template <class Number, class A>
  requires std::is_arithmetic_v<Number>
core::with_limit<A> timeout(Number /*span*/, A&& /*work*/) {
  static_assert(detail::never<Number>,
                "timeout takes a std::chrono::duration, as 10ms or std::chrono::seconds(1)");
  __builtin_unreachable();
}

}  // namespace rota
