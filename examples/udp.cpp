// A request and its answer by UDP. A datagram may be lost, so the client waits for a second and sends again.
#include <rota/net/udp_socket.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <string_view>

using namespace std::chrono_literals;
using rota::net::endpoint;
using rota::net::result;
using rota::net::udp_socket;

namespace {

/// Sends each datagram back, in capitals.
rota::task<void> answer(udp_socket& socket) {
  std::array<std::byte, 512> buffer;
  for (;;) {
    endpoint from;
    const result<std::size_t> got = co_await socket.recv_from(buffer, from);
    if (!got.has_value()) continue;  // possibly a late error of an earlier answer
    const auto text = std::span(buffer).first(*got);
    for (std::byte& each : text) each &= std::byte{0xdf};
    static_cast<void>(co_await socket.send_to(text, from));
  }
}

rota::task<std::string> ask(endpoint whom, std::string_view question) {
  udp_socket socket = udp_socket::bind(endpoint::any_v4(0)).value();
  socket.connect(whom).value();
  std::array<std::byte, 512> buffer;
  for (int tries = 0; tries < 10; ++tries) {
    static_cast<void>(co_await socket.send(std::as_bytes(std::span(question))));
    const result<std::size_t> got = co_await rota::timeout(1s, socket.recv(buffer));
    if (got.has_value()) co_return std::string(reinterpret_cast<const char*>(buffer.data()), *got);
  }
  co_return "";
}

rota::task<bool> talk() {
  udp_socket server = udp_socket::bind(endpoint::loopback_v4(0)).value();
  rota::join_handle<void> answering = rota::spawn(answer(server));
  const std::string answer = co_await ask(server.local_endpoint().value(), "hello");
  answering.cancel();
  static_cast<void>(co_await answering.result());
  std::printf("%s\n", answer.c_str());
  co_return answer == "HELLO";
}

}  // namespace

int main() { return rota::run(talk()) ? 0 : 1; }
