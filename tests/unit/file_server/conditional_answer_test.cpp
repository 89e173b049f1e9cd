// Answers to conditional requests. Each test names its rule of RFC 9110.
#include "representation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace file_server::testing::conditional_answer_test {
namespace {

// §8.8.2, §8.8.3, §14.3
TEST_F(a_representation, is_sent_with_its_validators) {
  const answer a = get("");
  EXPECT_EQ(a.code, status::ok);
  EXPECT_EQ(field(head_of(a), "Last-Modified"), modified_text);
  EXPECT_EQ(field(head_of(a), "ETag"), tag_);
  EXPECT_EQ(field(head_of(a), "Accept-Ranges"), "bytes");
  EXPECT_TRUE(tag_.starts_with('"') && tag_.ends_with('"') && tag_.size() > 2) << tag_;
  EXPECT_EQ(a.body, 10U);
  EXPECT_EQ(body_of(a), "0123456789");
}

// §9.3.2
TEST_F(a_representation, head_has_the_fields_of_get) {
  const std::string of_get = head_of(get(""));
  const answer a = ask("HEAD", "/a.txt", "");
  EXPECT_EQ(head_of(a), of_get);
  EXPECT_TRUE(a.parts.empty());
  EXPECT_EQ(a.body, 0U);
}

// §13.1.2, §15.4.5
TEST_F(a_representation, that_the_client_has_is_304_without_body) {
  const answer a = get("If-None-Match: " + tag_ + "\r\n");
  EXPECT_EQ(a.code, status::not_modified);
  EXPECT_EQ(field(head_of(a), "ETag"), tag_);
  EXPECT_EQ(field(head_of(a), "Vary"), "Accept-Encoding");
  EXPECT_NE(field(head_of(a), "Date"), "");
  EXPECT_EQ(head_of(a).find("Content-"), std::string::npos);
  EXPECT_TRUE(head_of(a).ends_with("\r\n\r\n"));
  EXPECT_FALSE(a.file.fd.is_open());
  EXPECT_EQ(a.connection, persistence::keep);
  EXPECT_EQ(ask("HEAD", "/a.txt", "If-None-Match: *\r\n").code, status::not_modified);
}

// §13.1.3
TEST_F(a_representation, that_is_not_newer_is_304) {
  EXPECT_EQ(get("If-Modified-Since: " + std::string(modified_text) + "\r\n").code, status::not_modified);
  EXPECT_EQ(get("If-Modified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n").code, status::ok);
}

// §13.1.1, §15.5.13
TEST_F(a_representation, that_fails_a_precondition_is_412_with_a_body) {
  const answer a = get("If-Match: \"other\"\r\n");
  EXPECT_EQ(a.code, status::precondition_failed);
  EXPECT_TRUE(head_of(a).ends_with("\r\n\r\n412 Precondition Failed\n"));
  EXPECT_EQ(field(head_of(a), "ETag"), "");
  EXPECT_EQ(get("If-Match: " + tag_ + "\r\n").code, status::ok);
  EXPECT_EQ(get("If-Unmodified-Since: Sun, 06 Nov 1994 08:49:36 GMT\r\n").code, status::precondition_failed);
}

// §13.2.1: conditions are evaluated only where the answer would be 2xx without them
TEST_F(a_representation, that_is_missing_is_404_whatever_the_conditions) {
  EXPECT_EQ(ask("GET", "/none", "If-Match: *\r\n").code, status::not_found);
  EXPECT_EQ(ask("GET", "/none", "If-None-Match: *\r\n").code, status::not_found);
  EXPECT_EQ(ask("GET", "/folder", "If-None-Match: *\r\n").code, status::moved_permanently);
}

}  // namespace
}  // namespace file_server::testing::conditional_answer_test
