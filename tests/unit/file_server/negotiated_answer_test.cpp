// Precompressed files and redirects in answers. Each test names its rule of RFC 9110.
#include "representation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace file_server::testing::negotiated_answer_test {
namespace {

// §12.5.3, §8.8.3.3
TEST_F(a_representation, a_precompressed_file_is_another_representation) {
  write("a.txt.gz", "gzipped");
  const answer a = get("Accept-Encoding: gzip\r\n");
  EXPECT_EQ(a.code, status::ok);
  EXPECT_EQ(field(head_of(a), "Content-Encoding"), "gzip");
  EXPECT_EQ(field(head_of(a), "Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(field(head_of(a), "Vary"), "Accept-Encoding");
  EXPECT_NE(field(head_of(a), "ETag"), tag_);
  EXPECT_EQ(body_of(a), "gzipped");
  EXPECT_EQ(get("Accept-Encoding: gzip\r\nIf-None-Match: " + tag_ + "\r\n").code, status::ok);
  const answer plain = get("");
  EXPECT_EQ(field(head_of(plain), "Content-Encoding"), "");
  EXPECT_EQ(field(head_of(plain), "Vary"), "Accept-Encoding");
}

// §14.1.2: ranges apply to the selected representation
TEST_F(a_representation, range_applies_to_the_bytes_of_the_precompressed_file) {
  write("a.txt.gz", "gzipped");
  const answer a = get("Accept-Encoding: gzip\r\nRange: bytes=0-1\r\n");
  EXPECT_EQ(field(head_of(a), "Content-Range"), "bytes 0-1/7");
  EXPECT_EQ(field(head_of(a), "Content-Encoding"), "gzip");
  EXPECT_EQ(body_of(a), "gz");
  EXPECT_EQ(get("Accept-Encoding: gzip\r\nRange: bytes=0-1,3-4\r\n").code, status::ok);
}

// §12.5.3, §15.5.7
TEST_F(a_representation, plain_file_is_406_if_the_request_excludes_identity) {
  const answer a = get("Accept-Encoding: gzip, identity;q=0\r\n");
  EXPECT_EQ(a.code, status::not_acceptable);
  EXPECT_EQ(field(head_of(a), "Vary"), "Accept-Encoding");
  write("a.txt.gz", "gzipped");
  EXPECT_EQ(get("Accept-Encoding: gzip, identity;q=0\r\n").code, status::ok);
}

// §15.4.2, §10.2.2
TEST_F(a_representation, a_folder_without_slash_is_redirected_with_its_query) {
  const answer a = ask("GET", "/folder?a=b/c", "");
  EXPECT_EQ(a.code, status::moved_permanently);
  EXPECT_EQ(field(head_of(a), "Location"), "/folder/?a=b/c");
  EXPECT_TRUE(head_of(a).ends_with("\r\n\r\n301 Moved Permanently\n"));
  EXPECT_EQ(field(head_of(ask("GET", "http://example.com/%66older", "")), "Location"), "/%66older/");
  EXPECT_TRUE(head_of(ask("HEAD", "/folder", "")).ends_with("\r\n\r\n"));
}

TEST_F(a_representation, a_location_that_is_too_long_is_414) {
  const std::string fits(responder::longest_location - 7, 'q');
  EXPECT_EQ(ask("GET", "/folder?" + fits, "").code, status::moved_permanently);
  EXPECT_EQ(ask("GET", "/folder?" + fits + "q", "").code, status::uri_too_long);
}

}  // namespace
}  // namespace file_server::testing::negotiated_answer_test
