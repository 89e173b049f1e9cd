// A TCP socket that is neither connected nor listens: for options that must be set before.
#pragma once

#include <optional>
#include <string_view>
#include <system_error>

#include <rota/net/socket_options.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>

namespace rota::net {

/// A builder. The first step that fails is kept, nothing is done after it, and the last step tells it:
///
///   auto socket = rota::net::tcp_socket::open(rota::net::address_family::v6);
///   socket->reuse_port(true).v6_only(true).receive_buffer(1 << 20).bind(at);
///   auto listener = std::move(*socket).listen();
///
/// Threads       One at a time; connect() and listen() within a task.
/// Ownership     Owns the descriptor until connect() or listen().
/// Failure       Told by connect(), listen() and error(): std::error_code of the system; std::errc::invalid_argument for a value out of range.
/// Cost          One or two system calls for each option.
/// Example       examples/port_forward.cpp
class ROTA_API tcp_socket {
 public:
  /// v4 or v6; `any` is std::errc::invalid_argument.
  [[nodiscard]] static result<tcp_socket> open(address_family family) noexcept;

  /// Bind although old connections of this port linger.
  tcp_socket& reuse_address(bool on) noexcept;
  /// Several listeners share the port; the system deals the connections out.
  tcp_socket& reuse_port(bool on) noexcept;
  /// An IPv6 socket takes no IPv4 connections.
  tcp_socket& v6_only(bool on) noexcept;
  /// At least 1 byte; for a listener: of its connections. Before them, since the window is agreed on when a connection is made.
  tcp_socket& receive_buffer(int bytes) noexcept;
  tcp_socket& send_buffer(int bytes) noexcept;
  // As tcp_stream's; connections that a listener accepts inherit them.
  tcp_socket& nodelay(bool on) noexcept;
  tcp_socket& set(std::optional<keepalive> how) noexcept;
  tcp_socket& linger(std::optional<std::chrono::seconds> time) noexcept;
  tcp_socket& ttl(unsigned hops) noexcept;
  tcp_socket& traffic_class(unsigned value) noexcept;
  tcp_socket& user_timeout(std::chrono::milliseconds time) noexcept;
  /// Only by this network interface, "eth0" (SO_BINDTODEVICE). std::errc::invalid_argument: empty, with a NUL, or longer than such names are.
  tcp_socket& bind_device(std::string_view name) noexcept;
  /// For a listener: where. Before connect(): from where.
  tcp_socket& bind(const endpoint& at) noexcept;

  task<result<tcp_stream>> connect(endpoint to) &&;
  /// 1..65535; the system may keep fewer.
  [[nodiscard]] result<tcp_listener> listen(int backlog = 4096) && noexcept;

  /// The first failure.
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
