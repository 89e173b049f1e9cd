// The examples of FIPS 180-2, and the text of a sum.
#include "tree_hash/sha256.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tree_hash/lines.hpp"

namespace tree_hash::testing::sha256_test {
namespace {

std::string hex_of(std::string_view text) {
  sha256 sum;
  sum.add(text);
  return to_hex(sum.finish());
}

TEST(sha256, matches_the_published_examples) {
  EXPECT_EQ(hex_of(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hex_of("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hex_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(sha256, matches_the_published_example_if_added_in_pieces) {
  sha256 sum;
  for (int i = 0; i < 1'000; ++i) sum.add(std::string(1'000, 'a'));
  EXPECT_EQ(to_hex(sum.finish()), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(sha256, starts_over_after_finish) {
  sha256 sum;
  sum.add("other");
  static_cast<void>(sum.finish());
  sum.add("abc");
  EXPECT_EQ(to_hex(sum.finish()), hex_of("abc"));
}

TEST(a_line, has_the_format_of_sha256sum) {
  const digest zero{};
  const std::string hex(64, '0');
  EXPECT_EQ(digest_line(zero, "a b"), hex + "  a b\n");
  EXPECT_EQ(digest_line(zero, "a\nb"), "\\" + hex + "  a\\nb\n");
  EXPECT_EQ(digest_line(zero, "a\\b"), "\\" + hex + "  a\\\\b\n");
  EXPECT_EQ(digest_line(zero, "a\rb"), "\\" + hex + "  a\\rb\n");
  EXPECT_EQ(digest_line(zero, "a\tb\xff"), hex + "  a\tb\xff\n");
}

TEST(a_message, has_no_control_characters) {
  EXPECT_EQ(printable("a\n\x1b[2J\\\x7f"), "a\\012\\033[2J\\134\\177");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            "\\302\\2332J");
  EXPECT_EQ(printable("\xc2\xa0"), "\xc2\xa0");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
}

}  // namespace
}  // namespace tree_hash::testing::sha256_test
