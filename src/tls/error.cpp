#include <rota/tls/error.hpp>

#include <rota/error.hpp>

#include "tls/openssl.hpp"

#include <cerrno>
#include <string>

#include <openssl/sslerr.h>
#include <openssl/x509_vfy.h>

namespace rota::tls {

namespace {

class own_category final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "rota.tls"; }
  [[nodiscard]] std::string message(int value) const override {
    switch (static_cast<errc>(value)) {
      case errc::write_abandoned: return "a write was given up while its bytes were under way";
      case errc::no_certificate: return "the peer has given no certificate";
      case errc::bad_name: return "not the name or the address of a host";
    }
    return "unknown TLS error";
  }
};

class alerts final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "rota.tls.alert"; }
  [[nodiscard]] std::string message(int value) const override {
    const std::string number = " (alert " + std::to_string(value) + ")";
    return std::string("the peer says: ") + SSL_alert_desc_string_long(value) + number;
  }
};

class verify_errors final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "rota.tls.verify"; }
  [[nodiscard]] std::string message(int value) const override {
    return std::string("the certificate of the peer is not accepted: ") +
           X509_verify_cert_error_string(value);
  }
};

class openssl_errors final : public std::error_category {
 public:
  [[nodiscard]] const char* name() const noexcept override { return "openssl"; }
  [[nodiscard]] std::string message(int value) const override {
    const auto code = static_cast<unsigned long>(static_cast<unsigned>(value));
    const char* const reason = ERR_reason_error_string(code);
    if (reason != nullptr) return reason;
    return "error " + std::to_string(ERR_GET_REASON(code)) + " of library " +
           std::to_string(ERR_GET_LIB(code));
  }
};

static_assert(static_cast<int>(alert::handshake_failure) == SSL_AD_HANDSHAKE_FAILURE);
static_assert(static_cast<int>(alert::unknown_ca) == SSL_AD_UNKNOWN_CA);
static_assert(static_cast<int>(alert::protocol_version) == SSL_AD_PROTOCOL_VERSION);
static_assert(static_cast<int>(alert::unrecognized_name) == SSL_AD_UNRECOGNIZED_NAME);
static_assert(static_cast<int>(alert::certificate_required) == SSL_AD_CERTIFICATE_REQUIRED);
static_assert(static_cast<int>(alert::no_application_protocol) == SSL_AD_NO_APPLICATION_PROTOCOL);
static_assert(static_cast<int>(verify_error::bad_signature) == X509_V_ERR_CERT_SIGNATURE_FAILURE);
static_assert(static_cast<int>(verify_error::not_yet_valid) == X509_V_ERR_CERT_NOT_YET_VALID);
static_assert(static_cast<int>(verify_error::expired) == X509_V_ERR_CERT_HAS_EXPIRED);
static_assert(static_cast<int>(verify_error::self_signed) == X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT);
static_assert(static_cast<int>(verify_error::self_signed_in_chain) == X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN);
static_assert(static_cast<int>(verify_error::unknown_issuer) == X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY);
static_assert(static_cast<int>(verify_error::chain_too_long) == X509_V_ERR_CERT_CHAIN_TOO_LONG);
static_assert(static_cast<int>(verify_error::revoked) == X509_V_ERR_CERT_REVOKED);
static_assert(static_cast<int>(verify_error::wrong_purpose) == X509_V_ERR_INVALID_PURPOSE);
static_assert(static_cast<int>(verify_error::host_mismatch) == X509_V_ERR_HOSTNAME_MISMATCH);
static_assert(static_cast<int>(verify_error::address_mismatch) == X509_V_ERR_IP_ADDRESS_MISMATCH);
static_assert(static_cast<int>(verify_error::key_too_small) == X509_V_ERR_EE_KEY_TOO_SMALL);
static_assert(static_cast<int>(verify_error::ca_key_too_small) == X509_V_ERR_CA_KEY_TOO_SMALL);
static_assert(static_cast<int>(verify_error::ca_digest_too_weak) == X509_V_ERR_CA_MD_TOO_WEAK);
static_assert(static_cast<int>(verify_error::not_a_ca) == X509_V_ERR_INVALID_CA);

}  // namespace

const std::error_category& error_category() noexcept {
  static const own_category instance;
  return instance;
}
const std::error_category& alert_category() noexcept {
  static const alerts instance;
  return instance;
}
const std::error_category& verify_category() noexcept {
  static const verify_errors instance;
  return instance;
}
const std::error_category& openssl_category() noexcept {
  static const openssl_errors instance;
  return instance;
}

namespace detail {

namespace {

std::error_code named(unsigned long code) noexcept {
  if (ERR_SYSTEM_ERROR(code)) return {ERR_GET_REASON(code), std::generic_category()};
  if (ERR_GET_REASON(code) == ERR_R_MALLOC_FAILURE) return std::make_error_code(std::errc::not_enough_memory);
  return {static_cast<int>(code), openssl_category()};
}

/// Takes the whole queue. Returns the first error of the TLS library itself, since errors below it in the
/// queue are its causes; else the first error.
unsigned long first_of_queue() noexcept {
  unsigned long first = 0;
  unsigned long of_tls = 0;
  for (unsigned long next = ERR_get_error(); next != 0; next = ERR_get_error()) {
    if (first == 0) first = next;
    if (of_tls == 0 && ERR_GET_LIB(next) == ERR_LIB_SSL) of_tls = next;
  }
  return of_tls != 0 ? of_tls : first;
}

}  // namespace

std::error_code take_error(std::error_code otherwise) noexcept {
  // The first error is the cause of the following ones.
  const unsigned long first = ERR_get_error();
  ERR_clear_error();
  return first == 0 ? otherwise : named(first);
}

std::error_code take_error_of(const SSL* connection) noexcept {
  const unsigned long code = first_of_queue();
  // OpenSSL may report nothing when memory is short.
  if (code == 0) return std::make_error_code(std::errc::not_enough_memory);
  if (ERR_GET_LIB(code) != ERR_LIB_SSL) return named(code);
  const int reason = ERR_GET_REASON(code);
  if (reason > SSL_AD_REASON_OFFSET && reason <= SSL_AD_REASON_OFFSET + 255)
    return {reason - SSL_AD_REASON_OFFSET, alert_category()};
  if (reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
    const long why = SSL_get_verify_result(connection);
    if (why != X509_V_OK) return {static_cast<int>(why), verify_category()};
  }
  if (reason == SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE) return errc::no_certificate;
  if (reason == SSL_R_UNEXPECTED_EOF_WHILE_READING) return rota::errc::end_of_stream;
  return named(code);
}

}  // namespace detail
}  // namespace rota::tls
