// A line of the access log, in the Common Log Format:
//
//   192.0.2.1 - - [20/Nov/2026:08:49:37 +0000] "GET /a.txt HTTP/1.1" 200 1024
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "file_server/status.hpp"

namespace file_server {

struct log_entry {
  std::string_view client{};        // an address
  std::string_view request_line{};  // as received
  std::int64_t time = 0;            // seconds since 1970
  status code = status::ok;
  std::uint64_t bytes = 0;  // of the body
};

/// A longer request line is cut and ends with "...".
inline constexpr std::size_t longest_logged_request = 2048;
/// The space that every line fits into.
inline constexpr std::size_t log_line_capacity = 4 * longest_logged_request + 256;

/// Writes the line with its line feed, and returns its size. In the request line, quotes, backslashes,
/// control characters and non-ASCII bytes become \xHH. So a client can neither forge a line nor send escape
/// sequences to a terminal that shows the log.
[[nodiscard]] std::size_t write_log_line(std::span<char, log_line_capacity> out, const log_entry& e) noexcept;

}  // namespace file_server
