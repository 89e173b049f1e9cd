// How long one worker has been in one poll, and what its thread did meanwhile.
#pragma once

#include "base/thread.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

namespace rota::detail {

/// The watchdog has one of these for each worker and one for each slot of `outside_polls`; only the watchdog
/// uses it. The time in which the thread computed or was blocked in a system call counts. The time in which
/// the thread was ready, but other threads had the processor, does not count.
class poll_watch {
 public:
  poll_watch() = default;
  poll_watch(std::uint64_t stamp, base::time_point now) noexcept : stamp_(stamp), since_(now), looked_(now) {}

  [[nodiscard]] std::uint64_t stamp() const noexcept { return stamp_; }
  [[nodiscard]] base::nanoseconds age(base::time_point now) const noexcept { return now - since_; }
  [[nodiscard]] base::nanoseconds computed() const noexcept { return computed_; }
  [[nodiscard]] base::nanoseconds blocked() const noexcept { return blocked_; }

  /// Adds the time of `thread` since the last check. After the first line was due, checks may be far apart,
  /// and the amount no longer decides when a line is due: all time without computation then counts as blocked
  /// if the thread is blocked now.
  /// `longest_step`: a thread that was found blocked counts as blocked for at most this time between two
  /// checks.
  void measure(std::uint64_t thread, base::time_point now, base::nanoseconds longest_step) noexcept {
    const base::nanoseconds step = now - looked_;
    looked_ = now;
    const std::optional<base::nanoseconds> before =
        std::exchange(processor_, base::processor_time_of(thread));
    if (!processor_.has_value()) {
      computed_ += step;  // the system does not measure it: use the wall clock
      return;
    }
    // At the first check nothing is known of the time before, which is short.
    if (!before.has_value()) {
      computed_ += std::min(step, longest_step);
      return;
    }
    const base::nanoseconds used = std::clamp(*processor_ - *before, base::nanoseconds(0), step);
    computed_ += used;
    const base::nanoseconds rest = step - used;
    if (rest > used && base::state_of_thread(thread) == base::thread_state::blocked)
      blocked_ += task_ == 0 ? std::min(rest, longest_step) : rest;
  }
  /// Called when the poll has ended: adds what `thread` has computed since the last check, if the thread
  /// still exists.
  void measure_end(std::uint64_t thread, base::time_point now) noexcept {
    const std::optional<base::nanoseconds> used = base::processor_time_of(thread);
    if (!processor_.has_value() || !used.has_value()) return;
    computed_ += std::clamp(*used - *processor_, base::nanoseconds(0), now - looked_);
  }

  /// Returns true if a line is due. The first is due after `patience` of counted time, the others by the wall
  /// clock: after 0.25, 1 and 10 s, then every 10 s.
  [[nodiscard]] bool is_due(base::time_point now, base::nanoseconds patience) const noexcept {
    return task_ == 0 ? computed_ + blocked_ >= patience : age(now) >= next_line_;
  }
  /// Records that a line was due, about `task`. Returns true if it is the first of this poll.
  bool note_due(std::uint64_t task, base::time_point now) noexcept {
    next_line_ = line_after(age(now));
    return std::exchange(task_, task) == 0;
  }
  /// Returns when the next line is due. Call it after note_due().
  [[nodiscard]] base::time_point next_line() const noexcept { return since_ + next_line_; }
  /// Returns the task of the last due line; 0: there was none.
  [[nodiscard]] std::uint64_t task() const noexcept { return task_; }

 private:
  static base::nanoseconds line_after(base::nanoseconds age) noexcept {
    using namespace std::chrono_literals;
    for (const base::nanoseconds each :
         {base::nanoseconds(250ms), base::nanoseconds(1s), base::nanoseconds(10s)})
      if (age < each) return each;
    return age + 10s;
  }

  std::uint64_t stamp_ = 0;
  base::time_point since_{};
  base::time_point looked_{};
  std::optional<base::nanoseconds> processor_;  // processor time of the thread at the last check
  base::nanoseconds computed_{0};
  base::nanoseconds blocked_{0};
  std::uint64_t task_ = 0;
  base::nanoseconds next_line_{0};
};

}  // namespace rota::detail
