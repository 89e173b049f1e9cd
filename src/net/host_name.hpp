// Classifies the text of a host without asking a resolver.
#pragma once

#include <string_view>

#include <rota/detail/config.hpp>

namespace rota::net::detail {

/// Returns true if every label of `host` has 1 to 63 characters, all of them together at most 253, and none
/// is a NUL. One dot at the end is the root.
[[nodiscard]] bool is_well_formed(std::string_view host) noexcept;

/// Returns true if the last label of `host` is a decimal or hexadecimal number: "10.0.0.1", "127.1",
/// "0x7f.1", "2130706433". Such a host is an IPv4 address in the strict dotted form, or invalid: resolvers
/// disagree on the other forms.
[[nodiscard]] ROTA_API bool ends_in_a_number(std::string_view host) noexcept;

/// Returns true for "localhost" and every name below it, in any case, with or without the root's dot (RFC
/// 6761, section 6.3).
[[nodiscard]] bool is_localhost(std::string_view host) noexcept;

/// Returns true for a well-formed name of letters, digits, hyphens and underscores: the form of names that
/// servers return for an address, and of names in certificates. Other characters have deceived programs that
/// print the name, or pass it to a shell.
[[nodiscard]] ROTA_API bool is_plain_name(std::string_view name) noexcept;

}  // namespace rota::net::detail
