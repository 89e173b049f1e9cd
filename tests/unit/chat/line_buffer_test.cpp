#include "chat/line_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace chat::line_buffer_test {
namespace {

void put(line_buffer& into, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  const auto room = into.room();
  ASSERT_GE(room.size(), bytes.size());
  std::ranges::copy(bytes, room.begin());
  into.commit(bytes.size());
}

/// Returns all lines of `text`, which arrives in pieces of `piece` bytes, and "too long" if it ends so.
std::vector<std::string> lines_of(std::string_view text, std::size_t piece, std::size_t longest) {
  line_buffer buffer(longest);
  std::vector<std::string> lines;
  for (;;) {
    std::string_view line;
    const found what = buffer.next(line);
    if (what == found::line) {
      lines.emplace_back(line);
      continue;
    }
    if (what == found::too_long) {
      lines.emplace_back("too long");
      return lines;
    }
    if (text.empty()) return lines;
    const std::string_view part = text.substr(0, piece);
    put(buffer, part);
    text.remove_prefix(part.size());
  }
}

TEST(line_buffer, gives_the_same_lines_in_whatever_pieces_they_arrive) {
  const std::string text = "one\n\ntwo\r\n\r\n t\rhree \nfour";
  const std::vector<std::string> lines{"one", "", "two", "", " t\rhree "};
  for (std::size_t piece = 1; piece <= text.size(); ++piece) EXPECT_EQ(lines_of(text, piece, 20), lines);
}

TEST(line_buffer, a_line_may_be_as_long_as_the_limit_and_no_longer) {
  for (const std::size_t piece : {1U, 3U, 100U}) {
    EXPECT_EQ(lines_of("1234\n1234\r\n", piece, 4), (std::vector<std::string>{"1234", "1234"}));
    EXPECT_EQ(lines_of("12\n12345\n", piece, 4), (std::vector<std::string>{"12", "too long"}));
    EXPECT_EQ(lines_of("12\n12345\r\n", piece, 4), (std::vector<std::string>{"12", "too long"}));
  }
}

TEST(line_buffer, too_long_line_is_found_before_its_end) {
  EXPECT_EQ(lines_of("12345", 1, 4), std::vector<std::string>{"too long"});
  EXPECT_EQ(lines_of("1234\r", 1, 4), std::vector<std::string>{}) << "it may be the end of the line";
  EXPECT_EQ(lines_of("1234\rx", 1, 4), std::vector<std::string>{"too long"});
}

TEST(line_buffer, has_room_until_a_line_is_too_long) {
  for (const std::size_t longest : {64U, 4094U, 4096U, 65536U}) {
    line_buffer buffer(longest);
    std::string_view line;
    std::size_t count = 0;
    while (buffer.next(line) == found::nothing) {
      ASSERT_FALSE(buffer.room().empty());
      put(buffer, "x");
      ++count;
    }
    EXPECT_EQ(count, longest + 1);
  }
}

}  // namespace
}  // namespace chat::line_buffer_test
