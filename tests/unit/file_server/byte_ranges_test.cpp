// RFC 9110 §14: ranges of bytes.
#include "file_server/byte_ranges.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace file_server::testing::byte_ranges_test {
namespace {

/// Returns first and size of each range, "0+5 7+3"; or "whole" or "unsatisfiable".
std::string selected(std::string_view field, std::uint64_t size = 10) {
  byte_ranges into;
  switch (select_ranges(field, size, into)) {
    case range_verdict::whole: return "whole";
    case range_verdict::unsatisfiable: return "unsatisfiable";
    case range_verdict::partial: break;
  }
  std::string out;
  for (const byte_range& r : into.items()) {
    if (!out.empty()) out += ' ';
    out += std::to_string(r.first) + "+" + std::to_string(r.size);
  }
  return out;
}

// §14.1.2: first-last
TEST(byte_ranges, first_last_form_includes_both_positions) {
  EXPECT_EQ(selected("bytes=0-4"), "0+5");
  EXPECT_EQ(selected("bytes=9-9"), "9+1");
  EXPECT_EQ(selected("bytes=0-9"), "0+10");
}

// §14.1.2: a last position that is missing or past the end means the end
TEST(byte_ranges, first_only_form_reaches_to_the_end) {
  EXPECT_EQ(selected("bytes=3-"), "3+7");
  EXPECT_EQ(selected("bytes=3-10"), "3+7");
  EXPECT_EQ(selected("bytes=3-99999999999999999999999999"), "3+7");
}

// §14.1.2: a suffix longer than the file is the file
TEST(byte_ranges, suffix_form_selects_the_last_bytes) {
  EXPECT_EQ(selected("bytes=-3"), "7+3");
  EXPECT_EQ(selected("bytes=-10"), "0+10");
  EXPECT_EQ(selected("bytes=-11"), "0+10");
  EXPECT_EQ(selected("bytes=-99999999999999999999999999"), "0+10");
}

// §14.1.2 and §15.5.17: 416
TEST(byte_ranges, behind_the_end_are_unsatisfiable) {
  EXPECT_EQ(selected("bytes=10-"), "unsatisfiable");
  EXPECT_EQ(selected("bytes=10-20"), "unsatisfiable");
  EXPECT_EQ(selected("bytes=99999999999999999999999999-"), "unsatisfiable");
  EXPECT_EQ(selected("bytes=-0"), "unsatisfiable");
  EXPECT_EQ(selected("bytes=10-,20-30,-0"), "unsatisfiable");
}

// §14.1.2: satisfiable if one range is
TEST(byte_ranges, behind_the_end_are_left_out_if_another_is_satisfiable) {
  EXPECT_EQ(selected("bytes=50-60,0-0,-0"), "0+1");
}

// §14.1.2: a suffix of an empty file is the whole file; there is no byte 0
TEST(byte_ranges, of_an_empty_file_are_unsatisfiable_except_a_suffix) {
  EXPECT_EQ(selected("bytes=0-", 0), "unsatisfiable");
  EXPECT_EQ(selected("bytes=0-0", 0), "unsatisfiable");
  EXPECT_EQ(selected("bytes=-0", 0), "unsatisfiable");
  EXPECT_EQ(selected("bytes=-5", 0), "whole");
}

// §14.1.1: a last position before the first is invalid; §14.2: an invalid Range is ignored
TEST(byte_ranges, that_are_malformed_are_ignored_with_all_others) {
  for (const std::string_view bad : {"",
                                     "bytes",
                                     "bytes=",
                                     "bytes=,",
                                     "bytes= , ,",
                                     "bytes=-",
                                     "bytes=--1",
                                     "bytes=5",
                                     "bytes=5-4",
                                     "bytes=a-b",
                                     "bytes=0x0-1",
                                     "bytes=+1-2",
                                     "bytes=1-+2",
                                     "bytes=1 -2",
                                     "bytes=1- 2",
                                     "bytes=1-2-3",
                                     "bytes=1-2;3-4",
                                     "bytes =1-2",
                                     "bytes:1-2",
                                     "=1-2",
                                     "bytes=99999999999999999999999999-5"}) {
    EXPECT_EQ(selected(bad), "whole") << bad;
    EXPECT_EQ(selected("bytes=0-0,5-4"), "whole");
    EXPECT_EQ(selected("bytes=5-4,50-"), "whole");
  }
}

// §14.1: range units are case-insensitive; §14.2: an unknown unit is ignored
TEST(byte_ranges, the_unit_is_bytes) {
  EXPECT_EQ(selected("Bytes=0-1"), "0+2");
  EXPECT_EQ(selected("BYTES=0-1"), "0+2");
  EXPECT_EQ(selected("items=0-1"), "whole");
  EXPECT_EQ(selected("byte=0-1"), "whole");
}

// §15.3.7.2: in the requested order
TEST(byte_ranges, keep_the_requested_order) {
  EXPECT_EQ(selected("bytes=8-9,0-1"), "8+2 0+2");
  EXPECT_EQ(selected("bytes=0-0, 2-2\t,, 4-4 ,-1"), "0+1 2+1 4+1 9+1");
}

TEST(byte_ranges, that_touch_do_not_overlap) { EXPECT_EQ(selected("bytes=0-4,5-9"), "0+5 5+5"); }

// §14.2: overlapping ranges may be ignored
TEST(byte_ranges, that_overlap_are_the_whole_file) {
  EXPECT_EQ(selected("bytes=0-5,5-9"), "whole");
  EXPECT_EQ(selected("bytes=5-9,0-5"), "whole");
  EXPECT_EQ(selected("bytes=0-,-1"), "whole");
  EXPECT_EQ(selected("bytes=1-1,3-3,1-1"), "whole");
}

std::string many(int count, std::string_view step) {
  std::string out = "bytes=0-0";
  for (int i = 1; i < count; ++i)
    out += "," + std::to_string(2 * i) + std::string(step) + std::to_string(2 * i);
  return out;
}

// §14.2 and §17.15: many small ranges may be ignored
TEST(byte_ranges, of_more_than_sixteen_are_the_whole_file) {
  EXPECT_NE(selected(many(16, "-"), 100), "whole");
  EXPECT_EQ(selected(many(17, "-"), 100), "whole");
  EXPECT_EQ(selected(many(17, "-"), 10), "whole");
}

TEST(byte_ranges, of_the_largest_file_do_not_overflow) {
  constexpr std::uint64_t most = 0x7fffffffffffffff;
  EXPECT_EQ(selected("bytes=0-", most), "0+9223372036854775807");
  EXPECT_EQ(selected("bytes=-1", most), "9223372036854775806+1");
  EXPECT_EQ(selected("bytes=9223372036854775806-18446744073709551615", most), "9223372036854775806+1");
}

TEST(byte_ranges, are_forgotten_when_others_are_selected) {
  byte_ranges into;
  ASSERT_EQ(select_ranges("bytes=0-1,3-4", 10, into), range_verdict::partial);
  ASSERT_EQ(select_ranges("bytes=5-5", 10, into), range_verdict::partial);
  EXPECT_EQ(into.items().size(), 1U);
}

}  // namespace
}  // namespace file_server::testing::byte_ranges_test
