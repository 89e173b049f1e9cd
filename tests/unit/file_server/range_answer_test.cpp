// Answers to requests for parts of a file. Each test names its rule of RFC 9110.
#include "representation.hpp"

#include <gtest/gtest.h>

#include <string>

namespace file_server::testing::range_answer_test {
namespace {

// §14.2, §15.3.7.1
TEST_F(a_representation, single_range_is_206_with_content_range) {
  const answer a = get("Range: bytes=2-4\r\n");
  EXPECT_EQ(a.code, status::partial_content);
  EXPECT_EQ(field(head_of(a), "Content-Range"), "bytes 2-4/10");
  EXPECT_EQ(field(head_of(a), "Content-Length"), "3");
  EXPECT_EQ(field(head_of(a), "Content-Type"), "text/plain; charset=utf-8");
  EXPECT_EQ(field(head_of(a), "ETag"), tag_);
  EXPECT_EQ(field(head_of(a), "Last-Modified"), modified_text);
  EXPECT_EQ(body_of(a), "234");
  EXPECT_EQ(a.body, 3U);
}

// §14.1.2
TEST_F(a_representation, open_ended_and_suffix_ranges_reach_to_the_end) {
  EXPECT_EQ(body_of(get("Range: bytes=7-\r\n")), "789");
  EXPECT_EQ(body_of(get("Range: bytes=-1\r\n")), "9");
  EXPECT_EQ(field(head_of(get("Range: bytes=-99\r\n")), "Content-Range"), "bytes 0-9/10");
}

// §15.5.17
TEST_F(a_representation, a_part_behind_the_end_is_416) {
  const answer a = get("Range: bytes=10-\r\n");
  EXPECT_EQ(a.code, status::range_not_satisfiable);
  EXPECT_EQ(field(head_of(a), "Content-Range"), "bytes */10");
  EXPECT_EQ(field(head_of(a), "ETag"), "");
  EXPECT_TRUE(head_of(a).ends_with("\r\n\r\n416 Range Not Satisfiable\n"));
  EXPECT_FALSE(a.file.fd.is_open());
  EXPECT_EQ(a.connection, persistence::keep);
  EXPECT_EQ(field(head_of(ask("GET", "/empty.txt", "Range: bytes=0-\r\n")), "Content-Range"), "bytes */0");
}

// §14.2: an invalid Range is ignored
TEST_F(a_representation, a_malformed_range_gets_the_whole) {
  const answer a = get("Range: bytes=4-2\r\n");
  EXPECT_EQ(a.code, status::ok);
  EXPECT_EQ(field(head_of(a), "Content-Range"), "");
  EXPECT_EQ(body_of(a), "0123456789");
  EXPECT_EQ(ask("GET", "/empty.txt", "Range: bytes=-5\r\n").code, status::ok);
}

// §14.2: Range applies to GET only
TEST_F(a_representation, head_ignores_a_range) {
  const answer a = ask("HEAD", "/a.txt", "Range: bytes=2-4\r\n");
  EXPECT_EQ(a.code, status::ok);
  EXPECT_EQ(field(head_of(a), "Content-Length"), "10");
  EXPECT_EQ(ask("HEAD", "/a.txt", "Range: bytes=10-\r\n").code, status::ok);
}

// §14.6, §15.3.7.2
TEST_F(a_representation, several_parts_are_a_multipart) {
  const answer a = get("Range: bytes=0-1,8-\r\n");
  EXPECT_EQ(a.code, status::partial_content);
  const std::string type = field(head_of(a), "Content-Type");
  const std::string_view prefix = "multipart/byteranges; boundary=";
  ASSERT_TRUE(type.starts_with(prefix)) << type;
  const std::string boundary = type.substr(prefix.size());
  EXPECT_EQ(boundary.size(), 32U);
  EXPECT_EQ(field(head_of(a), "Content-Range"), "");
  const std::string part =
      "\r\n--" + boundary + "\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes ";
  const std::string expected =
      part + "0-1/10\r\n\r\n01" + part + "8-9/10\r\n\r\n89\r\n--" + boundary + "--\r\n";
  EXPECT_EQ(body_of(a), expected);
  EXPECT_EQ(field(head_of(a), "Content-Length"), std::to_string(expected.size()));
  EXPECT_EQ(a.body, expected.size());
}

TEST_F(a_representation, each_multipart_has_a_boundary_of_its_own) {
  const std::string first = field(head_of(get("Range: bytes=0-1,8-\r\n")), "Content-Type");
  EXPECT_NE(field(head_of(get("Range: bytes=0-1,8-\r\n")), "Content-Type"), first);
}

// §15.3.7.2: if one range of several remains, the answer need not be a multipart
TEST_F(a_representation, one_satisfiable_part_of_several_is_a_plain_206) {
  const answer a = get("Range: bytes=2-2,50-\r\n");
  EXPECT_EQ(field(head_of(a), "Content-Range"), "bytes 2-2/10");
  EXPECT_EQ(a.around, nullptr);
  EXPECT_EQ(body_of(a), "2");
}

// §14.2, §17.15
TEST_F(a_representation, overlapping_ranges_return_the_whole_file) {
  const answer a = get("Range: bytes=0-5,5-9\r\n");
  EXPECT_EQ(a.code, status::ok);
  EXPECT_EQ(body_of(a), "0123456789");
  EXPECT_EQ(a.around, nullptr);
}

// §13.1.5
TEST_F(a_representation, range_is_sent_only_if_its_if_range_condition_holds) {
  const std::string range = "Range: bytes=2-4\r\n";
  EXPECT_EQ(get(range + "If-Range: " + tag_ + "\r\n").code, status::partial_content);
  EXPECT_EQ(get(range + "If-Range: \"other\"\r\n").code, status::ok);
  EXPECT_EQ(get(range + "If-Range: W/" + tag_ + "\r\n").code, status::ok);
  EXPECT_EQ(get(range + "If-Range: " + std::string(modified_text) + "\r\n").code, status::partial_content);
  EXPECT_EQ(get(range + "If-Range: Sun, 06 Nov 1994 08:49:38 GMT\r\n").code, status::ok);
  EXPECT_EQ(get("Range: bytes=10-\r\nIf-Range: \"other\"\r\n").code, status::ok);
}

// §13.2.2, steps 3 to 5
TEST_F(a_representation, conditions_come_before_ranges) {
  EXPECT_EQ(get("Range: bytes=2-4\r\nIf-None-Match: " + tag_ + "\r\n").code, status::not_modified);
  EXPECT_EQ(get("Range: bytes=10-\r\nIf-None-Match: " + tag_ + "\r\n").code, status::not_modified);
  EXPECT_EQ(get("Range: bytes=10-\r\nIf-Match: \"other\"\r\n").code, status::precondition_failed);
}

}  // namespace
}  // namespace file_server::testing::range_answer_test
