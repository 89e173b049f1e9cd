// The result of an I/O operation.
#pragma once

#include <expected>
#include <system_error>

namespace rota::io {

/// A value, or the reason why there is none: an error of the system (std::generic_category) or of rota
/// (errc). net::result is this type.
template <class T>
using result = std::expected<T, std::error_code>;

/// How `co_await stream.finish(limit)` of a socket or a TLS stream has ended.
enum class finish_outcome : unsigned char {
  end_of_stream,  // the peer has finished, too: no reset of this side loses bytes that were written
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

/// Returns the error for a writer that takes no bytes and returns no error. Repeating the write would never
/// end.
[[nodiscard]] inline std::unexpected<std::error_code> takes_nothing() noexcept {
  return std::unexpected(std::make_error_code(std::errc::io_error));
}

}  // namespace detail

}  // namespace rota::io
