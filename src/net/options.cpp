#include "net/options.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <climits>

namespace rota::net::detail {

namespace sys = base::sys;

namespace {

bool is_seconds(std::chrono::seconds time, int least, int most) noexcept {
  return time.count() >= least && time.count() <= most;
}

}  // namespace

result<void> set_buffer(int fd, int name, int bytes) noexcept {
  if (bytes < 1) return out_of_range();
  return sys::set_option(fd, SOL_SOCKET, name, bytes);
}

result<int> buffer(int fd, int name) noexcept { return sys::option(fd, SOL_SOCKET, name); }

result<void> set_keepalive(int fd, const std::optional<keepalive>& how) noexcept {
  if (!how.has_value()) return sys::set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 0);
  constexpr int most = 32767;
  if (!is_seconds(how->idle, 1, most) || !is_seconds(how->interval, 1, most)) return out_of_range();
  if (how->count < 1 || how->count > 127) return out_of_range();
  result<void> step = sys::set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, static_cast<int>(how->idle.count()));
  if (step.has_value())
    step = sys::set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, static_cast<int>(how->interval.count()));
  if (step.has_value()) step = sys::set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, static_cast<int>(how->count));
  if (step.has_value()) step = sys::set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  return step;
}

result<void> set_linger(int fd, std::optional<std::chrono::seconds> time) noexcept {
  linger how{.l_onoff = 0, .l_linger = 0};
  if (time.has_value()) {
    if (!is_seconds(*time, 0, INT_MAX)) return out_of_range();
    how = {.l_onoff = 1, .l_linger = static_cast<int>(time->count())};
  }
  return sys::set_option_bytes(fd, SOL_SOCKET, SO_LINGER, &how, sizeof how);
}

result<void> set_ttl(int fd, unsigned hops) noexcept {
  if (hops < 1 || hops > 255) return out_of_range();
  const result<int> family = sys::option(fd, SOL_SOCKET, SO_DOMAIN);
  if (!family.has_value()) return std::unexpected(family.error());
  if (*family != AF_INET6) return sys::set_option(fd, IPPROTO_IP, IP_TTL, static_cast<int>(hops));
  return sys::set_option(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, static_cast<int>(hops));
}

// An IPv6 socket that also carries IPv4 has a traffic class for each.
result<void> set_traffic_class(int fd, unsigned value) noexcept {
  if (value > 255) return out_of_range();
  const result<int> family = sys::option(fd, SOL_SOCKET, SO_DOMAIN);
  if (!family.has_value()) return std::unexpected(family.error());
  if (*family == AF_INET6) {
    const result<void> six = sys::set_option(fd, IPPROTO_IPV6, IPV6_TCLASS, static_cast<int>(value));
    const result<int> alone = sys::option(fd, IPPROTO_IPV6, IPV6_V6ONLY);
    if (!six.has_value() || alone.value_or(1) != 0) return six;
  }
  return sys::set_option(fd, IPPROTO_IP, IP_TOS, static_cast<int>(value));
}

result<void> set_user_timeout(int fd, std::chrono::milliseconds time) noexcept {
  if (time.count() < 0 || time.count() > INT_MAX) return out_of_range();
  return sys::set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, static_cast<int>(time.count()));
}

result<void> demand_type(int fd, int type, bool of_internet) noexcept {
  const result<int> its_type = sys::option(fd, SOL_SOCKET, SO_TYPE);
  if (!its_type.has_value()) return std::unexpected(its_type.error());
  const result<int> family = sys::option(fd, SOL_SOCKET, SO_DOMAIN);
  if (!family.has_value()) return std::unexpected(family.error());
  const bool is_right = of_internet ? *family == AF_INET || *family == AF_INET6 : *family == AF_UNIX;
  if (*its_type == type && is_right) return {};
  return std::unexpected(std::make_error_code(std::errc::wrong_protocol_type));
}

result<void> demand_listening(int fd) noexcept {
  const result<int> listens = sys::option(fd, SOL_SOCKET, SO_ACCEPTCONN);
  if (!listens.has_value()) return std::unexpected(listens.error());
  if (*listens != 0) return {};
  return std::unexpected(std::make_error_code(std::errc::wrong_protocol_type));
}

result<endpoint> local_endpoint(int fd) noexcept {
  sockaddr_storage address;
  socklen_t length = sizeof address;
  const result<void> asked = sys::local_address(fd, &address, &length);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return endpoint::from_native(&address, length);
}

result<endpoint> peer_endpoint(int fd) noexcept {
  sockaddr_storage address;
  socklen_t length = sizeof address;
  const result<void> asked = sys::peer_address(fd, &address, &length);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return endpoint::from_native(&address, length);
}

}  // namespace rota::net::detail
