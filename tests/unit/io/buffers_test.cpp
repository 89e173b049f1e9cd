// The same bytes come out for any cuts of the stream and any size of the buffer.
#include "unit/io/io_support.hpp"

#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/buffered_writer.hpp>
#include <rota/io/lines.hpp>

#include <array>
#include <stdexcept>
#include <vector>

namespace rota::test::buffers_test {
namespace {

using io::buffered_reader;
using io::buffered_writer;
using io::result;
using piece = result<std::optional<std::string_view>>;

/// Splits the whole text at once, as the expected result.
std::vector<std::string> taken_apart(std::string_view text, std::string_view delimiter) {
  std::vector<std::string> pieces;
  for (;;) {
    const std::size_t at = text.find(delimiter);
    if (at == std::string_view::npos) break;
    pieces.emplace_back(text.substr(0, at));
    text.remove_prefix(at + delimiter.size());
  }
  if (!text.empty()) pieces.emplace_back(text);
  return pieces;
}

task<std::vector<std::string>> split_of(std::string_view text, std::string_view delimiter, cutter cuts) {
  source from(text, cuts);
  buffered_reader<source> in(from, 16);
  std::vector<std::string> pieces;
  auto all = io::split(in, delimiter, 1000);
  for (;;) {
    const auto each = co_await all.next();
    if (!each) break;
    EXPECT_TRUE(each->has_value());
    pieces.emplace_back(**each);
  }
  co_return pieces;
}

/// Random letters of the delimiters: pieces of 0 .. 60 letters, and many incomplete delimiters.
std::string text_for_splits(std::uint64_t seed) {
  cutter draw(4, seed);
  std::string text;
  for (int i = 0; i < 300; ++i) text += "ab\r\n"[draw.next() - 1];
  return text;
}

TEST(splits, are_the_same_however_the_stream_is_cut) {
  run([]() -> task<> {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      const std::string text = text_for_splits(seed);
      for (const std::string_view delimiter : {"\n", "\r\n", "ab", "aab", "a\r\nb"}) {
        const std::vector<std::string> expected = taken_apart(text, delimiter);
        for (const std::size_t most : {1U, 3U, 17U, 400U}) {
          const std::vector<std::string> got = co_await split_of(text, delimiter, cutter(most, seed));
          EXPECT_EQ(got, expected) << seed << ' ' << most;
        }
      }
    }
  });
}

TEST(lines, lose_their_ends_and_the_last_one_needs_none) {
  run([]() -> task<> {
    for (const std::size_t most : {1U, 2U, 5U, 100U}) {
      source from("one\r\n\n\r\ntwo\rthree\nlast\r", cutter(most));
      buffered_reader<source> in(from, 16);
      std::vector<std::string> got;
      auto all = io::lines(in);
      for (;;) {
        const auto each = co_await all.next();
        if (!each) break;
        got.emplace_back(each->value());
      }
      const std::vector<std::string> expected{"one", "", "", "two\rthree", "last\r"};
      EXPECT_EQ(got, expected);
    }
  });
}

TEST(lines, may_be_as_long_as_their_limit_and_no_longer) {
  run([]() -> task<> {
    for (const std::string_view end : {"\n", "\r\n", ""}) {
      for (const std::size_t length : {99U, 100U, 101U}) {
        const std::string text = std::string(length, 'x') + std::string(end);
        for (const std::size_t most : {1U, 1000U}) {
          source from(text, cutter(most));
          buffered_reader<source> in(from, 16);
          const piece first = co_await in.line(100);
          EXPECT_EQ(first.has_value(), length <= 100) << length << ' ' << most << ' ' << end.size();
          if (first.has_value()) continue;
          EXPECT_EQ(first.error(), make_error_code(errc::too_long));
          const piece again = co_await in.line(101);
          EXPECT_TRUE(again.has_value() && again->value().size() == length) << "nothing was used up";
        }
      }
    }
  });
}

TEST(until, fails_at_an_end_before_its_delimiter) {
  run([]() -> task<> {
    source from("header\r\n\r\nbody", cutter(3));
    buffered_reader<source> in(from);
    const piece header = co_await in.until("\r\n\r\n", 100);
    EXPECT_TRUE(header.has_value() && **header == "header");
    const piece none = co_await in.until("\r\n\r\n", 100);
    EXPECT_TRUE(!none.has_value() && none.error() == make_error_code(errc::end_of_stream));
    EXPECT_EQ(text_of(in.buffered()), "body");
    const piece body = co_await in.until_or_end("\r\n", 100);
    EXPECT_TRUE(body.has_value() && **body == "body");
    const piece end = co_await in.until("\r\n", 100);
    EXPECT_TRUE(end.has_value() && !end->has_value());
    bool refused = false;
    try {
      static_cast<void>(co_await in.until("", 100));
    } catch (const std::invalid_argument&) {
      refused = true;
    }
    EXPECT_TRUE(refused);
  });
}

TEST(until, takes_any_limit) {
  run([]() -> task<> {
    source from("a\nb", cutter(1));
    buffered_reader<source> in(from, 16);
    const piece first = co_await in.line(~std::size_t{0});
    EXPECT_TRUE(first.has_value() && **first == "a");
    const piece none = co_await in.until("\n", 0);
    EXPECT_TRUE(!none.has_value());
  });
}

TEST(a_buffered_reader, tells_an_error_and_keeps_what_it_has) {
  run([]() -> task<> {
    source from("some", cutter(2));
    from.error = std::errc::connection_reset;
    buffered_reader<source> in(from);
    const piece broken = co_await in.line();
    EXPECT_TRUE(!broken.has_value() && broken.error() == std::errc::connection_reset);
    EXPECT_EQ(text_of(in.buffered()), "some");
    auto all = io::lines(in);
    const auto told = co_await all.next();
    EXPECT_TRUE(told.has_value() && !told->has_value());
    const auto end = co_await all.next();
    EXPECT_FALSE(end.has_value());
  });
}

TEST(a_buffered_reader, reads_large_parts_past_its_buffer) {
  run([]() -> task<> {
    const std::string text(1000, 'x');
    source from(text, cutter(1000));
    buffered_reader<source> in(from, 16);
    std::array<std::byte, 64> large;
    const result<std::size_t> got = co_await in.read(large);
    EXPECT_GT(got.value_or(0), 0U);
    EXPECT_TRUE(in.buffered().empty());
    std::array<std::byte, 1> small;
    const result<std::size_t> one = co_await in.read(small);
    EXPECT_EQ(one.value_or(0), 1U);
    const result<std::size_t> none = co_await in.read(std::span<std::byte>());
    EXPECT_EQ(none.value_or(9), 0U);
    const auto there = co_await in.fill();
    EXPECT_TRUE(there.has_value() && there->size() == in.buffered().size());
  });
}

TEST(a_buffered_reader, reads_exactly_or_says_that_there_is_less) {
  run([]() -> task<> {
    source from("0123456789", cutter(3));
    buffered_reader<source> in(from, 16);
    std::array<std::byte, 7> seven;
    const result<void> got = co_await in.read_exact(seven);
    EXPECT_TRUE(got.has_value());
    EXPECT_EQ(text_of(seven), "0123456");
    const result<void> less = co_await in.read_exact(seven);
    EXPECT_TRUE(!less.has_value() && less.error() == make_error_code(errc::end_of_stream));
    const auto end = co_await in.fill();
    EXPECT_TRUE(end.has_value() && end->empty());
  });
}

TEST(fill, reads_until_enough_is_buffered_however_the_stream_is_cut) {
  run([]() -> task<> {
    std::string text;
    for (int i = 0; i < 500; ++i) text += static_cast<char>('a' + i % 26);
    for (const std::size_t most : {1U, 3U, 17U, 400U}) {
      source from(text, cutter(most));
      buffered_reader<source> in(from, 16);
      std::string got;
      for (std::size_t least = 1; got.size() + least <= text.size(); ++least) {
        const auto filled = co_await in.fill(least);
        EXPECT_TRUE(filled.has_value() && filled->size() >= least) << least << ' ' << most;
        got += text_of(filled->first(least));
        in.consume(least);
      }
      EXPECT_EQ(got, text.substr(0, got.size())) << most;
    }
  });
}

TEST(fill, reads_nothing_if_enough_is_buffered) {
  run([]() -> task<> {
    source from("0123456789", cutter(10));
    buffered_reader<source> in(from, 16);
    const auto none = co_await in.fill(0);
    EXPECT_TRUE(none.has_value() && none->empty());
    EXPECT_EQ(from.reads, 0);
    const auto all = co_await in.fill(10);
    EXPECT_TRUE(all.has_value() && text_of(*all) == "0123456789");
    const int reads = from.reads;
    in.consume(3);
    const auto rest = co_await in.fill(7);
    EXPECT_TRUE(rest.has_value() && text_of(*rest) == "3456789");
    EXPECT_EQ(from.reads, reads);
  });
}

TEST(fill, tells_an_end_between_messages_from_one_within_a_message) {
  run([]() -> task<> {
    source from("0123456789", cutter(3));
    buffered_reader<source> in(from, 16);
    const auto cut_off = co_await in.fill(11);
    EXPECT_TRUE(!cut_off.has_value() && cut_off.error() == make_error_code(errc::end_of_stream));
    EXPECT_EQ(text_of(in.buffered()), "0123456789") << "nothing was used up";
    in.consume(10);
    const auto end = co_await in.fill(1);
    EXPECT_TRUE(end.has_value() && end->empty());
  });
}

TEST(fill, tells_an_error_and_keeps_what_it_has) {
  run([]() -> task<> {
    source from("some", cutter(2));
    from.error = std::errc::connection_reset;
    buffered_reader<source> in(from);
    const auto broken = co_await in.fill(5);
    EXPECT_TRUE(!broken.has_value() && broken.error() == std::errc::connection_reset);
    EXPECT_EQ(text_of(in.buffered()), "some");
  });
}

TEST(fill, refuses_more_than_may_be_buffered_before_it_reads) {
  run([]() -> task<> {
    constexpr std::size_t most = buffered_reader<source>::most_buffered;
    source from("0123456789", cutter(3));
    buffered_reader<source> in(from, 16);
    for (const std::size_t bad : {most + 1, ~std::size_t{0}}) {
      const auto refused = co_await in.fill(bad);
      EXPECT_TRUE(!refused.has_value() && refused.error() == make_error_code(errc::too_long));
    }
    EXPECT_EQ(from.reads, 0);
    const std::string text(most + 100, 'x');
    source longer(text, cutter(most));
    buffered_reader<source> all(longer, 16);
    const auto largest = co_await all.fill(most);
    EXPECT_TRUE(largest.has_value() && largest->size() == most);
    const int reads = longer.reads;
    const auto full = co_await all.more();
    EXPECT_TRUE(!full.has_value() && full.error() == make_error_code(errc::too_long));
    EXPECT_EQ(longer.reads, reads);
    all.consume(all.buffered().size());
    const auto none = co_await all.more();
    EXPECT_TRUE(none.has_value()) << "there is room again";
    // Any amount that fits into the grown buffer.
    source again(text, cutter(most));
    buffered_reader<source> wide(again, 10'000'000);
    const auto no_more = co_await wide.fill(most);
    EXPECT_TRUE(no_more.has_value() && no_more->size() == most);
  });
}

TEST(more, appends_one_read_to_the_buffered_bytes) {
  run([]() -> task<> {
    source from("0123456789", cutter(2));
    from.error = std::errc::connection_reset;
    buffered_reader<source> in(from, 16);
    std::size_t sum = 0;
    while (sum < 10) {
      const int reads = from.reads;
      const result<std::size_t> got = co_await in.more();
      EXPECT_EQ(from.reads, reads + 1);
      EXPECT_TRUE(got.has_value() && *got != 0);
      sum += got.value_or(10);
      EXPECT_EQ(text_of(in.buffered()), std::string("0123456789").substr(0, sum));
    }
    const result<std::size_t> broken = co_await in.more();
    EXPECT_TRUE(!broken.has_value() && broken.error() == std::errc::connection_reset);
    from.error.reset();
    const result<std::size_t> end = co_await in.more();
    EXPECT_EQ(end.value_or(9), 0U);
    EXPECT_EQ(text_of(in.buffered()), "0123456789");
  });
}

TEST(buffers, refuse_a_size_out_of_range) {
  source from("", cutter(1));
  sink to(cutter(1));
  for (const std::size_t bad :
       {std::size_t{0}, std::size_t{15}, (std::size_t{1} << 24U) + 1, ~std::size_t{0}}) {
    EXPECT_THROW(buffered_reader(from, bad), std::invalid_argument);
    EXPECT_THROW(buffered_writer(to, bad), std::invalid_argument);
  }
  EXPECT_NO_THROW(buffered_reader(from, std::size_t{1} << 24U));
}

TEST(a_buffered_writer, collects_small_writes) {
  run([]() -> task<> {
    sink to(cutter(1000));
    buffered_writer<sink> out(to, 100);
    for (int i = 0; i < 50; ++i) {
      const result<void> put = co_await out.write_all(bytes_of("0123456789"));
      EXPECT_TRUE(put.has_value());
    }
    EXPECT_EQ(to.text.size() + out.pending(), 500U);
    const result<void> flushed = co_await out.flush();
    EXPECT_TRUE(flushed.has_value());
    EXPECT_EQ(to.text.size(), 500U);
    EXPECT_LT(to.writes, 15);
    const std::string large(200, 'x');
    const result<std::size_t> put = co_await out.write(bytes_of(large));
    EXPECT_GT(put.value_or(0), 0U);
    EXPECT_EQ(out.pending(), 0U) << "what is large passes by";
  });
}

TEST(a_buffered_writer, tells_an_error_and_keeps_what_was_not_written) {
  run([]() -> task<> {
    sink to(cutter(1000));
    to.most = 30;
    buffered_writer<sink> out(to, 100);
    const std::string text(50, 'x');
    const result<void> taken = co_await out.write_all(bytes_of(text));
    EXPECT_TRUE(taken.has_value());
    const result<void> full = co_await out.flush();
    EXPECT_TRUE(!full.has_value() && full.error() == std::errc::no_space_on_device);
    EXPECT_EQ(out.pending(), 20U);
    to.error.reset();
    const result<void> nothing = co_await out.flush();
    EXPECT_TRUE(!nothing.has_value() && nothing.error() == std::errc::io_error);
    to.most = 1000;
    const result<void> rest = co_await out.flush();
    EXPECT_TRUE(rest.has_value());
    EXPECT_EQ(to.text, text);
  });
}

TEST(a_buffered_writer, asserts_when_destroyed_before_a_flush) {
  const auto forgets = [] {
    sink to(cutter(10));
    buffered_writer<sink> out(to, 100);
    run([](buffered_writer<sink>& into) -> task<> { static_cast<void>(co_await into.write(bytes_of("x"))); },
        std::ref(out));
  };
#if defined(NDEBUG)
  forgets();
#else
  EXPECT_DEATH(forgets(), "not flushed");
#endif
}

TEST(whole, reads_and_writes_move_all_or_say_why_not) {
  run([]() -> task<> {
    const std::string text(10'000, 'x');
    source from(text, cutter(700));
    std::vector<std::byte> all(3, std::byte{'.'});
    const result<std::size_t> sum = co_await io::read_to_end(from, all, text.size());
    EXPECT_EQ(sum.value_or(0), text.size());
    EXPECT_EQ(text_of(all), "..." + text);

    source longer(text, cutter(700));
    std::vector<std::byte> some;
    const result<std::size_t> none = co_await io::read_to_end(longer, some, text.size() - 1);
    EXPECT_TRUE(!none.has_value() && none.error() == make_error_code(errc::too_long));
    EXPECT_EQ(some.size(), text.size() - 1);

    sink to(cutter(9));
    const result<void> put = co_await io::write_all(to, bytes_of(text));
    EXPECT_TRUE(put.has_value());
    EXPECT_EQ(to.text, text);
    to.error.reset();
    to.most = 0;
    const result<void> stuck = co_await io::write_all(to, bytes_of(text));
    EXPECT_TRUE(!stuck.has_value() && stuck.error() == std::errc::io_error);
  });
}

TEST(whole, reads_that_are_cancelled_leave_only_what_was_read) {
  on_one_worker([]() -> task<> {
    source from("0123456789", cutter(1));
    std::vector<std::byte> some;
    {
      join_handle<result<std::size_t>> reading = spawn(io::read_to_end(from, some, 1000));
      while (from.reads < 4) co_await yield();
      reading.cancel();
      const auto how = co_await reading.result();
      EXPECT_TRUE(how.is_cancelled());
    }
    EXPECT_LE(some.size(), 10U);
    EXPECT_EQ(text_of(some), std::string("0123456789").substr(0, some.size()));
  });
}

/// A reader that is cancelled in the middle of a line, again and again, loses no byte.
TEST(a_cancelled_line, is_read_by_the_next_one) {
  on_one_worker([]() -> task<> {
    const std::string text = "a line of some length\nand another one\n";
    source from(text, cutter(1));
    buffered_reader<source> in(from, 16);
    std::vector<std::string> got;
    for (int cancels = 0; got.size() < 2;) {
      join_handle<piece> reading = spawn(in.line());
      const int until = from.reads + 2;
      while (from.reads < until && !reading.is_done()) co_await yield();
      if (++cancels % 3 != 0) reading.cancel();
      outcome<piece> end = co_await reading.result();
      if (end.has_value()) got.emplace_back(**std::move(end).value());
    }
    EXPECT_EQ(got[0], "a line of some length");
    EXPECT_EQ(got[1], "and another one");
  });
}

/// A fill that is cancelled in the middle of a message, again and again, loses no byte.
TEST(a_cancelled_fill, is_continued_by_the_next_one) {
  on_one_worker([]() -> task<> {
    const std::string text = "0123456789abcdefghijklmnopqrstuvwxyz";
    source from(text, cutter(1));
    buffered_reader<source> in(from, 16);
    std::string got;
    int cancelled = 0;
    for (int tries = 1; got.size() < text.size(); ++tries) {
      join_handle<result<std::span<const std::byte>>> reading = spawn(in.fill(12));
      const int until = from.reads + 2;
      while (from.reads < until && !reading.is_done()) co_await yield();
      if (tries % 8 != 0) reading.cancel();
      const outcome<result<std::span<const std::byte>>> end = co_await reading.result();
      cancelled += end.is_cancelled() ? 1 : 0;
      if (!end.has_value()) continue;
      got += text_of(in.buffered().first(12));
      in.consume(12);
    }
    EXPECT_EQ(got, text);
    EXPECT_GT(cancelled, 0);
  });
}

}  // namespace
}  // namespace rota::test::buffers_test
