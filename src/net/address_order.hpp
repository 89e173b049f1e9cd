// Addresses of two families: how long one waits for the other one, and in which order they should be tried (RFC 6724, section 6).
#pragma once

#include <rota/net/endpoint.hpp>

#include <chrono>
#include <vector>

namespace rota::net::detail {

/// RFC 8305, section 3: so long the answer for one family is waited for when the other one has addresses.
inline constexpr std::chrono::nanoseconds resolution_delay = std::chrono::milliseconds(50);

/// `four` and `six`, each in its order, as one list. Between an address of one and an address of the other these rules decide: the system has a route to it
/// (1); its scope is that of the source address (2), and so is its label (5); its precedence is the higher one (6), its scope the smaller one (8). At a tie IPv6
/// comes first. Asks the system once for each address (a UDP socket that is connected sends nothing); never waits. Throws std::bad_alloc.
[[nodiscard]] std::vector<endpoint> in_one_order(const std::vector<endpoint>& six,
                                                 const std::vector<endpoint>& four);

}  // namespace rota::net::detail
