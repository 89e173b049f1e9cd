// What can be said of a descriptor before it is watched, and afterwards.
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

/// Of SOL_SOCKET: at least 1.
result<void> set_buffer(int fd, int name, int bytes) noexcept;
result<int> buffer(int fd, int name) noexcept;
result<void> set_keepalive(int fd, const std::optional<keepalive>& how) noexcept;
result<void> set_linger(int fd, std::optional<std::chrono::seconds> time) noexcept;
/// By the family of the socket.
result<void> set_ttl(int fd, unsigned hops) noexcept;
/// Of IPv6, too, where the socket is of that family: 0..255.
result<void> set_traffic_class(int fd, unsigned value) noexcept;
result<void> set_user_timeout(int fd, std::chrono::milliseconds time) noexcept;
/// Are they those of `fd`? std::errc::wrong_protocol_type: no.
result<void> demand_type(int fd, int type, bool of_internet) noexcept;
result<void> demand_listening(int fd) noexcept;

result<endpoint> local_endpoint(int fd) noexcept;
result<endpoint> peer_endpoint(int fd) noexcept;

/// What the system's calls take.
struct native_address {
  explicit native_address(const endpoint& at) noexcept
      : size(static_cast<socklen_t>(at.to_native(&storage))) {}
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }

  sockaddr_storage storage;
  socklen_t size;
};

}  // namespace rota::net::detail
