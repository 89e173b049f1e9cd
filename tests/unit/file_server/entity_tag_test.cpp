// RFC 9110 §8.8.3: entity tags, their parts, and the parsing of their lists.
#include "file_server/entity_tag.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <string>

namespace file_server::testing::entity_tag_test {
namespace {

constexpr file_identity identity{
    .inode = 17, .size = 255, .modified = 784'111'777, .modified_nanoseconds = 5};

std::string tag_of(const file_identity& f, coding c = coding::identity) {
  return std::string(entity_tag(f, c).text());
}

bool is_listed(std::string_view field, std::string_view tag = "\"a\"", comparison how = comparison::weak) {
  field_lines lines;
  lines.add(field);
  return lists(lines, tag, how);
}

TEST(entity_tag, is_strong_and_well_formed) { EXPECT_EQ(tag_of(identity), "\"11-ff-2ebc98a1.5\""); }

// §8.8.3.3: a representation in another coding has another tag
TEST(entity_tag, differs_by_all_that_it_is_made_of) {
  std::set<std::string> tags{tag_of(identity), tag_of(identity, coding::gzip), tag_of(identity, coding::br)};
  file_identity other = identity;
  other.inode = 18;
  tags.insert(tag_of(other));
  other = identity;
  other.size = 256;
  tags.insert(tag_of(other));
  other = identity;
  other.modified -= 1;
  tags.insert(tag_of(other));
  other = identity;
  other.modified_nanoseconds = 6;
  tags.insert(tag_of(other));
  EXPECT_EQ(tags.size(), 7U);
}

TEST(entity_tag, the_longest_fits) {
  const file_identity largest{.inode = std::numeric_limits<std::uint64_t>::max(),
                              .size = std::numeric_limits<std::uint64_t>::max(),
                              .modified = -1,
                              .modified_nanoseconds = 999'999'999};
  EXPECT_EQ(tag_of(largest, coding::br),
            "\"ffffffffffffffff-ffffffffffffffff-ffffffffffffffff.3b9ac9ff-br\"");
}

// §5.6.1.2: empty elements, blanks and tabs
TEST(entity_tag_list, may_have_empty_elements) {
  EXPECT_TRUE(is_listed(", ,\"a\""));
  EXPECT_TRUE(is_listed("\"x\" \t,\t \"a\",,"));
  EXPECT_FALSE(is_listed(",,"));
}

// §8.8.3: etagc includes commas; there are no escapes
TEST(entity_tag_list, a_comma_may_stand_within_a_tag) {
  EXPECT_TRUE(is_listed("\"x,y\", \"a\""));
  EXPECT_TRUE(is_listed("\"x,y\"", "\"x,y\""));
  EXPECT_TRUE(is_listed("\"x\\\", \"a\""));
}

TEST(entity_tag_list, high_bytes_may_stand_within_a_tag) { EXPECT_TRUE(is_listed("\"\xff\", \"a\"")); }

// §8.8.3: the W must be a capital
TEST(entity_tag_list, ends_where_it_is_malformed) {
  EXPECT_FALSE(is_listed("w/\"a\""));
  EXPECT_FALSE(is_listed("\"x, \"a"));
  EXPECT_FALSE(is_listed("x, \"a\""));
  EXPECT_FALSE(is_listed("\"x\" \"a\""));
  EXPECT_FALSE(is_listed("\"x y\", \"a\""));
  EXPECT_FALSE(is_listed("W/ \"a\""));
  EXPECT_FALSE(is_listed("\"\x7f\", \"a\""));
  EXPECT_TRUE(is_listed("\"a\" junk"));
}

TEST(entity_tag_list, a_star_names_every_tag_but_only_alone) {
  EXPECT_TRUE(is_listed("*"));
  EXPECT_FALSE(is_listed("*, \"b\""));
  EXPECT_FALSE(is_listed("\"b\", *"));
  EXPECT_FALSE(is_listed("\"*\""));
  field_lines two;
  two.add("*");
  two.add("\"b\"");
  EXPECT_FALSE(lists(two, "\"a\"", comparison::weak));
}

TEST(entity_tag_list, strong_comparison_goes_on_after_a_weak_one) {
  EXPECT_FALSE(is_listed("W/\"a\"", "\"a\"", comparison::strong));
  EXPECT_TRUE(is_listed("W/\"a\", \"a\"", "\"a\"", comparison::strong));
}

}  // namespace
}  // namespace file_server::testing::entity_tag_test
