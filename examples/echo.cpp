// A TCP echo server, and a client that talks to it.
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string_view>
#include <utility>

namespace {

using rota::net::result;
using rota::net::tcp_listener;
using rota::net::tcp_stream;

rota::task<void> echo(tcp_stream stream) {
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const result<std::size_t> got = co_await stream.read(buffer);
    if (!got.has_value()) co_return;  // the connection is broken
    if (*got == 0) break;             // the client has finished
    const result<std::size_t> sent = co_await stream.write_all(std::span(buffer).first(*got));
    if (!sent.has_value()) co_return;
  }
  static_cast<void>(co_await stream.finish(std::chrono::seconds(1)));
}

rota::task<void> serve(tcp_listener& listener) {
  for (;;) {
    result<tcp_stream> stream = co_await listener.accept();
    if (!stream.has_value()) continue;
    rota::join_handle<void> connection = rota::spawn(echo(std::move(*stream)));
    connection.detach();
  }
}

rota::task<bool> talk() {
  auto listener = tcp_listener::bind(rota::net::endpoint::loopback_v4(0));
  if (!listener.has_value()) co_return false;
  rota::join_handle<void> server = rota::spawn(serve(*listener));

  const auto where = listener->local_endpoint();
  result<tcp_stream> client = co_await tcp_stream::connect(*where);
  if (!client.has_value()) co_return false;
  constexpr std::string_view text = "hello";
  const result<std::size_t> sent = co_await client->write_all(std::as_bytes(std::span(text)));
  std::array<std::byte, 16> buffer;
  const result<std::size_t> got = co_await client->read(buffer);

  server.cancel();
  const rota::outcome<void> stopped = co_await server.result();
  co_return sent.has_value() && got.has_value() && *got == text.size() && stopped.is_cancelled();
}

}  // namespace

int main() {
  const bool echoed = rota::run(talk());
  std::puts(echoed ? "echoed" : "failed");
  return echoed ? 0 : 1;
}
