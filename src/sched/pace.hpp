// How often a worker polls the injector.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rota::sched {

/// Returns the number of tasks between two polls of the injector so that about a millisecond passes: the
/// shorter the tasks, the more of them.
[[nodiscard]] constexpr std::uint32_t injector_interval(std::uint64_t average_nanoseconds) noexcept {
  constexpr std::uint64_t target = 1'000'000;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(target / std::max<std::uint64_t>(average_nanoseconds, 1), 8, 255));
}

/// Exponentially weighted average of the time of a task: a tenth of the new value, nine tenths of the old.
class pace {
 public:
  void measured(std::uint64_t nanoseconds, std::uint32_t tasks) noexcept {
    if (tasks == 0) return;
    average_ = (nanoseconds / tasks + 9 * average_) / 10;
    interval_ = injector_interval(average_);
  }
  [[nodiscard]] std::uint64_t average() const noexcept { return average_; }
  [[nodiscard]] std::uint32_t interval() const noexcept { return interval_; }

 private:
  std::uint64_t average_ = 50'000;
  std::uint32_t interval_ = injector_interval(50'000);
};

}  // namespace rota::sched
