// How many descriptors may be open at a time.
#pragma once

#include <cstdint>
#include <optional>

namespace tree_hash {

/// Beside files and directories: the runtime's, the standard streams, what a read of a directory needs for a moment.
inline constexpr std::uint64_t descriptors_beside = 24;
inline constexpr unsigned fewest_directories = 8;
inline constexpr unsigned most_directories = 256;

/// How many directories may be open when `threads` files are, with `limit` descriptors. Nothing: the limit is too low.
[[nodiscard]] constexpr std::optional<unsigned> directories_within(std::uint64_t limit,
                                                                   unsigned threads) noexcept {
  const std::uint64_t others = descriptors_beside + threads;
  if (limit < others + fewest_directories) return std::nullopt;
  const std::uint64_t rest = limit - others;
  return rest < most_directories ? static_cast<unsigned>(rest) : most_directories;
}

/// Of this process: the soft limit.
[[nodiscard]] std::uint64_t descriptor_limit() noexcept;

}  // namespace tree_hash
