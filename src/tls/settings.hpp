// What the contexts of clients and of servers share.
#pragma once

#include "tls/identity.hpp"
#include "tls/openssl.hpp"

#include <cstddef>
#include <string>
#include <vector>

#include <rota/detail/tls_session.hpp>

namespace rota::tls::detail {

/// The sources of trusted certificates.
struct trust_sources {
  const std::string& file;
  const std::string& folder;
  const std::string& pem;
  [[nodiscard]] bool is_empty() const noexcept { return file.empty() && folder.empty() && pem.empty(); }
};

enum class side : unsigned char { client, server };

/// Makes a context with the settings of both sides. `of` is "client_config" or "server_config". All functions
/// throw config_error, `std::bad_alloc`.
[[nodiscard]] ssl_ctx_ptr make_ssl_ctx(side which, version minimum, const std::string& of);
void trust(SSL_CTX* context, const trust_sources& from, const std::string& of);
void trust_the_system(SSL_CTX* context, const std::string& of);
void use(SSL_CTX* context, const loaded_identity& own, const std::string& field);
/// Returns the ALPN list in its wire format.
[[nodiscard]] std::string protocols_of(const std::vector<std::string>& names, const std::string& of);

}  // namespace rota::tls::detail
