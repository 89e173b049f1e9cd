// Owning pointers of OpenSSL objects.
#pragma once

#include <memory>
#include <system_error>

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

namespace rota::tls::detail {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
inline void free_chain(STACK_OF(X509) * chain) noexcept { sk_X509_pop_free(chain, X509_free); }
inline void free_bio(BIO* bio) noexcept { BIO_free_all(bio); }

using ssl_ctx_ptr = std::unique_ptr<SSL_CTX, freed_by<&SSL_CTX_free>>;
using ssl_ptr = std::unique_ptr<SSL, freed_by<&SSL_free>>;
using ssl_session_ptr = std::unique_ptr<SSL_SESSION, freed_by<&SSL_SESSION_free>>;
using x509_ptr = std::unique_ptr<X509, freed_by<&X509_free>>;
using chain_ptr = std::unique_ptr<STACK_OF(X509), freed_by<&free_chain>>;
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<&EVP_PKEY_free>>;
using bio_ptr = std::unique_ptr<BIO, freed_by<&free_bio>>;

/// Returns the first error of the thread's queue, and clears the queue. Returns `otherwise` if the queue is
/// empty.
[[nodiscard]] std::error_code take_error(std::error_code otherwise) noexcept;
/// Returns and clears the error of a connection: alerts and certificate errors have their own categories.
[[nodiscard]] std::error_code take_error_of(const SSL* connection) noexcept;

}  // namespace rota::tls::detail
