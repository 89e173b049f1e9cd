// close() from another task ends all waits with `closed`, and so do operations that begin later.
#include "unit/net/net_support.hpp"

#include <rota/error.hpp>
#include <rota/net/udp_socket.hpp>
#include <rota/net/unix_datagram.hpp>
#include <rota/net/unix_listener.hpp>
#include <rota/net/unix_stream.hpp>

#include <sys/socket.h>
#include <unistd.h>
#include <array>
#include <string>
#include <vector>

namespace rota::test::close_test {
namespace {

using net::endpoint;
using net::result;
using net::tcp_listener;
using net::tcp_stream;
using net::udp_socket;
using net::unix_datagram;
using net::unix_endpoint;
using net::unix_listener;
using net::unix_stream;

template <class T>
bool is_closed(const result<T>& got) {
  return !got.has_value() && got.error() == make_error_code(errc::closed);
}

/// Awaits `operation`, and expects that it ends with `closed`.
template <class Operation>
task<void> is_told(Operation operation, int& told) {
  const auto got = co_await operation();
  EXPECT_TRUE(is_closed(got)) << (got.has_value() ? "done" : got.error().message());
  ++told;
}

/// Starts all operations on `socket`, closes it while they wait, and starts them once more.
template <class Socket, class... Operation>
task<void> closes(Socket& socket, Operation... operations) {
  int told = 0;
  std::vector<join_handle<void>> waiting;
  (waiting.push_back(spawn(is_told(operations, told))), ...);
  for (int i = 0; i < 5; ++i) co_await yield();
  EXPECT_EQ(told, 0) << "they wait";
  socket.close();
  for (join_handle<void>& each : waiting) co_await each;
  EXPECT_EQ(told, static_cast<int>(sizeof...(operations)));
  (waiting.push_back(spawn(is_told(operations, told))), ...);
  for (std::size_t i = sizeof...(operations); i < waiting.size(); ++i) co_await waiting[i];
  socket.close();
}

void fill(unix_stream& to) {
  const std::vector<std::byte> much(100'000);
  while (to.try_write(much).has_value()) {
  }
}

/// More than the system still moves out of a full socket: a write of it waits.
const std::vector<std::byte> more_than_fits(1'000'000);

TEST(close, wakes_a_reader_and_a_writer) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    co_await fill_up(near);
    std::array<std::byte, 16> buffer;
    co_await closes(near, [&] { return near.read(buffer); }, [&] { return near.write_all(more_than_fits); });
    EXPECT_TRUE(is_closed(near.try_read(buffer)) && is_closed(near.try_write(bytes_of("x"))));
    std::vector<std::byte> much(1'000'000);
    std::size_t last = 1;
    while (last != 0) {
      const result<std::size_t> got = co_await far.read(much);
      last = got.value_or(0);
      EXPECT_TRUE(got.has_value()) << "the peer reads what was written, and the end";
    }
  });
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    co_await fill_up(near);
    const std::array<std::span<const std::byte>, 1> parts{more_than_fits};
    co_await closes(near, [&] { return near.readable(); }, [&] { return near.write_all_v(parts); });
  });
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    co_await fill_up(near);
    std::array<std::byte, 16> buffer;
    const std::array<std::span<std::byte>, 1> places{buffer};
    co_await closes(near, [&] { return near.read_v(places); }, [&] { return near.writable(); });
  });
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    std::array<std::byte, 16> buffer;
    co_await closes(near, [&] { return near.peek(buffer); });
  });
}

// A read that waits without a try, since the last read has taken all bytes, is woken as well.
TEST(close, wakes_a_reader_that_has_read_all_bytes) {
  on_one_worker([]() -> task<> {
    auto [near, far] = co_await connected();
    std::array<std::byte, 16> buffer;
    const result<std::size_t> put = co_await far.write_all(bytes_of("abc"));
    EXPECT_TRUE(put.has_value());
    const result<std::size_t> got = co_await near.read(buffer);
    EXPECT_EQ(got.value_or(0), 3U);
    co_await closes(near, [&] { return near.read(buffer); });
  });
}

TEST(close, wakes_an_acceptor) {
  on_one_worker([]() -> task<> {
    tcp_listener listener = demand(tcp_listener::bind(endpoint::loopback_v4(0)));
    const endpoint at = demand(listener.local_endpoint());
    co_await closes(listener, [&] { return listener.accept(); });
    EXPECT_TRUE(is_closed(listener.try_accept()));
    const auto refused = co_await tcp_stream::connect(at);
    EXPECT_TRUE(!refused.has_value() && refused.error() == std::errc::connection_refused);
  });
}

TEST(close, wakes_a_receiver_of_datagrams) {
  on_one_worker([]() -> task<> {
    udp_socket socket = demand(udp_socket::bind(endpoint::loopback_v4(0)));
    std::array<std::byte, 16> buffer;
    co_await closes(socket, [&] { return socket.recv(buffer); });
    EXPECT_TRUE(is_closed(socket.try_recv(buffer)) && is_closed(socket.try_send(bytes_of("x"))));
  });
  on_one_worker([]() -> task<> {
    udp_socket socket = demand(udp_socket::bind(endpoint::loopback_v4(0)));
    std::array<net::datagram, 4> batch{};
    co_await closes(socket, [&] { return socket.recv_batch(batch); });
  });
}

TEST(close, wakes_waiters_of_unix_sockets) {
  on_one_worker([]() -> task<> {
    auto [near, far] = demand(unix_stream::pair());
    fill(near);
    std::array<std::byte, 16> buffer;
    co_await closes(near, [&] { return near.read(buffer); }, [&] { return near.write(bytes_of("x")); });
  });
  on_one_worker([]() -> task<> {
    const unix_endpoint name = demand(unix_endpoint::abstract("rota close " + std::to_string(::getpid())));
    unix_listener listener = demand(unix_listener::bind(name));
    co_await closes(listener, [&] { return listener.accept(); });
    unix_datagram receiver = demand(unix_datagram::bind(demand(unix_endpoint::abstract(name.to_string()))));
    unix_datagram sender = demand(unix_datagram::unbound());
    const unix_endpoint to = demand(receiver.local_endpoint());
    sockaddr_storage address;
    const auto size = static_cast<socklen_t>(to.to_native(&address));
    const auto* const where = reinterpret_cast<const sockaddr*>(&address);
    while (::sendto(sender.native_handle(), "x", 1, MSG_DONTWAIT, where, size) == 1) {
    }
    co_await closes(sender, [&] { return sender.send_to(bytes_of("x"), to); });
    std::array<std::byte, 16> buffer;
    auto [in, out] = demand(unix_datagram::pair());
    co_await closes(in, [&] { return in.recv(buffer); });
  });
}

// Another thread closes the socket between the try and the wait, or during a try.
TEST(close, is_never_missed) {
  runtime rt(with_workers(2));
  rt.spawn([]() -> task<> {
      for (int i = 0; i < 500; ++i) {
        auto [near, far] = co_await connected();
        int told = 0;
        std::array<std::byte, 16> buffer;
        tcp_stream& socket = near;
        auto reading = spawn(is_told([&] { return socket.read(buffer); }, told));
        auto closing = spawn([&socket]() -> task<> {
          socket.close();
          co_return;
        });
        co_await reading;
        co_await closing;
        EXPECT_EQ(told, 1);
      }
    }).join();
}

TEST(close, keeps_the_descriptor_until_the_last_owner_is_destroyed) {
  run([]() -> task<> {
    auto [near, far] = co_await connected();
    const std::size_t files = open_files();
    near.close();
    EXPECT_EQ(open_files(), files);
    {
      const tcp_stream gone = std::move(near);
    }
    EXPECT_EQ(open_files(), files - 1);
    near.close();  // near is moved-from
  });
}

}  // namespace
}  // namespace rota::test::close_test
