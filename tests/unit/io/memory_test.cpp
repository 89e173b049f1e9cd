// Reading bytes of memory, writing bytes to nowhere, and skipping bytes.
#include "unit/io/io_support.hpp"

#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/copy.hpp>
#include <rota/io/memory.hpp>

#include <array>
#include <type_traits>
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

static_assert(!std::is_constructible_v<span_reader, char (&)[4]>,
              "which part of a buffer counts is not known");

TEST(span_reader, takes_a_literal_without_the_zero_at_its_end) {
  EXPECT_EQ(text_of(span_reader("a\0b").left()), std::string("a\0b", 3));
  EXPECT_EQ(text_of(span_reader(std::string_view("a\0b", 2)).left()), std::string("a\0", 2));
}

/// A loop over span_reader never waits. Only its yields let the other task run, which ends the loop.
TEST(span_reader, gives_the_turn_up_though_it_never_waits) {
  runtime rt(with_workers(1));
  rt.spawn([]() -> task<> {
      bool other_ran = false;
      const auto other = [&other_ran]() -> task<> {
        other_ran = true;
        co_return;
      };
      co_await yield();
      auto handle = spawn(other);
      span_reader from("");
      std::array<std::byte, 1> room{};
      for (int i = 0; i < 1000 && !other_ran; ++i) static_cast<void>(co_await from.read(room));
      EXPECT_TRUE(other_ran);
      co_await handle;
      null_writer nowhere;
      other_ran = false;
      auto again = spawn(other);
      for (int i = 0; i < 1000 && !other_ran; ++i) static_cast<void>(co_await nowhere.write(room));
      EXPECT_TRUE(other_ran);
      co_await again;
    }).join();
}

TEST(span_reader, that_moves_many_bytes_gives_the_turn_up_sooner) {
  runtime rt(with_workers(1));
  rt.spawn([]() -> task<> {
      const std::vector<std::byte> many(std::size_t{8} << 20U);
      std::vector<std::byte> room(std::size_t{1} << 20U);
      bool other_ran = false;
      const auto other = [&other_ran]() -> task<> {
        other_ran = true;
        co_return;
      };
      co_await yield();
      auto handle = spawn(other);
      span_reader from(many);
      int reads = 0;
      for (; reads < 8 && !other_ran; ++reads) static_cast<void>(co_await from.read(room));
      EXPECT_LE(reads, 4) << "a turn moves about 2 MiB";
      co_await handle;
    }).join();
}

TEST(span_reader, can_be_read_by_a_buffered_reader) {
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

TEST(skip, leaves_the_bytes_that_follow) {
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

TEST(skip, reports_an_early_end_as_an_error) {
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
