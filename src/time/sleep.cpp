#include <rota/time.hpp>

#include "task/header.hpp"
#include "time/tick.hpp"

#include <stdexcept>
#include <string>

namespace rota {

namespace core {

void timer_leaf::wait_until(base::time_point at) noexcept {
  waits_for_ = at == base::never ? event::cancellation : event::the_timer;
  if (waits_for_ == event::the_timer) timer_.arm(task(), at, make_waker());
}

bool timer_leaf::is_ready() noexcept {
  return waits_for_ == event::none || (waits_for_ == event::the_timer && timer_.has_fired());
}

cancel_progress timer_leaf::try_cancel(cancel_reason /*reason*/) noexcept {
  timer_.disarm();
  return cancel_progress::ended;
}

bool sleep_leaf::start() {
  const base::time_point now = timing::now_for(task());
  const base::time_point until =
      is_relative_ ? detail::saturating_deadline(now, when_) : base::time_point(when_);
  if (until > now) {
    wait_until(until);
  } else {
    wait_for_nothing();
    task().why = stop_reason::yield;
  }
  return false;
}

}  // namespace core

interval::interval(check, std::chrono::nanoseconds period, missed_tick policy)
    : period_(period), policy_(policy) {
  if (period_.count() > 0) return;
  throw std::invalid_argument("rota::interval: period is " + std::to_string(period_.count()) +
                              " ns, must be at least 1 ns");
}

bool interval::is_due_at(time_point now) noexcept {
  if (!has_begun_) next_ = detail::saturating_deadline(now, period_);
  if (is_due_) next_ = now;
  has_begun_ = true;
  return next_ <= now;
}

base::time_point interval::take_tick(time_point now) noexcept {
  const base::time_point scheduled = next_;
  is_due_ = false;
  next_ = timing::next_tick(scheduled, now, period_, policy_);
  return scheduled;
}

std::expected<base::time_point, base::nanoseconds> interval::try_tick() noexcept {
  core::header* const me = core::current_task();
  const base::time_point now = me != nullptr ? timing::now_for(*me) : base::now();
  if (!is_due_at(now)) return std::unexpected(next_ - now);
  return take_tick(now);
}

bool interval::tick_leaf::start() {
  if (!owner_->is_due_at(timing::now_for(task()))) {
    wait_until(owner_->next_);
    return false;
  }
  wait_for_nothing();
  return true;
}

base::time_point interval::tick_leaf::await_resume() noexcept {
  return owner_->take_tick(timing::now_for(task()));
}

}  // namespace rota
