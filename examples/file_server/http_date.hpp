// Dates as HTTP writes them: "Sun, 06 Nov 1994 08:49:37 GMT" (IMF-fixdate, RFC 9110 §5.6.7).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace file_server {

inline constexpr std::size_t http_date_size = 29;

/// Seconds since 1970. Before 1970 and after 9999, which the format cannot say, the nearest date that it can.
[[nodiscard]] std::array<char, http_date_size> http_date(std::int64_t seconds) noexcept;

/// Seconds since 1970 of a date in any of the three forms of RFC 9110 §5.6.7:
///
///   Sun, 06 Nov 1994 08:49:37 GMT      Sunday, 06-Nov-94 08:49:37 GMT      Sun Nov  6 08:49:37 1994
///
/// Nothing if it is none of them, or a day or time that is not there. That the day of the week is the right one is not asked.
/// `now` tells which century a year of two digits is in.
[[nodiscard]] std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now) noexcept;

/// The Date of an answer, written once a second. Used by one thread at a time; a connection has its own.
class date_cache {
 public:
  /// The view holds until the next call.
  [[nodiscard]] std::string_view at(std::int64_t seconds) noexcept {
    if (seconds != seconds_ || text_[0] == '\0') text_ = http_date(seconds_ = seconds);
    return {text_.data(), text_.size()};
  }

 private:
  std::int64_t seconds_ = 0;
  std::array<char, http_date_size> text_{};
};

}  // namespace file_server
