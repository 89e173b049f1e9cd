// The name of an address: the other direction of resolve(). Its errors are those of resolve.hpp.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include <rota/io/result.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/task.hpp>

namespace rota::net {

using io::result;

enum class name_source : std::uint8_t;

struct name_options {
  std::chrono::nanoseconds limit = std::chrono::seconds(10);  // errc::timed_out
  name_source by{};                    // name_source::automatic; the others are declared in resolve.hpp
  std::vector<endpoint> name_servers;  // as in resolve_options
};

/// Returns the name of an address (a PTR record), without the dot of the root. The port does not matter.
///
/// 127.0.0.1 and ::1 are "localhost", and no resolver is asked (RFC 6761, RFC 6303), as in resolve(). An IPv4
/// address that is written as an IPv6 address (::ffff:10.0.0.1) is asked for as the IPv4 address. If an
/// address has several names, the resolver decides which one is returned.
///
/// The holder of the address chooses the name: it proves nothing. A caller that relies on the name must
/// resolve it and compare the addresses. The result is resolve_errc::failed if the name has characters other
/// than letters, digits, hyphens, underscores and dots, or if its last label is a number as in an address.
///
/// Threads       Any task of a runtime.
/// Failure       As resolve(). resolve_errc::no_name if the address has no name.
/// Ordering      As resolve().
/// Cost          As resolve(), with one question.
ROTA_API task<result<std::string>> name_of(endpoint address);
ROTA_API task<result<std::string>> name_of(endpoint address, name_options how);

}  // namespace rota::net
