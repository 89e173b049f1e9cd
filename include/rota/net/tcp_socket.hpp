// A TCP socket that is neither connected nor listens yet: for options that must be set before.
#pragma once

#include <optional>
#include <string_view>
#include <system_error>

#include <rota/net/socket_options.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>

namespace rota::net {

/// A builder. The first step that fails is kept, later steps do nothing, and the last step returns the
/// failure:
///
///   auto socket = rota::net::tcp_socket::open(rota::net::address_family::v6);
///   socket->reuse_port(true).v6_only(true).receive_buffer(1 << 20).bind(at);
///   auto listener = std::move(*socket).listen();
///
/// Threads       One at a time; connect() and listen() within a task.
/// Ownership     Owns the descriptor until connect() or listen().
/// Failure       Returned by connect(), listen() and error(): std::error_code of the system;
///               std::errc::invalid_argument for a value out of range.
/// Cost          One or two system calls for each option.
/// Example       examples/port_forward.cpp
class ROTA_API tcp_socket {
 public:
  /// Opens a socket of the family v4 or v6. `any` is std::errc::invalid_argument.
  [[nodiscard]] static result<tcp_socket> open(address_family family) noexcept;

  /// Lets bind() succeed although old connections of this port linger.
  tcp_socket& reuse_address(bool on) noexcept;
  /// Lets several listeners share the port; the system distributes the connections.
  tcp_socket& reuse_port(bool on) noexcept;
  /// Makes an IPv6 socket refuse IPv4 connections.
  tcp_socket& v6_only(bool on) noexcept;
  /// Sets the buffer size, at least 1 byte. A listener's connections inherit it. It must be set before
  /// connect() or listen(), since the window is agreed on when a connection is made.
  tcp_socket& receive_buffer(int bytes) noexcept;
  tcp_socket& send_buffer(int bytes) noexcept;
  // As in tcp_stream. Connections that a listener accepts inherit them.
  tcp_socket& nodelay(bool on) noexcept;
  tcp_socket& set(std::optional<keepalive> how) noexcept;
  tcp_socket& linger(std::optional<std::chrono::seconds> time) noexcept;
  tcp_socket& ttl(unsigned hops) noexcept;
  tcp_socket& traffic_class(unsigned value) noexcept;
  tcp_socket& user_timeout(std::chrono::milliseconds time) noexcept;
  /// Uses only this network interface, "eth0" (SO_BINDTODEVICE). std::errc::invalid_argument if the name is
  /// empty, has a NUL, or is too long for an interface.
  tcp_socket& bind_device(std::string_view name) noexcept;
  /// Sets the local address.
  tcp_socket& bind(const endpoint& at) noexcept;

  task<result<tcp_stream>> connect(endpoint to) &&;
  /// Listens. `backlog` is 1..65535; the system may keep fewer.
  [[nodiscard]] result<tcp_listener> listen(int backlog = 4096) && noexcept;

  /// Returns the first failure.
  [[nodiscard]] const std::error_code& error() const noexcept { return error_; }
  [[nodiscard]] result<endpoint> local_endpoint() const noexcept;
  [[nodiscard]] int native_handle() const noexcept { return fd_.get(); }

 private:
  tcp_socket(int fd, address_family family) noexcept : fd_(fd), family_(family) {}
  template <class Step>
  tcp_socket& then(Step step) noexcept;
  static task<result<tcp_stream>> connect(task<result<detail::socket_ref>> connecting);

  detail::owned_descriptor fd_;
  address_family family_;
  std::error_code error_;
};

}  // namespace rota::net
