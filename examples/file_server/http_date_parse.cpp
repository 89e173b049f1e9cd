#include <array>
#include <chrono>
#include <cstddef>

#include "file_server/http_date.hpp"

namespace file_server {
namespace {

constexpr std::array<std::string_view, 7> day_names{
    "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"};
constexpr std::array<std::string_view, 12> month_names{
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

struct civil_time {
  int year = 0;
  int month = 0;  // from 1
  int day = 0;
  int hour = 0;
  int minute = 0;
  int second = 0;
};

/// Parses a text from its front. After the first mismatch all further steps fail.
class reader {
 public:
  explicit reader(std::string_view text) noexcept : rest_(text) {}

  reader& word(std::string_view expected) noexcept {
    good_ = good_ && rest_.starts_with(expected);
    if (good_) rest_.remove_prefix(expected.size());
    return *this;
  }

  /// Parses a number of exactly `digits` digits.
  reader& number(int& into, std::size_t digits) noexcept {
    good_ = good_ && rest_.size() >= digits;
    into = 0;
    for (std::size_t i = 0; good_ && i < digits; ++i) {
      good_ = rest_[i] >= '0' && rest_[i] <= '9';
      into = 10 * into + (rest_[i] - '0');
    }
    if (good_) rest_.remove_prefix(digits);
    return *this;
  }

  /// Parses the day of the month in two columns, of which the first may be blank.
  reader& padded_day(int& into) noexcept {
    if (rest_.starts_with(' ')) return word(" ").number(into, 1);
    return number(into, 2);
  }

  reader& month(int& into) noexcept {
    for (into = 1; into <= 12; ++into) {
      const std::string_view name = month_names[static_cast<std::size_t>(into) - 1];
      if (rest_.starts_with(name)) return word(name);
    }
    good_ = false;
    return *this;
  }

  reader& time(civil_time& t) noexcept {
    return number(t.hour, 2).word(":").number(t.minute, 2).word(":").number(t.second, 2);
  }

  [[nodiscard]] bool is_done() const noexcept { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

bool read_fixdate(std::string_view text, civil_time& t) noexcept {
  reader r(text);
  r.word(", ").number(t.day, 2).word(" ").month(t.month).word(" ").number(t.year, 4).word(" ").time(t).word(
      " GMT");
  return r.is_done();
}

bool read_asctime(std::string_view text, civil_time& t) noexcept {
  reader r(text);
  r.word(" ").month(t.month).word(" ").padded_day(t.day).word(" ").time(t).word(" ").number(t.year, 4);
  return r.is_done();
}

bool read_rfc850(std::string_view text, civil_time& t, std::int64_t now) noexcept {
  using namespace std::chrono;
  reader r(text);
  r.word(", ").number(t.day, 2).word("-").month(t.month).word("-").number(t.year, 2).word(" ").time(t).word(
      " GMT");
  // RFC 9110 §5.6.7: a year that appears to be more than 50 years in the future is in the past.
  const int this_year{year_month_day{floor<days>(sys_seconds{seconds(now)})}.year()};
  t.year += this_year / 100 * 100;
  if (t.year > this_year + 50) t.year -= 100;
  return r.is_done();
}

std::optional<std::int64_t> seconds_of(const civil_time& t) noexcept {
  using namespace std::chrono;
  const year_month_day date{
      year{t.year}, month{static_cast<unsigned>(t.month)}, day{static_cast<unsigned>(t.day)}};
  // 60: a leap second.
  if (!date.ok() || t.hour > 23 || t.minute > 59 || t.second > 60) return std::nullopt;
  const sys_seconds midnight{sys_days{date}};
  return midnight.time_since_epoch().count() + 3600 * t.hour + 60 * t.minute + t.second;
}

}  // namespace

std::optional<std::int64_t> parse_http_date(std::string_view text, std::int64_t now) noexcept {
  for (const std::string_view day : day_names) {
    const std::string_view abbreviated = day.substr(0, 3);
    if (!text.starts_with(abbreviated)) continue;
    civil_time t;
    const bool is_long = text.starts_with(day);
    const std::string_view behind = text.substr(is_long ? day.size() : abbreviated.size());
    const bool good =
        is_long ? read_rfc850(behind, t, now) : read_fixdate(behind, t) || read_asctime(behind, t);
    return good ? seconds_of(t) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace file_server
