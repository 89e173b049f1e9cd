// Addresses of two families: how long to wait for the second family, and in which order to try them (RFC
// 6724, section 6).
#pragma once

#include <rota/net/endpoint.hpp>

#include <chrono>
#include <vector>

namespace rota::net::detail {

/// RFC 8305, section 3: how long to wait for the answer for one family when the other one has addresses.
inline constexpr std::chrono::nanoseconds resolution_delay = std::chrono::milliseconds(50);

/// Returns `four` and `six` as one list. Each keeps its order. Between an address of one and an address of
/// the other these rules decide (RFC 6724): the system has a route to it (1); its scope is that of the source
/// address (2); its label is that of the source address (5); its precedence is higher (6); its scope is
/// smaller (8). At a tie IPv6 comes first. Asks the system once for each address (a UDP socket that is
/// connected sends nothing); never waits. Throws std::bad_alloc.
[[nodiscard]] std::vector<endpoint> in_one_order(const std::vector<endpoint>& six,
                                                 const std::vector<endpoint>& four);

}  // namespace rota::net::detail
