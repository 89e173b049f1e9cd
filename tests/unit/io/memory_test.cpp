// Bytes in memory that are read, bytes that go nowhere, and bytes that are skipped.
#include "unit/io/io_support.hpp"

#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/copy.hpp>
#include <rota/io/memory.hpp>

#include <array>
#include <vector>

namespace rota::test::memory_test {
namespace {

using io::null_writer;
using io::result;
using io::span_reader;

static_assert(io::reader<span_reader> && !io::writer<span_reader>);
static_assert(io::writer<null_writer> && !io::reader<null_writer>);

TEST(span_reader, gives_its_bytes_in_order_and_then_the_end) {
  run([]() -> task<> {
    span_reader from("abcdefg");
    std::array<std::byte, 3> room{};
    std::string got;
    for (const std::size_t expected : {3U, 3U, 1U, 0U, 0U}) {
      const result<std::size_t> count = co_await from.read(room);
      EXPECT_EQ(count, expected);
      got += text_of(std::span(room).first(count.value_or(0)));
      EXPECT_EQ(got + text_of(from.left()), "abcdefg");
    }
    const result<std::size_t> none = co_await span_reader("abc").read(std::span<std::byte>());
    EXPECT_EQ(none, 0U);
    const result<std::size_t> empty = co_await span_reader(std::span<const std::byte>()).read(room);
    EXPECT_EQ(empty, 0U);
  });
}

TEST(span_reader, is_a_source_of_whatever_takes_a_reader) {
  run([]() -> task<> {
    span_reader text("one\ntwo\nthree");
    io::buffered_reader<span_reader> in(text, 16);
    std::string lines;
    for (;;) {
      const auto line = co_await in.line();
      if (!line.has_value() || !line->has_value()) break;
      lines += std::string(**line) + ";";
    }
    EXPECT_EQ(lines, "one;two;three;");
  });
}

TEST(null_writer, takes_and_counts_all) {
  run([]() -> task<> {
    const std::vector<std::byte> many(100'000);
    span_reader from(many);
    null_writer nowhere;
    const result<std::uint64_t> copied = co_await io::copy(from, nowhere);
    EXPECT_EQ(copied, many.size());
    EXPECT_EQ(nowhere.bytes_written(), many.size());
    const result<std::size_t> none = co_await nowhere.write(std::span<const std::byte>());
    EXPECT_EQ(none, 0U);
  });
}

TEST(skip, leaves_what_comes_behind) {
  run([]() -> task<> {
    for (const std::size_t unwanted : {0U, 1U, 4095U, 4096U, 4097U, 10'000U}) {
      const std::string text = std::string(unwanted, 'x') + "wanted";
      source from(text, cutter(7, unwanted));
      const result<void> skipped = co_await io::skip(from, unwanted);
      EXPECT_TRUE(skipped.has_value());
      std::vector<std::byte> rest;
      static_cast<void>(co_await io::read_to_end(from, rest, 100));
      EXPECT_EQ(text_of(rest), "wanted") << unwanted;
    }
  });
}

TEST(skip, says_when_there_was_less) {
  run([]() -> task<> {
    span_reader from("abc");
    const result<void> skipped = co_await io::skip(from, ~std::uint64_t{0});
    EXPECT_FALSE(skipped.has_value());
    EXPECT_EQ(skipped.error(), errc::end_of_stream);
    EXPECT_TRUE(from.left().empty());
  });
}

}  // namespace
}  // namespace rota::test::memory_test
