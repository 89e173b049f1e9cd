// Waiting for TCP connections.
#pragma once

#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/net/tcp_stream.hpp>

namespace rota::net {

struct listen_options {
  int backlog = 4096;         // 1..65535; the system may keep fewer
  bool reuse_address = true;  // bind although old connections of this port linger
  bool reuse_port = false;    // several listeners share the port
};

/// A listening TCP socket.
///
/// Threads       One task at a time accepts.
/// Ownership     Owns the descriptor; closes it, and with it the connections that nobody has accepted.
/// Failure       bind: std::error_code of the system (EADDRINUSE, EACCES); errc::no_runtime outside of a task. accept: a
///               connection that broke before it was accepted is skipped. No descriptor or memory left: waits 10 ms to 1 s
///               and tries again, and returns the error once a second, so that somebody can log it; the listener goes on.
/// Cost          One system call and one allocation for each connection.
/// Example       examples/echo_server.cpp
class ROTA_API tcp_listener {
 public:
  [[nodiscard]] static result<tcp_listener> bind(const endpoint& at, listen_options options = {}) noexcept;
  /// For what endpoint::parse() returned.
  [[nodiscard]] static result<tcp_listener> bind(const std::expected<endpoint, std::error_code>& at,
                                                 listen_options options = {}) noexcept;

  tcp_listener(tcp_listener&&) noexcept = default;
  tcp_listener& operator=(tcp_listener&&) noexcept = default;
  ~tcp_listener() = default;

  /// The next connection.
  [[nodiscard]] task<result<tcp_stream>> accept();
  /// With the port that the system chose, if 0 was asked for.
  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;

 private:
  explicit tcp_listener(detail::socket_ref s) noexcept : socket_(std::move(s)) {}
  detail::socket_ref socket_;
  std::chrono::milliseconds back_off_{0};
  std::chrono::steady_clock::time_point last_report_{};
};

}  // namespace rota::net
