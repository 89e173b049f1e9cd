// A timer in a coroutine's frame.
#pragma once

#include <cstddef>

#include <rota/detail/activation.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/waker.hpp>

namespace rota::timing {

/// Memory for a timer, of which only src/time knows the type. Only the thread that runs the task, and the
/// shard that the timer is armed on, touch it.
class ROTA_API task_timer {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  task_timer() noexcept {}
  task_timer(const task_timer&) = delete;
  task_timer& operator=(const task_timer&) = delete;
  ~task_timer() {
    if (is_used_) destroy();
  }

  /// Arms the timer: it wakes `due` when the clock of the task's scheduler has reached `at`. An armed timer
  /// is replaced.
  void arm(core::activation& task, time_point at, waker due) noexcept;
  /// Returns true if the timer was ever armed.
  [[nodiscard]] bool is_used() const noexcept { return is_used_; }
  /// Returns true if its waker was woken, or is about to be. No other thread touches the timer any more.
  [[nodiscard]] bool has_fired() const noexcept;
  /// Disarms the timer. Afterwards no other thread touches it. A wake may still be in flight.
  void disarm() noexcept;

 private:
  static constexpr std::size_t room = 64;

  void destroy() noexcept;

  alignas(8) std::byte node_[room];
  bool is_used_ = false;
};

/// Returns the time of the clock of the task's scheduler.
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point now_for(core::activation& task) noexcept;

}  // namespace rota::timing
