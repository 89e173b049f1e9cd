#include "log_analyzer/log_line.hpp"

#include <gtest/gtest.h>

#include <string>

namespace log_analyzer::log_line_test {
namespace {

TEST(log_line, parses_client_status_and_bytes_of_a_request) {
  request r;
  ASSERT_TRUE(
      parse(R"(10.0.0.1 - bob [20/Nov/2026:10:00:00 +0000] "GET / HTTP/1.1" 404 512 "-" "curl/8.5.0")", r));
  EXPECT_EQ(r.client, "10.0.0.1");
  EXPECT_EQ(r.status, 404U);
  EXPECT_EQ(r.bytes, 512U);
}

TEST(log_line, the_common_format_has_no_agent) {
  request r;
  ASSERT_TRUE(parse(R"(::1 - - [x] "GET / HTTP/1.1" 200 7)", r));
  EXPECT_EQ(r.client, "::1");
  EXPECT_EQ(r.bytes, 7U);
}

TEST(log_line, parses_a_dash_as_zero_bytes) {
  request r;
  ASSERT_TRUE(parse(R"(a - - [x] "GET / HTTP/1.1" 304 - "-" "-")", r));
  EXPECT_EQ(r.bytes, 0U);
}

TEST(log_line, accepts_escaped_quotes_in_the_request) {
  request r;
  ASSERT_TRUE(parse(R"(a - - [x] "GET /\"b\" HTTP/1.1" 200 1)", r));
  EXPECT_EQ(r.status, 200U);
  ASSERT_TRUE(parse(R"(a - - [x] "GET /b\\" 201 1)", r));
  EXPECT_EQ(r.status, 201U);
  EXPECT_FALSE(parse(R"(a - - [x] "GET /b\" 200 1)", r)) << "the quote has no end";
}

TEST(log_line, refuses_malformed_lines) {
  request r;
  const char* const whole = R"(a - - [x] "GET / HTTP/1.1" 200 15 "-")";
  const std::string_view line(whole);
  for (std::size_t length = 0; length < line.find("15"); ++length) {
    EXPECT_FALSE(parse(line.substr(0, length), r)) << line.substr(0, length);
  }
  for (const char* const bad : {R"( - - [x] "GET /" 200 1)",
                                R"(a - - [x] "GET /" 99 1)",
                                R"(a - - [x] "GET /" 1000 1)",
                                R"(a - - [x] "GET /" two 1)",
                                R"(a - - [x] "GET /" 200 1x)",
                                R"(a - - [x] "GET /" 200 -1)",
                                R"(a - - [x] "GET /" 200 99999999999999999999)",
                                R"(a - - [x]"GET /" 200 1)",
                                R"(a - - x] "GET /" 200 1)",
                                "worker 7 exited on signal 11"}) {
    EXPECT_FALSE(parse(bad, r)) << bad;
  }
}

}  // namespace
}  // namespace log_analyzer::log_line_test
