// The schedule of an interval, as a pure function, so that a test can try every case.
#pragma once

#include "base/clock.hpp"

#include <rota/detail/deadline.hpp>
#include <rota/time.hpp>

#include <cstdint>

namespace rota::timing {

/// Returns the time at which the tick after `scheduled` is due, if that one was taken at `now`. `scheduled`
/// is not later than `now`, and `period` is above zero.
[[nodiscard]] constexpr base::time_point next_tick(base::time_point scheduled,
                                                   base::time_point now,
                                                   base::nanoseconds period,
                                                   missed_tick policy) noexcept {
  const base::time_point following = detail::saturating_deadline(scheduled, period);
  if (policy == missed_tick::burst || following > now) return following;
  if (policy == missed_tick::delay) return detail::saturating_deadline(now, period);
  // `scheduled` may be as early as time_point::min(): the difference needs more bits than a duration has.
  const detail::wide_int late =
      static_cast<detail::wide_int>(now.time_since_epoch().count()) - scheduled.time_since_epoch().count();
  const base::nanoseconds since_tick(static_cast<std::int64_t>(late % period.count()));
  return detail::saturating_deadline(now, period - since_tick);
}

}  // namespace rota::timing
