// The client side of TLS.
#pragma once

#include <string>
#include <utility>

#include <rota/tls/config.hpp>
#include <rota/tls/stream.hpp>

namespace rota::tls {

/// What the connections of a client share: the certificates that it trusts, its own certificate, the sessions
/// that it may resume.
///
///   const rota::tls::client client(rota::tls::client_config{});   // once; trusts what the system trusts
///   auto socket = co_await rota::net::connect("example.com", 443);
///   auto stream = co_await client.connect(std::move(*socket), "example.com");
///
/// TLS 1.3, and 1.2 if the configuration allows it. The server must have a certificate for the host, signed
/// by a trusted issuer.
///
/// Threads       Any. A copy is the same client.
/// Ownership     Connections share it.
/// Ordering      connect() returns when the handshake is over and its last bytes have been written.
/// Failure       The constructor throws config_error, which names the field, and `std::bad_alloc`. connect:
///               errc::bad_name unless `host` is a name (letters, digits, hyphens, underscores; labels of 1
///               to 63 characters, at most 253 in all) or an address as net::resolve() takes it, without a
///               zone. "127.1" and "010.0.0.1" are neither, and nothing is sent. A verify_error if the
///               certificate is not accepted; an alert if the server refuses; rota::errc::end_of_stream if
///               the stream ends; an error of the stream; openssl_category. An alert tells the peer about a
///               failure; connect() waits at most a second for it to be sent. If it fails, is cancelled or
///               times out, it destroys the stream. A server that requires a client certificate refuses after
///               the handshake of TLS 1.3: the first read returns the alert. `std::bad_alloc`.
/// Cost          The constructor reads files, and blocks its thread. A handshake computes on its worker,
///               mostly the signatures: see server.
/// Example       examples/tls_echo.cpp
class ROTA_API client {
 public:
  explicit client(const client_config& from);

  /// Connects over the stream `below`; co_await it. Yields a result<stream<S>>. `host` is the name that was
  /// resolved; the certificate is checked against it.
  template <io::stream S>
  ROTA_DETAIL_WRAPPER task<result<stream<S>>> connect(S below, std::string host) const {
    return detail::shake_hands(context_, std::move(below), std::move(host));
  }

 private:
  detail::shared_ref<detail::context> context_;
};

}  // namespace rota::tls
