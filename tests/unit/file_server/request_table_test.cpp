// Each row of the table, whole and cut into pieces.
#include "request_table.hpp"

#include <gtest/gtest.h>

#include <random>

#include "transcript.hpp"

namespace file_server::testing {

void PrintTo(const request_row& row, std::ostream* to) { *to << row.name; }

namespace request_table_test {
namespace {

class request_table_row : public ::testing::TestWithParam<request_row> {};

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

TEST_P(request_table_row, gets_its_status) {
  const auto& [name, bytes, expected] = GetParam();
  const std::string line = first_line(read_whole(bytes));
  if (expected == 0) {
    EXPECT_EQ(line, "more");
  } else if (expected == 200) {
    EXPECT_TRUE(line.starts_with("GET ") || line.starts_with("HEAD ")) << line;
  } else {
    const std::string rest = bytes.starts_with("HEAD ") ? " without body" : "";
    EXPECT_EQ(line, "refused " + std::to_string(expected) + rest);
  }
}

TEST_P(request_table_row, parses_the_same_for_every_split_into_two) {
  const std::string_view bytes = GetParam().bytes;
  const std::string whole = read_whole(bytes);
  for (std::size_t cut = 0; cut <= bytes.size(); ++cut)
    ASSERT_EQ(read_cut(bytes, {cut}), whole) << "cut at " << cut;
}

TEST_P(request_table_row, parses_the_same_byte_by_byte) {
  const std::string_view bytes = GetParam().bytes;
  transcript t;
  for (std::size_t i = 0; i < bytes.size(); ++i) t.feed(bytes.substr(i, 1));
  EXPECT_EQ(t.text(), read_whole(bytes));
}

TEST_P(request_table_row, parses_the_same_in_random_pieces_after_good_requests) {
  std::string bytes =
      "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n\r\nHEAD /2 HTTP/1.1\r\nHost: b\r\nRange: bytes=0-\r\n\r\n";
  bytes += GetParam().bytes;
  const std::string whole = read_whole(bytes);
  std::mt19937 random(7);
  for (int round = 0; round < 50; ++round) {
    std::vector<std::size_t> cuts;
    for (std::size_t at = random() % 40; at < bytes.size(); at += random() % 40) cuts.push_back(at);
    ASSERT_EQ(read_cut(bytes, cuts), whole) << "round " << round;
  }
}

INSTANTIATE_TEST_SUITE_P(all, request_table_row, ::testing::ValuesIn(request_table), [](const auto& row) {
  return std::string(row.param.name);
});

}  // namespace
}  // namespace request_table_test
}  // namespace file_server::testing
