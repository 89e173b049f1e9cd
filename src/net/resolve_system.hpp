// Addresses of a host by the system's resolver: blocking calls in threads of the pool, and a task that need
// not wait for all of them.
#pragma once

#include "base/sys/names.hpp"
#include "net/address_order.hpp"

#include <rota/io/result.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/net/socket_options.hpp>
#include <rota/task.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

namespace rota::net::detail {

/// How long the call for both families runs alone.
inline constexpr std::chrono::nanoseconds system_head_start = std::chrono::milliseconds(100);

struct system_question {
  std::string host;  // is_well_formed(), and no address in numbers
  std::uint16_t port = 0;
  address_family family = address_family::any;
  std::chrono::nanoseconds limit = std::chrono::seconds(10);
  std::chrono::nanoseconds delay = resolution_delay;
  std::chrono::nanoseconds head_start = system_head_start;  // a quarter of `limit` if that is less
  decltype(&base::sys::look_up) look_up = &base::sys::look_up;
};

/// Asks for both families at once: only so does the system find all addresses in one source and under one
/// name. A server that answers one family and never the other one delays that call. So after `head_start`
/// each family is asked for separately, too. The call for both decides if it ends first, or within `delay` of
/// the first family. Else the addresses that have come are the result: `delay` after the first family, or
/// when `limit` ends. Addresses of two families under different canonical names are not joined.
/// errc::timed_out if there are no addresses within `limit`.
///
/// No call can be stopped. A call that has not begun when this ends never begins. A call that has begun goes
/// on alone, with copies of what it needs.
[[nodiscard]] task<io::result<std::vector<endpoint>>> ask_system(system_question asked);

/// Converts an EAI_* code. `system` is the error of EAI_SYSTEM.
[[nodiscard]] std::error_code reason_of_system(int said, std::error_code system) noexcept;

}  // namespace rota::net::detail
