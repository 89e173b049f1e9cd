// Waiting for TCP connections.
#pragma once

#include <utility>

#include <rota/detail/net_accept.hpp>
#include <rota/net/tcp_stream.hpp>

namespace rota::net {

struct listen_options {
  int backlog = 4096;         // 1..65535; the system may keep fewer
  bool reuse_address = true;  // bind although old connections of this port linger
  bool reuse_port = false;    // several listeners share the port
};

/// What tcp_listener::accept() returns.
class ROTA_DETAIL_AWAIT_IT ROTA_API accept_leaf final : public detail::accept_core {
 public:
  explicit accept_leaf(detail::accepting& by) noexcept : accept_core(by) {}
  [[nodiscard]] result<tcp_stream> await_resume() noexcept;
};

/// A listening TCP socket.
///
/// Threads       One task at a time accepts.
/// Ownership     Owns the descriptor; closes it, and with it the connections that nobody has accepted. What accept() returns refers to
///               it: it must stay where it is until that is done.
/// Failure       bind: std::error_code of the system (EADDRINUSE, EACCES); errc::no_runtime outside of a task. accept: a
///               connection that broke before it was accepted is skipped. No descriptor or memory left: waits 10 ms to 1 s
///               and tries again, and returns the error once a second, so that somebody can log it; the listener goes on. Cancelled, or
///               a case of a select that has lost: no connection was taken. One that was moved from is std::errc::bad_file_descriptor.
/// Cost          One system call and one allocation for each connection.
/// Example       examples/echo_server.cpp
class ROTA_API tcp_listener {
 public:
  /// With other options: tcp_socket.
  [[nodiscard]] static result<tcp_listener> bind(const endpoint& at, listen_options options = {}) noexcept;
  /// For what endpoint::parse() returned.
  [[nodiscard]] static result<tcp_listener> bind(const std::expected<endpoint, std::error_code>& at,
                                                 listen_options options = {}) noexcept;
  /// An address and a port, as "127.0.0.1:8080" or "[::]:0"; port 0: a free one, which local_endpoint() names. No name of a host: the error
  /// of endpoint::parse().
  [[nodiscard]] static result<tcp_listener> bind(std::string_view at, listen_options options = {}) noexcept {
    return bind(endpoint::parse(at), options);
  }
  /// A listening TCP socket that was made elsewhere, by a service manager perhaps: owns it from now on. An error: it stays the caller's;
  /// std::errc::wrong_protocol_type: it is no TCP socket, or does not listen.
  [[nodiscard]] static result<tcp_listener> adopt(int fd) noexcept;

  tcp_listener(tcp_listener&&) noexcept = default;
  tcp_listener& operator=(tcp_listener&&) noexcept = default;
  ~tcp_listener() = default;

  /// co_await it: the next connection, a result<tcp_stream>.
  accept_leaf accept() noexcept { return accept_leaf(by_); }
  /// Never waits: std::errc::operation_would_block. A lack of descriptors is told at once.
  [[nodiscard]] result<tcp_stream> try_accept() noexcept;
  /// With the port that the system chose, if 0 was asked for.
  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;
  /// From any task, at any time while this lives: who waits, and whoever comes later, is told errc::closed; who connects is refused. The descriptor
  /// is closed with its last owner. Again: nothing.
  void close() noexcept { by_.socket.close(); }
  [[nodiscard]] int native_handle() const noexcept { return by_.socket.descriptor(); }

 private:
  friend class tcp_socket;
  explicit tcp_listener(detail::socket_ref s) noexcept { by_.socket = std::move(s); }
  detail::accepting by_;
};

}  // namespace rota::net
