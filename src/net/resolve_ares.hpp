// Addresses of a host by asking name servers: c-ares, and a task that waits for its sockets.
#pragma once

#include <rota/io/result.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/net/socket_options.hpp>
#include <rota/task.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace rota::net::detail {

/// Was this built with c-ares?
[[nodiscard]] bool can_ask_name_servers() noexcept;

/// `servers`: these are asked, and no file; none: the system's files and servers. `host` is no address in numbers. std::errc::not_supported: this was
/// built without c-ares.
[[nodiscard]] task<io::result<std::vector<endpoint>>> ask_name_servers(std::string host,
                                                                       std::uint16_t port,
                                                                       address_family family,
                                                                       std::vector<endpoint> servers);

}  // namespace rota::net::detail
