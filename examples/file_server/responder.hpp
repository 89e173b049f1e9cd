// From a request to the bytes and the file that answer it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "file_server/file_source.hpp"
#include "file_server/http_date.hpp"
#include "file_server/request_parser.hpp"
#include "file_server/response.hpp"

namespace file_server {

/// What to send: `bytes` bytes of the buffer, then, if `file.fd.is_open()`, `file.size` bytes of the file.
/// Then, by `connection`, read on or close: the client has been told which.
struct [[nodiscard]] answer {
  status code = status::ok;
  std::size_t bytes = 0;
  persistence connection = persistence::close;
  opened_file file{};
};

enum class route : std::uint8_t { file, stats };

[[nodiscard]] constexpr route route_of(const request& r) noexcept {
  return r.path == "/-/stats" ? route::stats : route::file;
}

/// Writes answers. One per connection.
///
/// Every function writes to the front of `out`, which must hold at least answer_capacity bytes (text:
/// head_capacity and the text); several answers to pipelined requests may be put behind each other. `now` is
/// in seconds since 1970. `offered` is `close` when the server drains: the client is then told, whatever it
/// asked for.
///
/// Threads    One at a time.
/// Failure    Never throws. What goes wrong with a file becomes an error answer.
class responder {
 public:
  static constexpr std::size_t answer_capacity = head_capacity + 64;

  explicit responder(const file_source& files) noexcept : files_(&files) {}

  /// Opens the file that `r` names, as it answers GET or HEAD.
  answer file(const request& r, persistence offered, std::int64_t now, std::span<char> out) noexcept;

  /// Answers with `body`, which is of media type `type`.
  answer text(const request& r,
              std::string_view type,
              std::string_view body,
              persistence offered,
              std::int64_t now,
              std::span<char> out) noexcept;

  /// Answers what the parser has refused, a deadline (408) or a connection too many (503). Always closes.
  answer refusal(status code, body_rule body, std::int64_t now, std::span<char> out) noexcept;

 private:
  answer write(
      response r, body_rule rule, std::string_view body, std::int64_t now, std::span<char> out) noexcept;
  answer error(response r, body_rule rule, std::int64_t now, std::span<char> out) noexcept;

  const file_source* files_;
  date_cache date_;
};

}  // namespace file_server
