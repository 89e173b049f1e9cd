// Parses requests from the bytes of a connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "file_server/head_scanner.hpp"
#include "file_server/limits.hpp"
#include "file_server/request.hpp"
#include "file_server/status.hpp"
#include "file_server/target.hpp"

namespace file_server {

enum class verdict : std::uint8_t { need_more, complete, refused };

/// The answer to a HEAD request has no body, also if the request is refused.
enum class body_rule : std::uint8_t { allowed, forbidden };

struct [[nodiscard]] parsed {
  verdict what = verdict::need_more;
  std::size_t used = 0;                 // complete: how many bytes of the input the request has
  status code = status::ok;             // refused: what to answer; the connection must be closed after it
  body_rule body = body_rule::allowed;  // refused: whether that answer may have a body
};

/// An incremental parser: Beast's parser with additional checks before and after it. One per connection; it
/// reads the requests in turn.
///
/// Threads    One at a time.
/// Ordering   The same bytes give the same requests and the same status, in whatever pieces they come.
/// Failure    Never throws. After `refused` the connection must end: where the next request begins is
///            unknown.
/// Cost       No allocation. Each byte is read twice, also if the input comes in small pieces.
class request_parser {
 public:
  /// Throws std::invalid_argument as checked() does.
  explicit request_parser(const limits& l, scheme spoken = scheme::http)
      : scanner_(checked(l)), spoken_(spoken) {}

  /// Reads one request from the front of `input`.
  ///
  /// need_more: call again with the same bytes and more after them (they may have moved). Never returned for
  /// limits.head_bytes() bytes or more, so an input buffer of that size cannot get stuck.
  /// complete: `into` is filled. Drop `used` bytes only when the views of `into` are no longer needed. Then
  /// call again with the rest, which may hold the next request.
  parsed parse(std::string_view input, request& into) noexcept;

  /// Returns the refusal of an incomplete request that the caller gives up because of a deadline (408).
  parsed refuse(std::string_view input, status code) const noexcept;

  /// Returns the request line of `input`, as far as it has been received.
  [[nodiscard]] std::string_view request_line(std::string_view input) const noexcept;

 private:
  head_scanner scanner_;
  scheme spoken_;
};

}  // namespace file_server
