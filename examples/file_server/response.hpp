// Answers as bytes: the head, and small bodies, in a buffer of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "file_server/request.hpp"
#include "file_server/status.hpp"

namespace file_server {

/// Room for every head that write_head() writes.
inline constexpr std::size_t head_capacity = 512;

struct response {
  status code = status::ok;
  std::string_view type{};   // Content-Type
  std::uint64_t length = 0;  // Content-Length: that of the body, also where HEAD leaves it out
  std::optional<std::int64_t> last_modified{};  // seconds since 1970
  persistence connection = persistence::close;
  http_version version =
      http_version::v1_1;  // of the request: HTTP/1.0 must be told that the connection stays
};

/// Writes the status line, the fields and the blank line. Returns their size; 0 if `out` is too small.
/// `date` is the text of `now`.
[[nodiscard]] std::size_t write_head(std::span<char> out,
                                     const response& r,
                                     std::int64_t now,
                                     std::string_view date) noexcept;

/// The text of the body of an error, such as "404 Not Found\n", in `out`. Returns its size; 0 if `out` is too
/// small.
[[nodiscard]] std::size_t write_error_body(std::span<char> out, status code) noexcept;

}  // namespace file_server
