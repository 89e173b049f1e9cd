#include <rota/net/tcp_socket.hpp>

#include "net/connect.hpp"
#include "net/options.hpp"
#include "net/socket.hpp"

#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace rota::net {

namespace sys = base::sys;

result<tcp_socket> tcp_socket::open(address_family family) noexcept {
  if (family == address_family::any) return detail::out_of_range();
  const result<int> fd = sys::stream_socket(family == address_family::v6 ? AF_INET6 : AF_INET);
  if (!fd.has_value()) return std::unexpected(fd.error());
  return tcp_socket(*fd, family);
}

/// Runs a step, unless an earlier one has failed.
template <class Step>
tcp_socket& tcp_socket::then(Step step) noexcept {
  if (error_) return *this;
  if (const result<void> did = step(fd_.get()); !did.has_value()) error_ = did.error();
  return *this;
}

tcp_socket& tcp_socket::reuse_address(bool on) noexcept {
  return then([on](int fd) { return sys::set_option(fd, SOL_SOCKET, SO_REUSEADDR, on ? 1 : 0); });
}

tcp_socket& tcp_socket::reuse_port(bool on) noexcept {
  return then([on](int fd) { return sys::set_option(fd, SOL_SOCKET, SO_REUSEPORT, on ? 1 : 0); });
}

tcp_socket& tcp_socket::v6_only(bool on) noexcept {
  return then([on](int fd) { return sys::set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, on ? 1 : 0); });
}

tcp_socket& tcp_socket::receive_buffer(int bytes) noexcept {
  return then([bytes](int fd) { return detail::set_buffer(fd, SO_RCVBUF, bytes); });
}

tcp_socket& tcp_socket::send_buffer(int bytes) noexcept {
  return then([bytes](int fd) { return detail::set_buffer(fd, SO_SNDBUF, bytes); });
}

tcp_socket& tcp_socket::nodelay(bool on) noexcept {
  return then([on](int fd) { return sys::set_option(fd, IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0); });
}

tcp_socket& tcp_socket::set(std::optional<keepalive> how) noexcept {
  return then([how](int fd) { return detail::set_keepalive(fd, how); });
}

tcp_socket& tcp_socket::linger(std::optional<std::chrono::seconds> time) noexcept {
  return then([time](int fd) { return detail::set_linger(fd, time); });
}

tcp_socket& tcp_socket::ttl(unsigned hops) noexcept {
  return then([hops](int fd) { return detail::set_ttl(fd, hops); });
}

tcp_socket& tcp_socket::traffic_class(unsigned value) noexcept {
  return then([value](int fd) { return detail::set_traffic_class(fd, value); });
}

tcp_socket& tcp_socket::user_timeout(std::chrono::milliseconds time) noexcept {
  return then([time](int fd) { return detail::set_user_timeout(fd, time); });
}

tcp_socket& tcp_socket::bind_device(std::string_view name) noexcept {
  return then([name](int fd) -> result<void> {
    // The system ends the name at a NUL. A name that begins with a NUL would mean no interface, which removes
    // the restriction.
    if (name.empty() || name.size() >= IF_NAMESIZE || name.find('\0') != std::string_view::npos)
      return detail::out_of_range();
    return sys::set_option_bytes(fd, SOL_SOCKET, SO_BINDTODEVICE, name.data(), name.size());
  });
}

tcp_socket& tcp_socket::bind(const endpoint& at) noexcept {
  return then([&at](int fd) {
    const detail::native_address address(at);
    return sys::bind(fd, address.get(), address.size);
  });
}

namespace {

/// Connects first, and watches then: so the socket is not writable before the connect has ended.
task<result<detail::socket_ref>> connect_socket(detail::owned_descriptor fd,
                                                std::error_code before,
                                                endpoint to) {
  if (before) co_return std::unexpected(before);
  if (!detail::socket::can_watch()) co_return std::unexpected(make_error_code(errc::no_runtime));
  const detail::native_address address(to);
  const result<void> begun = sys::connect(fd.get(), address.get(), address.size);
  if (!begun.has_value()) co_return std::unexpected(begun.error());
  result<detail::socket_ref> made = detail::socket::adopt(fd.release(), detail::short_read::says_drained);
  if (!made.has_value()) co_return std::unexpected(made.error());
  const result<void> connected = co_await detail::connect_leaf(made->get());
  if (!connected.has_value()) co_return std::unexpected(connected.error());
  co_return std::move(made);
}

}  // namespace

task<result<tcp_stream>> tcp_socket::connect(endpoint to) && {
  return connect(connect_socket(std::move(fd_), error_, to));
}

task<result<tcp_stream>> tcp_socket::connect(task<result<detail::socket_ref>> connecting) {
  result<detail::socket_ref> made = co_await std::move(connecting);
  if (!made.has_value()) co_return std::unexpected(made.error());
  co_return tcp_stream(std::move(*made));
}

result<tcp_listener> tcp_socket::listen(int backlog) && noexcept {
  detail::owned_descriptor fd = std::move(fd_);
  if (error_) return std::unexpected(error_);
  if (backlog < 1 || backlog > 65535) return detail::out_of_range();
  const result<void> listens = sys::listen(fd.get(), backlog);
  if (!listens.has_value()) return std::unexpected(listens.error());
  result<detail::socket_ref> made = detail::socket::adopt(fd.release(), detail::short_read::says_drained);
  if (!made.has_value()) return std::unexpected(made.error());
  return tcp_listener(std::move(*made));
}

result<endpoint> tcp_socket::local_endpoint() const noexcept { return detail::local_endpoint(fd_.get()); }

}  // namespace rota::net
