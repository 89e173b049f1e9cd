// Formats the line of progress.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tree_hash/counts.hpp"

namespace tree_hash {

/// Formats a size: "900 B", "1.5 KiB", "12.0 GiB".
[[nodiscard]] std::string size_text(std::uint64_t bytes);

/// Returns at most `width` columns. Text that does not fit is cut off at the right; a bar fills the free
/// columns.
[[nodiscard]] std::string progress_line(const tally& t, std::uint64_t bytes_per_second, std::size_t width);

/// Measures bytes per second, smoothed: the last second counts for half.
class rate_meter {
 public:
  using time_point = std::chrono::steady_clock::time_point;

  explicit rate_meter(time_point begin) noexcept : last_(begin) {}
  [[nodiscard]] std::uint64_t at(time_point now, std::uint64_t bytes) noexcept;

 private:
  time_point last_;
  std::uint64_t bytes_ = 0;
  double rate_ = -1;  // none yet
};

}  // namespace tree_hash
