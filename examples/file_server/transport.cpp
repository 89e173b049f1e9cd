#include "transport.hpp"

#include <array>
#include <chrono>

#include <rota/time.hpp>

namespace file_server {

rota::task<void> linger(transport& over) {
  using steady = std::chrono::steady_clock;
  const auto until = steady::now() + std::chrono::seconds(1);
  if (secure_stream* const secure = over.secure(); secure != nullptr) {
    // RFC 9112, 9.8: TLS is closed first. What the client still sends is not decrypted.
    const rota::net::result<void> said = co_await rota::timeout(until - steady::now(), secure->finish());
    if (!said.has_value()) co_return;
  }
  rota::net::tcp_stream& socket = over.socket();
  static_cast<void>(socket.shutdown(rota::net::shutdown_how::write));
  std::array<std::byte, 4096> unread;
  while (steady::now() < until) {
    const rota::net::result<std::size_t> got =
        co_await rota::timeout(until - steady::now(), socket.read(unread));
    if (!got.has_value() || *got == 0) break;
  }
}

}  // namespace file_server
