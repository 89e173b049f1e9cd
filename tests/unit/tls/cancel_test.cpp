// A wait that is cancelled at any point: no byte is lost or repeated, and an unknown outcome is an error.
#include "unit/tls/tls_support.hpp"

#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_writer.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rota::test::cancel_test {
namespace {

using namespace std::chrono_literals;

task<void> turns(int count) {
  for (int i = 0; i < count; ++i) co_await yield();
}

/// A stream that yields before each operation, which makes a cancellation point.
class slow_stream {
 public:
  explicit slow_stream(duplex_end of) noexcept : of_(std::move(of)) {}
  task<result<std::size_t>> read(std::span<std::byte> into) {
    co_await yield();
    co_return co_await of_.read(into);
  }
  task<result<std::size_t>> write(std::span<const std::byte> from) {
    co_await yield();
    co_return co_await of_.write(from);
  }

 private:
  duplex_end of_;
};
static_assert(io::stream<slow_stream>);

enum class who : unsigned char { client, server };

/// Cancels one side of a handshake after `count` turns. Returns true if that side had finished before.
task<bool> cancelled_after(int count, who which, std::size_t capacity) {
  const tls::client client(trusting());
  tls::server_config config = serving_example();
  config.sessions = tls::resumption::none;  // tickets would not be read
  const tls::server server(config);
  auto [near, far] = io::duplex(capacity);
  auto connecting = spawn(client.connect(slow_stream(std::move(near)), "example.com"));
  auto accepting = spawn(server.accept(slow_stream(std::move(far))));
  co_await turns(count);
  which == who::client ? connecting.cancel() : accepting.cancel();
  const auto c = co_await connecting.result();
  // A side that finishes before the other one is cancelled learns of it when it reads.
  if (which == who::client && c.is_cancelled()) {
    const auto s = co_await accepting.result();
    EXPECT_TRUE(s.has_value());
    co_return false;
  }
  const auto s = co_await accepting.result();
  co_return which == who::client || !s.is_cancelled();
}

TEST(cancelled_handshakes, end_at_every_cancellation_point) {
  for (const who which : {who::client, who::server}) {
    for (const std::size_t capacity : {std::size_t{200}, wide}) {
      int count = 0;
      for (bool done = false; !done; ++count) {
        testing::runtime rt;
        done = rt.block_on(cancelled_after(count, which, capacity));
        ASSERT_LT(count, 10'000);
      }
      EXPECT_GT(count, 5) << "there were places to cancel it";
    }
  }
}

task<void> reads_again_and_again(tls_stream& from, std::string& into, std::size_t size) {
  std::byte piece[7];
  while (into.size() < size) {
    const result<std::size_t> got = co_await timeout(1ms, from.read(piece));
    EXPECT_TRUE(got.has_value() || got.error() == rota::errc::timed_out);
    if (got.has_value()) into += text_of(std::span(piece).first(*got));
  }
}
task<void> writes_now_and_then(tls_stream& to, std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = std::min<std::size_t>(text.size(), 13);
    co_await sleep_for(700us);
    const result<std::size_t> put = co_await to.write_all(bytes_of(text.substr(0, n)));
    EXPECT_EQ(put.value_or(0), n);
    text.remove_prefix(n);
  }
}

/// Returns 0, 1, 2, .. as text.
std::string numbers(int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += std::to_string(i) + ",";
  return all;
}

task<void> late_reads() {
  // A record does not fit at once, so reads are cancelled with a part of one received.
  tls_pair both = co_await connected(1000);
  const std::string text = numbers(2000);
  std::string heard;
  auto writing = spawn(writes_now_and_then(both.near, text));
  co_await reads_again_and_again(both.far, heard, text.size());
  co_await writing;
  EXPECT_EQ(heard, text);
}

TEST(cancelled_reads, lose_no_byte) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    testing::runtime rt(seed);
    rt.block_on(late_reads());
  }
}

/// Capacity for 10 bytes: a cancelled write always leaves a part of a record.
task<tls_pair> narrow_pair() {
  tls::server_config config = serving_example();
  config.sessions = tls::resumption::none;
  ends both = co_await shaken(tls::client(trusting()), tls::server(config), "example.com", 10);
  co_return tls_pair{std::move(both.client.value()), std::move(both.server.value())};
}

task<std::string> reads_so_much(tls_stream& from, std::size_t size) {
  std::string all(size, '\0');
  const result<void> got = co_await io::read_exact(from, std::as_writable_bytes(std::span(all)));
  EXPECT_TRUE(got.has_value()) << got.error().message();
  co_return all;
}

task<void> tries_again() {
  tls_pair both = co_await narrow_pair();
  const result<std::size_t> late = co_await timeout(1s, both.near.write(bytes_of("hello")));
  EXPECT_TRUE(!late.has_value() && late.error() == rota::errc::timed_out);
  const result<std::size_t> later = co_await timeout(1s, both.near.write(bytes_of("hello, world")));
  EXPECT_TRUE(!later.has_value()) << "the peer still takes nothing";
  auto reading = spawn(reads_so_much(both.far, 12));
  const result<std::size_t> some = co_await both.near.write(bytes_of("hel"));
  EXPECT_EQ(some.value_or(0), 3U) << "it begins as the one that was given up";
  const result<std::size_t> rest = co_await both.near.write(bytes_of("lo, world"));
  EXPECT_EQ(rest.value_or(0), 2U) << "what had gone";
  const result<std::size_t> new_one = co_await both.near.write_all(bytes_of(", world"));
  EXPECT_EQ(new_one.value_or(0), 7U);
  const std::string heard = co_await reading;
  EXPECT_EQ(heard, "hello, world");
}

TEST(cancelled_writes, may_be_retried_and_arrive_once) {
  testing::runtime rt;
  rt.block_on(tries_again());
}

task<void> says_something_else() {
  tls_pair both = co_await narrow_pair();
  const result<std::size_t> late = co_await timeout(1s, both.near.write(bytes_of("hello")));
  EXPECT_FALSE(late.has_value());
  auto reading = spawn(reads_so_much(both.far, 5));
  const result<std::size_t> other = co_await both.near.write(bytes_of("goodbye"));
  EXPECT_TRUE(!other.has_value() && other.error() == tls::errc::write_abandoned);
  const result<std::size_t> same = co_await both.near.write(bytes_of("hello"));
  EXPECT_TRUE(!same.has_value() && same.error() == tls::errc::write_abandoned) << "it is too late for that";
  const std::string heard = co_await reading;
  EXPECT_EQ(heard, "hello") << "the record is whole";
  // The reading direction still works.
  auto writing = spawn(both.far.write(bytes_of("ok")));
  const std::string back = co_await reads_so_much(both.near, 2);
  EXPECT_EQ(back, "ok");
  const result<std::size_t> wrote = co_await writing;
  EXPECT_EQ(wrote.value_or(0), 2U);
}

TEST(cancelled_writes, break_the_write_direction_if_other_bytes_follow) {
  testing::runtime rt;
  rt.block_on(says_something_else());
}

task<void> flushes() {
  tls_pair both = co_await narrow_pair();
  const result<std::size_t> late = co_await timeout(1s, both.near.write(bytes_of("hello")));
  EXPECT_FALSE(late.has_value());
  auto reading = spawn(reads_so_much(both.far, 5));
  const result<void> flushed = co_await both.near.flush();
  EXPECT_TRUE(flushed.has_value());
  const std::string heard = co_await reading;
  EXPECT_EQ(heard, "hello");
}

TEST(cancelled_writes, are_completed_by_a_flush) {
  testing::runtime rt;
  rt.block_on(flushes());
}

/// Writes until the stream is full, and times out.
task<void> gives_up_a_write(tls_stream& to) {
  const result<std::size_t> late = co_await timeout(1s, to.write(bytes_of("hello")));
  EXPECT_TRUE(!late.has_value() && late.error() == rota::errc::timed_out);
}

/// Takes out the available bytes. Returns their number.
std::size_t takes_out(duplex_end& of) {
  std::byte bytes[64];
  return of.try_read(bytes).value_or(0);
}

task<void> a_reader_sends_the_rest() {
  tls_pair both = co_await narrow_pair();
  co_await gives_up_a_write(both.near);
  // A record of 27 bytes, ten at a time: each read that begins to wait first writes what the stream accepts.
  std::size_t heard = takes_out(both.far.below());
  EXPECT_EQ(heard, 10U);
  for (int i = 0; i < 2; ++i) {
    std::byte one[1];
    const result<std::size_t> got = co_await timeout(1s, both.near.read(one));
    EXPECT_TRUE(!got.has_value() && got.error() == rota::errc::timed_out);
    heard += takes_out(both.far.below());
  }
  EXPECT_EQ(heard, 5U + 5 + 1 + 16);
}

TEST(cancelled_writes, are_completed_by_a_read_that_waits) {
  testing::runtime rt;
  rt.block_on(a_reader_sends_the_rest());
}

/// Code for any writer relies on the rule that the bytes of a cancelled write may be written again.
task<void> through_a_buffer(int step) {
  tls_pair both = co_await narrow_pair();
  const std::string text = numbers(300);
  auto reading = spawn(reads_so_much(both.far, text.size()));
  io::buffered_writer<tls_stream> out(both.near, 64);
  std::string_view rest = text;
  int given_up = 0;
  while (!rest.empty()) {
    auto writing = spawn(out.write(bytes_of(rest)));
    co_await turns(step + given_up / 8);  // grows until the write completes
    writing.cancel();
    outcome<result<std::size_t>> end = co_await writing.result();
    if (end.is_cancelled()) ++given_up;
    if (end.is_cancelled()) continue;
    const result<std::size_t> put = std::move(end).value();
    EXPECT_TRUE(put.has_value());
    rest.remove_prefix(put.value_or(rest.size()));
  }
  EXPECT_GT(given_up, 0);
  const result<void> last = co_await out.flush();
  EXPECT_TRUE(last.has_value());
  const std::string heard = co_await reading;
  EXPECT_EQ(heard, text) << step;
}

TEST(cancelled_writes, under_a_buffered_writer_arrive_once) {
  for (int step = 0; step < 12; ++step) {
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
      testing::runtime rt(seed);
      rt.block_on(through_a_buffer(step));
    }
  }
}

/// A lower stream of which the first writes fail without taking a byte.
class failing_stream {
 public:
  failing_stream(duplex_end of, int& failures) noexcept : of_(std::move(of)), failures_(&failures) {}
  [[nodiscard]] auto read(std::span<std::byte> into) noexcept { return of_.read(into); }
  task<result<std::size_t>> write(std::span<const std::byte> from) {
    if (*failures_ > 0) {
      --*failures_;
      co_return std::unexpected(std::make_error_code(std::errc::no_buffer_space));
    }
    co_return co_await of_.write(from);
  }

 private:
  duplex_end of_;
  int* failures_;
};

task<void> fails_once() {
  const tls::client client(trusting());
  const tls::server server(serving_example());
  auto [near, far] = io::duplex(wide);
  int failures = 0;
  auto [c, s] = co_await when_all(client.connect(failing_stream(std::move(near), failures), "example.com"),
                                  server.accept(std::move(far)));
  EXPECT_TRUE(c.has_value() && s.has_value());
  if (!c.has_value() || !s.has_value()) co_return;
  failures = 1;
  const result<std::size_t> refused = co_await c->write(bytes_of("once"));
  EXPECT_TRUE(!refused.has_value() && refused.error() == std::errc::no_buffer_space);
  const result<std::size_t> again = co_await c->write(bytes_of("once"));
  EXPECT_EQ(again.value_or(0), 4U);
  const result<void> end = co_await c->shutdown_write();
  EXPECT_TRUE(end.has_value());
  std::string heard;
  const std::error_code why = co_await read_all(*s, heard);
  EXPECT_FALSE(why);
  EXPECT_EQ(heard, "once");
}

TEST(failed_writes, may_be_retried_and_arrive_once) {
  testing::runtime rt;
  rt.block_on(fails_once());
}

task<void> end_is_given_up() {
  tls_pair both = co_await narrow_pair();
  const result<void> late = co_await timeout(1s, both.near.shutdown_write());
  EXPECT_TRUE(!late.has_value() && late.error() == rota::errc::timed_out);
  const result<std::size_t> after = co_await both.near.write(bytes_of("x"));
  EXPECT_FALSE(after.has_value());
}

TEST(cancelled_shutdowns, still_refuse_later_writes) {
  testing::runtime rt;
  rt.block_on(end_is_given_up());
}

}  // namespace
}  // namespace rota::test::cancel_test
