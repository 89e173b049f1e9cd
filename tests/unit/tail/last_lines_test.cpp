// examples/tail: where the last lines begin.
#include "tail/last_lines.hpp"

#include "support/scratch_folder.hpp"

#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace tail::last_lines_test {
namespace {

class tail_last_lines : public ::testing::Test {
 protected:
  /// Returns where the last lines start in a file with this content that was found to have `size` bytes.
  std::uint64_t start(const std::string& content, std::uint64_t size, std::size_t count) {
    folder_.write("f", content);
    rota::runtime rt;
    const auto asks = [&]() -> rota::task<std::uint64_t> {
      const auto f = co_await rota::fs::file::open(folder_.at("f"));
      const auto found = co_await start_of_last_lines(f.value(), size, count);
      EXPECT_TRUE(found.has_value()) << found.error().message();
      co_return found.value_or(~std::uint64_t{0});
    };
    return rt.block_on(asks);
  }

 private:
  rota::test::scratch_folder folder_;
};

TEST_F(tail_last_lines, they_are_found_from_the_end) {
  EXPECT_EQ(start("a\nb\nc\n", 6, 2), 2U);
  EXPECT_EQ(start("a\nb\nc", 5, 2), 2U);
  EXPECT_EQ(start("a\nb\nc\n", 6, 0), 6U);
  EXPECT_EQ(start("a\nb\nc\n", 6, 9), 0U);
  EXPECT_EQ(start("", 0, 9), 0U);
  const std::string line(100'000, 'x');
  EXPECT_EQ(start(line + "\n" + line + "\n" + line + "\n", 300'003, 2), 100'001U);
}

/// The file is truncated between the check of its size and the read, so everything left in it is new.
TEST_F(tail_last_lines, a_file_that_has_become_shorter_is_read_from_its_start) {
  EXPECT_EQ(start("a\nb\n", 1000, 2), 0U);
  EXPECT_EQ(start("", 200'000, 2), 0U);
}

}  // namespace
}  // namespace tail::last_lines_test
