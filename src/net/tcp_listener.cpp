#include <rota/net/tcp_listener.hpp>

#include "net/options.hpp"
#include "net/socket.hpp"

#include <rota/net/tcp_socket.hpp>

namespace rota::net {

namespace sys = base::sys;

result<tcp_listener> tcp_listener::bind(const endpoint& at, listen_options options) noexcept {
  result<tcp_socket> socket = tcp_socket::open(at.is_v6() ? address_family::v6 : address_family::v4);
  if (!socket.has_value()) return std::unexpected(socket.error());
  if (options.reuse_address) socket->reuse_address(true);
  if (options.reuse_port) socket->reuse_port(true);
  socket->bind(at);
  return std::move(*socket).listen(options.backlog);
}

result<tcp_listener> tcp_listener::bind(const std::expected<endpoint, std::error_code>& at,
                                        listen_options options) noexcept {
  if (!at.has_value()) return std::unexpected(at.error());
  return bind(*at, options);
}

result<tcp_listener> tcp_listener::adopt(int fd) noexcept {
  result<void> step = detail::demand_type(fd, SOCK_STREAM, true);
  if (step.has_value()) step = detail::demand_listening(fd);
  if (step.has_value()) step = sys::make_watchable(fd);
  if (!step.has_value()) return std::unexpected(step.error());
  result<detail::socket_ref> made = detail::socket::watch(fd, detail::short_read::says_drained);
  if (!made.has_value()) return std::unexpected(made.error());
  return tcp_listener(std::move(*made));
}

result<tcp_stream> tcp_listener::try_accept() noexcept {
  result<detail::socket_ref> made = detail::try_accept(by_);
  if (!made.has_value()) return std::unexpected(made.error());
  return tcp_stream(std::move(*made));
}

result<endpoint> tcp_listener::local_endpoint() const noexcept {
  return detail::local_endpoint(native_handle());
}

result<tcp_stream> accept_leaf::await_resume() noexcept {
  result<detail::socket_ref> made = take();
  if (!made.has_value()) return std::unexpected(made.error());
  return tcp_stream(std::move(*made));
}

}  // namespace rota::net
