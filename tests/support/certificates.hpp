// Certificates for tests, made by OpenSSL when they are wanted.
#pragma once

#include <rota/tls/config.hpp>

#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

namespace rota::test {

enum class key_kind : unsigned char { elliptic, rsa };

/// The contents of a certificate.
struct wish {
  std::string name = "test";              // its common name
  std::string hosts = "DNS:example.com";  // as in openssl.cnf: "DNS:a.example,IP:127.0.0.1"; empty: none
  int from_days = -1;
  int to_days = 1;
  int to_seconds = 0;  // and so many
  key_kind kind = key_kind::elliptic;
};

namespace certificate_detail {

template <auto Free>
struct freed {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
inline void free_text(BIO* bio) noexcept { BIO_free_all(bio); }

using key_ptr = std::unique_ptr<EVP_PKEY, freed<&EVP_PKEY_free>>;
using x509_ptr = std::unique_ptr<X509, freed<&X509_free>>;
using text_ptr = std::unique_ptr<BIO, freed<&free_text>>;

/// A test without a certificate proves nothing.
inline void demand_openssl(bool good) {
  if (!good) std::abort();
}

template <class Write>
std::string text_of(Write write) {
  const text_ptr out(BIO_new(BIO_s_mem()));
  demand_openssl(out != nullptr && write(out.get()) == 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

inline void extend(X509* of, X509* issuer, int what, const std::string& value) {
  X509V3_CTX about;
  X509V3_set_ctx(&about, issuer, of, nullptr, nullptr, 0);
  X509_EXTENSION* const made = X509V3_EXT_conf_nid(nullptr, &about, what, value.c_str());
  demand_openssl(made != nullptr && X509_add_ext(of, made, -1) == 1);
  X509_EXTENSION_free(made);
}

inline key_ptr make_key(key_kind kind) {
  key_ptr made(kind == key_kind::elliptic ? EVP_EC_gen("P-256") : EVP_RSA_gen(2048U));
  demand_openssl(made != nullptr);
  return made;
}

inline x509_ptr make_certificate(const wish& w, EVP_PKEY* key, X509* issuer) {
  static long serial = 0;
  x509_ptr made(X509_new());
  demand_openssl(made != nullptr);
  X509_set_version(made.get(), X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(made.get()), ++serial);
  constexpr long day = 24L * 3600;
  X509_gmtime_adj(X509_getm_notBefore(made.get()), w.from_days * day);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), w.to_days * day + w.to_seconds);
  X509_set_pubkey(made.get(), key);
  X509_NAME* const name = X509_get_subject_name(made.get());
  const auto* const text = reinterpret_cast<const unsigned char*>(w.name.c_str());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_UTF8, text, -1, -1, 0);
  X509_set_issuer_name(made.get(), X509_get_subject_name(issuer == nullptr ? made.get() : issuer));
  return made;
}

}  // namespace certificate_detail

/// Signs certificates. Its own certificate is signed by itself, or by another authority.
class authority {
 public:
  explicit authority(const std::string& name) : authority(name, nullptr) {}
  authority(const std::string& name, const authority& by) : authority(name, &by) {
    chain_ = pem_ + by.chain_;
  }

  [[nodiscard]] const std::string& pem() const noexcept { return pem_; }

  [[nodiscard]] tls::identity issue(const wish& w) const {
    const auto key = certificate_detail::make_key(w.kind);
    return sign(w, key.get(), certificate_.get(), key_.get(), chain_);
  }
  /// Self-signed: no authority has signed it.
  [[nodiscard]] static tls::identity self_signed(const wish& w) {
    const auto key = certificate_detail::make_key(w.kind);
    return sign(w, key.get(), nullptr, key.get(), {});
  }

 private:
  authority(const std::string& name, const authority* by)
      : key_(certificate_detail::make_key(key_kind::elliptic)),
        certificate_(
            certificate_detail::make_certificate({.name = name, .hosts = "", .from_days = -2, .to_days = 2},
                                                 key_.get(),
                                                 by == nullptr ? nullptr : by->certificate_.get())) {
    X509* const issuer = by == nullptr ? certificate_.get() : by->certificate_.get();
    certificate_detail::extend(certificate_.get(), issuer, NID_basic_constraints, "critical,CA:TRUE");
    certificate_detail::extend(certificate_.get(), issuer, NID_key_usage, "critical,keyCertSign,cRLSign");
    certificate_detail::extend(certificate_.get(), issuer, NID_subject_key_identifier, "hash");
    EVP_PKEY* const signs = by == nullptr ? key_.get() : by->key_.get();
    certificate_detail::demand_openssl(X509_sign(certificate_.get(), signs, EVP_sha256()) > 0);
    pem_ =
        certificate_detail::text_of([this](BIO* out) { return PEM_write_bio_X509(out, certificate_.get()); });
  }

  static tls::identity sign(
      const wish& w, EVP_PKEY* key, X509* issuer, EVP_PKEY* by, const std::string& chain) {
    const auto made = certificate_detail::make_certificate(w, key, issuer);
    X509* const above = issuer == nullptr ? made.get() : issuer;
    certificate_detail::extend(made.get(), above, NID_basic_constraints, "critical,CA:FALSE");
    if (!w.hosts.empty()) certificate_detail::extend(made.get(), above, NID_subject_alt_name, w.hosts);
    certificate_detail::demand_openssl(X509_sign(made.get(), by, EVP_sha256()) > 0);
    tls::identity out;
    out.chain_pem = certificate_detail::text_of([&](BIO* to) { return PEM_write_bio_X509(to, made.get()); });
    out.chain_pem += chain;
    out.key_pem = certificate_detail::text_of(
        [&](BIO* to) { return PEM_write_bio_PrivateKey(to, key, nullptr, nullptr, 0, nullptr, nullptr); });
    return out;
  }

  certificate_detail::key_ptr key_;
  certificate_detail::x509_ptr certificate_;
  std::string pem_;
  std::string chain_;  // what a peer needs besides the root
};

/// The one that most tests trust.
inline const authority& root() {
  static const authority instance("root of the tests");
  return instance;
}
inline const tls::identity& of_example_com() {
  static const tls::identity instance = root().issue({});
  return instance;
}

}  // namespace rota::test
