// TLS of the server: its certificate, and the handshakes with those who connect.
#pragma once

#include <memory>
#include <string>

#include <rota/net/tcp_stream.hpp>
#include <rota/task.hpp>

#include "transport.hpp"

namespace file_server {

/// One for all connections.
///
/// Threads    Any, at the same time.
class encryption {
 public:
  encryption() = default;
  encryption(const encryption&) = delete;
  encryption& operator=(const encryption&) = delete;
  virtual ~encryption() = default;

  /// The server's part of a handshake. A client that says nothing keeps it waiting: put a timeout around it. Failed, cancelled or late, the
  /// socket goes with it.
  [[nodiscard]] virtual rota::task<rota::net::result<std::unique_ptr<secure_stream>>> accept(
      rota::net::tcp_stream socket) const = 0;
};

/// TLS 1.3 for HTTP/1.1 with the certificate, and those that lead to its root, and the key of two files in PEM.
///
/// encryption_with_tls.cpp, or encryption_without_tls.cpp where there is no rota::tls.
///
/// Failure    Throws std::invalid_argument that names the option and the file: it cannot be read, the key does not fit, or this program was
///            built without OpenSSL.
[[nodiscard]] std::unique_ptr<encryption> make_encryption(const std::string& certificate,
                                                          const std::string& key);

}  // namespace file_server
