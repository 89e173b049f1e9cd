// The in-memory stream, and adapters of streams: copies, limits, counts.
#include "unit/io/io_support.hpp"

#include <rota/channel/select.hpp>
#include <rota/io/algorithms.hpp>
#include <rota/io/copy.hpp>
#include <rota/io/duplex.hpp>
#include <rota/io/limited.hpp>
#include <rota/when.hpp>

#include <array>
#include <concepts>
#include <stdexcept>
#include <utility>
#include <vector>

namespace rota::test::duplex_test {
namespace {

using io::duplex_end;
using io::result;

static_assert(io::stream<duplex_end> && io::half_closer<duplex_end>);
static_assert(io::stream<io::counted<duplex_end>> && io::half_closer<io::counted<duplex_end>>);

std::string pattern(std::size_t size) {
  std::string made(size, '\0');
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<char>('a' + (i * 31 + i / 251) % 26);
  return made;
}

task<> send(duplex_end& to, std::string_view text) {
  const result<void> put = co_await io::write_all(to, bytes_of(text));
  EXPECT_TRUE(put.has_value());
  to.shutdown_write();
}

task<std::string> receive(duplex_end& from) {
  std::vector<std::byte> all;
  const result<std::size_t> got = co_await io::read_to_end(from, all, 1U << 24U);
  EXPECT_TRUE(got.has_value());
  co_return text_of(all);
}

TEST(duplex, carries_both_directions_for_any_capacity) {
  for (const std::size_t capacity : {1U, 2U, 7U, 4096U}) {
    run(
        [](std::size_t room) -> task<> {
          auto [ours, theirs] = io::duplex(room);
          const std::string text = pattern(3000);
          const std::string answer = pattern(2000);
          auto moved =
              co_await when_all(send(ours, text), send(theirs, answer), receive(theirs), receive(ours));
          EXPECT_EQ(std::get<2>(moved), text);
          EXPECT_EQ(std::get<3>(moved), answer);
        },
        capacity);
  }
}

TEST(duplex, refuses_a_capacity_out_of_range) {
  EXPECT_THROW(static_cast<void>(io::duplex(0)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(io::duplex((std::size_t{1} << 30U) + 1)), std::invalid_argument);
}

TEST(duplex, reports_would_block_shutdown_and_close) {
  run([]() -> task<> {
    std::array<std::byte, 8> buffer;
    auto [ours, theirs] = io::duplex(4);
    const result<std::size_t> wait = ours.try_read(buffer);
    EXPECT_TRUE(!wait.has_value() && wait.error() == std::errc::operation_would_block);
    const result<std::size_t> part = ours.try_write(bytes_of("abcdef"));
    EXPECT_EQ(part.value_or(0), 4U);
    const result<std::size_t> full = ours.try_write(bytes_of("ef"));
    EXPECT_TRUE(!full.has_value() && full.error() == std::errc::operation_would_block);
    constexpr std::span<const std::byte> no_bytes;
    constexpr std::span<std::byte> no_room;
    const result<std::size_t> nothing = co_await ours.write(no_bytes);
    EXPECT_EQ(nothing.value_or(9), 0U) << "nobody waits to write nothing";
    const result<std::size_t> none = co_await ours.read(no_room);
    EXPECT_EQ(none.value_or(9), 0U);

    ours.shutdown_write();
    const result<std::size_t> late = co_await ours.write(bytes_of("x"));
    EXPECT_TRUE(!late.has_value() && late.error() == std::errc::broken_pipe);
    const result<std::size_t> got = co_await theirs.read(buffer);
    EXPECT_EQ(got.value_or(0), 4U) << "what was written before is read";
    const result<std::size_t> end = co_await theirs.read(buffer);
    EXPECT_EQ(end.value_or(9), 0U);
    const result<std::size_t> back = co_await theirs.write(bytes_of("yz"));
    EXPECT_EQ(back.value_or(0), 2U) << "the other direction goes on";
    ours.close();
    ours.close();
    const result<std::size_t> closed = co_await ours.read(buffer);
    EXPECT_TRUE(!closed.has_value() && closed.error() == make_error_code(errc::closed));
    const result<std::size_t> own = co_await ours.write(bytes_of("x"));
    EXPECT_TRUE(!own.has_value() && own.error() == make_error_code(errc::closed));
    const result<std::size_t> gone = co_await theirs.write(bytes_of("x"));
    EXPECT_TRUE(!gone.has_value() && gone.error() == std::errc::broken_pipe);
  });
}

task<> waits_in_vain(duplex_end& at, std::error_code expected, std::size_t room) {
  std::vector<std::byte> buffer(room);
  const result<std::size_t> got = co_await at.read(buffer);
  EXPECT_TRUE(!got.has_value() && got.error() == expected);
}
task<> writes_in_vain(duplex_end& at, std::error_code expected) {
  const result<std::size_t> put = co_await at.write(bytes_of("x"));
  EXPECT_TRUE(!put.has_value() && put.error() == expected)
      << (put.has_value() ? "written" : put.error().message());
}

TEST(duplex, close_wakes_waiters_at_both_ends) {
  on_one_worker([]() -> task<> {
    auto [ours, theirs] = io::duplex(1);
    EXPECT_TRUE(ours.try_write(bytes_of("x")).has_value());
    EXPECT_TRUE(theirs.try_write(bytes_of("x")).has_value());
    std::array<std::byte, 1> one;
    EXPECT_TRUE(ours.try_read(one).has_value());
    // `ours` waits to read and to write; `theirs` has bytes to read, and space to write.
    const std::error_code closed = make_error_code(errc::closed);
    join_handle<void> reader = spawn(waits_in_vain(ours, closed, 1));
    join_handle<void> writer = spawn(writes_in_vain(ours, closed));
    co_await yield();
    co_await yield();
    ours.close();
    co_await reader;
    co_await writer;
  });
  on_one_worker([]() -> task<> {
    auto [ours, theirs] = io::duplex(1);
    EXPECT_TRUE(theirs.try_write(bytes_of("x")).has_value());
    join_handle<void> writer = spawn(writes_in_vain(theirs, std::make_error_code(std::errc::broken_pipe)));
    co_await yield();
    {
      const duplex_end gone = std::move(ours);
    }
    co_await writer;
    std::array<std::byte, 1> one;
    const result<std::size_t> end = co_await theirs.read(one);
    EXPECT_EQ(end.value_or(9), 0U);
  });
}

TEST(duplex, is_a_case_of_a_select) {
  run([]() -> task<> {
    auto [ours, theirs] = io::duplex(16);
    auto [more, others] = io::duplex(16);
    std::array<std::byte, 4> first;
    std::array<std::byte, 4> second;
    EXPECT_TRUE(others.try_write(bytes_of("abc")).has_value());
    auto which = co_await channel::select(ours.read(first), more.read(second));
    EXPECT_EQ(which.index(), 1U);
    EXPECT_TRUE(theirs.try_write(bytes_of("d")).has_value());
    const result<std::size_t> got = co_await ours.read(first);
    EXPECT_EQ(got.value_or(0), 1U) << "the case that lost has taken nothing";
    const result<std::size_t> late = co_await timeout(1ms, ours.read(first));
    EXPECT_TRUE(!late.has_value() && late.error() == make_error_code(errc::timed_out));
  });
}

/// The cancellation arrives at the last operation of a turn.
TEST(duplex, read_cancelled_at_the_end_of_its_turn_loses_no_byte) {
  on_one_worker([]() -> task<> {
    auto [ours, theirs] = io::duplex(1000);
    const std::string text = pattern(300);
    EXPECT_TRUE(ours.try_write(bytes_of(text)).has_value());
    std::string got;
    std::optional<join_handle<void>> self;
    self = spawn([&]() -> task<void> {
      co_await yield();
      self->cancel();
      std::array<std::byte, 1> one;
      for (;;) {
        const result<std::size_t> n = co_await theirs.read(one);
        EXPECT_EQ(n.value_or(0), 1U);
        got += text_of(one);
      }
    });
    const outcome<void> how = co_await self->result();
    EXPECT_TRUE(how.is_cancelled());
    EXPECT_GT(got.size(), 0U);
    ours.shutdown_write();
    const std::string rest = co_await receive(theirs);
    EXPECT_EQ(got + rest, text);
  });
}

TEST(copies, go_until_the_end_or_the_limit) {
  run([]() -> task<> {
    const std::string text = pattern(5000);
    for (const std::uint64_t limit :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4999}, std::uint64_t{5000}, ~std::uint64_t{0}}) {
      source from(text, cutter(300));
      sink to(cutter(200));
      const io::copy_options how{.limit = limit, .buffer = 64};
      const result<std::uint64_t> done = co_await io::copy(from, to, how);
      const std::size_t expected = std::min<std::uint64_t>(limit, text.size());
      EXPECT_EQ(done.value_or(1), expected);
      EXPECT_EQ(to.text, text.substr(0, expected));
    }
    source broken("abc", cutter(3));
    broken.error = std::errc::connection_reset;
    sink to(cutter(3));
    const result<std::uint64_t> failed = co_await io::copy(broken, to);
    EXPECT_TRUE(!failed.has_value() && failed.error() == std::errc::connection_reset);
    to.most = 0;
    source more("abc", cutter(3));
    const result<std::uint64_t> full = co_await io::copy(more, to);
    EXPECT_TRUE(!full.has_value() && full.error() == std::errc::no_space_on_device);
  });
}

/// client <-> ours | theirs' copy_both | server: each side finishes at its own time.
TEST(copies, both_ways_forward_an_end_and_continue_the_other_direction) {
  run([]() -> task<> {
    auto [client, near] = io::duplex(100);
    auto [far, server] = io::duplex(10);
    io::counted counted_near(near);
    auto copying =
        spawn([&]() -> task<result<io::copied>> { co_return co_await io::copy_both(counted_near, far); });
    const std::string question = pattern(1000);
    const std::string answer = pattern(3000);
    auto asked = co_await when_all(send(client, question), receive(server));
    EXPECT_EQ(std::get<1>(asked), question) << "the server has heard the end";
    auto answered = co_await when_all(send(server, answer), receive(client));
    EXPECT_EQ(std::get<1>(answered), answer) << "and answers all the same";
    const result<io::copied> moved = co_await copying;
    EXPECT_TRUE(moved.has_value() && moved->there == question.size() && moved->back == answer.size());
    EXPECT_EQ(counted_near.bytes_read(), question.size());
    EXPECT_EQ(counted_near.bytes_written(), answer.size());
  });
}

/// shutdown_write() returns a `Given`.
template <class Given>
struct closing_stream {
  task<result<std::size_t>> read(std::span<std::byte> /*into*/) { co_return 0; }
  task<result<std::size_t>> write(std::span<const std::byte> from) { co_return from.size(); }
  Given shutdown_write() {
    ++times;
    if constexpr (std::same_as<Given, result<void>>) {
      return result<void>();
    } else {
      return [](int& told) -> Given {
        ++told;
        if constexpr (std::same_as<Given, task<result<void>>>) co_return result<void>();
      }(times);
    }
  }
  int times = 0;
};

TEST(copies, both_ways_accept_each_return_type_of_shutdown_write) {
  run([]() -> task<> {
    closing_stream<result<void>> at_once;
    closing_stream<task<void>> later;
    closing_stream<task<result<void>>> perhaps;
    const result<io::copied> first = co_await io::copy_both(at_once, later);
    const result<io::copied> second = co_await io::copy_both(at_once, perhaps);
    EXPECT_TRUE(first.has_value() && second.has_value());
    EXPECT_EQ(at_once.times, 2);
    EXPECT_EQ(later.times, 2) << "called, and awaited";
    EXPECT_EQ(perhaps.times, 2);
  });
}

TEST(duplex, write_after_the_end_of_writing_fails_with_broken_pipe) {
  io::detail::duplex_core& core = *io::detail::duplex_core::make(4);
  io::detail::duplex_pipe& pipe = core.read_by(0);
  core::wait_node me;
  ASSERT_TRUE(pipe.can_write(me));
  pipe.end_writing();
  const std::byte one[] = {std::byte{1}};
  EXPECT_EQ(pipe.write(one, me.kind).error(), std::errc::broken_pipe);
  core.leave(0);
  core.leave(1);
}

TEST(copies, both_ways_end_when_one_fails) {
  run([]() -> task<> {
    auto [client, near] = io::duplex(100);
    auto [far, server] = io::duplex(10);
    auto copying = spawn([&]() -> task<result<io::copied>> { co_return co_await io::copy_both(near, far); });
    {
      const duplex_end gone = std::move(server);  // `far` has no reader and gets no more bytes
    }
    const result<std::size_t> put = co_await client.write(bytes_of("x"));
    EXPECT_TRUE(put.has_value());
    const result<io::copied> moved = co_await copying;
    EXPECT_TRUE(!moved.has_value() && moved.error() == std::errc::broken_pipe);
  });
}

/// A stream that throws from read().
struct throwing_stream {
  task<result<std::size_t>> read(std::span<std::byte> /*into*/) {
    co_await yield();
    throw std::runtime_error("read");
  }
  task<result<std::size_t>> write(std::span<const std::byte> from) { co_return from.size(); }
};

TEST(copies, both_ways_end_when_one_throws) {
  run([]() -> task<> {
    auto [client, near] = io::duplex(100);  // no bytes come from `client`
    throwing_stream far;
    bool has_thrown = false;
    try {
      const auto moved = co_await timeout(10s, io::copy_both(near, far));
      EXPECT_TRUE(moved.has_value());
    } catch (const std::runtime_error&) {
      has_thrown = true;
    }
    EXPECT_TRUE(has_thrown);
  });
}

TEST(limits, end_a_reader_early) {
  run([]() -> task<> {
    source from("0123456789", cutter(4));
    io::limited_reader body(from, 7);
    std::vector<std::byte> all;
    const result<std::size_t> got = co_await io::read_to_end(body, all, 100);
    EXPECT_EQ(got.value_or(0), 7U);
    EXPECT_EQ(text_of(all), "0123456");
    EXPECT_EQ(body.left(), 0U);
    io::limited_reader longer(from, 7);
    const result<std::size_t> rest = co_await io::read_to_end(longer, all, 100);
    EXPECT_EQ(rest.value_or(0), 3U);
    EXPECT_EQ(longer.left(), 4U) << "it ended too early";
  });
}

}  // namespace
}  // namespace rota::test::duplex_test
