#include "pool/hill_climber.hpp"

#include <algorithm>

namespace rota::pool::detail {

unsigned hill_climber::next(const sample& now, bounds within) noexcept {
  const auto begin_again = [&] {
    forget();
    return goal_ = std::clamp(goal_, within.least, within.most);
  };
  if (goal_ < within.least || goal_ > within.most) return begin_again();
  if (!now.is_saturated || now.span <= base::nanoseconds(0)) return begin_again();
  if (now.ended == 0) {
    begin_again();
    return goal_ = stepped(true, within);
  }
  const double rate = static_cast<double>(now.ended) / static_cast<double>(now.span.count());
  if (!is_probing_) {
    if (pauses_ == 0) return probe(rate, within);
    --pauses_;
    return goal_;
  }
  const double gain = (rate - reference_) / reference_;
  const bool pays = gain > noise_;
  if (!pays && (goal_ > home_ || gain < -noise_)) return turn_back(within);
  next_pause_ = 1;
  return probe(pays ? rate : reference_, within);
}

/// Takes one step from here; at a bound, in the other direction.
unsigned hill_climber::probe(double reference, bounds within) noexcept {
  if (stepped(goes_up_, within) == goal_) goes_up_ = !goes_up_;
  home_ = goal_;
  reference_ = reference;
  goal_ = stepped(goes_up_, within);
  is_probing_ = goal_ != home_;
  return goal_;
}

/// Ends a probe that did not pay. The bounds may have changed since it began.
unsigned hill_climber::turn_back(bounds within) noexcept {
  forget();
  goal_ = std::clamp(goal_, within.least, within.most);
  goes_up_ = !goes_up_;
  pauses_ = next_pause_;
  next_pause_ = std::min(2 * next_pause_, longest_pause);
  return goal_;
}

unsigned hill_climber::stepped(bool up, bounds within) const noexcept {
  const unsigned step = std::max(1U, goal_ / 8);
  if (up) return within.most - goal_ < step ? within.most : goal_ + step;
  return goal_ - within.least < step ? within.least : goal_ - step;
}

bool end_sampler::take(std::uint64_t ended, base::time_point at, hill_climber::sample& into) noexcept {
  if (at - at_ < period_ / 2) return false;
  // A job counts as ended before its last step. If that step does not apply, it is counted down again: see
  // end_at_once().
  into.ended = ended > ended_ ? ended - ended_ : 0;
  into.span = at - at_;
  begin(std::max(ended, ended_), at);
  return true;
}

}  // namespace rota::pool::detail
