// The promised names of TCP, and an echo over loopback.
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace {

using rota::net::result;
using rota::net::tcp_listener;
using rota::net::tcp_stream;

rota::task<std::size_t> echo_once(tcp_listener& listener) {
  result<tcp_stream> stream = co_await listener.accept();
  EXPECT_TRUE(stream.has_value());
  std::array<std::byte, 4096> buffer;
  std::size_t total = 0;
  for (;;) {
    const result<std::size_t> got = co_await stream->read(buffer);
    if (!got.has_value() || *got == 0) break;
    const result<std::size_t> put = co_await stream->write_all(std::span(buffer).first(*got));
    if (!put.has_value()) break;
    total += *got;
  }
  co_return total;
}

rota::task<bool> talks() {
  result<tcp_listener> listener = tcp_listener::bind(rota::net::endpoint::parse("127.0.0.1:0"));
  if (!listener.has_value()) co_return false;
  const auto where = listener->local_endpoint();
  rota::join_handle<std::size_t> server = rota::spawn(echo_once(*listener));

  result<tcp_stream> client = co_await tcp_stream::connect(*where);
  if (!client.has_value()) co_return false;
  std::vector<std::byte> sent(100'000, std::byte{42});
  auto [reader, writer] = std::move(*client).split();
  auto send = [](tcp_stream::write_half& half, std::span<const std::byte> bytes) -> rota::task<void> {
    const result<std::size_t> put = co_await half.write_all(bytes);
    EXPECT_TRUE(put.has_value());
    EXPECT_TRUE(half.shutdown().has_value());
  };
  rota::join_handle<void> sending = rota::spawn(send(writer, sent));
  std::array<std::byte, 4096> buffer;
  std::size_t received = 0;
  for (;;) {
    const result<std::size_t> got = co_await reader.read(buffer);
    if (!got.has_value() || *got == 0) break;
    received += *got;
  }
  co_await sending;
  const std::size_t echoed = co_await server;
  co_return received == sent.size() && echoed == sent.size();
}

TEST(public_api, tcp_echo) { EXPECT_TRUE(rota::run(talks())); }

rota::task<bool> refused() {
  result<tcp_listener> listener = tcp_listener::bind(rota::net::endpoint::loopback_v4(0));
  const auto where = listener->local_endpoint();
  {
    const tcp_listener closed = std::move(*listener);
  }
  const result<tcp_stream> client = co_await tcp_stream::connect(*where);
  co_return !client.has_value() && client.error() == std::errc::connection_refused;
}

TEST(public_api, a_refused_connection_is_an_error) { EXPECT_TRUE(rota::run(refused())); }

TEST(public_api, endpoints_are_parsed_and_printed) {
  for (const char* good : {"127.0.0.1:80", "0.0.0.0:0", "[::1]:8080", "[2001:db8::5]:65535"}) {
    const auto parsed = rota::net::endpoint::parse(good);
    ASSERT_TRUE(parsed.has_value()) << good;
    EXPECT_EQ(parsed->to_string(), good);
  }
  for (const char* bad : {"",
                          "127.0.0.1",
                          "127.0.0.1:",
                          "127.0.0.1:65536",
                          "127.0.0.1:-1",
                          ":80",
                          "localhost:80",
                          "[::1]",
                          "::1:80",
                          "[::1:80",
                          "1.2.3:80",
                          "127.0.0.1:80x",
                          "[]:80"}) {
    EXPECT_FALSE(rota::net::endpoint::parse(bad).has_value()) << bad;
  }
}

}  // namespace
