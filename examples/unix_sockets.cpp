// Unix sockets: the server checks the user id of each client and serves only clients of its own user.
#include <rota/net/unix_listener.hpp>
#include <rota/net/unix_stream.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>

#include <unistd.h>
#include <array>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>
#include <utility>

using rota::net::result;
using rota::net::unix_endpoint;
using rota::net::unix_listener;
using rota::net::unix_stream;

namespace {

rota::task<void> serve(unix_listener listener) {
  for (;;) {
    result<unix_stream> stream = co_await listener.accept();
    if (!stream.has_value()) continue;
    const auto who = stream->peer();
    // An abstract name has no file, and so no file mode: every local process may connect.
    if (!who.has_value() || who->uid != ::getuid()) continue;
    const std::string answer = "you are process " + std::to_string(who->pid) + "\n";
    static_cast<void>(co_await stream->write_all(std::as_bytes(std::span(answer))));
  }
}

rota::task<bool> talk() {
  const unix_endpoint name = unix_endpoint::abstract("rota example " + std::to_string(::getpid())).value();
  rota::join_handle<void> server = rota::spawn(serve(unix_listener::bind(name).value()));
  unix_stream stream = (co_await unix_stream::connect(name)).value();
  std::array<std::byte, 64> buffer;
  const result<std::size_t> got = co_await stream.read(buffer);
  server.cancel();
  static_cast<void>(co_await server.result());
  const std::string_view text(reinterpret_cast<const char*>(buffer.data()), got.value_or(0));
  std::printf("%.*s", static_cast<int>(text.size()), text.data());
  co_return text.ends_with(std::to_string(::getpid()) + "\n");
}

}  // namespace

int main() { return rota::run(talk()) ? 0 : 1; }
