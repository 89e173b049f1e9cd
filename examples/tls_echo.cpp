// An echo server over TLS, and a client that connects twice. The second connection resumes the session,
// without certificates.
#include <rota/error.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/tls/client.hpp>
#include <rota/tls/self_signed.hpp>
#include <rota/tls/server.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace {

using namespace std::chrono_literals;
using rota::net::tcp_listener;
using rota::net::tcp_stream;
using rota::tls::result;
using secure_stream = rota::tls::stream<tcp_stream>;

/// Takes the server by value. A copy refers to the same server, and no task joins this one.
rota::task<void> echo(rota::tls::server server, tcp_stream socket) {
  // A client that connects and stays silent is dropped after ten seconds.
  result<secure_stream> stream = co_await rota::timeout(10s, server.accept(std::move(socket)));
  if (!stream.has_value()) co_return;
  std::array<std::byte, 4096> buffer;
  for (;;) {
    const result<std::size_t> got = co_await stream->read(buffer);
    if (!got.has_value()) co_return;  // the connection was cut, so the data may be incomplete
    if (*got == 0) break;             // the client has closed its sending direction: the data is complete
    const result<std::size_t> sent = co_await stream->write_all(std::span(buffer).first(*got));
    if (!sent.has_value()) co_return;
  }
  // Waits until the client has closed, too. Closing earlier could reset the connection, and the client could
  // lose the last answer.
  static_cast<void>(co_await stream->finish(1s));
}

rota::task<void> serve(const rota::tls::server& server, tcp_listener& listener) {
  for (;;) {
    result<tcp_stream> socket = co_await listener.accept();
    if (!socket.has_value()) {
      if (socket.error() == rota::errc::closed) co_return;
      std::printf("accept: %s\n", socket.error().message().c_str());
      co_await rota::sleep_for(100ms);  // the error may persist, so pause before the next accept
      continue;
    }
    rota::join_handle<void> connection = rota::spawn(echo(server, std::move(*socket)));
    connection.detach();
  }
}

/// Returns the answer of the server, or the text of an error.
rota::task<std::string> ask(const rota::tls::client& client,
                            rota::net::endpoint where,
                            std::string_view text) {
  result<tcp_stream> socket = co_await tcp_stream::connect(where);
  if (!socket.has_value()) co_return socket.error().message();
  result<secure_stream> stream = co_await client.connect(std::move(*socket), "localhost");
  if (!stream.has_value()) co_return stream.error().message();
  const result<std::size_t> sent = co_await stream->write_all(std::as_bytes(std::span(text)));
  if (!sent.has_value()) co_return sent.error().message();
  const result<void> finished = co_await stream->shutdown_write();
  if (!finished.has_value()) co_return finished.error().message();
  std::string answer(stream->is_resumed() ? "again: " : "");
  std::array<char, 64> buffer;
  for (;;) {
    const result<std::size_t> got = co_await stream->read(std::as_writable_bytes(std::span(buffer)));
    if (!got.has_value()) co_return got.error().message();
    if (*got == 0) co_return answer;
    answer.append(buffer.data(), *got);
  }
}

rota::task<bool> talk() {
  rota::tls::server_config mine;
  mine.identities.push_back(rota::tls::self_signed({"localhost"}, 1));
  rota::tls::client_config trusting;
  trusting.ca_pem = mine.identities.front().chain_pem;
  const rota::tls::server server(mine);
  const rota::tls::client client(trusting);

  auto listener = tcp_listener::bind(rota::net::endpoint::loopback_v4(0));
  if (!listener.has_value()) co_return false;
  const auto where = listener->local_endpoint();
  rota::join_handle<void> serving = rota::spawn(serve(server, *listener));
  const std::string first = co_await ask(client, *where, "hello");
  const std::string second = co_await ask(client, *where, "hello");
  const rota::tls::client stranger(rota::tls::client_config{});
  const std::string third = co_await ask(stranger, *where, "hello");
  std::printf("%s\n%s\n%s\n", first.c_str(), second.c_str(), third.c_str());

  serving.cancel();
  const rota::outcome<void> stopped = co_await serving.result();
  co_return first == "hello" && second == "again: hello" && third != "hello" && stopped.is_cancelled();
}

}  // namespace

int main() { return rota::run(talk()) ? 0 : 1; }
