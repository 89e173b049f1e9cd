#include "tree_hash/progress_line.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

namespace tree_hash {
namespace {

constexpr std::size_t shortest_bar = 10;
constexpr std::size_t longest_bar = 40;

/// The counters are read one after the other, so the done count may exceed the found count.
unsigned percent_of(const tally& t) noexcept {
  if (t.bytes_found == 0) return t.files_found == t.files_done ? 100 : 0;
  const double part = static_cast<double>(t.bytes_done) / static_cast<double>(t.bytes_found);
  return static_cast<unsigned>(std::min(part, 1.0) * 100);
}

std::string bar_text(unsigned percent, std::size_t cells) {
  const std::size_t full = cells * percent / 100;
  return " [" + std::string(full, '#') + std::string(cells - full, '.') + "]";
}

}  // namespace

std::string size_text(std::uint64_t bytes) {
  constexpr std::array units{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // Not 1024: 1023.96 would be printed as 1024.0.
  while (value >= 1023.95 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  const int length = std::snprintf(text.data(), text.size(), "%.1f %s", value, units[unit]);
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string progress_line(const tally& t, std::uint64_t bytes_per_second, std::size_t width) {
  const unsigned percent = percent_of(t);
  std::string line = std::to_string(percent) + "%  ";
  line.insert(0, line.size() < 6 ? 6 - line.size() : 0, ' ');
  line += std::to_string(t.files_done) + "/" + std::to_string(t.files_found) + " files  ";
  line +=
      size_text(t.bytes_done) + "/" + size_text(t.bytes_found) + "  " + size_text(bytes_per_second) + "/s";
  const std::size_t frame = 3;
  if (line.size() + frame + shortest_bar <= width) {
    line += bar_text(percent, std::min(width - line.size() - frame, longest_bar));
  }
  line.resize(std::min(line.size(), width));
  return line;
}

std::uint64_t rate_meter::at(time_point now, std::uint64_t bytes) noexcept {
  const double seconds = std::chrono::duration<double>(now - last_).count();
  if (seconds <= 0) return rate_ < 0 ? 0 : static_cast<std::uint64_t>(rate_);
  const double latest = bytes < bytes_ ? 0 : static_cast<double>(bytes - bytes_) / seconds;
  const double weight = 1 - std::exp2(-seconds);
  rate_ = rate_ < 0 ? latest : rate_ + weight * (latest - rate_);
  last_ = now;
  bytes_ = bytes;
  return static_cast<std::uint64_t>(rate_);
}

}  // namespace tree_hash
