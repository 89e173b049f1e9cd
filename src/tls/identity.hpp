// Certificates and keys as OpenSSL has them, from files and from memory.
#pragma once

#include "tls/openssl.hpp"

#include <functional>
#include <string>

#include <rota/tls/config.hpp>

namespace rota::tls::detail {

/// Throws config_error with the code of `why`, or of what OpenSSL says.
[[noreturn]] void refuse(const std::string& field, const std::string& why);
[[noreturn]] void refuse_with_reason(const std::string& field, const std::string& why);
/// OpenSSL and the system end a path at a zero: one with a zero would be another one.
void refuse_zeros(const std::string& path, const std::string& field);

struct loaded_identity {
  x509_ptr certificate;
  chain_ptr chain;
  key_ptr key;
};

/// Throws config_error, `std::bad_alloc`. `field` is "server_config.identities[0]".
[[nodiscard]] loaded_identity load(const identity& from, const std::string& field);

/// Calls `take` with each certificate in the PEM text that is in the file, or in memory. At least one.
void for_each_certificate(const std::string& file,
                          const std::string& pem,
                          const std::string& field,
                          const std::function<void(x509_ptr)>& take);

}  // namespace rota::tls::detail
