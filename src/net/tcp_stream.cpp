#include <rota/net/tcp_stream.hpp>

#include "net/options.hpp"
#include "net/socket.hpp"

#include <rota/net/tcp_socket.hpp>

#include <netinet/in.h>
#include <netinet/tcp.h>

namespace rota::net {

namespace sys = base::sys;

task<result<tcp_stream>> tcp_stream::connect(endpoint to) {
  result<tcp_socket> socket = tcp_socket::open(to.is_v6() ? address_family::v6 : address_family::v4);
  if (!socket.has_value()) co_return std::unexpected(socket.error());
  co_return co_await std::move(*socket).connect(to);
}

result<tcp_stream> tcp_stream::adopt(int fd) noexcept {
  result<void> step = detail::demand_type(fd, SOCK_STREAM, true);
  if (step.has_value()) step = sys::make_watchable(fd);
  if (!step.has_value()) return std::unexpected(step.error());
  result<detail::socket_ref> made = detail::socket::watch(fd, detail::short_read::says_drained);
  if (!made.has_value()) return std::unexpected(made.error());
  return tcp_stream(std::move(*made));
}

result<void> tcp_stream::set_nodelay(bool on) noexcept {
  return sys::set_option(native_handle(), IPPROTO_TCP, TCP_NODELAY, on ? 1 : 0);
}

result<void> tcp_stream::set_cork(bool on) noexcept {
  return sys::set_option(native_handle(), IPPROTO_TCP, TCP_CORK, on ? 1 : 0);
}

result<void> tcp_stream::set_quickack(bool on) noexcept {
  return sys::set_option(native_handle(), IPPROTO_TCP, TCP_QUICKACK, on ? 1 : 0);
}

result<void> tcp_stream::set(std::optional<keepalive> how) noexcept {
  return detail::set_keepalive(native_handle(), how);
}

result<void> tcp_stream::set_linger(std::optional<std::chrono::seconds> time) noexcept {
  return detail::set_linger(native_handle(), time);
}

result<void> tcp_stream::reset_on_close() noexcept { return sys::set_linger_zero(native_handle()); }

result<void> tcp_stream::set_ttl(unsigned hops) noexcept { return detail::set_ttl(native_handle(), hops); }

result<void> tcp_stream::set_traffic_class(unsigned value) noexcept {
  return detail::set_traffic_class(native_handle(), value);
}

result<void> tcp_stream::set_user_timeout(std::chrono::milliseconds time) noexcept {
  return detail::set_user_timeout(native_handle(), time);
}

result<endpoint> tcp_stream::local_endpoint() const noexcept {
  return detail::local_endpoint(native_handle());
}

result<endpoint> tcp_stream::peer_endpoint() const noexcept { return detail::peer_endpoint(native_handle()); }

std::pair<tcp_stream::read_half, tcp_stream::write_half> tcp_stream::split() && {
  detail::socket_ref second = socket_;
  return {read_half(std::move(socket_)), write_half(std::move(second))};
}

std::expected<tcp_stream, std::pair<tcp_stream::read_half, tcp_stream::write_half>> tcp_stream::reunite(
    read_half a, write_half b) noexcept {
  if (a.socket_.get() != b.socket_.get()) return std::unexpected(std::pair(std::move(a), std::move(b)));
  return tcp_stream(std::move(a.socket_));
}

}  // namespace rota::net
