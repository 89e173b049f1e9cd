// RFC 9110 §12.5.3: Accept-Encoding.
#include "file_server/encoding.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

namespace file_server::testing::encoding_test {
namespace {

accepted_codings accepted(std::initializer_list<std::string_view> lines) {
  field_lines field;
  for (const std::string_view line : lines) field.add(line);
  return read_accept_encoding(field);
}

accepted_codings these(int identity, int gzip, int br) {
  return {
      static_cast<std::uint16_t>(identity), static_cast<std::uint16_t>(gzip), static_cast<std::uint16_t>(br)};
}

TEST(accept_encoding, absent_means_any_and_gets_the_plain_file) {
  EXPECT_EQ(accepted({}), these(1000, 0, 0));
}

TEST(accept_encoding, empty_means_the_plain_file_only) {
  EXPECT_EQ(accepted({""}), these(1, 0, 0));
  EXPECT_EQ(accepted({" , ,"}), these(1, 0, 0));
}

TEST(accept_encoding, a_coding_without_weight_is_wanted_most) {
  EXPECT_EQ(accepted({"gzip, deflate, br"}), these(1, 1000, 1000));
  EXPECT_EQ(accepted({"gzip", "br"}), these(1, 1000, 1000));
}

// §8.4.1: names are case-insensitive, and x-gzip is gzip
TEST(accept_encoding, names_are_case_insensitive_and_x_gzip_is_gzip) {
  EXPECT_EQ(accepted({"GZip, BR"}), these(1, 1000, 1000));
  EXPECT_EQ(accepted({"x-gzip"}), these(1, 1000, 0));
  EXPECT_EQ(accepted({"gzipped, brr, b, zip"}), these(1, 0, 0));
}

// §12.4.2
TEST(accept_encoding, weights_have_up_to_three_digits) {
  EXPECT_EQ(accepted({"gzip;q=0.5, br;q=0.001, identity;q=0.75"}), these(750, 500, 1));
  EXPECT_EQ(accepted({"gzip ; q=1.000 , br\t;\tQ=0."}), these(1, 1000, 0));
  EXPECT_EQ(accepted({"gzip;q=1, br;q=0"}), these(1, 1000, 0));
}

// §12.4.2: nothing else is a weight; a malformed element is ignored
TEST(accept_encoding, coding_with_a_malformed_weight_is_ignored) {
  for (const std::string_view bad : {"gzip;",
                                     "gzip;q",
                                     "gzip;q=",
                                     "gzip;q=2",
                                     "gzip;q=1.001",
                                     "gzip;q=-1",
                                     "gzip;q=0.5555",
                                     "gzip;q=.5",
                                     "gzip;q=1e0",
                                     "gzip;q= 1",
                                     "gzip;level=9",
                                     "gzip;q=1;x=y",
                                     "gzip q=1",
                                     "gzip;q=00.5",
                                     "gzip;q=0,5"}) {
    EXPECT_EQ(accepted({bad}).gzip, 0) << bad;
  }
}

TEST(accept_encoding, a_star_is_all_that_is_not_named) {
  EXPECT_EQ(accepted({"*"}), these(1000, 1000, 1000));
  EXPECT_EQ(accepted({"*;q=0.5, br"}), these(500, 500, 1000));
  EXPECT_EQ(accepted({"gzip;q=0, *;q=0.3"}), these(300, 0, 300));
}

TEST(accept_encoding, the_plain_file_is_acceptable_unless_it_is_excluded) {
  EXPECT_EQ(accepted({"gzip"}).identity, 1);
  EXPECT_EQ(accepted({"gzip, identity;q=0"}).identity, 0);
  EXPECT_EQ(accepted({"gzip, *;q=0"}).identity, 0);
  EXPECT_EQ(accepted({"*;q=0, identity;q=0.5"}).identity, 500);
}

}  // namespace
}  // namespace file_server::testing::encoding_test
