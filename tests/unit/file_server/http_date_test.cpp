// RFC 9110 §5.6.7: dates in three forms.
#include "file_server/http_date.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

namespace file_server::testing::http_date_test {
namespace {

constexpr std::int64_t when = 784'111'777;

std::optional<std::int64_t> parsed(std::string_view text, std::int64_t at = when) {
  return parse_http_date(text, at);
}

TEST(http_date_parser, knows_the_three_forms) {
  EXPECT_EQ(parsed("Sun, 06 Nov 1994 08:49:37 GMT"), when);
  EXPECT_EQ(parsed("Sunday, 06-Nov-94 08:49:37 GMT"), when);
  EXPECT_EQ(parsed("Sun Nov  6 08:49:37 1994"), when);
  EXPECT_EQ(parsed("Wed Nov 16 08:49:37 1994"), when + 10 * 86'400);
}

TEST(http_date_parser, reads_what_the_formatter_writes) {
  std::mt19937_64 random(11);
  std::uniform_int_distribution<std::int64_t> any(0, 253'402'300'799);
  for (int i = 0; i < 20'000; ++i) {
    const std::int64_t time = any(random);
    const auto text = http_date(time);
    ASSERT_EQ(parsed({text.data(), text.size()}), time) << std::string(text.data(), text.size());
  }
}

TEST(http_date_parser, a_prefix_is_no_date_and_nothing_may_follow) {
  for (const std::string_view good :
       {"Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"}) {
    for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(parsed(good.substr(0, size))) << size;
    EXPECT_FALSE(parsed(std::string(good) + " "));
    EXPECT_FALSE(parsed(" " + std::string(good)));
  }
}

TEST(http_date_parser, every_byte_counts) {
  const std::string good = "Sun, 06 Nov 1994 08:49:37 GMT";
  for (std::size_t at = 0; at < good.size(); ++at) {
    std::string bad = good;
    bad[at] = bad[at] == 'x' ? 'y' : 'x';
    EXPECT_FALSE(parsed(bad)) << bad;
  }
}

// "HTTP-date is case sensitive"
TEST(http_date_parser, minds_capitals_and_the_zone) {
  for (const char* text : {"sun, 06 Nov 1994 08:49:37 GMT",
                           "Sun, 06 NOV 1994 08:49:37 GMT",
                           "Sun, 06 Nov 1994 08:49:37 gmt",
                           "Sun, 06 Nov 1994 08:49:37 UTC",
                           "Sun, 06 Nov 1994 08:49:37 +0000",
                           "Sun, 6 Nov 1994 08:49:37 GMT",
                           "Sun, 06 Nov 94 08:49:37 GMT",
                           "Sun, 06-Nov-94 08:49:37 GMT",
                           "Sunday, 06 Nov 1994 08:49:37 GMT",
                           "Sun Nov 6 08:49:37 1994",
                           "Sun Nov  6 08:49:37 94"}) {
    EXPECT_FALSE(parsed(text)) << text;
  }
}

TEST(http_date_parser, refuses_a_day_or_time_that_does_not_exist) {
  for (const char* text : {"Sun, 00 Nov 1994 08:49:37 GMT",
                           "Sun, 31 Nov 1994 08:49:37 GMT",
                           "Sun, 30 Feb 1996 08:49:37 GMT",
                           "Sun, 29 Feb 1995 08:49:37 GMT",
                           "Sun, 06 Nov 1994 24:00:00 GMT",
                           "Sun, 06 Nov 1994 08:60:00 GMT",
                           "Sun, 06 Nov 1994 08:49:61 GMT"}) {
    EXPECT_FALSE(parsed(text)) << text;
  }
  EXPECT_TRUE(parsed("Thu, 29 Feb 1996 08:49:37 GMT"));
}

TEST(http_date_parser, a_leap_second_is_the_first_of_the_next_minute) {
  EXPECT_EQ(parsed("Sat, 31 Dec 2016 23:59:60 GMT"), parsed("Sun, 01 Jan 2017 00:00:00 GMT"));
}

TEST(http_date_parser, before_1970_is_less_than_zero) {
  EXPECT_EQ(parsed("Wed, 31 Dec 1969 23:59:59 GMT"), -1);
}

// A two-digit year that seems to be more than 50 years in the future is in the past.
TEST(http_date_parser, a_year_of_two_digits_is_at_most_50_years_ahead) {
  constexpr std::int64_t in_2026 = 1'795'000'000;
  EXPECT_EQ(parsed("Sunday, 06-Nov-94 08:49:37 GMT", in_2026), when);
  EXPECT_EQ(parsed("Friday, 06-Nov-76 08:49:37 GMT", in_2026), parsed("Fri, 06 Nov 2076 08:49:37 GMT"));
  EXPECT_EQ(parsed("Sunday, 06-Nov-77 08:49:37 GMT", in_2026), parsed("Sun, 06 Nov 1977 08:49:37 GMT"));
}

}  // namespace
}  // namespace file_server::testing::http_date_test
