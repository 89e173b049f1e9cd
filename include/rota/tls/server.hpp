// The server side of TLS.
#pragma once

#include <string>
#include <utility>

#include <rota/tls/config.hpp>
#include <rota/tls/stream.hpp>

namespace rota::tls {

/// What the connections of a server share: its certificates, and whether it asks clients for one.
///
///   const rota::tls::server server(config);                            // once
///   auto socket = co_await listener.accept();
///   auto stream = co_await rota::timeout(10s, server.accept(std::move(*socket)));
///
/// TLS 1.3, and 1.2 if the configuration allows it.
///
/// Threads       Any. A copy is the same server.
/// Ownership     Connections share it.
/// Ordering      accept() returns when the handshake is over and its last bytes have been written. The
///               session tickets of TLS 1.3 go before the first data that the server writes: the client of a
///               server that writes nothing cannot resume.
/// Failure       The constructor throws config_error, which names the field, and `std::bad_alloc`. accept: as
///               client::connect; errc::no_certificate. A client that sends nothing keeps it waiting: put a
///               timeout around it.
/// Cost          The constructor reads files, and blocks its thread. A handshake computes on its worker,
///               mostly the signature with the server's key: `openssl speed rsa2048 ecdsap256` prints how
///               long that takes. Keys of elliptic curves are faster. The key of the tickets is as old as the
///               server: make a new server each day.
/// Example       examples/tls_echo.cpp
class ROTA_API server {
 public:
  explicit server(const server_config& from);

  /// Accepts a connection over the stream `below`; co_await it. Yields a result<stream<S>>.
  template <io::stream S>
  ROTA_DETAIL_WRAPPER task<result<stream<S>>> accept(S below) const {
    return detail::shake_hands(context_, std::move(below), std::string());
  }

 private:
  detail::shared_ref<detail::context> context_;
};

}  // namespace rota::tls
