// Loads certificates and keys, from files and from memory, into OpenSSL objects.
#pragma once

#include "tls/openssl.hpp"

#include <functional>
#include <string>

#include <rota/tls/config.hpp>

namespace rota::tls::detail {

/// Throw config_error: refuse() with std::errc::invalid_argument, refuse_with_reason() with the error of
/// OpenSSL.
[[noreturn]] void refuse(const std::string& field, const std::string& why);
[[noreturn]] void refuse_with_reason(const std::string& field, const std::string& why);
/// Throws config_error if `path` has a zero: OpenSSL and the system would end the path there, and use another
/// file.
void refuse_zeros(const std::string& path, const std::string& field);

struct loaded_identity {
  x509_ptr certificate;
  chain_ptr chain;
  key_ptr key;
};

/// Loads an identity. Throws config_error, `std::bad_alloc`. `field` is for example
/// "server_config.identities[0]".
[[nodiscard]] loaded_identity load(const identity& from, const std::string& field);

/// Calls `take` with each certificate in the PEM text of the file, or in memory. Throws config_error if there
/// is none.
void for_each_certificate(const std::string& file,
                          const std::string& pem,
                          const std::string& field,
                          const std::function<void(x509_ptr)>& take);

}  // namespace rota::tls::detail
