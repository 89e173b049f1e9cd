// The controller that finds the number of threads with the best throughput. It contains no threads, clocks or
// locks.
#pragma once

#include "base/clock.hpp"

#include <cstdint>
#include <utility>

namespace rota::pool::detail {

// ALGORITHM: hill climbing
//   After J. L. Hellerstein, V. Morrison, E. Eilebrecht, "Applying Control Theory in the Real World:
//   Experience With Building a Controller for the .NET Thread Pool", SIGMETRICS Performance Evaluation Review
//   37(3), 2009: the number of threads is the control, the measured throughput is the only input, and a
//   change is kept if it pays. .NET since 4.0 modulates the number by a wave and correlates the throughput
//   with it (dotnet/runtime, PortableThreadPool.HillClimbing.cs). This controller does what the paper begins
//   with: it compares two settings.
//
//   One sample is taken each period, at one number of threads, the goal. A probe changes the goal by an
//   eighth, at least by one.
//
//   state    sample                                           next goal         next state
//   steady   not saturated: throughput is what is submitted   as it is          steady
//   probing  not saturated                                    where it began    steady
//   steady   saturated, and nothing has ended                 one step up       steady
//   probing  saturated, and nothing has ended                 one step up from  steady
//                                                             where it began
//   steady   pauses are left                                  as it is          steady, one pause less
//   steady   no pause is left: it is the reference            one step          probing
//   probing  better by more than the noise                    one step further  probing, it is the reference
//   probing  fewer threads, not worse by more than the noise  one step further  probing, reference stays
//   probing  anything else                                    back              steady, other direction next
//
//   H1  With equal throughput the smaller number wins. The reference stays while the goal goes down, so all
//       steps together lose no more than the noise.
//   H2  A probe that did not pay doubles the pauses before the next one, up to `longest_pause`. A probe that
//       paid makes them short again.
//   H3  The goal is within the bounds that come with the sample. If it had to be moved into them, the
//       controller restarts as steady.
//   H4  A probe changes the goal for good only if a sample follows. A probe without a sample, as at the end
//       of a batch, returns to where it began. Otherwise each short batch would move the goal one step on, up
//       to a bound, and no two settings would ever be compared.
class hill_climber {
 public:
  struct sample {
    std::uint64_t ended;     // jobs, in `span`
    base::nanoseconds span;  // positive
    bool is_saturated;       // a job waits for a thread
  };
  struct bounds {
    unsigned least;  // 1 .. most
    unsigned most;
  };
  static constexpr unsigned longest_pause = 32;  // samples

  /// `noise_percent`: changes of the throughput up to this many percent count as none.
  hill_climber(unsigned start, unsigned noise_percent) noexcept
      : goal_(start), noise_(noise_percent / 100.0) {}

  /// Returns the goal for the time until the next sample.
  unsigned next(const sample& now, bounds within) noexcept;
  [[nodiscard]] unsigned goal() const noexcept { return goal_; }
  /// Discards a probe: the goal returns to where the probe began. Called when earlier samples say nothing
  /// about the next ones.
  void forget() noexcept {
    if (std::exchange(is_probing_, false)) goal_ = home_;
  }

 private:
  unsigned probe(double reference, bounds within) noexcept;
  unsigned turn_back(bounds within) noexcept;
  [[nodiscard]] unsigned stepped(bool up, bounds within) const noexcept;

  unsigned goal_;
  const double noise_;
  unsigned home_ = 0;     // while it probes: where the probe began
  double reference_ = 0;  // jobs in a nanosecond there
  bool is_probing_ = false;
  bool goes_up_ = true;  // the direction of the next probe
  unsigned pauses_ = 0;  // samples until the next probe
  unsigned next_pause_ = 1;
};

/// Makes samples of a count of ends. The caller reads the count and calls take() in one critical section.
/// Otherwise a count that was read before another sample would be compared with that sample.
class end_sampler {
 public:
  explicit end_sampler(base::nanoseconds period) noexcept : period_(period) {}

  /// Starts: ends before this call are in no sample.
  void begin(std::uint64_t ended, base::time_point at) noexcept {
    ended_ = ended;
    at_ = at;
  }
  /// Takes a sample. Returns false, and changes nothing, if less than half a period has passed since the last
  /// sample or begin(). Reason: a timer may be late, even by a whole batch, and a sample of a very short span
  /// would say that no job ended.
  [[nodiscard]] bool take(std::uint64_t ended, base::time_point at, hill_climber::sample& into) noexcept;
  [[nodiscard]] base::time_point next() const noexcept { return at_ + period_; }

 private:
  const base::nanoseconds period_;  // at most a minute
  std::uint64_t ended_ = 0;         // at the last sample
  base::time_point at_{};
};

}  // namespace rota::pool::detail
