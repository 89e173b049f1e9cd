// Host names: their addresses, and connections to them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <system_error>
#include <vector>

#include <rota/io/result.hpp>
#include <rota/net/endpoint.hpp>
#include <rota/net/socket_options.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/task.hpp>

namespace rota::net {

/// The reason why a name has no address, or an address no name.
enum class resolve_errc : int {
  not_found = 1,  // there is no such name
  no_address,     // the name exists, but has no address of the wanted family
  try_again,      // no server has answered: a later call may succeed
  refused,        // the server does not answer such questions
  bad_name,       // malformed (empty, too long, empty label, NUL), or a number as last label but no address
  failed,         // any other failure: for example, the server's answer made no sense
  no_name,        // the address has no name
};
[[nodiscard]] ROTA_API const std::error_category& resolve_category() noexcept;
inline std::error_code make_error_code(resolve_errc why) noexcept {
  return {static_cast<int>(why), resolve_category()};
}

/// The source of the answer.
enum class name_source : std::uint8_t {
  // Name servers, if rota was built with c-ares and /etc/nsswitch.conf names no more than files and dns; else
  // the system.
  automatic,
  // The system's resolver, with all that it is configured for: files, DNS, mDNS, LDAP.
  system,
  // /etc/hosts and the servers of /etc/resolv.conf, without a thread. std::errc::not_supported if rota was
  // built without c-ares.
  name_servers,
};

struct resolve_options {
  address_family family = address_family::any;
  std::chrono::nanoseconds limit = std::chrono::seconds(10);  // errc::timed_out
  name_source by = name_source::automatic;
  // If not empty, these servers are asked, each with its port (53), and no file. Not with
  // name_source::system.
  std::vector<endpoint> name_servers;
};

/// Returns the addresses of a host, with `port`, in the order in which they should be tried (RFC 6724). Each
/// address comes once.
///
/// `host` is a name, or an address in numbers: "::1", "10.0.0.1", "fe80::1%eth0". If its last label is a
/// number, it must be an IPv4 address with four decimal parts and no leading zeros; else the result is
/// bad_name. So "127.1", "010.0.0.1", "0x7f.1" and "2130706433" are refused, since resolvers disagree on
/// their meaning. "localhost" and every name below it are the loopback addresses, and no resolver is asked
/// (RFC 6761). Both rules hold for every name_source.
///
/// Name servers are asked for each family separately. When one family has addresses, the call waits 50 ms
/// more for the answer of the other family, and at most until `limit` (RFC 8305, section 3). The system's
/// resolver is asked for both families at once. If it has not answered after 100 ms, or after a quarter of
/// `limit` if that is less, it is asked for each family separately, too, and the same 50 ms apply. `options
/// timeout:`, `attempts:`, `rotate` and `ndots:` of /etc/resolv.conf apply to its servers. With `rotate`,
/// each call begins with the next server, unless one of the servers is link-local.
///
/// Threads       Any task of a runtime.
/// Failure       resolve_errc; errc::timed_out; errc::no_runtime in a coroutine job of a pool;
///               std::errc::invalid_argument for name servers without a port, or with name_source::system; an
///               error of the system (EMFILE). std::bad_alloc is thrown.
/// Ordering      If cancelled or timed out, it ends at once. A call of the system's resolver cannot be
///               stopped: it goes on alone on its thread, also when one family was enough. A shutdown waits
///               for it as for every closure. Nothing is cached: each call asks.
/// Cost          An address in numbers: parsing it. The system: one closure in the blocking pool, or three if
///               it is asked for each family, too. Name servers: the worker reads a few files of /etc, and
///               each question has its own sockets.
ROTA_API task<result<std::vector<endpoint>>> resolve(std::string host,
                                                     std::uint16_t port,
                                                     resolve_options how = {});

struct connect_options {
  std::chrono::nanoseconds attempt_delay = std::chrono::milliseconds(250);  // not negative
  std::chrono::nanoseconds limit = std::chrono::seconds(30);                // for all of it: errc::timed_out
  address_family family = address_family::any;
  name_source by = name_source::automatic;  // as in resolve_options
  std::vector<endpoint> name_servers;
};

/// Connects to the first of a host's addresses that answers (RFC 8305). The families take turns. Each attempt
/// begins `attempt_delay` after the one before it, or when that one has failed, and goes on beside the later
/// ones. When one attempt has succeeded, the others are cancelled, and have ended before this returns.
///
/// Threads       Any task of a runtime.
/// Failure       The errors of resolve(). If all attempts have failed, the error of the last one. A cancelled
///               call leaves no connection.
/// Cost          A task for each attempt.
ROTA_API task<result<tcp_stream>> connect(std::string host, std::uint16_t port, connect_options how = {});

}  // namespace rota::net

template <>
struct std::is_error_code_enum<rota::net::resolve_errc> : std::true_type {};
