#include <rota/net/unix_datagram.hpp>

#include "net/unix_sockets.hpp"

namespace rota::net {

namespace sys = base::sys;

result<unix_datagram> unix_datagram::unbound() noexcept {
  const result<int> fd = sys::unix_socket(SOCK_DGRAM);
  if (!fd.has_value()) return std::unexpected(fd.error());
  result<detail::socket_ref> made = detail::socket::adopt(*fd);
  if (!made.has_value()) return std::unexpected(made.error());
  return unix_datagram(std::move(*made));
}

result<unix_datagram> unix_datagram::bind(const unix_endpoint& at, unix_datagram_options options) noexcept {
  result<unix_datagram> made = unbound();
  if (!made.has_value()) return made;
  const result<void> bound = detail::bind_unix(made->native_handle(), at, options.mode);
  if (!bound.has_value()) return std::unexpected(bound.error());
  if (options.unlink_at_end) made->file_.unlink_at_end(at);
  return made;
}

result<std::pair<unix_datagram, unix_datagram>> unix_datagram::pair() noexcept {
  auto both = detail::unix_pair(SOCK_DGRAM);
  if (!both.has_value()) return std::unexpected(both.error());
  return std::pair(unix_datagram(std::move(both->first)), unix_datagram(std::move(both->second)));
}

result<unix_datagram> unix_datagram::adopt(int fd) noexcept {
  result<detail::socket_ref> made = detail::adopt_unix(fd, SOCK_DGRAM);
  if (!made.has_value()) return std::unexpected(made.error());
  return unix_datagram(std::move(*made));
}

result<int> unix_datagram::release() && noexcept {
  result<int> fd = socket_.release();
  if (fd.has_value()) file_.leave();
  return fd;
}

result<void> unix_datagram::connect(const unix_endpoint& peer) noexcept {
  const detail::native_unix_address address(peer);
  return sys::connect(native_handle(), address.get(), address.size);
}

result<void> unix_datagram::disconnect() noexcept { return sys::disconnect(native_handle()); }

result<unix_endpoint> unix_datagram::local_endpoint() const noexcept {
  return detail::local_unix_endpoint(native_handle());
}
result<unix_endpoint> unix_datagram::peer_endpoint() const noexcept {
  return detail::peer_unix_endpoint(native_handle());
}

std::pair<unix_datagram::recv_half, unix_datagram::send_half> unix_datagram::split() && {
  detail::socket_ref second = socket_;
  return {recv_half(std::move(file_), std::move(socket_)), send_half(std::move(second))};
}

}  // namespace rota::net
