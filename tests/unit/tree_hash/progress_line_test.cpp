// The progress line, and the stream that it shares with other output.
#include "tree_hash/progress_line.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "common/unique_fd.hpp"
#include "tree_hash/screen.hpp"

namespace tree_hash::testing::progress_line_test {
namespace {

using namespace std::chrono_literals;

TEST(a_size, has_a_unit) {
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text(1023), "1023 B");
  EXPECT_EQ(size_text(1024), "1.0 KiB");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text((1U << 20U) - 1), "1.0 MiB");
  EXPECT_EQ(size_text(std::uint64_t{5} << 30U), "5.0 GiB");
  EXPECT_EQ(size_text(~std::uint64_t{0}), "16.0 EiB");
}

constexpr tally half{.files_done = 3, .files_found = 8, .bytes_done = 512, .bytes_found = 1024};
const std::string of_half = " 50%  3/8 files  512 B/1.0 KiB  100 B/s";

TEST(a_progress_line, shows_percentage_counts_rate_and_bar) {
  EXPECT_EQ(progress_line(half, 100, of_half.size()), of_half);
  EXPECT_EQ(progress_line(half, 100, of_half.size() + 13), of_half + " [#####.....]");
  EXPECT_EQ(progress_line(half, 100, 1'000),
            of_half + " [" + std::string(20, '#') + std::string(20, '.') + "]");
}

TEST(a_progress_line, has_no_bar_if_the_width_is_too_small) {
  EXPECT_EQ(progress_line(half, 100, of_half.size() + 12), of_half);
}

TEST(a_progress_line, is_cut_to_the_width) {
  for (std::size_t width = 0; width < 200; ++width) {
    EXPECT_LE(progress_line(half, 100, width).size(), width);
  }
  EXPECT_EQ(progress_line(half, 100, 9), " 50%  3/8");
}

TEST(a_progress_line, has_a_percentage_whatever_the_counts) {
  EXPECT_EQ(progress_line({}, 0, 5), "100% ");
  EXPECT_EQ(progress_line({.files_found = 1}, 0, 4), "  0%");
  EXPECT_EQ(progress_line({.bytes_done = 9, .bytes_found = 8}, 0, 5), "100% ");
}

TEST(a_rate, follows_the_last_seconds) {
  const rate_meter::time_point begin{};
  rate_meter rate(begin);
  EXPECT_EQ(rate.at(begin, 5), 0U);
  EXPECT_EQ(rate.at(begin + 1s, 1'000), 1'000U);
  EXPECT_EQ(rate.at(begin + 2s, 4'000), 2'000U);
  EXPECT_EQ(rate.at(begin + 3s, 4'000), 1'000U);
  EXPECT_EQ(rate.at(begin + 4s, 100), 500U);
}

/// Both ends of a pipe: written bytes can be read at once.
struct pipe_pair {
  pipe_pair() {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK), 0);
    out = unique_fd(ends[0]);
    in = unique_fd(ends[1]);
  }
  [[nodiscard]] std::string text() const {
    std::array<char, 4096> room{};
    const ssize_t size = ::read(out.get(), room.data(), room.size());
    return {room.data(), size < 0 ? 0 : static_cast<std::size_t>(size)};
  }
  unique_fd out;
  unique_fd in;
};

TEST(a_screen, has_a_bar_only_on_a_terminal_or_if_it_is_forced) {
  const pipe_pair error;
  EXPECT_FALSE(screen(-1, error.in.get(), bar::if_terminal).has_bar());
  EXPECT_FALSE(screen(-1, error.in.get(), bar::never).has_bar());
  EXPECT_TRUE(screen(-1, error.in.get(), bar::always).has_bar());
  const unique_fd terminal(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC));
  ASSERT_TRUE(terminal.is_open());
  EXPECT_TRUE(screen(-1, terminal.get(), bar::if_terminal).has_bar());
  EXPECT_FALSE(screen(-1, terminal.get(), bar::never).has_bar());
}

TEST(a_screen, erases_the_line_before_a_message_and_at_the_end) {
  const pipe_pair out;
  const pipe_pair error;
  {
    screen s(out.in.get(), error.in.get(), bar::always);
    s.draw("one");
    EXPECT_EQ(error.text(), "\r\x1b[Kone");
    EXPECT_FALSE(s.print({.out = "line\n", .errors = ""}));
    EXPECT_EQ(error.text(), "");
    EXPECT_FALSE(s.print({.out = "", .errors = "message\n"}));
    EXPECT_EQ(error.text(), "\r\x1b[Kmessage\n");
    s.draw("two");
  }
  EXPECT_EQ(error.text(), "\r\x1b[Ktwo\r\x1b[K");
  EXPECT_EQ(out.text(), "line\n");
}

}  // namespace
}  // namespace tree_hash::testing::progress_line_test
