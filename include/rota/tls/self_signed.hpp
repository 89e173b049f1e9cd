// Makes a self-signed certificate.
#pragma once

#include <string>
#include <vector>

#include <rota/tls/config.hpp>

namespace rota::tls {

/// Makes a new key (P-256), and a self-signed certificate for it: for tests, and for services that exchange
/// their certificates by hand. A peer that shall trust it gets its chain_pem as ca_pem.
///
///   const rota::tls::identity mine = rota::tls::self_signed({"localhost", "127.0.0.1"}, 30);
///
/// Threads       Any.
/// Failure       Throws `std::invalid_argument` unless there are 1 to 100 hosts, each a name or an address as
///               client::connect takes it, and 1 to 3650 days, counted from now; config_error if OpenSSL
///               fails; `std::bad_alloc`.
/// Cost          A key of an elliptic curve, and a signature with it.
/// Example       examples/tls_echo.cpp
[[nodiscard]] ROTA_API identity self_signed(const std::vector<std::string>& hosts, int days);

}  // namespace rota::tls
