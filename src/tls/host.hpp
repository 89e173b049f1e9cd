// What may be the name of a host, or its address.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include <openssl/x509v3.h>

namespace rota::tls::detail {

/// How a name is held against a certificate (RFC 9525): a star is a whole label, and the common name is no host.
inline constexpr unsigned check_flags =
    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

/// An address as certificates have it: 4 or 16 bytes, in the order of the network.
struct address {
  std::uint8_t bytes[16];
  std::size_t size;
};
/// Nothing: `host` is no address in the strict dotted form, nor one of IPv6. OpenSSL is not asked: it reads "010.0.0.1" as 10.0.0.1.
[[nodiscard]] std::optional<address> read_address(std::string_view host) noexcept;

/// True for ASCII names alone: of a name in another script its "xn--" form is wanted. A name whose last label is a number is none, as in
/// net::resolve(): resolvers disagree on its address.
[[nodiscard]] bool is_a_name(std::string_view host) noexcept;

/// "example.com.", with the root at its end, is "example.com" in certificates.
inline std::string_view without_root(std::string_view host) noexcept {
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace rota::tls::detail
