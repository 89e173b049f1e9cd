#include "chat/text.hpp"

#include <gtest/gtest.h>

#include <string>

namespace chat::text_test {
namespace {

const std::string bad = "\xEF\xBF\xBD";  // U+FFFD

TEST(cleaned, utf8_passes) {
  for (const char* const text : {"a", "\u00e4\u00f6", "\u20ac 5", "\U0001F600!", "\u00a0x\uffff\U0010ffff"}) {
    EXPECT_EQ(cleaned(text), text);
  }
}

TEST(cleaned, control_characters_go) {
  std::string all;
  for (char c = 1; c < 0x20; ++c) all += c;
  all.erase(all.find('\t'), 1);
  EXPECT_EQ(cleaned("a" + all + "\x7f" + "b" + std::string(1, '\0') + "c"), "abc");
  EXPECT_EQ(cleaned("\x1b[31mred\x07"), "[31mred");
  EXPECT_EQ(cleaned("a\u0080\u009b\u009fb"), "ab") << "C1: 9b begins a sequence as ESC [ does";
  EXPECT_EQ(cleaned("a\tb"), "a b");
}

TEST(cleaned, there_are_no_spaces_at_its_ends) {
  EXPECT_EQ(cleaned("  a b \x01 "), "a b");
  EXPECT_EQ(cleaned(" \t "), "");
  EXPECT_EQ(cleaned(""), "");
}

TEST(cleaned, invalid_utf8_is_replaced) {
  EXPECT_EQ(cleaned("a\xff\x80z"), "a" + bad + bad + "z");
  EXPECT_EQ(cleaned("\xc3"), bad) << "cut";
  EXPECT_EQ(cleaned("\xc3z"), bad + "z");
  EXPECT_EQ(cleaned("\x9b[1m"), bad + "[1m");
  EXPECT_EQ(cleaned("\xc0\xaf"), bad + bad) << "overlong";
  EXPECT_EQ(cleaned("\xe0\x80\xaf"), bad + bad + bad) << "overlong";
  EXPECT_EQ(cleaned("\xed\xa0\x80"), bad + bad + bad) << "half of a pair";
  EXPECT_EQ(cleaned("\xf4\x90\x80\x80"), bad + bad + bad + bad) << "beyond the last";
}

TEST(check_name, accepts_valid_names) {
  for (const char* const name : {"a", "Z", "ann", "Ann-Lee_2", "abcdefghijklmnopqrst"}) {
    EXPECT_EQ(check_name(name), name_fault::none) << name;
  }
}

TEST(check_name, refuses_invalid_names) {
  EXPECT_EQ(check_name(""), name_fault::empty);
  EXPECT_EQ(check_name("abcdefghijklmnopqrstu"), name_fault::too_long);
  for (const char* const name : {"1a", "-", "_a", " a", "#a"}) {
    EXPECT_EQ(check_name(name), name_fault::begins_badly) << name;
  }
  for (const char* const name : {"a b", "a,b", "a:", "a/", "a@", "a[", "a`", "a{", "\x61\xc3\xa4"}) {
    EXPECT_EQ(check_name(name), name_fault::has_bad_characters) << name;
  }
}

TEST(folded, has_no_capitals) { EXPECT_EQ(folded("AZaz09-_@["), "azaz09-_@["); }

}  // namespace
}  // namespace chat::text_test
