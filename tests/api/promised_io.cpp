// The promised names of io and net, by public headers alone.
#include <rota/io/algorithms.hpp>
#include <rota/io/buffered_reader.hpp>
#include <rota/io/buffered_writer.hpp>
#include <rota/io/copy.hpp>
#include <rota/io/duplex.hpp>
#include <rota/io/limited.hpp>
#include <rota/io/lines.hpp>
#include <rota/net/tcp_socket.hpp>
#include <rota/net/udp_socket.hpp>
#include <rota/net/unix_datagram.hpp>
#include <rota/net/unix_listener.hpp>
#include <rota/net/unix_stream.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using rota::io::result;

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

/// Lines are sent back with their numbers, whatever the stream is.
template <rota::io::stream S>
rota::task<int> number_lines(S& stream) {
  rota::io::buffered_reader<S> in(stream);
  rota::io::buffered_writer<S> out(stream);
  auto lines = rota::io::lines(in);
  int n = 0;
  for (;;) {
    const auto line = co_await lines.next();
    if (!line || !line->has_value()) break;
    const std::string text = std::to_string(++n) + " " + std::string(**line) + "\n";
    const result<void> put = co_await out.write_all(bytes_of(text));
    EXPECT_TRUE(put.has_value());
  }
  const result<void> flushed = co_await out.flush();
  EXPECT_TRUE(flushed.has_value());
  stream.shutdown_write();
  co_return n;
}

template <rota::io::stream S>
rota::task<std::string> ask(S& stream) {
  const result<void> sent = co_await rota::io::write_all(stream, bytes_of("one\r\ntwo\nthree"));
  EXPECT_TRUE(sent.has_value());
  stream.shutdown_write();
  std::vector<std::byte> all;
  const result<std::size_t> got = co_await rota::io::read_to_end(stream, all, 1000);
  EXPECT_TRUE(got.has_value());
  co_return std::string(reinterpret_cast<const char*>(all.data()), all.size());
}

template <rota::io::stream S>
rota::task<void> expect_numbers(S near, S far) {
  auto [n, text] = co_await rota::when_all(number_lines(far), ask(near));
  EXPECT_EQ(n, 3);
  EXPECT_EQ(text, "1 one\n2 two\n3 three\n");
}

TEST(public_api, streams_of_each_kind_are_alike) {
  rota::run([]() -> rota::task<void> {
    auto [near, far] = rota::io::duplex(5);
    co_await expect_numbers(std::move(near), std::move(far));
    auto pair = rota::net::unix_stream::pair();
    co_await expect_numbers(std::move(pair->first), std::move(pair->second));
    auto socket = rota::net::tcp_socket::open(rota::net::address_family::v4);
    socket->bind(rota::net::endpoint::loopback_v4(0));
    auto listener = std::move(*socket).listen();
    auto client = co_await rota::net::tcp_stream::connect(listener->local_endpoint().value());
    auto server = co_await listener->accept();
    co_await expect_numbers(std::move(*client), std::move(*server));
    listener->close();
  });
}

TEST(public_api, datagrams_of_each_kind_are_alike) {
  rota::run([]() -> rota::task<void> {
    std::array<std::byte, 16> buffer;
    auto udp = rota::net::udp_socket::bind(rota::net::endpoint::loopback_v4(0));
    rota::net::endpoint from;
    const rota::net::endpoint here = udp->local_endpoint().value();
    const result<std::size_t> sent = co_await udp->send_to(bytes_of("abc"), here);
    const result<std::size_t> got = co_await udp->recv_from(buffer, from);
    EXPECT_TRUE(sent == 3U && got == 3U && from == here);
    auto pair = rota::net::unix_datagram::pair();
    const result<std::size_t> local = co_await pair->first.send(bytes_of("abcd"));
    const result<std::size_t> heard = co_await pair->second.recv(buffer);
    EXPECT_TRUE(local == 4U && heard == 4U);
  });
}

}  // namespace
