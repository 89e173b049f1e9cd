// Limits of a request head.
#pragma once

#include <cstddef>

namespace file_server {

struct limits {
  std::size_t request_line = 4 * 1024;   // bytes, without CRLF; more: 414
  std::size_t header_bytes = 16 * 1024;  // all field lines with their CRLFs, and the blank line; more: 431
  std::size_t header_fields = 64;        // field lines; more: 431

  /// Returns the size of the longest request head that is accepted, with the one empty line that may stand
  /// before it.
  [[nodiscard]] constexpr std::size_t head_bytes() const noexcept {
    return 2 + request_line + 2 + header_bytes;
  }
};

/// Returns `wanted`. Throws std::invalid_argument, which names the field and its range.
limits checked(const limits& wanted);

/// The ranges that checked() accepts. The command line states the same ranges.
struct range {
  std::size_t least;
  std::size_t most;
};
inline constexpr range request_line_range{64, 64 * 1024};
inline constexpr range header_bytes_range{256, 1024 * 1024};
inline constexpr range header_fields_range{1, 1024};

}  // namespace file_server
