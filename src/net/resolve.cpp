#include <rota/net/name_of.hpp>
#include <rota/net/resolve.hpp>

#include "base/sys/names.hpp"
#include "net/address_order.hpp"
#include "net/happy_eyeballs.hpp"
#include "net/host_name.hpp"
#include "net/name_sources.hpp"
#include "net/resolve_ares.hpp"
#include "net/resolve_system.hpp"
#include "task/scheduler_here.hpp"

#include <rota/error.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <netdb.h>
#include <netinet/in.h>
#include <algorithm>
#include <optional>
#include <utility>

namespace rota::net {

namespace {

class resolve_category_type final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "rota.resolve"; }
  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<resolve_errc>(value)) {
      case resolve_errc::not_found: return "no such host";
      case resolve_errc::no_address: return "the host has no address of this family";
      case resolve_errc::try_again: return "no name server has answered";
      case resolve_errc::refused: return "the name server does not answer such questions";
      case resolve_errc::bad_name: return "not the name of a host";
      case resolve_errc::no_name: return "the address has no name";
      case resolve_errc::failed: break;
    }
    return "the name could not be resolved";
  }
};

/// Parses an address in numbers. Returns nothing if `host` is none.
std::optional<result<std::vector<endpoint>>> read_numbers(const std::string& host,
                                                          std::uint16_t port,
                                                          address_family family) {
  const std::string end = ":" + std::to_string(port);
  auto one = endpoint::parse(host + end);
  if (!one.has_value() || one->is_v6()) one = endpoint::parse("[" + host + "]" + end);
  if (!one.has_value()) return std::nullopt;
  if (family != address_family::any && one->is_v6() != (family == address_family::v6))
    return std::unexpected(make_error_code(resolve_errc::no_address));
  return std::vector<endpoint>{*one};
}

/// Returns loopback addresses, which need no resolver.
result<std::vector<endpoint>> of_this_host(std::uint16_t port, address_family family) {
  std::vector<endpoint> six;
  std::vector<endpoint> four;
  if (family != address_family::v4) {
    const auto one = endpoint::parse("[::1]:" + std::to_string(port));
    if (one.has_value()) six.push_back(*one);
  }
  if (family != address_family::v6) four.push_back(endpoint::loopback_v4(port));
  return detail::in_one_order(six, four);
}

/// Returns the result that the text of `host` alone determines, or nothing if a resolver must be asked. So
/// that result is the same with every resolver.
std::optional<result<std::vector<endpoint>>> read_host(const std::string& host,
                                                       std::uint16_t port,
                                                       address_family family) {
  auto numbers = read_numbers(host, port, family);
  if (numbers.has_value()) return numbers;
  if (!detail::is_well_formed(host) || detail::ends_in_a_number(host))
    return std::unexpected(make_error_code(resolve_errc::bad_name));
  if (detail::is_localhost(host)) return of_this_host(port, family);
  return std::nullopt;
}

/// Returns false for name servers with name_source::system, which has its own, and for a server without a
/// port.
bool can_be_asked(name_source by, const std::vector<endpoint>& servers) noexcept {
  const auto has_port = [](const endpoint& each) { return each.port() != 0; };
  if (!std::all_of(servers.begin(), servers.end(), has_port)) return false;
  return servers.empty() || by != name_source::system;
}

bool asks_name_servers(name_source by, const std::vector<endpoint>& servers) {
  if (by == name_source::system) return false;
  if (by == name_source::name_servers || !servers.empty()) return true;
  return detail::can_ask_name_servers() && detail::system_has_only_files_and_name_servers();
}

/// Returns an IPv4 address that is written as an IPv6 address as an IPv4 address, and any other address
/// unchanged.
endpoint without_mapping(const endpoint& address) {
  sockaddr_in6 six{};
  if (!address.is_v6()) return address;
  address.to_native(&six);
  if (!IN6_IS_ADDR_V4MAPPED(&six.sin6_addr)) return address;
  sockaddr_in four{};
  four.sin_family = AF_INET;
  std::copy_n(&six.sin6_addr.s6_addr[12], 4, reinterpret_cast<std::uint8_t*>(&four.sin_addr));
  return endpoint::from_native(&four, sizeof four).value_or(address);
}

bool is_this_host(const endpoint& address) noexcept {
  const std::uint16_t port = address.port();
  return address == endpoint::loopback_v4(port) || address == endpoint::loopback_v6(port);
}

/// Checks a name, which the holder of the address has chosen. A name that reads as an address could pass for
/// one: in a log, and in resolve().
result<std::string> checked(result<std::string> name) {
  if (!name.has_value()) return name;
  if (name->ends_with('.')) name->pop_back();
  if (!detail::is_plain_name(*name) || detail::ends_in_a_number(*name))
    return std::unexpected(make_error_code(resolve_errc::failed));
  return name;
}

/// Asks the system's resolver. Blocks.
result<std::string> ask_system_for_name(const endpoint& address) {
  base::sys::found_address native{};
  native.length = static_cast<socklen_t>(address.to_native(&native.address));
  std::string name;
  std::error_code system;
  const int said = base::sys::look_up_name(native, name, system);
  if (said == EAI_NONAME) return std::unexpected(make_error_code(resolve_errc::no_name));
  if (said != 0) return std::unexpected(detail::reason_of_system(said, system));
  return name;
}

task<result<tcp_stream>> resolve_and_connect(std::string host, std::uint16_t port, connect_options how) {
  resolve_options asked;
  asked.family = how.family;
  asked.limit = how.limit;
  asked.by = how.by;
  asked.name_servers = std::move(how.name_servers);
  auto resolving = resolve(std::move(host), port, asked);
  auto found = co_await std::move(resolving);
  if (!found.has_value()) co_return std::unexpected(found.error());
  const auto connect_to = [](endpoint to) { return tcp_stream::connect(to); };
  auto race = detail::first_connected<tcp_stream>(detail::in_turns(*found), how.attempt_delay, connect_to);
  co_return co_await std::move(race);
}

}  // namespace

const std::error_category& resolve_category() noexcept {
  static const resolve_category_type category;
  return category;
}

task<result<std::vector<endpoint>>> resolve(std::string host, std::uint16_t port, resolve_options how) {
  if (!can_be_asked(how.by, how.name_servers))
    co_return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  auto known = read_host(host, port, how.family);
  if (known.has_value()) co_return std::move(*known);
  if (asks_name_servers(how.by, how.name_servers)) {
    detail::name_question asked;
    asked.host = std::move(host);
    asked.port = port;
    asked.family = how.family;
    asked.servers = std::move(how.name_servers);
    asked.limit = how.limit;
    co_return co_await detail::ask_name_servers(std::move(asked));
  }
  detail::system_question asked;
  asked.host = std::move(host);
  asked.port = port;
  asked.family = how.family;
  asked.limit = how.limit;
  co_return co_await detail::ask_system(std::move(asked));
}

task<result<std::string>> name_of(endpoint address) { return name_of(address, name_options()); }

task<result<std::string>> name_of(endpoint address, name_options how) {
  if (!can_be_asked(how.by, how.name_servers))
    co_return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  address = without_mapping(address);
  if (is_this_host(address)) co_return std::string("localhost");
  if (asks_name_servers(how.by, how.name_servers)) {
    detail::address_question asked;
    asked.address = address;
    asked.servers = std::move(how.name_servers);
    asked.limit = how.limit;
    auto asking = detail::ask_name_servers_for_name(std::move(asked));
    auto told = co_await std::move(asking);
    co_return checked(std::move(told));
  }
  if (!core::can_spawn_blocking()) co_return std::unexpected(make_error_code(errc::no_runtime));
  // The closure may outlive this task: it owns what it needs, and the task waits for it at most `limit`.
  auto asking = spawn_blocking(ask_system_for_name, address);
  auto told = co_await timeout(how.limit, asking.detached_wait());
  co_return checked(std::move(told));
}

task<result<tcp_stream>> connect(std::string host, std::uint16_t port, connect_options how) {
  if (how.attempt_delay < std::chrono::nanoseconds(0))
    co_return std::unexpected(std::make_error_code(std::errc::invalid_argument));
  auto all = resolve_and_connect(std::move(host), port, how);
  co_return co_await timeout(how.limit, std::move(all));
}

namespace detail {

std::vector<endpoint> in_turns(const std::vector<endpoint>& all) {
  std::vector<endpoint> sides[2];
  for (const endpoint& each : all) sides[each.is_v6() == all.front().is_v6() ? 0 : 1].push_back(each);
  std::vector<endpoint> made;
  for (std::size_t i = 0; i < all.size(); ++i) {
    for (const std::vector<endpoint>& side : sides) {
      if (i < side.size()) made.push_back(side[i]);
    }
  }
  return made;
}

}  // namespace detail

}  // namespace rota::net
