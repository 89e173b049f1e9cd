// The command line, and how it complains.
#include "tree_hash/options.hpp"

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>
#include <vector>

namespace tree_hash::testing::options_test {
namespace {

std::expected<options, early_end> parse(std::initializer_list<const char*> arguments) {
  std::vector<const char*> argv{"tree_hash"};
  argv.insert(argv.end(), arguments);
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

void expect_error(std::initializer_list<const char*> arguments,
                  std::initializer_list<std::string_view> parts) {
  const auto o = parse(arguments);
  ASSERT_FALSE(o);
  EXPECT_EQ(o.error().exit_code, 2);
  for (const auto part : parts) EXPECT_NE(o.error().text.find(part), std::string::npos) << o.error().text;
}

TEST(options, have_defaults) {
  const auto o = parse({"/tmp"});
  ASSERT_TRUE(o) << o.error().text;
  EXPECT_EQ(o->directory, "/tmp");
  EXPECT_EQ(o->workers, 0U);
  EXPECT_EQ(o->threads, 0U);
  EXPECT_EQ(o->shown, directories::root);
  EXPECT_EQ(o->progress, bar::if_terminal);
}

TEST(options, can_all_be_set) {
  const auto o =
      parse({"--workers", "3", "--threads=256", "--directories", "all", "--progress", "never", "/"});
  ASSERT_TRUE(o) << o.error().text;
  EXPECT_EQ(o->directory, "/");
  EXPECT_EQ(o->workers, 3U);
  EXPECT_EQ(o->threads, 256U);
  EXPECT_EQ(o->shown, directories::all);
  EXPECT_EQ(o->progress, bar::never);
  EXPECT_EQ(parse({"/", "--directories", "none"})->shown, directories::none);
  EXPECT_EQ(parse({"/", "--progress", "always"})->progress, bar::always);
}

TEST(options, report_the_wrong_value_and_what_is_allowed) {
  expect_error({}, {"DIR", "required"});
  expect_error({"/dev/null"}, {"DIR", "'/dev/null' is not a directory"});
  expect_error({"/", "--workers", "4097"}, {"--workers", "'4097' is not a number in 0..4096"});
  expect_error({"/", "--threads", "257"}, {"--threads", "'257' is not a number in 0..256"});
  for (const char* text : {"", "x", "8x", "-1", "+8", "99999999999999999999"}) {
    expect_error({"/", "--threads", text}, {"--threads", "is not a number in 0..256"});
  }
  expect_error({"/", "--directories", "some"}, {"--directories", "'some' is not one of root|all|none"});
  expect_error({"/", "--progress", ""}, {"--progress", "'' is not one of auto|always|never"});
  expect_error({"/", "--colour"}, {"--colour"});
  expect_error({"/", "/tmp"}, {"/tmp"});
}

TEST(options, are_all_listed_by_help) {
  const auto o = parse({"--help"});
  ASSERT_FALSE(o);
  EXPECT_EQ(o.error().exit_code, 0);
  for (const auto* part : {"DIR", "--workers", "--threads", "--directories", "--progress", "0..256"}) {
    EXPECT_NE(o.error().text.find(part), std::string::npos) << part;
  }
}

}  // namespace
}  // namespace tree_hash::testing::options_test
