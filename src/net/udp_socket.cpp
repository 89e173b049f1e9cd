#include <rota/net/udp_socket.hpp>

#include "net/options.hpp"
#include "net/socket.hpp"

#include <netinet/in.h>
#include <cstddef>
#include <cstring>

namespace rota::net {

namespace sys = base::sys;

namespace {

result<void> set_flag(int fd, int level, int name, bool on) noexcept {
  return on ? sys::set_option(fd, level, name, 1) : result<void>();
}

void set_port(detail::native_address& of, std::uint16_t port) noexcept {
  constexpr std::size_t at = offsetof(sockaddr_in, sin_port);
  static_assert(at == offsetof(sockaddr_in6, sin6_port));
  const in_port_t native = htons(port);
  std::memcpy(reinterpret_cast<std::byte*>(&of.storage) + at, &native, sizeof native);
}

result<void> prepare(int fd, const endpoint& at, const udp_options& options) noexcept {
  result<void> step = set_flag(fd, SOL_SOCKET, SO_REUSEADDR, options.reuse_address);
  if (step.has_value()) step = set_flag(fd, SOL_SOCKET, SO_REUSEPORT, options.reuse_port);
  if (step.has_value()) step = set_flag(fd, IPPROTO_IPV6, IPV6_V6ONLY, options.v6_only);
  if (step.has_value()) step = set_flag(fd, SOL_SOCKET, SO_BROADCAST, options.broadcast);
  if (!step.has_value()) return step;
  const detail::native_address address(at);
  return sys::bind(fd, address.get(), address.size);
}

}  // namespace

result<udp_socket> udp_socket::bind(const endpoint& at, udp_options options) noexcept {
  const result<int> fd = sys::datagram_socket(at.is_v6() ? AF_INET6 : AF_INET);
  if (!fd.has_value()) return std::unexpected(fd.error());
  detail::owned_descriptor owned(*fd);
  const result<void> prepared = prepare(*fd, at, options);
  if (!prepared.has_value()) return std::unexpected(prepared.error());
  result<detail::socket_ref> made = detail::socket::adopt(owned.release());
  if (!made.has_value()) return std::unexpected(made.error());
  return udp_socket(std::move(*made));
}

result<udp_socket> udp_socket::adopt(int fd) noexcept {
  result<void> step = detail::demand_type(fd, SOCK_DGRAM, true);
  if (step.has_value()) step = sys::make_watchable(fd);
  if (!step.has_value()) return std::unexpected(step.error());
  result<detail::socket_ref> made = detail::socket::watch(fd);
  if (!made.has_value()) return std::unexpected(made.error());
  return udp_socket(std::move(*made));
}

result<void> udp_socket::connect(const endpoint& peer) noexcept {
  const detail::native_address address(peer);
  return sys::connect(native_handle(), address.get(), address.size);
}

/// A port that the system has chosen is lost with the peer: bind() takes it again.
result<void> udp_socket::disconnect() noexcept {
  const result<endpoint> before = local_endpoint();
  if (!before.has_value()) return std::unexpected(before.error());
  result<void> done = sys::disconnect(native_handle());
  if (!done.has_value()) return done;
  const result<endpoint> after = local_endpoint();
  if (!after.has_value()) return std::unexpected(after.error());
  if (after->port() == before->port()) return {};
  detail::native_address address(*after);
  set_port(address, before->port());
  return sys::bind(native_handle(), address.get(), address.size);
}

result<bool> udp_socket::is_v6() const noexcept {
  const result<int> family = sys::option(native_handle(), SOL_SOCKET, SO_DOMAIN);
  if (!family.has_value()) return std::unexpected(family.error());
  return *family == AF_INET6;
}

result<void> udp_socket::set_broadcast(bool on) noexcept {
  return sys::set_option(native_handle(), SOL_SOCKET, SO_BROADCAST, on ? 1 : 0);
}

result<void> udp_socket::set_ttl(unsigned hops) noexcept { return detail::set_ttl(native_handle(), hops); }

result<void> udp_socket::set_traffic_class(unsigned value) noexcept {
  return detail::set_traffic_class(native_handle(), value);
}

result<void> udp_socket::set_membership(bool joins,
                                        const endpoint& group,
                                        unsigned interface_index) noexcept {
  sockaddr_storage address;
  group.to_native(&address);
  if (group.is_v6()) {
    sockaddr_in6 six;
    std::memcpy(&six, &address, sizeof six);
    const ipv6_mreq member{.ipv6mr_multiaddr = six.sin6_addr, .ipv6mr_interface = interface_index};
    const int name = joins ? IPV6_ADD_MEMBERSHIP : IPV6_DROP_MEMBERSHIP;
    return sys::set_option_bytes(native_handle(), IPPROTO_IPV6, name, &member, sizeof member);
  }
  sockaddr_in four;
  std::memcpy(&four, &address, sizeof four);
  const ip_mreqn member{.imr_multiaddr = four.sin_addr,
                        .imr_address = {.s_addr = INADDR_ANY},
                        .imr_ifindex = static_cast<int>(interface_index)};
  const int name = joins ? IP_ADD_MEMBERSHIP : IP_DROP_MEMBERSHIP;
  return sys::set_option_bytes(native_handle(), IPPROTO_IP, name, &member, sizeof member);
}

result<void> udp_socket::join(const endpoint& group, unsigned interface_index) noexcept {
  return set_membership(true, group, interface_index);
}

result<void> udp_socket::leave(const endpoint& group, unsigned interface_index) noexcept {
  return set_membership(false, group, interface_index);
}

result<void> udp_socket::set_multicast_loop(bool on) noexcept {
  const result<bool> six = is_v6();
  if (!six.has_value()) return std::unexpected(six.error());
  if (*six) return sys::set_option(native_handle(), IPPROTO_IPV6, IPV6_MULTICAST_LOOP, on ? 1 : 0);
  return sys::set_option(native_handle(), IPPROTO_IP, IP_MULTICAST_LOOP, on ? 1 : 0);
}

result<void> udp_socket::set_multicast_ttl(unsigned hops) noexcept {
  if (hops > 255) return detail::out_of_range();
  const result<bool> six = is_v6();
  if (!six.has_value()) return std::unexpected(six.error());
  const int value = static_cast<int>(hops);
  if (*six) return sys::set_option(native_handle(), IPPROTO_IPV6, IPV6_MULTICAST_HOPS, value);
  return sys::set_option(native_handle(), IPPROTO_IP, IP_MULTICAST_TTL, value);
}

result<void> udp_socket::set_multicast_interface(unsigned interface_index) noexcept {
  const result<bool> six = is_v6();
  if (!six.has_value()) return std::unexpected(six.error());
  const int index = static_cast<int>(interface_index);
  if (*six) return sys::set_option(native_handle(), IPPROTO_IPV6, IPV6_MULTICAST_IF, index);
  const ip_mreqn by{.imr_multiaddr = {}, .imr_address = {.s_addr = INADDR_ANY}, .imr_ifindex = index};
  return sys::set_option_bytes(native_handle(), IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
}

result<void> udp_socket::set_receive_buffer(int bytes) noexcept {
  return detail::set_buffer(native_handle(), SO_RCVBUF, bytes);
}
result<void> udp_socket::set_send_buffer(int bytes) noexcept {
  return detail::set_buffer(native_handle(), SO_SNDBUF, bytes);
}
result<int> udp_socket::receive_buffer() const noexcept { return detail::buffer(native_handle(), SO_RCVBUF); }
result<int> udp_socket::send_buffer() const noexcept { return detail::buffer(native_handle(), SO_SNDBUF); }

std::error_code udp_socket::take_error() noexcept {
  const result<void> error = sys::socket_error(native_handle());
  return error.has_value() ? std::error_code() : error.error();
}

result<endpoint> udp_socket::local_endpoint() const noexcept {
  return detail::local_endpoint(native_handle());
}
result<endpoint> udp_socket::peer_endpoint() const noexcept { return detail::peer_endpoint(native_handle()); }

std::pair<udp_socket::recv_half, udp_socket::send_half> udp_socket::split() && {
  detail::socket_ref second = socket_;
  return {recv_half(std::move(socket_)), send_half(std::move(second))};
}

}  // namespace rota::net
