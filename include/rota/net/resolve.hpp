// Names of hosts: their addresses, and connections to them.
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

/// Why a name has no address, or an address no name.
enum class resolve_errc : int {
  not_found = 1,  // there is no such name
  no_address,     // there is, but it has none of the wanted family
  try_again,      // no server has answered: later it may be known
  refused,        // the server does not answer such questions
  bad_name,  // empty, too long, with an empty label or a NUL; or its last label is a number, and it is no address
  failed,   // anything else; the server's answer made no sense
  no_name,  // the address has no name
};
[[nodiscard]] ROTA_API const std::error_category& resolve_category() noexcept;
inline std::error_code make_error_code(resolve_errc why) noexcept {
  return {static_cast<int>(why), resolve_category()};
}

/// Who is asked.
enum class name_source : std::uint8_t {
  automatic,  // name servers, if rota was built with c-ares and /etc/nsswitch.conf names no more than files and dns; else the system
  system,     // the system's resolver, with all that it is set up for: files, DNS, mDNS, LDAP
  name_servers,  // /etc/hosts and the servers of /etc/resolv.conf, without a thread; std::errc::not_supported: rota was built without c-ares
};

struct resolve_options {
  address_family family = address_family::any;
  std::chrono::nanoseconds limit = std::chrono::seconds(10);  // errc::timed_out
  name_source by = name_source::automatic;
  std::vector<endpoint>
      name_servers;  // these are asked, each with its port (53), and no file; not with name_source::system
};

/// The addresses of a host, with `port`, in the order in which they should be tried (RFC 6724). Each comes once.
///
/// `host` is a name, or an address in numbers: "::1", "10.0.0.1", "fe80::1%eth0". A host whose last label is a number is an IPv4 address with four decimal
/// parts and no leading zeros, or bad_name: "127.1", "010.0.0.1", "0x7f.1" and "2130706433" are refused, since resolvers disagree on their meaning.
/// "localhost" and every name below it are the loopback addresses, and no resolver is asked (RFC 6761). Both hold for every name_source.
///
/// Name servers are asked for each family by itself. When one family has addresses, the other answer is waited for 50 ms more, and at most until `limit`
/// (RFC 8305, section 3). The system's resolver is asked for both families at once. If it has not answered after 100 ms, or a quarter of `limit` if that is
/// less, it is asked for each family by itself, too, and the same holds. `options timeout:`, `attempts:`, `rotate` and `ndots:` of /etc/resolv.conf hold for
/// its servers. With `rotate`, each call begins with the next server, unless one of them is link-local.
///
/// Threads       Any task of a runtime.
/// Failure       resolve_errc; errc::timed_out; errc::no_runtime in a coroutine job of a pool; std::errc::invalid_argument: name servers without a
///               port, or for name_source::system; an error of the system (EMFILE). std::bad_alloc is thrown.
/// Ordering      Cancelled or late, it ends at once. The system's resolver cannot be stopped, and goes on alone on its threads, also when one family was
///               enough; a shutdown waits for it as for every closure. Nothing is remembered: each call asks.
/// Cost          Numbers: no more than reading them. The system: a closure in the blocking pool, three if it is asked for each family, too. Name servers: a
///               few files of /etc are read by the worker, and each question has its own sockets.
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

/// A connection to the first of a host's addresses that answers (RFC 8305). The families take turns. Each attempt begins `attempt_delay` after the one
/// before it, or when that has failed, and goes on beside the later ones. The other attempts are cancelled, and have ended before this returns.
///
/// Threads       Any task of a runtime.
/// Failure       What resolve() says; when all attempts have failed, the error of the last one. Cancelled, there is no connection.
/// Cost          A task for each attempt.
ROTA_API task<result<tcp_stream>> connect(std::string host, std::uint16_t port, connect_options how = {});

}  // namespace rota::net

template <>
struct std::is_error_code_enum<rota::net::resolve_errc> : std::true_type {};
