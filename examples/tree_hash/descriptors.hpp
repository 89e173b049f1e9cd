// Limits on open descriptors.
#pragma once

#include <cstdint>
#include <optional>

namespace tree_hash {

/// Descriptors for other uses than files and directories: the runtime, the standard streams, and the
/// short-lived one of reading a directory.
inline constexpr std::uint64_t descriptors_beside = 24;
inline constexpr unsigned fewest_directories = 8;
inline constexpr unsigned most_directories = 256;

/// Returns how many directories may be open beside `threads` files, with `limit` descriptors. Returns nullopt
/// if the limit is too low.
[[nodiscard]] constexpr std::optional<unsigned> directories_within(std::uint64_t limit,
                                                                   unsigned threads) noexcept {
  const std::uint64_t others = descriptors_beside + threads;
  if (limit < others + fewest_directories) return std::nullopt;
  const std::uint64_t rest = limit - others;
  return rest < most_directories ? static_cast<unsigned>(rest) : most_directories;
}

/// Returns the soft limit of this process.
[[nodiscard]] std::uint64_t descriptor_limit() noexcept;

}  // namespace tree_hash
