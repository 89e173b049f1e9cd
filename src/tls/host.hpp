// Decides what is the name of a host, and what is an address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <openssl/x509v3.h>

namespace rota::tls::detail {

/// How a name is checked against a certificate (RFC 9525): a star is a whole label, and the common name is
/// ignored.
inline constexpr unsigned check_flags =
    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

/// An address in the form of certificates: 4 or 16 bytes, in network order.
struct address {
  std::uint8_t bytes[16];
  std::size_t size;
};
/// Parses an IPv4 address in the strict dotted form, or an IPv6 address. Returns nothing if `host` is
/// neither. OpenSSL is not used: it reads "010.0.0.1" as 10.0.0.1.
[[nodiscard]] std::optional<address> read_address(std::string_view host) noexcept;

/// Returns true for ASCII names only: a name in another script must be in its "xn--" form. Returns false for
/// a name with a number as its last label, as in net::resolve(): resolvers disagree on its address.
[[nodiscard]] bool is_a_name(std::string_view host) noexcept;

/// Removes the root's dot: "example.com." is "example.com" in certificates.
inline std::string_view without_root(std::string_view host) noexcept {
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace rota::tls::detail
