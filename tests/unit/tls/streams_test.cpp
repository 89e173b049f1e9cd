// The bytes of a connection arrive completely, in order and once, or there is an error.
#include "unit/tls/tls_support.hpp"

#include <rota/io/copy.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rota::test::streams_test {
namespace {

std::vector<std::byte> numbered(std::size_t size, unsigned seed) {
  std::vector<std::byte> made(size);
  for (std::size_t i = 0; i < size; ++i) made[i] = static_cast<std::byte>((i * 31 + i / 251 + seed) % 256);
  return made;
}

template <class Writer>
task<bool> writes_all(Writer to, std::span<const std::byte> bytes) {
  const result<std::size_t> put = co_await to.write_all(bytes);
  const result<void> finished = co_await to.shutdown_write();
  co_return put.has_value() && *put == bytes.size() && finished.has_value();
}
template <class Reader>
task<std::vector<std::byte>> reads_all(Reader from, std::size_t at_a_time) {
  std::vector<std::byte> got;
  std::vector<std::byte> buffer(at_a_time);
  for (;;) {
    const result<std::size_t> some = co_await from.read(buffer);
    EXPECT_TRUE(some.has_value()) << some.error().message();
    if (!some.has_value() || *some == 0) co_return got;
    got.insert(got.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(*some));
  }
}

/// Four tasks: each side writes and reads at the same time.
template <class S>
task<void> both_ways(tls::stream<S> near, tls::stream<S> far, std::size_t size, std::size_t at_a_time) {
  const std::vector<std::byte> there = numbered(size, 1);
  const std::vector<std::byte> back = numbered(size, 2);
  auto [near_reads, near_writes] = std::move(near).split();
  auto [far_reads, far_writes] = std::move(far).split();
  auto first = spawn(writes_all(std::move(near_writes), there));
  auto second = spawn(writes_all(std::move(far_writes), back));
  auto third = spawn(reads_all(std::move(near_reads), at_a_time));
  auto fourth = spawn(reads_all(std::move(far_reads), at_a_time));
  const bool first_wrote = co_await first;
  const bool second_wrote = co_await second;
  EXPECT_TRUE(first_wrote && second_wrote);
  const std::vector<std::byte> at_near = co_await third;
  const std::vector<std::byte> at_far = co_await fourth;
  EXPECT_TRUE(at_near == back);
  EXPECT_TRUE(at_far == there);
}

task<void> through_memory(std::size_t capacity, std::size_t size, std::size_t at_a_time) {
  tls_pair both = co_await connected(capacity);
  co_await both_ways(std::move(both.near), std::move(both.far), size, at_a_time);
}

TEST(streams, carry_much_both_ways_at_once) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    testing::runtime rt(seed);
    rt.block_on(through_memory(4000, 200'000, 3000));
    rt.block_on(through_memory(wide, 200'000, 100'000));
    rt.block_on(through_memory(1500, 20'000, 1));
  }
}

TEST(streams, carry_much_both_ways_at_once_on_threads) {
  for (unsigned workers : {1U, 2U, 4U}) {
    runtime rt(with_workers(workers));
    rt.spawn(through_memory(5000, 3'000'000, 20'000)).join();
  }
}

task<net::tcp_stream> accepted(net::tcp_listener& from) {
  result<net::tcp_stream> got = co_await from.accept();
  co_return std::move(got.value());
}

task<void> through_sockets(std::size_t size) {
  const tls::client client(trusting());
  const tls::server server(serving(root().issue({.hosts = "IP:127.0.0.1"})));
  auto listener = net::tcp_listener::bind(net::endpoint::loopback_v4(0));
  const auto where = listener->local_endpoint();
  auto near = co_await net::tcp_stream::connect(*where);
  net::tcp_stream far = co_await accepted(*listener);
  auto [c, s] =
      co_await when_all(client.connect(std::move(near.value()), "127.0.0.1"), server.accept(std::move(far)));
  EXPECT_TRUE(c.has_value() && s.has_value());
  if (c.has_value() && s.has_value()) co_await both_ways(std::move(*c), std::move(*s), size, 16'384);
}

TEST(streams, carry_much_over_tcp) {
  for (unsigned workers : {1U, 4U}) {
    runtime rt(with_workers(workers));
    rt.spawn(through_sockets(20'000'000)).join();
  }
}

task<void> says_and_answers() {
  tls_pair both = co_await connected();
  const result<std::size_t> put = co_await both.near.write(bytes_of("question"));
  EXPECT_EQ(put.value_or(0), 8U);
  const result<void> finished = co_await both.near.shutdown_write();
  EXPECT_TRUE(finished.has_value());
  std::string heard;
  const std::error_code end = co_await read_all(both.far, heard);
  EXPECT_FALSE(end) << end.message();
  EXPECT_EQ(heard, "question");
  const result<std::size_t> after = co_await both.near.write(bytes_of("more"));
  EXPECT_TRUE(!after.has_value() && after.error() == std::errc::broken_pipe) << "it has finished";
  const result<void> again = co_await both.near.shutdown_write();
  EXPECT_TRUE(again.has_value());

  // The other direction still works.
  const result<std::size_t> answer = co_await both.far.write(bytes_of("answer"));
  EXPECT_EQ(answer.value_or(0), 6U);
  const result<void> far_finished = co_await both.far.shutdown_write();
  EXPECT_TRUE(far_finished.has_value());
  std::string answered;
  const std::error_code last = co_await read_all(both.near, answered);
  EXPECT_FALSE(last);
  EXPECT_EQ(answered, "answer");
  std::byte one[1];
  const result<std::size_t> end_again = co_await both.near.read(one);
  EXPECT_EQ(end_again.value_or(9), 0U);
}

TEST(streams, end_in_each_direction_by_itself) {
  testing::runtime rt;
  rt.block_on(says_and_answers());
}

enum class goes : unsigned char { closes, finishes_below };

task<void> is_cut_off(goes how) {
  tls_pair both = co_await connected();
  const result<std::size_t> put = co_await both.near.write(bytes_of("beginning"));
  EXPECT_EQ(put.value_or(0), 9U);
  how == goes::closes ? both.near.close() : both.near.below().shutdown_write();
  std::string heard;
  const std::error_code why = co_await read_all(both.far, heard);
  EXPECT_EQ(heard, "beginning");
  EXPECT_EQ(why, rota::errc::end_of_stream) << why.message();
  std::byte one[1];
  const result<std::size_t> again = co_await both.far.read(one);
  EXPECT_TRUE(!again.has_value() && again.error() == rota::errc::end_of_stream);
  if (how == goes::closes) co_return;
  // Only one direction of the lower stream has ended.
  const result<std::size_t> back = co_await both.far.write(bytes_of("still"));
  EXPECT_EQ(back.value_or(0), 5U);
  std::byte five[5];
  const result<std::size_t> got = co_await both.near.read(five);
  EXPECT_EQ(got.value_or(0), 5U);
}

TEST(streams, that_are_cut_off_report_end_of_stream) {
  testing::runtime rt;
  rt.block_on(is_cut_off(goes::closes));
  rt.block_on(is_cut_off(goes::finishes_below));
}

/// A record that arrives only in part.
task<void> is_cut_off_in_a_record(std::size_t kept) {
  tls_pair both = co_await connected();
  auto [left, right] = io::duplex(wide);
  const result<std::size_t> put = co_await both.near.write(bytes_of("a record"));
  EXPECT_TRUE(put.has_value());
  std::array<std::byte, 1000> bytes;
  const result<std::size_t> size = both.far.below().try_read(bytes);
  EXPECT_EQ(size.value_or(0), 5U + 8 + 1 + 16);
  const result<std::size_t> back = both.near.below().try_write(std::span(bytes).first(kept));
  EXPECT_EQ(back.value_or(kept), kept);
  both.near.close();
  std::string heard;
  const std::error_code why = co_await read_all(both.far, heard);
  EXPECT_EQ(heard, kept == *size ? "a record" : "");
  EXPECT_EQ(why, rota::errc::end_of_stream) << kept << ": " << why.message();
}

TEST(streams, that_are_cut_off_in_a_record_give_nothing_of_it) {
  testing::runtime rt;
  for (std::size_t kept = 0; kept <= 5 + 8 + 1 + 16; ++kept) rt.block_on(is_cut_off_in_a_record(kept));
}

/// A record with one bit changed.
task<void> is_changed(std::size_t at) {
  tls_pair both = co_await connected();
  const result<std::size_t> put = co_await both.near.write(bytes_of("a record"));
  EXPECT_TRUE(put.has_value());
  std::array<std::byte, 1000> bytes;
  const result<std::size_t> size = both.far.below().try_read(bytes);
  bytes[at] ^= std::byte{4};
  const result<std::size_t> back = both.near.below().try_write(std::span(bytes).first(*size));
  EXPECT_EQ(back.value_or(0), *size);
  both.near.below().shutdown_write();
  std::string heard;
  const std::error_code why = co_await read_all(both.far, heard);
  EXPECT_EQ(heard, "") << at;
  EXPECT_TRUE(why) << at;
  const result<std::size_t> write = co_await both.far.write(bytes_of("x"));
  // A too large length looks like an early end of the input, which the writing direction does not learn.
  EXPECT_EQ(write.has_value(), why == rota::errc::end_of_stream) << at << ": " << why.message();
  if (why == rota::errc::end_of_stream) co_return;
  std::string alert_text;
  const std::error_code said = co_await read_all(both.near, alert_text);
  EXPECT_EQ(said.category(), tls::alert_category()) << at << ": " << said.message();
}

TEST(streams, that_are_tampered_with_fail) {
  testing::runtime rt;
  for (std::size_t at = 0; at < 5 + 8 + 1 + 16; ++at) rt.block_on(is_changed(at));
}

task<void> is_closed_meanwhile() {
  tls_pair both = co_await connected();
  std::byte one[1];
  const auto close = [&both]() -> task<void> {
    co_await yield();
    both.near.close();
  };
  auto [got, nothing] = co_await when_all(both.near.read(one), close());
  EXPECT_TRUE(!got.has_value() && got.error() == rota::errc::closed);
}

TEST(streams, may_be_closed_while_a_read_waits) {
  testing::runtime rt;
  rt.block_on(is_closed_meanwhile());
}

task<void> empty_operations() {
  tls_pair both = co_await connected();
  const result<std::size_t> read = co_await both.near.read(std::span<std::byte>());
  EXPECT_EQ(read.value_or(9), 0U);
  const result<std::size_t> write = co_await both.near.write(std::span<const std::byte>());
  EXPECT_EQ(write.value_or(9), 0U);
  const result<std::size_t> all = co_await both.near.write_all(std::span<const std::byte>());
  EXPECT_EQ(all.value_or(9), 0U);
}

TEST(streams, do_nothing_with_no_bytes) {
  testing::runtime rt;
  rt.block_on(empty_operations());
}

// A relay for any stream between two connections passes an end on as an end.
task<void> through_a_relay() {
  tls_pair first = co_await connected();
  tls_pair second = co_await connected();
  auto relay = spawn(io::copy_both(first.far, second.near));
  const result<std::size_t> put = co_await first.near.write(bytes_of("there"));
  EXPECT_TRUE(put.has_value());
  const result<void> end = co_await first.near.shutdown_write();
  EXPECT_TRUE(end.has_value());
  std::string heard;
  const std::error_code there = co_await read_all(second.far, heard);
  EXPECT_FALSE(there);
  EXPECT_EQ(heard, "there");
  const result<std::size_t> answer = co_await second.far.write(bytes_of("and back"));
  EXPECT_TRUE(answer.has_value());
  const result<void> last = co_await second.far.shutdown_write();
  EXPECT_TRUE(last.has_value());
  std::string came;
  const std::error_code back = co_await read_all(first.near, came);
  EXPECT_FALSE(back);
  EXPECT_EQ(came, "and back");
  const auto moved = co_await relay;
  EXPECT_TRUE(moved.has_value() && moved->there == 5 && moved->back == 8);
}

TEST(streams, may_be_relayed_by_copy_both) {
  testing::runtime rt;
  rt.block_on(through_a_relay());
}

}  // namespace
}  // namespace rota::test::streams_test
