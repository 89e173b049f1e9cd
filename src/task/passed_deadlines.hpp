// The deadlines of one clock that a task has acted upon.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"

namespace rota::core {

// PROTOCOL: one deadline that holds for several tasks
//   Tasks inherit a deadline, and each has its own timer for it. Timers fire in any order. The bad
//   interleaving:
//     1. T awaits U; both have the deadline D. D passes, and U's timer fires first.
//     2. U is cancelled, unwinds, and ends; or it drops the sender of a channel that T receives from.
//     3. T finds that U was cancelled, or that the channel has ended, and goes on as if only U were
//        concerned.
//
//   Why it cannot happen: a thread that acts on a deadline notes the time first (note). A task that has seen
//   an end asks, before it goes on, whether the times noted include its own deadline (include). At step 3
//   they do, and T is unwound for D.
//
//   latest_   the greatest time that was noted: every deadline that is not later has passed. It only grows.
//
//   P1  note() happens before every effect of the deadline. A task that has seen such an effect reads this
//       time, or a later one, by the coherence of one variable. So relaxed is enough.
//   P2  include() returns true only for deadlines that have passed by the clock. So no task is stopped too
//       early.
class passed_deadlines {
 public:
  constexpr passed_deadlines() noexcept : latest_(base::time_point::min().time_since_epoch().count()) {}

  /// Notes that the time `now` has come. `now` was read from the clock.
  void note(base::time_point now) noexcept {
    const base::nanoseconds::rep time = now.time_since_epoch().count();
    // relaxed: see P1.
    base::nanoseconds::rep seen = latest_.load(base::order::relaxed);
    // relaxed, failure: relaxed: see P1.
    while (seen < time &&
           !latest_.compare_exchange_weak(seen, time, base::order::relaxed, base::order::relaxed)) {
    }
  }
  [[nodiscard]] bool include(base::time_point deadline) const noexcept {
    // relaxed: see P1.
    return deadline.time_since_epoch().count() <= latest_.load(base::order::relaxed);
  }

 private:
  base::atomic<base::nanoseconds::rep> latest_;
};

/// The deadlines of the machine's steady clock, for all runtimes of the process: a task of one may await a
/// task of another.
inline constinit passed_deadlines passed_on_steady_clock;

}  // namespace rota::core
