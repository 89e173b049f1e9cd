// Turns a request into the bytes and the file that answer it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "file_server/byte_ranges.hpp"
#include "file_server/conditions.hpp"
#include "file_server/file_source.hpp"
#include "file_server/http_date.hpp"
#include "file_server/multipart.hpp"
#include "file_server/request_parser.hpp"
#include "file_server/response.hpp"

namespace file_server {

/// listing: nothing has been written yet. The caller must read the folder, which blocks, and then call page()
/// or error().
enum class next_step : std::uint8_t { send, listing };

/// What to send: `bytes` bytes of the buffer, then each of `parts` of the file. If `around` is set, its text
/// goes before each part and behind the last. Then, by `connection`, the caller reads on or closes; the head
/// tells the client which.
struct [[nodiscard]] answer {
  status code = status::ok;
  std::size_t bytes = 0;
  persistence connection = persistence::close;
  next_step step = next_step::send;
  std::uint64_t body = 0;  // bytes, for the log; 0 for HEAD
  opened_file file{};
  std::span<const byte_range> parts{};  // these two belong to the responder, until its next answer
  const multipart* around = nullptr;
};

enum class route : std::uint8_t { file, stats };

[[nodiscard]] constexpr route route_of(const request& r) noexcept {
  return r.path == "/-/stats" ? route::stats : route::file;
}

/// Writes answers. One per connection.
///
/// Every function writes to the front of `out`, which must hold at least answer_capacity bytes (text:
/// head_capacity and the text; refusal: refusal_capacity). Several answers to pipelined requests may be put
/// behind each other. `now` is in seconds since 1970. `offered` is `close` while the server drains: then the
/// answer tells the client that the connection closes, whatever it has asked for.
/// `close` when the server drains: the client is then told, whatever it asked for.
///
/// Threads    One at a time.
/// Failure    Never throws. A problem with a file becomes an error answer.
class responder {
 public:
  /// A redirect with a longer path and query is not sent as a Location: 414.
  static constexpr std::size_t longest_location = std::size_t{12} * 1024;
  /// The capacity for refusal().
  static constexpr std::size_t refusal_capacity = head_capacity + 64;
  static constexpr std::size_t answer_capacity = refusal_capacity + longest_location;

  explicit responder(const file_source& files) noexcept : files_(&files) {}

  /// Opens the file that `r` names and answers GET or HEAD: conditions, ranges, codings, redirects.
  answer file(const request& r, persistence offered, std::int64_t now, std::span<char> out) noexcept;

  /// Answers with `body` of media type `type`.
  answer text(const request& r,
              std::string_view type,
              std::string_view body,
              persistence offered,
              std::int64_t now,
              std::span<char> out) noexcept;

  /// Writes the head of an HTML page of `size` bytes, which the caller sends after it.
  answer page(const request& r,
              std::size_t size,
              persistence offered,
              std::int64_t now,
              std::span<char> out) noexcept;

  /// Answers a request for a folder that could not be read.
  answer error(
      const request& r, status code, persistence offered, std::int64_t now, std::span<char> out) noexcept;

  /// Answers a request that the parser has refused, a deadline (408) or a connection above the limit (503).
  /// Always closes.
  answer refusal(status code, body_rule body, std::int64_t now, std::span<char> out) noexcept;

 private:
  answer representation(
      const request& r, response head, opened_file file, std::int64_t now, std::span<char> out) noexcept;
  void choose_parts(const request& r,
                    response& head,
                    const opened_file& file,
                    const validators& v,
                    std::int64_t now) noexcept;
  void take_several(response& head, const opened_file& file) noexcept;
  answer write(const response& r,
               body_rule rule,
               std::string_view body,
               std::int64_t now,
               std::span<char> out) noexcept;
  answer write_error(response r, body_rule rule, std::int64_t now, std::span<char> out) noexcept;

  const file_source* files_;
  date_cache date_;
  byte_ranges ranges_;
  multipart several_;
};

}  // namespace file_server
