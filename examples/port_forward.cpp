// Forwards TCP connections to another address, in both directions, until each side has finished.
//
//   port_forward 127.0.0.1:8080 192.0.2.7:80    until Ctrl-C
//   port_forward                                forwards to itself, then ends
#include <rota/channel/select.hpp>
#include <rota/io/copy.hpp>
#include <rota/io/limited.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_socket.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <utility>

using namespace std::chrono_literals;
using rota::io::counted;
using rota::net::endpoint;
using rota::net::result;
using rota::net::tcp_listener;
using rota::net::tcp_socket;
using rota::net::tcp_stream;

namespace {

using rota::net::address_family;

/// Small writes are sent at once, and a vanished peer is detected.
result<void> prepare(tcp_stream& stream) {
  const rota::net::keepalive often{.idle = 60s, .interval = 10s, .count = 6};
  const result<void> at_once = stream.set_nodelay(true);
  return at_once.has_value() ? stream.set(often) : at_once;
}

rota::task<std::string> forward(counted<tcp_stream>& client, endpoint to) {
  result<tcp_stream> server = co_await rota::timeout(10s, tcp_stream::connect(to));
  if (!server.has_value()) co_return "connect: " + server.error().message();
  static_cast<void>(prepare(client.inner()));
  static_cast<void>(prepare(*server));
  const result<rota::io::copied> moved = co_await rota::io::copy_both(client, *server);
  co_return moved.has_value() ? "done" : moved.error().message();
}

rota::task<void> connection(tcp_stream stream, endpoint to) {
  const result<endpoint> peer = stream.peer_endpoint();
  counted<tcp_stream> client(stream);
  std::string end;
  try {
    end = co_await forward(client, to);
  } catch (const std::exception& e) {  // an exception that left the task would cancel the other connections
    end = e.what();
  }
  std::printf("%s: %llu bytes there, %llu back, %s\n",
              peer.has_value() ? peer->to_string().c_str() : "?",
              static_cast<unsigned long long>(client.bytes_read()),
              static_cast<unsigned long long>(client.bytes_written()),
              end.c_str());
}

/// Accepts connections until `stop` is set. Open connections go on after that.
rota::task<void> accept_all(tcp_listener& listener,
                            endpoint to,
                            rota::sync::event& stop,
                            rota::scope& connections) {
  for (;;) {
    auto first = co_await rota::channel::select(stop.wait(), listener.accept());
    if (first.index() == 0) co_return;
    result<tcp_stream> stream = std::move(first).get<1>();
    if (!stream.has_value()) {
      std::printf("accept: %s\n", stream.error().message().c_str());
    } else {
      connections.fork(connection(std::move(*stream), to));
    }
  }
}

rota::task<void> serve(tcp_listener& listener, endpoint to, rota::sync::event& stop) {
  co_await rota::with_scope([&](rota::scope& connections) -> rota::task<void> {
    co_await accept_all(listener, to, stop, connections);
    listener.close();  // new connections are refused from here on
  });
}

result<tcp_listener> listen(const endpoint& at) {
  result<tcp_socket> socket = tcp_socket::open(at.is_v6() ? address_family::v6 : address_family::v4);
  if (!socket.has_value()) return std::unexpected(socket.error());
  socket->reuse_address(true).bind(at);
  return std::move(*socket).listen();
}

rota::task<bool> serve_until_signal(std::string from, std::string to) {
  const auto at = endpoint::parse(from);
  const auto target = endpoint::parse(to);
  if (!at.has_value() || !target.has_value()) co_return false;
  result<tcp_listener> listener = listen(*at);
  if (!listener.has_value()) {
    std::printf("cannot listen: %s\n", listener.error().message().c_str());
    co_return false;
  }
  rota::unix_signal signals = rota::unix_signal::open({SIGINT, SIGTERM}).value();
  rota::sync::event stop;
  rota::join_handle<void> serving = rota::spawn(serve(*listener, *target, stop));
  static_cast<void>(co_await signals.next());
  std::puts("stopping: what is open goes on; again: at once");
  stop.set();
  auto which = co_await rota::channel::select(serving, signals.next());
  if (which.index() == 1) {
    serving.cancel();
    static_cast<void>(co_await serving.result());
  }
  co_return true;
}

/// Sends the received text back, reversed.
rota::task<void> answer(tcp_listener& listener) {
  tcp_stream stream = (co_await listener.accept()).value();
  std::string all;
  std::array<std::byte, 16> buffer;
  for (;;) {
    const result<std::size_t> got = co_await stream.read(buffer);
    if (got.value_or(0) == 0) break;
    all.append(reinterpret_cast<const char*>(buffer.data()), *got);
  }
  const std::string reversed(all.rbegin(), all.rend());
  static_cast<void>(co_await stream.write_all(std::as_bytes(std::span(reversed))));
}

rota::task<bool> forward_to_itself() {
  tcp_listener target = listen(endpoint::loopback_v4(0)).value();
  tcp_listener listener = listen(endpoint::loopback_v4(0)).value();
  rota::sync::event stop;
  rota::join_handle<void> answering = rota::spawn(answer(target));
  rota::join_handle<void> serving = rota::spawn(serve(listener, target.local_endpoint().value(), stop));
  std::array<std::byte, 64> buffer;
  std::string heard;
  {
    tcp_stream client = (co_await tcp_stream::connect(listener.local_endpoint().value())).value();
    constexpr std::string_view text = "the end is passed on, and the answer comes all the same";
    static_cast<void>(co_await client.write_all(std::as_bytes(std::span(text))));
    static_cast<void>(client.shutdown_write());
    for (;;) {
      const result<std::size_t> got = co_await client.read(buffer);
      if (got.value_or(0) == 0) break;
      heard.append(reinterpret_cast<const char*>(buffer.data()), *got);
    }
  }
  stop.set();
  co_await answering;
  co_await serving;
  std::printf("%s\n", heard.c_str());
  co_return heard == "emas eht lla semoc rewsna eht dna ,no dessap si dne eht";
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  if (argc == 3) return rota::run(serve_until_signal(argv[1], argv[2])) ? 0 : 1;
  return rota::run(forward_to_itself()) ? 0 : 1;
}
