// Addresses of a host by the system's resolver: calls that block in threads of the pool, and a task that need not wait for all of them.
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

/// So long the question for both families is alone.
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

/// Asks for both families at once: only so the system finds all addresses in one source and under one name. A server that answers one family and never the
/// other one holds that call up, so after `head_start` each family is asked for by itself, too. The call for both decides if it ends first, or within
/// `delay` of the first family. Else what has come until then is a result: `delay` after the first family, or when `limit` ends. Addresses of two families under
/// different canonical names are not joined. errc::timed_out: no addresses within `limit`.
///
/// No call can be stopped. One that has not begun when this ends never does; one that has goes on alone, with copies of what it needs.
[[nodiscard]] task<io::result<std::vector<endpoint>>> ask_system(system_question asked);

/// What an EAI_* means. `system`: the reason of EAI_SYSTEM.
[[nodiscard]] std::error_code reason_of_system(int said, std::error_code system) noexcept;

}  // namespace rota::net::detail
