// An echo server with the parts of a real one: a connection limit, time limits, a log, a clean shutdown.
//
//   echo_server PORT    serves until Ctrl-C
//   echo_server         connects to itself, then shuts down as after Ctrl-C
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>

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
using rota::net::endpoint;
using rota::net::result;
using rota::net::tcp_listener;
using rota::net::tcp_stream;

namespace {

constexpr auto patience = 30s;  // for each read and each write
constexpr std::size_t most_connections = 1000;

/// Writes the log line of a connection when the connection ends, also if it is cancelled.
struct log_line {
  std::string peer;
  std::size_t bytes = 0;
  std::string end = "cancelled";
  ~log_line() { std::printf("%s: %zu bytes, %s\n", peer.c_str(), bytes, end.c_str()); }
};

/// Returns the reason why the connection ended.
rota::task<std::string> echo(tcp_stream& stream, std::size_t& bytes) {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const result<std::size_t> got = co_await rota::timeout(patience, stream.read(buffer));
    if (!got.has_value()) co_return "read: " + got.error().message();
    if (*got == 0) {
      const result<rota::net::finish_outcome> end = co_await stream.finish(patience);
      co_return end.has_value() ? "done" : "finish: " + end.error().message();
    }
    const auto answer = std::span(buffer).first(*got);
    const result<std::size_t> sent = co_await rota::timeout(patience, stream.write_all(answer));
    if (!sent.has_value()) {
      // otherwise the kernel keeps the bytes that the peer does not take
      static_cast<void>(stream.reset_on_close());
      co_return "write: " + sent.error().message();
    }
    bytes += *sent;
  }
}

rota::task<void> connection(tcp_stream stream) {
  const result<endpoint> peer = stream.peer_endpoint();
  log_line line{.peer = peer.has_value() ? peer->to_string() : "?"};
  try {
    line.end = co_await echo(stream, line.bytes);
  } catch (const std::exception& e) {  // an exception that left the task would cancel the other connections
    line.end = e.what();
  }
}

rota::task<void> accept_all(tcp_listener listener, rota::scope& connections) {
  for (;;) {
    result<tcp_stream> stream = co_await listener.accept();
    if (!stream.has_value()) {
      std::printf("accept: %s\n", stream.error().message().c_str());
    } else if (connections.size() < most_connections) {
      connections.fork(connection(std::move(*stream)));
    } else {
      std::puts("refused: too many connections");  // the stream's destructor closes it
    }
  }
}

rota::task<void> serve_until_signal(tcp_listener& listener, rota::scope& connections) {
  {
    rota::unix_signal signals = rota::unix_signal::open({SIGINT, SIGTERM}).value();
    std::printf("listening on %s\n", listener.local_endpoint()->to_string().c_str());
    co_await rota::when_any(accept_all(std::move(listener), connections), signals.next());
  }  // the listener is closed; the next Ctrl-C kills the process
  std::printf("stopping, %zu connections\n", connections.size());
  connections.cancel();
}

rota::task<bool> serve(result<tcp_listener> listener) {
  if (!listener.has_value()) {
    std::printf("cannot listen: %s\n", listener.error().message().c_str());
    co_return false;
  }
  co_await rota::with_scope(
      [&](rota::scope& connections) { return serve_until_signal(*listener, connections); });
  std::puts("stopped");
  co_return true;
}

rota::task<bool> serve_port(std::string port) {
  co_return co_await serve(tcp_listener::bind(endpoint::parse("0.0.0.0:" + port)));
}

/// A client gets an answer, raises SIGINT, and sees that the shutdown closes its connection.
rota::task<bool> talk_to_itself() {
  constexpr std::string_view text = "hello";
  std::array<std::byte, 16> buffer;
  result<tcp_listener> listener = tcp_listener::bind(endpoint::loopback_v4(0));
  const endpoint at = listener.value().local_endpoint().value();
  rota::join_handle<bool> server = rota::spawn(serve(std::move(listener)));
  tcp_stream stream = (co_await tcp_stream::connect(at)).value();
  static_cast<void>(co_await stream.write_all(std::as_bytes(std::span(text))));
  const result<std::size_t> got = co_await stream.read(buffer);
  std::raise(SIGINT);  // run()'s own task is on the main thread; workers block signals
  const result<std::size_t> end = co_await stream.read(buffer);
  const bool served = co_await server;
  co_return got == text.size() && end == 0U && served;
}

}  // namespace

int main(int argc, char** argv) {
  std::setvbuf(stdout, nullptr, _IOLBF, 0);
  const bool good = argc > 1 ? rota::run(serve_port(argv[1])) : rota::run(talk_to_itself());
  return good ? 0 : 1;
}
