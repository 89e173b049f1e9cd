// Addresses of a host, and names of addresses, from name servers: c-ares, and a task that waits for its
// sockets.
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

/// Returns true if this was built with c-ares.
[[nodiscard]] bool can_ask_name_servers() noexcept;

struct name_question {
  std::string host;  // is_well_formed(), and no address in numbers
  std::uint16_t port = 0;
  address_family family = address_family::any;
  std::vector<endpoint> servers{};  // if empty, the system's files and servers; else these, and no file
  std::chrono::nanoseconds limit = std::chrono::seconds(10);
  std::chrono::nanoseconds delay = resolution_delay;
  // Each question begins one server further than the question before. The system's servers: as resolv.conf
  // says.
  bool rotates = false;
};

/// Asks for each family separately. The addresses of one family are the result if the other one is late by
/// `delay`, fails, or has not answered within `limit`. errc::timed_out if neither has addresses within
/// `limit`. std::errc::not_supported if this was built without c-ares.
[[nodiscard]] task<io::result<std::vector<endpoint>>> ask_name_servers(name_question asked);

struct address_question {
  endpoint address;                 // not an IPv4 address that is written as an IPv6 address
  std::vector<endpoint> servers{};  // as in name_question
  std::chrono::nanoseconds limit = std::chrono::seconds(10);
};

/// Returns the name as the server sent it. errc::timed_out, std::errc::not_supported: as above.
[[nodiscard]] task<io::result<std::string>> ask_name_servers_for_name(address_question asked);

}  // namespace rota::net::detail
