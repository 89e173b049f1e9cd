// Formats answers: the head, and small bodies, in a buffer of the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "file_server/byte_ranges.hpp"
#include "file_server/encoding.hpp"
#include "file_server/request.hpp"
#include "file_server/status.hpp"
#include "file_server/text_writer.hpp"

namespace file_server {

/// The space that every head of write_head() fits into, without its Location.
inline constexpr std::size_t head_capacity = 768;

/// The value of Content-Range: the part, and the size of the whole.
struct content_range {
  std::optional<byte_range> part{};  // none: the requested range does not exist (416)
  std::uint64_t whole = 0;
};

struct response {
  status code = status::ok;
  std::string_view type{};   // Content-Type
  std::uint64_t length = 0;  // Content-Length: that of the body, also if HEAD omits the body
  std::optional<std::int64_t> last_modified{};  // seconds since 1970
  std::string_view tag{};                       // ETag
  coding encoding = coding::identity;
  bool varies = false;     // Vary: Accept-Encoding
  bool is_ranged = false;  // Accept-Ranges: bytes
  std::optional<content_range> range{};
  std::string_view location{};  // a path; write_head() adds the last slash
  std::string_view query{};     // of the location
  std::string_view policy{};    // Content-Security-Policy
  persistence connection = persistence::close;
  http_version version =
      http_version::v1_1;  // of the request: HTTP/1.0 must be told that the connection stays open
};

/// "bytes 0-4/10", "bytes */10": RFC 9110 §14.4.
void add_content_range(text_writer& w, const content_range& range) noexcept;

/// Writes the status line, the fields and the blank line. Returns the size; 0 if `out` is too small. `date`
/// is the text of `now`. A 304 has only the fields that RFC 9110 §15.4.5 asks for.
[[nodiscard]] std::size_t write_head(std::span<char> out,
                                     const response& r,
                                     std::int64_t now,
                                     std::string_view date) noexcept;

/// Writes the body of an error, such as "404 Not Found\n", into `out`. Returns its size; 0 if `out` is too
/// small.
[[nodiscard]] std::size_t write_error_body(std::span<char> out, status code) noexcept;

}  // namespace file_server
