// Heads, dates and media types.
#include "file_server/response.hpp"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>

#include "file_server/entity_tag.hpp"
#include "file_server/http_date.hpp"
#include "file_server/mime.hpp"

namespace file_server::testing::response_test {
namespace {

constexpr std::int64_t now = 784'111'777;
constexpr std::string_view now_text = "Sun, 06 Nov 1994 08:49:37 GMT";

std::string date(std::int64_t seconds) {
  const auto text = http_date(seconds);
  return {text.data(), text.size()};
}

std::string head(const response& r) {
  std::array<char, head_capacity> out{};
  return {out.data(), write_head(out, r, now, now_text)};
}

response file_response() {
  response r;
  r.type = "text/css; charset=utf-8";
  r.length = 1234;
  r.last_modified = now - 1;
  r.connection = persistence::keep;
  return r;
}

TEST(http_date, is_written_as_in_the_rfc) { EXPECT_EQ(date(784'111'777), "Sun, 06 Nov 1994 08:49:37 GMT"); }

TEST(http_date, begins_in_1970) { EXPECT_EQ(date(0), "Thu, 01 Jan 1970 00:00:00 GMT"); }

TEST(http_date, knows_leap_days) {
  EXPECT_EQ(date(951'782'400), "Tue, 29 Feb 2000 00:00:00 GMT");
  EXPECT_EQ(date(951'868'799), "Tue, 29 Feb 2000 23:59:59 GMT");
  EXPECT_EQ(date(4'107'542'400), "Mon, 01 Mar 2100 00:00:00 GMT");
}

TEST(http_date, goes_beyond_2038) { EXPECT_EQ(date(2'147'483'648), "Tue, 19 Jan 2038 03:14:08 GMT"); }

TEST(http_date, is_clamped_to_the_years_1970_to_9999) {
  EXPECT_EQ(date(253'402'300'799), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(date(253'402'300'800), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(date(std::numeric_limits<std::int64_t>::max()), "Fri, 31 Dec 9999 23:59:59 GMT");
  EXPECT_EQ(date(-1), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(date(std::numeric_limits<std::int64_t>::min()), "Thu, 01 Jan 1970 00:00:00 GMT");
}

TEST(date_cache, changes_when_the_second_changes) {
  date_cache cache;
  EXPECT_EQ(cache.at(0), "Thu, 01 Jan 1970 00:00:00 GMT");
  EXPECT_EQ(cache.at(now), now_text);
  EXPECT_EQ(cache.at(now), now_text);
  EXPECT_EQ(cache.at(now + 1), "Sun, 06 Nov 1994 08:49:38 GMT");
  EXPECT_EQ(cache.at(now), now_text);
}

TEST(mime_type, is_found_by_the_extension) {
  EXPECT_EQ(mime_type("a.html"), "text/html; charset=utf-8");
  EXPECT_EQ(mime_type("a/b.c/d.css"), "text/css; charset=utf-8");
  EXPECT_EQ(mime_type("a.js"), "text/javascript; charset=utf-8");
  EXPECT_EQ(mime_type("a.json"), "application/json");
  EXPECT_EQ(mime_type("a.svg"), "image/svg+xml");
  EXPECT_EQ(mime_type("a.png"), "image/png");
  EXPECT_EQ(mime_type("a.txt"), "text/plain; charset=utf-8");
  EXPECT_EQ(mime_type("a.wasm"), "application/wasm");
  EXPECT_EQ(mime_type("a.avif"), "image/avif");
  EXPECT_EQ(mime_type("a.zip"), "application/zip");
  EXPECT_EQ(mime_type("a.webmanifest"), "application/manifest+json");
}

TEST(mime_type, ignores_case) { EXPECT_EQ(mime_type("A.JPeG"), "image/jpeg"); }

TEST(mime_type, the_last_extension_counts) { EXPECT_EQ(mime_type("a.tar.gz"), "application/gzip"); }

TEST(mime_type, is_octet_stream_where_nothing_is_known) {
  for (const auto* name :
       {"", "a", "a.", ".", "html", "a.htmlx", "a.ht", "a.html/b", "a.html.", "a.webmanifestx"}) {
    EXPECT_EQ(mime_type(name), "application/octet-stream") << name;
  }
}

TEST(mime_type, says_what_is_compressed_already) {
  for (const auto* name : {"a.png", "a.jpg", "a.gz", "a.zip", "a.mp4", "a.woff2", "a.mp3"}) {
    EXPECT_TRUE(is_compressed(mime_type(name))) << name;
  }
  for (const auto* name : {"a.txt", "a.html", "a.svg", "a.json", "a.wasm", "a.wav", "a.bmp", "a"}) {
    EXPECT_FALSE(is_compressed(mime_type(name))) << name;
  }
}

TEST(response_head, of_a_file_matches_the_expected_text) {
  EXPECT_EQ(head(file_response()),
            "HTTP/1.1 200 OK\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Server: rota\r\n"
            "Content-Type: text/css; charset=utf-8\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Content-Length: 1234\r\n"
            "Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT\r\n"
            "\r\n");
}

TEST(response_head, says_close) {
  response r = file_response();
  r.connection = persistence::close;
  EXPECT_NE(head(r).find("\r\nConnection: close\r\n\r\n"), std::string::npos);
}

TEST(response_head, tells_http_1_0_that_the_connection_stays) {
  response r = file_response();
  r.version = http_version::v1_0;
  EXPECT_NE(head(r).find("\r\nConnection: keep-alive\r\n\r\n"), std::string::npos);
}

TEST(response_head, tells_http_1_0_that_the_connection_closes) {
  response r = file_response();
  r.version = http_version::v1_0;
  r.connection = persistence::close;
  EXPECT_NE(head(r).find("\r\nConnection: close\r\n\r\n"), std::string::npos);
}

TEST(response_head, a_file_from_the_future_was_modified_now) {
  response r = file_response();
  r.last_modified = now + 1'000'000;
  EXPECT_NE(head(r).find("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT"), std::string::npos);
}

TEST(response_head, has_no_last_modified_without_a_file) {
  response r = file_response();
  r.last_modified.reset();
  EXPECT_EQ(head(r).find("Last-Modified"), std::string::npos);
}

TEST(response_head, of_405_says_what_is_allowed) {
  response r = file_response();
  r.code = status::method_not_allowed;
  EXPECT_TRUE(head(r).starts_with("HTTP/1.1 405 Method Not Allowed\r\n"));
  EXPECT_NE(head(r).find("\r\nAllow: GET, HEAD\r\n"), std::string::npos);
}

TEST(response_head, of_a_part_matches_the_expected_text) {
  response r = file_response();
  r.code = status::partial_content;
  r.length = 5;
  r.tag = "\"1\"";
  r.encoding = coding::gzip;
  r.varies = true;
  r.is_ranged = true;
  r.range = content_range{.part = byte_range{10, 5}, .whole = 1234};
  EXPECT_EQ(head(r),
            "HTTP/1.1 206 Partial Content\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Server: rota\r\n"
            "Content-Type: text/css; charset=utf-8\r\n"
            "Content-Encoding: gzip\r\n"
            "X-Content-Type-Options: nosniff\r\n"
            "Content-Length: 5\r\n"
            "Content-Range: bytes 10-14/1234\r\n"
            "Accept-Ranges: bytes\r\n"
            "Last-Modified: Sun, 06 Nov 1994 08:49:36 GMT\r\n"
            "ETag: \"1\"\r\n"
            "Vary: Accept-Encoding\r\n"
            "\r\n");
}

// RFC 9110 §15.4.5: Date, ETag and Vary, and nothing that describes content.
TEST(response_head, of_304_has_what_the_rfc_asks_for_and_no_more) {
  response r = file_response();
  r.code = status::not_modified;
  r.tag = "\"1\"";
  r.varies = true;
  r.is_ranged = true;
  EXPECT_EQ(head(r),
            "HTTP/1.1 304 Not Modified\r\n"
            "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
            "Server: rota\r\n"
            "ETag: \"1\"\r\n"
            "Vary: Accept-Encoding\r\n"
            "\r\n");
}

// RFC 9110 §14.4
TEST(response_head, of_416_names_the_file_size) {
  response r = file_response();
  r.code = status::range_not_satisfiable;
  r.range = content_range{.whole = 1234};
  EXPECT_NE(head(r).find("\r\nContent-Range: bytes */1234\r\n"), std::string::npos);
}

TEST(response_head, of_a_redirect_has_the_slash_and_the_query) {
  response r = file_response();
  r.code = status::moved_permanently;
  r.location = "/a%20b";
  EXPECT_NE(head(r).find("\r\nLocation: /a%20b/\r\n"), std::string::npos);
  r.query = "c=d?e";
  EXPECT_NE(head(r).find("\r\nLocation: /a%20b/?c=d?e\r\n"), std::string::npos);
}

TEST(response_head, the_longest_fits_into_its_capacity) {
  constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const std::string tag(entity_tag::longest, 'x');
  const std::string policy(46, 'x');
  response r = file_response();
  r.type = "multipart/byteranges; boundary=0123456789abcdef0123456789abcdef";
  r.code = status::fields_too_large;
  r.length = most;
  r.version = http_version::v1_0;
  r.tag = tag;
  r.policy = policy;
  r.encoding = coding::gzip;
  r.varies = r.is_ranged = true;
  r.range = content_range{.part = byte_range{most - 1, 1}, .whole = most};
  EXPECT_NE(head(r).find("Content-Length: 18446744073709551615\r\n"), std::string::npos);
  EXPECT_LT(head(r).size() + std::string_view("Allow: GET, HEAD\r\nLocation: /?\r\n").size(), head_capacity);
}

TEST(response_head, a_buffer_that_is_one_byte_too_small_gets_nothing) {
  const response r = file_response();
  const std::size_t size = head(r).size();
  std::array<char, head_capacity> out{};
  EXPECT_EQ(write_head(std::span(out).first(size), r, now, now_text), size);
  for (std::size_t less = 0; less < size; ++less) {
    ASSERT_EQ(write_head(std::span(out).first(less), r, now, now_text), 0U) << less;
  }
}

constexpr status every_status[] = {status::ok,
                                   status::partial_content,
                                   status::moved_permanently,
                                   status::not_modified,
                                   status::bad_request,
                                   status::forbidden,
                                   status::not_found,
                                   status::method_not_allowed,
                                   status::not_acceptable,
                                   status::request_timeout,
                                   status::precondition_failed,
                                   status::content_too_large,
                                   status::uri_too_long,
                                   status::range_not_satisfiable,
                                   status::fields_too_large,
                                   status::internal_error,
                                   status::not_implemented,
                                   status::unavailable,
                                   status::version_not_supported};

TEST(error_body, that_does_not_fit_is_not_written) {
  std::array<char, 64> out{};
  EXPECT_EQ(write_error_body(std::span(out).first(14), status::not_found), 14U);
  EXPECT_EQ(write_error_body(std::span(out).first(13), status::not_found), 0U);
}

TEST(status, each_has_a_reason_and_a_body) {
  for (const status s : every_status) {
    EXPECT_NE(reason_phrase(s), "Unknown") << code_of(s);
    std::array<char, 64> out{};
    const std::size_t size = write_error_body(out, s);
    EXPECT_EQ(std::string(out.data(), size),
              std::to_string(code_of(s)) + " " + std::string(reason_phrase(s)) + "\n");
  }
}

}  // namespace
}  // namespace file_server::testing::response_test
