// The input buffer of a connection loses no byte, for any sequence of reads and uses.
#include "file_server/input_buffer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <random>
#include <string>

namespace file_server::testing::input_buffer_test {
namespace {

void put(input_buffer& b, std::string_view text) {
  while (!text.empty()) {
    const auto room = b.space();
    ASSERT_FALSE(room.empty());
    const std::size_t n = std::min(room.size(), text.size());
    std::memcpy(room.data(), text.data(), n);
    b.commit(n);
    text.remove_prefix(n);
  }
}

TEST(input_buffer, begins_empty) {
  const input_buffer b(100);
  EXPECT_TRUE(b.is_empty());
  EXPECT_EQ(b.pending(), "");
}

TEST(input_buffer, holds_what_was_put_in) {
  input_buffer b(100);
  put(b, "hello");
  EXPECT_EQ(b.pending(), "hello");
  b.consume(2);
  EXPECT_EQ(b.pending(), "llo");
  b.consume(3);
  EXPECT_TRUE(b.is_empty());
}

TEST(input_buffer, has_no_space_when_it_is_full) {
  input_buffer b(10);
  put(b, "0123456789");
  EXPECT_EQ(b.space().size(), 0U);
  b.consume(1);
  EXPECT_EQ(b.space().size(), 1U);
  EXPECT_EQ(b.pending(), "123456789");
}

TEST(input_buffer, starts_small_and_grows_to_its_limit) {
  input_buffer b(10'000);
  EXPECT_EQ(b.space().size(), input_buffer::first_size);
  put(b, std::string(5'000, 'a'));
  EXPECT_EQ(b.space().size(), 2 * input_buffer::first_size - 5'000);
  put(b, std::string(5'000, 'a'));
  EXPECT_EQ(b.space().size(), 0U);
  EXPECT_EQ(b.pending().size(), 10'000U);
}

TEST(input_buffer, reuses_consumed_space_instead_of_growing) {
  input_buffer b(20'000);
  put(b, std::string(4'096, 'a'));
  b.consume(3'000);
  EXPECT_EQ(b.space().size(), 3'000U);
}

TEST(input_buffer, is_a_queue_of_bytes) {
  for (const std::size_t most : {1U, 7U, 4'096U, 9'000U}) {
    input_buffer b(most);
    std::deque<char> model;
    std::mt19937 random(11);
    for (int step = 0; step < 20'000; ++step) {
      const auto room = b.space();
      ASSERT_EQ(room.empty(), model.size() == most);
      const std::size_t in = std::min<std::size_t>(room.size(), random() % 300);
      for (std::size_t i = 0; i < in; ++i) model.push_back(static_cast<char>(random()));
      std::transform(model.end() - static_cast<std::ptrdiff_t>(in), model.end(), room.begin(), [](char c) {
        return static_cast<std::byte>(c);
      });
      b.commit(in);
      ASSERT_TRUE(std::equal(model.begin(), model.end(), b.pending().begin(), b.pending().end()));
      const std::size_t out = std::min<std::size_t>(model.size(), random() % 290);
      model.erase(model.begin(), model.begin() + static_cast<std::ptrdiff_t>(out));
      b.consume(out);
    }
  }
}

}  // namespace
}  // namespace file_server::testing::input_buffer_test
