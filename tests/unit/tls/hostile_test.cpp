// Peers that send no TLS, break off anywhere, or send nothing: always an error, never an endless wait.
#include "unit/tls/tls_support.hpp"

#include <rota/io/algorithms.hpp>

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace rota::test::hostile_test {
namespace {

using namespace std::chrono_literals;

/// Passes bytes both ways until one direction has passed its share. Then both sides see the end.
struct wire {
  std::array<std::size_t, 2> share{~std::size_t{0}, ~std::size_t{0}};
  std::array<std::size_t, 2> passed{};

  task<void> pass(duplex_end& from, duplex_end& to, unsigned way) {
    std::array<std::byte, 512> buffer;
    for (;;) {
      const std::size_t most = std::min(buffer.size(), share[way] - passed[way]);
      if (most == 0) break;
      const result<std::size_t> got = co_await from.read(std::span(buffer).first(most));
      if (!got.has_value() || *got == 0) break;
      const result<std::size_t> put = co_await to.write(std::span(buffer).first(*got));
      if (!put.has_value()) break;
      passed[way] += *got;
    }
    from.close();
    to.close();
  }
};

task<std::error_code> connects(tls::client& by, duplex_end below) {
  const auto got = co_await by.connect(std::move(below), "example.com");
  co_return got.has_value() ? std::error_code() : got.error();
}
task<std::error_code> accepts(tls::server& by, duplex_end below) {
  const auto got = co_await by.accept(std::move(below));
  co_return got.has_value() ? std::error_code() : got.error();
}

struct verdicts {
  std::error_code client;
  std::error_code server;
};

/// Runs a handshake over a wire.
task<verdicts> over(wire& w, tls::client client, tls::server server) {
  auto [client_end, near] = io::duplex(wide);
  auto [far, server_end] = io::duplex(wide);
  auto there = spawn(w.pass(near, far, 0));
  auto back = spawn(w.pass(far, near, 1));
  auto [c, s] =
      co_await when_all(connects(client, std::move(client_end)), accepts(server, std::move(server_end)));
  there.cancel();
  back.cancel();
  const auto first = co_await there.result();
  const auto second = co_await back.result();
  co_return verdicts{c, s};
}

/// Runs handshakes over a wire that breaks after each possible number of bytes in one direction.
void break_everywhere(unsigned way, std::size_t needed_by_all) {
  const tls::client client(trusting());
  const tls::server server(serving_example());
  for (std::size_t share = 0; share < needed_by_all; ++share) {
    wire w;
    w.share[way] = share;
    testing::runtime rt;
    const verdicts v = rt.block_on(over(w, client, server));
    ASSERT_TRUE(v.client || v.server) << share;
    // A side that was cut off sees the end, or that the other side was closed or takes no more bytes.
    for (const std::error_code& each : {v.client, v.server}) {
      if (!each) continue;
      EXPECT_TRUE(each == rota::errc::end_of_stream || each == std::errc::broken_pipe ||
                  each == rota::errc::closed)
          << share << ": " << each.message();
    }
  }
}

/// Returns how many bytes a whole handshake sends each way, without later messages.
std::array<std::size_t, 2> sizes_of_a_handshake() {
  wire w;
  testing::runtime rt;
  tls::server_config server = serving_example();
  server.sessions = tls::resumption::none;
  const verdicts v = rt.block_on(over(w, tls::client(trusting()), tls::server(server)));
  EXPECT_FALSE(v.client || v.server);
  return w.passed;
}

TEST(truncated_handshakes, of_a_client_are_errors_at_every_byte) {
  const auto sizes = sizes_of_a_handshake();
  EXPECT_GT(sizes[0], 200U);
  break_everywhere(0, sizes[0]);
}

TEST(truncated_handshakes, of_a_server_are_errors_at_every_byte) {
  const auto sizes = sizes_of_a_handshake();
  EXPECT_GT(sizes[1], 500U);
  break_everywhere(1, sizes[1] - 8);  // the length of a signature changes by some bytes
}

/// Sends `bytes` and then the end. Reads the answer and drops it.
task<void> sends(duplex_end to, std::string_view bytes) {
  const result<std::size_t> put = co_await to.write(bytes_of(bytes));
  EXPECT_TRUE(put.has_value());
  to.shutdown_write();
  std::array<std::byte, 512> buffer;
  for (;;) {
    const result<std::size_t> got = co_await to.read(buffer);
    if (!got.has_value() || *got == 0) co_return;
  }
}

std::vector<std::string> garbage() {
  std::vector<std::string> all{
      "",
      "x",
      "GET / HTTP/1.0\r\n\r\n",
      std::string(5, '\0'),
      std::string(30'000, '\xff'),
      std::string("\x16\x03\x01\xff\xff", 5) + std::string(40'000, 'a'),
      std::string("\x15\x03\x03\x00\x02\x02\x28", 7),  // an alert: handshake_failure
      std::string("\x15\x03\x03\x00\x02\x01\x00", 7),  // close_notify
      std::string("\x17\x03\x03\x00\x05hello", 10),    // data before the handshake
      std::string("\x14\x03\x03\x00\x01\x01", 6),
      std::string("\x16\x03\x03\x00\x00", 5),
      std::string("\x16\x03\x01\x00\x04\x01\xff\xff\xff", 9) + std::string(30'000, '\0')};
  std::uint64_t state = 1;
  for (int i = 0; i < 200; ++i) {
    std::string one =
        i % 2 == 0 ? std::string() : std::string("\x16\x03\x01\x01\x00\x01\x00\x00\xfc\x03\x03", 11);
    for (int n = 0; n < 300; ++n) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      one += static_cast<char>(state >> 56U);
    }
    all.push_back(one);
  }
  return all;
}

TEST(garbage, is_an_error_of_a_client_and_of_a_server) {
  tls::client client(trusting());
  tls::server server(serving_example());
  for (const std::string& each : garbage()) {
    testing::runtime rt;
    const auto both = [&]() -> task<verdicts> {
      auto [a, b] = io::duplex(wide);
      auto [c, d] = io::duplex(wide);
      auto [of_client, first] = co_await when_all(connects(client, std::move(a)), sends(std::move(b), each));
      auto [of_server, second] = co_await when_all(accepts(server, std::move(c)), sends(std::move(d), each));
      co_return verdicts{of_client, of_server};
    };
    const verdicts v = rt.block_on(both());
    EXPECT_TRUE(v.client) << each.size();
    EXPECT_TRUE(v.server) << each.size();
    EXPECT_FALSE(v.client.message().empty() || v.server.message().empty());
  }
}

TEST(garbage, that_is_an_alert_is_reported_as_that_alert) {
  tls::client client(trusting());
  testing::runtime rt;
  const auto hears = [&]() -> task<std::error_code> {
    auto [a, b] = io::duplex(wide);
    const std::string alert("\x15\x03\x03\x00\x02\x02\x28", 7);
    auto [said, nothing] = co_await when_all(connects(client, std::move(a)), sends(std::move(b), alert));
    co_return said;
  };
  EXPECT_EQ(rt.block_on(hears()), tls::alert::handshake_failure);
}

// The peer is connected, but reads and sends nothing.
task<void> stalls(std::size_t capacity) {
  const tls::client client(trusting());
  const tls::server server(serving_example());
  auto [a, b] = io::duplex(capacity);
  const auto connected = co_await timeout(5s, client.connect(std::move(a), "example.com"));
  EXPECT_TRUE(!connected.has_value() && connected.error() == rota::errc::timed_out);
  std::byte one[1];
  const result<std::size_t> rest = co_await b.read(one);
  EXPECT_TRUE(rest.has_value()) << "a part of the hello, or all, and then the end: the stream has gone";
  auto [c, d] = io::duplex(capacity);
  const auto accepted = co_await timeout(5s, server.accept(std::move(c)));
  EXPECT_TRUE(!accepted.has_value() && accepted.error() == rota::errc::timed_out);
  const result<std::size_t> end = co_await d.read(one);
  EXPECT_EQ(end.value_or(9), 0U);
}

TEST(stalled_peers, let_a_handshake_end_by_its_timeout) {
  testing::runtime rt;
  rt.block_on(stalls(1));
  rt.block_on(stalls(wide));
}

// If the peer does not read, the alert that tells the reason has one second to be sent.
task<void> fails_before_one_that_does_not_read() {
  const tls::server server(serving_example());
  auto [a, b] = io::duplex(1);
  auto wrong = spawn(server.accept(std::move(a)));
  const auto put = [](duplex_end& to) -> task<void> {
    const std::string_view text = "GET / HTTP/1.0\r\n\r\n";
    for (const char each : text) {
      const result<std::size_t> one = co_await to.write(bytes_of(std::string_view(&each, 1)));
      if (!one.has_value()) co_return;
    }
  };
  auto writing = spawn(put(b));
  const auto got = co_await timeout(1500ms, wrong);
  EXPECT_FALSE(got.has_value());
  EXPECT_NE(got.error(), rota::errc::timed_out) << got.error().message();
  const auto end = co_await writing.result();
  EXPECT_TRUE(end.has_value());
}

TEST(stalled_peers, delay_a_failed_handshake_by_at_most_one_second) {
  testing::runtime rt;
  rt.block_on(fails_before_one_that_does_not_read());
}

/// A connection with less capacity than a record, and a peer that reads nothing more.
task<tls_pair> narrow_pair() {
  tls::server_config config = serving_example();
  config.sessions = tls::resumption::none;
  ends both = co_await shaken(tls::client(trusting()), tls::server(config), "example.com", 10);
  co_return tls_pair{std::move(both.client.value()), std::move(both.server.value())};
}

/// Reads with a timeout that is too short for any wait. Returns the error.
task<std::error_code> fails_at_once(tls_stream& from) {
  std::byte one[1];
  const result<std::size_t> got = co_await timeout(1ms, from.read(one));
  EXPECT_FALSE(got.has_value());
  co_return got.has_value() ? std::error_code() : got.error();
}

task<void> reads_an_end_beside_a_writer() {
  tls_pair both = co_await narrow_pair();
  auto writing = spawn(both.near.write(bytes_of("nobody takes this")));
  co_await sleep_for(1ms);
  both.far.below().shutdown_write();
  for (int i = 0; i < 3; ++i) {
    const std::error_code why = co_await fails_at_once(both.near);
    EXPECT_EQ(why, rota::errc::end_of_stream) << i << ": " << why.message();
  }
  writing.cancel();
  const auto end = co_await writing.result();
  EXPECT_TRUE(end.is_cancelled());
  const std::error_code later = co_await fails_at_once(both.near);
  EXPECT_EQ(later, rota::errc::end_of_stream) << "nor is the rest of the write waited for";
}

TEST(stalled_peers, do_not_delay_the_end_of_stream_for_a_reader) {
  testing::runtime rt;
  rt.block_on(reads_an_end_beside_a_writer());
}

task<void> puts_garbage(duplex_end& to) {
  static_cast<void>(co_await io::write_all(to, bytes_of("this is no record at all")));  // read only in part
}

task<void> hears_garbage_beside_a_writer() {
  tls_pair both = co_await narrow_pair();
  auto writing = spawn(both.near.write(bytes_of("nobody takes this")));
  auto putting = spawn(puts_garbage(both.far.below()));
  for (int i = 0; i < 3; ++i) {
    const std::error_code why = co_await fails_at_once(both.near);
    EXPECT_TRUE(why && why != rota::errc::timed_out) << i << ": " << why.message();
  }
  // The task that has the turn to write sends the alert, as soon as the peer takes bytes.
  std::string heard;
  const std::error_code said = co_await read_all(both.far, heard);
  EXPECT_EQ(heard, "nobody takes this");
  EXPECT_EQ(said.category(), tls::alert_category()) << said.message();
  const result<std::size_t> put = co_await writing;
  EXPECT_TRUE(put.has_value());
  putting.cancel();
  static_cast<void>(co_await putting.result());
}

TEST(stalled_peers, get_the_alert_from_a_writer_that_waits) {
  testing::runtime rt;
  rt.block_on(hears_garbage_beside_a_writer());
}

task<void> hears_garbage_alone() {
  tls_pair both = co_await narrow_pair();
  auto putting = spawn(puts_garbage(both.far.below()));
  std::byte one[1];
  const result<std::size_t> first = co_await timeout(1500ms, both.near.read(one));
  EXPECT_TRUE(!first.has_value() && first.error() != rota::errc::timed_out) << "the alert has a second";
  const std::error_code second = co_await fails_at_once(both.near);
  EXPECT_EQ(second, first.error());
  putting.cancel();
  static_cast<void>(co_await putting.result());
}

TEST(stalled_peers, delay_a_read_error_by_at_most_one_second) {
  testing::runtime rt;
  rt.block_on(hears_garbage_alone());
}

}  // namespace
}  // namespace rota::test::hostile_test
