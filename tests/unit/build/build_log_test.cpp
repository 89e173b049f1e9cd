// What the log of commands records.
#include "build/build_log.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "support/scratch_folder.hpp"

namespace build_log_test {
namespace {

using namespace build;

TEST(build_log, remembers_the_last_line_of_a_path) {
  const rota::test::scratch_folder folder;
  const std::string path = folder.at("log");
  {
    build_log log(path);
    EXPECT_FALSE(log.find("a").has_value());
    EXPECT_TRUE(log.add("a", {.command = 1, .started = 2, .left = 3}));
    EXPECT_TRUE(log.add("with space", {.command = ~0ULL, .started = -1, .left = 0}));
    EXPECT_TRUE(log.add("a", {.command = 4, .started = 5, .left = 6}));
  }
  const build_log log(path);
  EXPECT_EQ(log.find("a"), (made_file{.command = 4, .started = 5, .left = 6}));
  EXPECT_EQ(log.find("with space"), (made_file{.command = ~0ULL, .started = -1, .left = 0}));
  EXPECT_FALSE(log.find("b").has_value());
}

TEST(build_log, skips_malformed_lines) {
  const rota::test::scratch_folder folder;
  const std::string path = folder.at("log");
  std::ofstream(path) << "1 2 3 a\nnonsense\n1 2\n\n1 2 3 \n99999999999999999999 1 1 b\n4 5 6 b\n7 8 9 cut";
  const build_log log(path);
  EXPECT_EQ(log.find("a"), (made_file{.command = 1, .started = 2, .left = 3}));
  EXPECT_EQ(log.find("b"), (made_file{.command = 4, .started = 5, .left = 6}));
  EXPECT_FALSE(log.find("cut").has_value()) << "its line has no end";
}

TEST(build_log, does_not_grow_for_ever) {
  const rota::test::scratch_folder folder;
  const std::string path = folder.at("log");
  {
    build_log log(path);
    for (int i = 0; i < 1'000; ++i) EXPECT_TRUE(log.add("a", {.command = 1, .started = i, .left = 3}));
  }
  const auto before = std::filesystem::file_size(path);
  EXPECT_EQ(build_log(path).find("a")->started, 999);
  EXPECT_LT(std::filesystem::file_size(path), before / 100);
  EXPECT_EQ(build_log(path).find("a")->started, 999);
}

TEST(build_log, uses_the_same_clock_as_file_times) {
  const rota::test::scratch_folder folder;
  const build_log log(folder.at("log"));
  for (int i = 0; i < 50; ++i) {
    folder.write("before", "x");
    const file_time now = log.now();
    folder.write("after", "x");
    EXPECT_LE(*written_at(folder.at("before")), now);
    EXPECT_GE(*written_at(folder.at("after")), now);
  }
}

TEST(build_log, says_when_it_cannot_be_written) {
  build_log log("/nowhere/log");
  EXPECT_FALSE(log.add("a", {}));
  EXPECT_TRUE(log.find("a").has_value());
}

}  // namespace
}  // namespace build_log_test
