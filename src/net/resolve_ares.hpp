// Addresses of a host, and names of addresses, by asking name servers: c-ares, and a task that waits for its sockets.
#pragma once

#include "net/address_order.hpp"

#include <rota/io/result.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/net/socket_options.hpp>
#include <rota/task.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::net::detail {

/// Was this built with c-ares?
[[nodiscard]] bool can_ask_name_servers() noexcept;

struct name_question {
  std::string host;  // is_well_formed(), and no address in numbers
  std::uint16_t port = 0;
  address_family family = address_family::any;
  std::vector<endpoint> servers{};  // these are asked, and no file; none: the system's files and servers
  std::chrono::nanoseconds limit = std::chrono::seconds(10);
  std::chrono::nanoseconds delay = resolution_delay;
  bool rotates =
      false;  // each question begins with the server behind the one with which the last question began; the system's servers: as its file says
};

/// Asks for each family by itself. What one family has is a result when the other one is late by `delay`, fails, or has not answered within `limit`.
/// errc::timed_out: neither has addresses within `limit`. std::errc::not_supported: this was built without c-ares.
[[nodiscard]] task<io::result<std::vector<endpoint>>> ask_name_servers(name_question asked);

struct address_question {
  endpoint address;                 // no IPv4 address as an IPv6 address
  std::vector<endpoint> servers{};  // as in name_question
  std::chrono::nanoseconds limit = std::chrono::seconds(10);
};

/// The name as it was told. errc::timed_out, std::errc::not_supported: as above.
[[nodiscard]] task<io::result<std::string>> ask_name_servers_for_name(address_question asked);

}  // namespace rota::net::detail
