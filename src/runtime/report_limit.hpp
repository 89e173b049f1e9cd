// Limits how many lines a minute a runtime writes about one kind of problem.
#pragma once

#include "base/clock.hpp"
#include "base/mutex.hpp"

namespace rota::detail {

class report_limit {
 public:
  static constexpr unsigned per_minute = 5;

  explicit report_limit(unsigned most = per_minute) noexcept : most_(most) {}

  /// Returns true if one more line may be written. Any thread.
  [[nodiscard]] bool admits(base::time_point now) noexcept {
    const base::lock_guard lock(mutex_);
    if (written_ == 0 || now - minute_ >= std::chrono::minutes(1)) {
      minute_ = now;
      written_ = 0;
    }
    if (written_ == most_) return false;
    ++written_;
    return true;
  }

 private:
  const unsigned most_;  // a minute
  base::mutex mutex_;
  base::time_point minute_{};
  unsigned written_ = 0;
};

}  // namespace rota::detail
