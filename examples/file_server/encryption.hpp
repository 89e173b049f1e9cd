// TLS of the server: its certificate and its handshakes.
#pragma once

#include <memory>
#include <string>

#include <rota/net/tcp_stream.hpp>
#include <rota/task.hpp>

#include "transport.hpp"

namespace file_server {

/// One object for all connections.
///
/// Threads    Any, concurrently.
class encryption {
 public:
  encryption() = default;
  encryption(const encryption&) = delete;
  encryption& operator=(const encryption&) = delete;
  virtual ~encryption() = default;

  /// Does the server side of a handshake. A silent client keeps it waiting, so put a timeout around it. If
  /// the handshake fails, is cancelled or times out, the socket is closed.
  [[nodiscard]] virtual rota::task<rota::net::result<std::unique_ptr<secure_stream>>> accept(
      rota::net::tcp_stream socket) const = 0;
};

/// Creates TLS 1.3 for HTTP/1.1. One PEM file has the certificate and the chain to its root, the other has
/// the key.
///
/// Defined in encryption_with_tls.cpp, or in encryption_without_tls.cpp where rota::tls is missing.
///
/// Failure    Throws std::invalid_argument that names the option and the file: the file cannot be read, the
///            key does not match, or this program was built without OpenSSL.
[[nodiscard]] std::unique_ptr<encryption> make_encryption(const std::string& certificate,
                                                          const std::string& key);

}  // namespace file_server
