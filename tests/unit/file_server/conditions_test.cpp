// RFC 9110 §13: conditional requests. Each test names its rule.
#include "file_server/conditions.hpp"

#include <gtest/gtest.h>

#include <initializer_list>

#include "file_server/entity_tag.hpp"
#include "file_server/http_date.hpp"

namespace file_server::testing::conditions_test {
namespace {

constexpr std::int64_t now = 784'111'777;  // Sun, 06 Nov 1994 08:49:37 GMT
constexpr const char* now_text = "Sun, 06 Nov 1994 08:49:37 GMT";
constexpr const char* before = "Sun, 06 Nov 1994 08:49:36 GMT";
constexpr const char* after = "Sun, 06 Nov 1994 08:49:38 GMT";
constexpr validators file{"\"a\"", now};

field_lines lines(std::initializer_list<std::string_view> texts) {
  field_lines out;
  for (const std::string_view text : texts) out.add(text);
  return out;
}

condition evaluated(const request& r) { return evaluate_conditions(r, file, now + 100); }

condition if_none_match(std::initializer_list<std::string_view> texts) {
  request r;
  r.if_none_match = lines(texts);
  return evaluated(r);
}

condition if_match(std::initializer_list<std::string_view> texts) {
  request r;
  r.if_match = lines(texts);
  return evaluated(r);
}

condition if_modified_since(std::string_view text) {
  request r;
  r.if_modified_since = text;
  return evaluated(r);
}

condition if_unmodified_since(std::string_view text) {
  request r;
  r.if_unmodified_since = text;
  return evaluated(r);
}

TEST(conditions, hold_if_the_request_has_none) { EXPECT_EQ(evaluated(request{}), condition::holds); }

// §13.1.1
TEST(conditions, if_match_holds_for_one_of_its_tags) {
  EXPECT_EQ(if_match({"\"a\""}), condition::holds);
  EXPECT_EQ(if_match({"\"x\", \"a\" , \"y\""}), condition::holds);
  EXPECT_EQ(if_match({"\"x\"", "\"a\""}), condition::holds);
  EXPECT_EQ(if_match({"*"}), condition::holds);
}

// §13.1.1: 412
TEST(conditions, if_match_fails_for_other_tags) {
  EXPECT_EQ(if_match({"\"b\""}), condition::failed);
  EXPECT_EQ(if_match({"\"b\"", "\"c\""}), condition::failed);
  EXPECT_EQ(if_match({""}), condition::failed);
  EXPECT_EQ(if_match({"a"}), condition::failed);
}

// §13.1.1 and §8.8.3.2: strong comparison
TEST(conditions, if_match_takes_no_weak_tag) { EXPECT_EQ(if_match({"W/\"a\""}), condition::failed); }

// §13.1.2 and §8.8.3.2: weak comparison
TEST(conditions, if_none_match_takes_weak_tags_too) {
  EXPECT_EQ(if_none_match({"\"a\""}), condition::not_modified);
  EXPECT_EQ(if_none_match({"W/\"a\""}), condition::not_modified);
  EXPECT_EQ(if_none_match({"\"x\",W/\"y\", W/\"a\""}), condition::not_modified);
  EXPECT_EQ(if_none_match({"\"x\"", "\"a\""}), condition::not_modified);
  EXPECT_EQ(if_none_match({"*"}), condition::not_modified);
  EXPECT_EQ(if_none_match({"\"b\", \"A\""}), condition::holds);
}

// §13.1.3: not modified up to that date, including its second
TEST(conditions, if_modified_since_holds_if_the_file_is_newer) {
  EXPECT_EQ(if_modified_since(before), condition::holds);
  EXPECT_EQ(if_modified_since(now_text), condition::not_modified);
  EXPECT_EQ(if_modified_since(after), condition::not_modified);
}

// §13.1.3 and §13.1.4: an invalid date is ignored
TEST(conditions, what_is_no_date_is_ignored) {
  for (const std::string_view text :
       {"", "yesterday", "784111777", "Sun, 31 Feb 1994 08:49:37 GMT", "\"a\""}) {
    EXPECT_EQ(if_modified_since(text), condition::holds) << text;
    EXPECT_EQ(if_unmodified_since(text), condition::holds) << text;
  }
}

// §5.6.7: a recipient accepts all three forms
TEST(conditions, a_date_may_have_any_of_three_forms) {
  EXPECT_EQ(if_modified_since("Sunday, 06-Nov-94 08:49:37 GMT"), condition::not_modified);
  EXPECT_EQ(if_modified_since("Sun Nov  6 08:49:37 1994"), condition::not_modified);
  EXPECT_EQ(if_modified_since("Sunday, 06-Nov-94 08:49:36 GMT"), condition::holds);
  EXPECT_EQ(if_modified_since("Sun Nov  6 08:49:36 1994"), condition::holds);
}

// §13.1.4: 412
TEST(conditions, if_unmodified_since_fails_if_the_file_is_newer) {
  EXPECT_EQ(if_unmodified_since(before), condition::failed);
  EXPECT_EQ(if_unmodified_since(now_text), condition::holds);
  EXPECT_EQ(if_unmodified_since(after), condition::holds);
}

// §13.2.2, step 2
TEST(conditions, if_unmodified_since_is_ignored_beside_if_match) {
  request r;
  r.if_match = lines({"\"a\""});
  r.if_unmodified_since = before;
  EXPECT_EQ(evaluated(r), condition::holds);
}

// §13.1.3 and §13.2.2, step 4
TEST(conditions, if_modified_since_is_ignored_beside_if_none_match) {
  request r;
  r.if_none_match = lines({"\"b\""});
  r.if_modified_since = after;
  EXPECT_EQ(evaluated(r), condition::holds);
}

// §13.2.2, steps 1 and 3: the conditions that may fail come first
TEST(conditions, a_failure_wins_over_not_modified) {
  request r;
  r.if_match = lines({"\"b\""});
  r.if_none_match = lines({"\"a\""});
  EXPECT_EQ(evaluated(r), condition::failed);
  r.if_match = {};
  r.if_unmodified_since = before;
  EXPECT_EQ(evaluated(r), condition::failed);
  r.if_match = lines({"\"a\""});
  EXPECT_EQ(evaluated(r), condition::not_modified);
}

bool range_applies_if(std::string_view text, std::int64_t at = now + 1) {
  request r;
  r.if_range = text;
  return range_applies(r, file, at);
}

// §13.1.5
TEST(if_range, holds_for_the_tag) {
  EXPECT_TRUE(range_applies_if(""));
  EXPECT_TRUE(range_applies_if("\"a\""));
  EXPECT_FALSE(range_applies_if("\"b\""));
}

// §13.1.5: strong comparison, one tag, and no "*"
TEST(if_range, takes_no_weak_tag_and_no_list) {
  EXPECT_FALSE(range_applies_if("W/\"a\""));
  EXPECT_FALSE(range_applies_if("\"a\", \"b\""));
  EXPECT_FALSE(range_applies_if("*"));
}

// §13.1.5: exactly that date, not a later one
TEST(if_range, holds_for_the_date_of_the_file_alone) {
  EXPECT_TRUE(range_applies_if(now_text));
  EXPECT_TRUE(range_applies_if("Sun Nov  6 08:49:37 1994"));
  EXPECT_FALSE(range_applies_if(after));
  EXPECT_FALSE(range_applies_if(before));
  EXPECT_FALSE(range_applies_if("tomorrow"));
}

// §13.1.5 and §8.8.2.2: a date is a strong validator once its second is over
TEST(if_range, takes_no_date_whose_second_is_not_over) {
  EXPECT_FALSE(range_applies_if(now_text, now));
  EXPECT_TRUE(range_applies_if(now_text, now + 1));
}

}  // namespace
}  // namespace file_server::testing::conditions_test
