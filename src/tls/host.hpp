// What may be the name of a host.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <openssl/x509v3.h>

namespace rota::tls::detail {

inline constexpr std::size_t longest_host = 253;
/// How a name is held against a certificate (RFC 9525): a star is a whole label, and the common name is no host.
inline constexpr unsigned check_flags =
    X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT;

inline bool may_be_in_a_name(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_';
}

/// ASCII alone: of a name in another script its "xn--" form is wanted. An address may have colons.
inline bool may_be_a_host(std::string_view host) noexcept {
  return !host.empty() && host.size() <= longest_host && host.front() != '.' && !host.contains("..") &&
         std::ranges::all_of(host, [](char c) { return may_be_in_a_name(c) || c == ':'; });
}

/// "example.com.", with the root at its end, is "example.com" in certificates.
inline std::string_view without_root(std::string_view host) noexcept {
  if (host.size() > 1 && host.ends_with('.')) host.remove_suffix(1);
  return host;
}

}  // namespace rota::tls::detail
