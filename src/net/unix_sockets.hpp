// What all unix sockets share.
#pragma once

#include "net/options.hpp"
#include "net/socket.hpp"

#include <rota/detail/net_unix_file.hpp>
#include <rota/net/unix_endpoint.hpp>

namespace rota::net::detail {

struct native_unix_address {
  explicit native_unix_address(const unix_endpoint& at) noexcept
      : size(static_cast<socklen_t>(at.to_native(&storage))) {}
  [[nodiscard]] const sockaddr* get() const noexcept { return reinterpret_cast<const sockaddr*>(&storage); }

  sockaddr_storage storage;
  socklen_t size;
};

/// Binds. std::errc::invalid_argument if the endpoint has no name.
result<void> bind_unix(int fd, const unix_endpoint& at, unsigned mode) noexcept;
/// Takes a descriptor of this type over, and watches it.
result<socket_ref> adopt_unix(int fd, int type) noexcept;
result<std::pair<socket_ref, socket_ref>> unix_pair(int type) noexcept;
result<unix_endpoint> local_unix_endpoint(int fd) noexcept;
result<unix_endpoint> peer_unix_endpoint(int fd) noexcept;

}  // namespace rota::net::detail
