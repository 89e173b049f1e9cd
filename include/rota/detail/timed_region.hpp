// The common part of shields and deadlines: a stretch of a task with a time at which it ends.
#pragma once

#include <rota/detail/activation.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/detail/task_timer.hpp>

namespace rota::core {

/// Maintains the task's deadline (`header::deadline`) inside of this region. Inside of a deadline it is the
/// earlier of the two. Inside of a shield it is the later one, since a shield holds off the deadlines around
/// it until its own limit.
///
/// A timer is armed only when the task is about to wait and the region would have to end that wait. Most
/// regions end without a wait and cost no timer.
class ROTA_API timed_region : public region {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  [[nodiscard]] bool passed() noexcept final;
  void watch() noexcept final;
  [[nodiscard]] timed_region* as_timed() noexcept final { return this; }
  [[nodiscard]] time_point at() const noexcept { return at_; }
  /// The deadline of what is around this region.
  [[nodiscard]] time_point deadline_outside() const noexcept { return deadline_outside_; }

 protected:
  explicit timed_region(kind k) noexcept : region(k) {}
  /// Ends the region if it is in force.
  ~timed_region();

  void enter(activation& task, promise_base* frame, time_point at) noexcept;
  void leave() noexcept;
  /// Continues in place of `from`.
  void take_over(timed_region& from) noexcept;

 private:
  /// Returns the deadline inside of this region, if `outside` is the one around it.
  [[nodiscard]] time_point inside_of(time_point outside) const noexcept;

  time_point at_{};
  time_point deadline_outside_{};
  timing::task_timer timer_;
  bool armed_ = false;  // for the region in force now; the timer itself may be that of an earlier one
};

}  // namespace rota::core
