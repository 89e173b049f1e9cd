// How often a worker looks into the injector.
#pragma once

#include <algorithm>
#include <cstdint>

namespace rota::sched {

/// Every so many tasks that about a millisecond passes between two looks: short tasks, rare looks.
[[nodiscard]] constexpr std::uint32_t injector_interval(std::uint64_t average_nanoseconds) noexcept {
  constexpr std::uint64_t target = 1'000'000;
  return static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>(target / std::max<std::uint64_t>(average_nanoseconds, 1), 8, 255));
}

/// Exponentially weighted average of the time that a task takes: a tenth of the new, nine tenths of the old.
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
