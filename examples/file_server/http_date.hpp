// Dates in HTTP: "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate, RFC 9110 §5.6.7).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace file_server {

inline constexpr std::size_t http_date_size = 29;

/// Formats a time in seconds since 1970. A time before 1970 or after 9999 becomes the nearest date that the
/// format can express.
[[nodiscard]] std::array<char, http_date_size> http_date(std::int64_t seconds) noexcept;

/// Parses a date in any of the three forms of RFC 9110 §5.6.7, and returns seconds since 1970:
///
///   Sun, 06 Nov 1994 08:49:37 GMT      Sunday, 06-Nov-94 08:49:37 GMT      Sun Nov  6 08:49:37 1994
///
/// Returns nullopt if it is none of them, or if the day or the time does not exist. The day of the week is
/// not checked. `now` decides the century of a year with two digits.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now) noexcept;

/// Caches the Date of an answer, which changes once a second. Used by one thread at a time; each connection
/// has its own.
class date_cache {
 public:
  /// The view is valid until the next call.
  [[nodiscard]] std::string_view at(std::int64_t seconds) noexcept {
    if (seconds != seconds_ || text_[0] == '\0') text_ = http_date(seconds_ = seconds);
    return {text_.data(), text_.size()};
  }

 private:
  std::int64_t seconds_ = 0;
  std::array<char, http_date_size> text_{};
};

}  // namespace file_server
