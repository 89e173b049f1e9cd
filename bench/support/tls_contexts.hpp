// Shared by the subjects of the suite `tls` that call OpenSSL directly: a certificate, and contexts of both
// sides.
#pragma once

#include <openssl/ec.h>
#include <openssl/x509v3.h>

#include <memory>

#include "support/tls_load.hpp"

namespace tls_load {

template <auto Free>
struct freed_by {
  template <class T>
  void operator()(T* owned) const noexcept {
    Free(owned);
  }
};
using key_ptr = std::unique_ptr<EVP_PKEY, freed_by<EVP_PKEY_free>>;
using certificate_ptr = std::unique_ptr<X509, freed_by<X509_free>>;
using context_ptr = std::unique_ptr<SSL_CTX, freed_by<SSL_CTX_free>>;
using session_ptr = std::unique_ptr<SSL_SESSION, freed_by<SSL_SESSION_free>>;
using ssl_ptr = std::unique_ptr<SSL, freed_by<SSL_free>>;

constexpr const char* host = "localhost";

enum class tickets : unsigned char { none, some };

/// A key of P-256, and a self-signed certificate for `host`.
class own_certificate {
 public:
  own_certificate() : key_(EVP_EC_gen("P-256")), certificate_(X509_new()) {
    require(key_ != nullptr && certificate_ != nullptr, "no key");
    X509* const made = certificate_.get();
    X509_set_version(made, 2);  // which means version 3
    ASN1_INTEGER_set(X509_get_serialNumber(made), 1);
    X509_gmtime_adj(X509_getm_notBefore(made), -3600);
    X509_gmtime_adj(X509_getm_notAfter(made), 86400);
    X509_set_pubkey(made, key_.get());
    X509_NAME* const name = X509_get_subject_name(made);
    const auto* const text = reinterpret_cast<const unsigned char*>(host);
    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0);
    X509_set_issuer_name(made, name);
    X509_EXTENSION* const names =
        X509V3_EXT_conf_nid(nullptr, nullptr, NID_subject_alt_name, "DNS:localhost");
    const bool named = names != nullptr && X509_add_ext(made, names, -1) == 1;
    X509_EXTENSION_free(names);
    require(named && X509_sign(made, key_.get(), EVP_sha256()) > 0, "no certificate");
  }
  [[nodiscard]] EVP_PKEY* key() const noexcept { return key_.get(); }
  [[nodiscard]] X509* certificate() const noexcept { return certificate_.get(); }

 private:
  key_ptr key_;
  certificate_ptr certificate_;
};

inline context_ptr make_context(const SSL_METHOD* method) {
  context_ptr made(SSL_CTX_new(method));
  require(made != nullptr && SSL_CTX_set_min_proto_version(made.get(), TLS1_3_VERSION) == 1, "no context");
  // The same modes as the runtimes set.
  SSL_CTX_set_mode(made.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                       SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  return made;
}

inline context_ptr make_server(const own_certificate& own, tickets given) {
  context_ptr made = make_context(TLS_server_method());
  require(SSL_CTX_use_certificate(made.get(), own.certificate()) == 1 &&
              SSL_CTX_use_PrivateKey(made.get(), own.key()) == 1,
          "the certificate was not taken");
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  if (given == tickets::none) SSL_CTX_set_num_tickets(made.get(), 0);
  return made;
}

/// A client that keeps the newest of its sessions, and offers it once.
class client {
 public:
  client(const own_certificate& trusted, tickets taken) : context_(make_context(TLS_client_method())) {
    require(X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), trusted.certificate()) == 1,
            "the certificate is not trusted");
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    if (taken == tickets::none) return;
    SSL_CTX_set_app_data(context_.get(), this);
    SSL_CTX_set_session_cache_mode(context_.get(), SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(context_.get(), keep);
  }
  client(const client&) = delete;
  client& operator=(const client&) = delete;
  ~client() = default;

  [[nodiscard]] SSL_CTX* context() const noexcept { return context_.get(); }

  /// Sets the host name and the session to resume. Returns true if there is one.
  bool prepare(SSL* ssl) {
    require(SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1, "no host");
    const session_ptr earlier = std::move(session_);
    return earlier != nullptr && SSL_set_session(ssl, earlier.get()) == 1;
  }

 private:
  static int keep(SSL* ssl, SSL_SESSION* session) noexcept {
    static_cast<client*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)))->session_.reset(session);
    return 1;
  }

  context_ptr context_;
  session_ptr session_;
};

/// Checks a connection after its handshake.
inline void check(SSL* ssl, bool resumed) {
  require(SSL_get_cipher_name(ssl) == cipher, "another cipher than was asked for");
  require((SSL_session_reused(ssl) == 1) == resumed, "a session was resumed that should not, or was not");
}

}  // namespace tls_load
