#include "file_server/http_date.hpp"

#include <algorithm>
#include <chrono>

namespace file_server {
namespace {

constexpr std::string_view days_in_a_row = "SunMonTueWedThuFriSat";
constexpr std::string_view months_in_a_row = "JanFebMarAprMayJunJulAugSepOctNovDec";
constexpr std::int64_t last_second_of_9999 = 253'402'300'799;

class pen {
 public:
  explicit pen(char* to) noexcept : to_(to) {}
  void text(std::string_view s) noexcept { to_ += s.copy(to_, s.size()); }
  void two_digits(std::int64_t n) noexcept {
    *to_++ = static_cast<char>('0' + n / 10);
    *to_++ = static_cast<char>('0' + n % 10);
  }

 private:
  char* to_;
};

}  // namespace

std::array<char, http_date_size> http_date(std::int64_t seconds) noexcept {
  using namespace std::chrono;
  const sys_seconds when{std::chrono::seconds(std::clamp(seconds, std::int64_t{0}, last_second_of_9999))};
  const sys_days day = floor<days>(when);
  const year_month_day date{day};
  const auto of_day = (when - day).count();
  const auto year = int{date.year()};

  std::array<char, http_date_size> out{};
  pen p(out.data());
  p.text(days_in_a_row.substr(weekday{day}.c_encoding() * 3, 3));
  p.text(", ");
  p.two_digits(unsigned{date.day()});
  p.text(" ");
  p.text(months_in_a_row.substr((unsigned{date.month()} - 1) * 3, 3));
  p.text(" ");
  p.two_digits(year / 100);
  p.two_digits(year % 100);
  p.text(" ");
  p.two_digits(of_day / 3600);
  p.text(":");
  p.two_digits(of_day / 60 % 60);
  p.text(":");
  p.two_digits(of_day % 60);
  p.text(" GMT");
  return out;
}

}  // namespace file_server
