// Waiting for time to pass. This header includes timeout.hpp, which limits how long something may take.
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
#include <rota/timeout.hpp>

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

  /// Sets the time for the next co_await of this object. Do not call it while the task sleeps in it.
  template <core::span_of_time Span>
  void reset(Span span) noexcept {
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
/// Failure       Never fails, and never ends early. A span of zero or less yields to the other tasks once. A
///               span that the clock cannot represent, such as hours::max(), lasts until the task is
///               cancelled. Fractions of a nanosecond are rounded up.
/// Cost          No allocation. One timer is armed. It fires, or is disarmed in O(1) if the task is
///               cancelled.
/// Example       examples/timeout.cpp
template <core::span_of_time Span>
core::sleep_leaf sleep_for(Span span) noexcept {
  return core::sleep_leaf(detail::saturating_span(span));
}

/// Suspends the task until `time` of the steady clock. With time_point::max() it lasts until the task is
/// cancelled. In all else like sleep_for.
template <class Duration>
core::sleep_leaf sleep_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
  return core::sleep_leaf(detail::saturating_deadline(time));
}

/// What an interval does about ticks that were due while no task awaited them.
enum class missed_tick : unsigned char {
  burst,  // all of them come, one after the other without a pause
  skip,   // none of them comes; the next tick is the first one of the original schedule in the future
  delay,  // none of them comes; the next tick is a full period from now: the schedule moves
};

/// Ticks at regular distances. The first tick comes one period after the first call of `tick` or `try_tick`,
/// or at the time that the constructor or `reset_at` names.
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
/// Cost          No allocation. A tick that waits costs as much as a sleep. A tick that is due already costs
///               two reads of the clock.
/// Example       examples/timeout.cpp
class ROTA_API interval {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  template <core::span_of_time Span>
  explicit interval(Span period, missed_tick policy = missed_tick::burst)
      : interval(checked, detail::saturating_span(period), policy) {}

  /// The first tick comes at `first`. If that time has passed, the first tick is due at once, and the policy
  /// decides about the ticks that were due since then. With time_point::max() no tick ever comes.
  template <class Duration, core::span_of_time Span>
  interval(std::chrono::time_point<std::chrono::steady_clock, Duration> first,
           Span period,
           missed_tick policy = missed_tick::burst)
      : interval(checked, detail::saturating_span(period), policy) {
    reset_at(first);
  }

  class ROTA_DETAIL_AWAIT_IT ROTA_API tick_leaf final : public core::timer_leaf {
   public:
    explicit tick_leaf(interval& owner) noexcept : owner_(&owner) {}

    [[nodiscard]] const char* what() const noexcept override { return "interval"; }
    /// Returns the time for which this tick was scheduled.
    time_point await_resume() noexcept;

   protected:
    bool start() override;

   private:
    interval* owner_;
  };

  /// Awaits the next tick, and returns the time for which it was scheduled: never later than now. If the wait
  /// is cancelled, the tick is not used up.
  tick_leaf tick() noexcept { return tick_leaf(*this); }

  /// Takes the next tick if it is due now, and returns the time for which it was scheduled. Otherwise no tick
  /// is used up, and the error says how long it is until the next one. The first call begins the schedule, as
  /// `tick` does. Reads the clock of the calling task, which a test may have replaced; outside of tasks the
  /// steady clock.
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
  /// Takes the tick that is due at `now`. Returns the time for which it was scheduled.
  time_point take_tick(time_point now) noexcept;

  std::chrono::nanoseconds period_;
  time_point next_{};
  missed_tick policy_;
  bool has_begun_ = false;
  bool is_due_ = false;  // the next tick, regardless of next_
};

}  // namespace rota
