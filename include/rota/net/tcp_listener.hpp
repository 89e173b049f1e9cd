// A listening TCP socket.
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
/// Ownership     Owns the descriptor; closes it, and with it the connections that were not accepted. The
///               object that accept() returns refers to the listener: the listener must not move until the
///               accept is done.
/// Failure       bind: std::error_code of the system (EADDRINUSE, EACCES); errc::no_runtime outside of a
///               task. accept: a connection that broke before it was accepted is skipped. If no descriptor or
///               memory is left, accept waits 10 ms to 1 s and tries again. It returns that error once a
///               second, so that the caller can log it; the listener stays usable. If cancelled, or if it
///               loses a select, it has taken no connection. A listener that was moved from:
///               std::errc::bad_file_descriptor.
/// Cost          One system call and one allocation for each connection.
/// Example       examples/echo_server.cpp
class ROTA_API tcp_listener {
 public:
  /// Binds and listens. For other options use tcp_socket.
  [[nodiscard]] static result<tcp_listener> bind(const endpoint& at, listen_options options = {}) noexcept;
  /// Takes the result of endpoint::parse(). An error of it is returned.
  [[nodiscard]] static result<tcp_listener> bind(const std::expected<endpoint, std::error_code>& at,
                                                 listen_options options = {}) noexcept;
  /// Takes an address and a port, as "127.0.0.1:8080" or "[::]:0". With port 0 the system chooses a free
  /// port: see local_endpoint(). Returns the error of endpoint::parse() for a host name.
  [[nodiscard]] static result<tcp_listener> bind(std::string_view at, listen_options options = {}) noexcept {
    return bind(endpoint::parse(at), options);
  }
  /// Takes over a listening TCP socket that was made elsewhere, by a service manager for example. On an error
  /// the caller keeps it. std::errc::wrong_protocol_type if it is no TCP socket, or does not listen.
  [[nodiscard]] static result<tcp_listener> adopt(int fd) noexcept;

  tcp_listener(tcp_listener&&) noexcept = default;
  tcp_listener& operator=(tcp_listener&&) noexcept = default;
  ~tcp_listener() = default;

  /// Accepts the next connection; co_await it. Yields a result<tcp_stream>.
  accept_leaf accept() noexcept { return accept_leaf(by_); }
  /// Accepts without waiting. Returns std::errc::operation_would_block if no connection is there. Returns a
  /// lack of descriptors at once.
  [[nodiscard]] result<tcp_stream> try_accept() noexcept;
  /// Returns the address, with the port that the system chose if the port was 0.
  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;
  /// Closes the listener. Any task may call it while the listener lives. Waiting and later accepts return
  /// errc::closed. New connections are refused. The descriptor is closed by its last owner. A second call
  /// does nothing.
  void close() noexcept { by_.socket.close(); }
  [[nodiscard]] int native_handle() const noexcept { return by_.socket.descriptor(); }

 private:
  friend class tcp_socket;
  explicit tcp_listener(detail::socket_ref s) noexcept { by_.socket = std::move(s); }
  detail::accepting by_;
};

}  // namespace rota::net
