// Options of a descriptor, before it is watched and afterwards.
#pragma once

#include "base/sys/sockets.hpp"

#include <rota/io/result.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/net/socket_options.hpp>

#include <optional>

namespace rota::net::detail {

using io::result;

[[nodiscard]] inline std::unexpected<std::error_code> out_of_range() noexcept {
  return std::unexpected(std::make_error_code(std::errc::invalid_argument));
}

/// Sets a buffer size, an option of SOL_SOCKET. `bytes` is at least 1.
result<void> set_buffer(int fd, int name, int bytes) noexcept;
result<int> buffer(int fd, int name) noexcept;
result<void> set_keepalive(int fd, const std::optional<keepalive>& how) noexcept;
result<void> set_linger(int fd, std::optional<std::chrono::seconds> time) noexcept;
/// Sets the option of the socket's family.
result<void> set_ttl(int fd, unsigned hops) noexcept;
/// Sets 0..255. For an IPv6 socket that also carries IPv4, sets the options of both families.
result<void> set_traffic_class(int fd, unsigned value) noexcept;
result<void> set_user_timeout(int fd, std::chrono::milliseconds time) noexcept;
/// Returns std::errc::wrong_protocol_type unless `fd` has this type and family.
result<void> demand_type(int fd, int type, bool of_internet) noexcept;
result<void> demand_listening(int fd) noexcept;

result<endpoint> local_endpoint(int fd) noexcept;
result<endpoint> peer_endpoint(int fd) noexcept;

/// An endpoint in the form that system calls take.
struct native_address {
  explicit native_address(const endpoint& at) noexcept
      : size(static_cast<socklen_t>(at.to_native(&storage))) {}
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }

  sockaddr_storage storage;
  socklen_t size;
};

}  // namespace rota::net::detail
