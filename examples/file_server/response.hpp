// Answers as bytes: the head, and small bodies, in a buffer of the caller.
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

/// Room for every head that write_head() writes, except for its Location.
inline constexpr std::size_t head_capacity = 768;

/// Which part of how much: Content-Range.
struct content_range {
  std::optional<byte_range> part{};  // none: what was asked for is not there (416)
  std::uint64_t whole = 0;
};

struct response {
  status code = status::ok;
  std::string_view type{};   // Content-Type
  std::uint64_t length = 0;  // Content-Length: that of the body, also where HEAD leaves it out
  std::optional<std::int64_t> last_modified{};  // seconds since 1970
  std::string_view tag{};                       // ETag
  coding encoding = coding::identity;
  bool varies = false;     // by Accept-Encoding
  bool is_ranged = false;  // Accept-Ranges: bytes
  std::optional<content_range> range{};
  std::string_view location{};  // a path, whose last slash write_head() adds
  std::string_view query{};     // of the location
  std::string_view policy{};    // Content-Security-Policy
  persistence connection = persistence::close;
  http_version version =
      http_version::v1_1;  // of the request: HTTP/1.0 must be told that the connection stays
};

/// "bytes 0-4/10", "bytes */10": RFC 9110 §14.4.
void add_content_range(text_writer& w, const content_range& range) noexcept;

/// Writes the status line, the fields and the blank line. Returns their size; 0 if `out` is too small. `date` is the text of
/// `now`. A 304 has only what RFC 9110 §15.4.5 asks for.
[[nodiscard]] std::size_t write_head(std::span<char> out,
                                     const response& r,
                                     std::int64_t now,
                                     std::string_view date) noexcept;

/// The text of the body of an error, such as "404 Not Found\n", in `out`. Returns its size; 0 if `out` is too
/// small.
[[nodiscard]] std::size_t write_error_body(std::span<char> out, status code) noexcept;

}  // namespace file_server
