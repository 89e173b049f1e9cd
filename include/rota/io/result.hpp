// What an operation of I/O comes to.
#pragma once

#include <expected>
#include <system_error>

namespace rota::io {

/// A value, or why there is none: what the system says (std::generic_category), or one of rota's own reasons (errc). net::result is this one.
template <class T>
using result = std::expected<T, std::error_code>;

/// How `co_await stream.finish(limit)` of a socket or a TLS stream has ended.
enum class finish_outcome : unsigned char {
  end_of_stream,  // the peer has finished, too: nothing that was written is lost by a reset of this side
  limit_reached,  // the peer has not finished within the limit
};

[[nodiscard]] constexpr const char* to_string(finish_outcome outcome) noexcept {
  switch (outcome) {
    case finish_outcome::end_of_stream: return "end of stream";
    case finish_outcome::limit_reached: return "limit reached";
  }
  return "unknown";
}

namespace detail {

/// What a writer that takes nothing has earned: to ask it again would not end.
[[nodiscard]] inline std::unexpected<std::error_code> takes_nothing() noexcept {
  return std::unexpected(std::make_error_code(std::errc::io_error));
}

}  // namespace detail

}  // namespace rota::io
