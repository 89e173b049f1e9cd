// A timer in a coroutine's frame.
#pragma once

#include <cstddef>

#include <rota/detail/activation.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/waker.hpp>

namespace rota::timing {

/// Room for a timer; what lies in it is known to src/time alone. Only the thread that runs the task touches
/// it, and the shard that it is armed on.
class ROTA_API task_timer {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  task_timer() noexcept {}
  task_timer(const task_timer&) = delete;
  task_timer& operator=(const task_timer&) = delete;
  ~task_timer() {
    if (is_used_) destroy();
  }

  /// Wakes `due` when the time of the task's scheduler has come to `at`. An armed timer is replaced.
  void arm(core::activation& task, time_point at, waker due) noexcept;
  /// It was armed once.
  [[nodiscard]] bool is_used() const noexcept { return is_used_; }
  /// Its waker was woken, or is about to be; nobody touches the timer any more.
  [[nodiscard]] bool has_fired() const noexcept;
  /// Afterwards nobody touches it. A wake may still be on its way.
  void disarm() noexcept;

 private:
  static constexpr std::size_t room = 64;

  void destroy() noexcept;

  alignas(8) std::byte node_[room];
  bool is_used_ = false;
};

/// The time as the task's scheduler sees it.
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point now_for(core::activation& task) noexcept;

}  // namespace rota::timing
