// The reasons why a TLS connection was refused or ended. Errors of the stream below are passed on unchanged.
#pragma once

#include <system_error>

#include <rota/detail/config.hpp>

namespace rota::tls {

/// Reasons of this library. A stream below that ends without a close_notify is rota::errc::end_of_stream.
enum class errc : int {
  // A write was cancelled while its record was being sent, and the next write began with other bytes.
  write_abandoned = 1,
  no_certificate,  // the peer must have a certificate, and sent none
  bad_name,        // not the name or the address of a host
};

/// The alerts of TLS (RFC 8446 §6). An error code of this type is an alert that the peer sent before it gave
/// up. close_notify is no error.
enum class alert : int {
  unexpected_message = 10,
  bad_record_mac = 20,
  record_overflow = 22,
  handshake_failure = 40,
  bad_certificate = 42,
  unsupported_certificate = 43,
  certificate_revoked = 44,
  certificate_expired = 45,
  certificate_unknown = 46,
  illegal_parameter = 47,
  unknown_ca = 48,
  access_denied = 49,
  decode_error = 50,
  decrypt_error = 51,
  protocol_version = 70,
  insufficient_security = 71,
  internal_error = 80,
  inappropriate_fallback = 86,
  user_canceled = 90,
  missing_extension = 109,
  unsupported_extension = 110,
  unrecognized_name = 112,
  bad_certificate_status_response = 113,
  unknown_psk_identity = 115,
  certificate_required = 116,
  no_application_protocol = 120,
};

/// The reason why the certificate of the peer was not accepted: the most frequent of OpenSSL's X509_V_ERR_.
/// The others have a value and a message, too.
enum class verify_error : int {
  bad_signature = 7,
  not_yet_valid = 9,
  expired = 10,
  self_signed = 18,           // it is its own issuer, and not trusted here
  self_signed_in_chain = 19,  // the chain ends in a self-signed certificate that is not trusted
  unknown_issuer = 20,
  chain_too_long = 22,
  revoked = 23,
  wrong_purpose = 26,
  host_mismatch = 62,
  address_mismatch = 64,
  key_too_small = 66,
  ca_key_too_small = 67,
  ca_digest_too_weak = 68,
  not_a_ca = 79,
};

[[nodiscard]] ROTA_API const std::error_category& error_category() noexcept;
[[nodiscard]] ROTA_API const std::error_category& alert_category() noexcept;
[[nodiscard]] ROTA_API const std::error_category& verify_category() noexcept;
/// All other errors of OpenSSL. The value is OpenSSL's code; the message is OpenSSL's text.
[[nodiscard]] ROTA_API const std::error_category& openssl_category() noexcept;

[[nodiscard]] inline std::error_code make_error_code(errc e) noexcept {
  return {static_cast<int>(e), error_category()};
}
[[nodiscard]] inline std::error_code make_error_code(alert a) noexcept {
  return {static_cast<int>(a), alert_category()};
}
[[nodiscard]] inline std::error_code make_error_code(verify_error v) noexcept {
  return {static_cast<int>(v), verify_category()};
}

}  // namespace rota::tls

template <>
struct std::is_error_code_enum<rota::tls::errc> : std::true_type {};
template <>
struct std::is_error_code_enum<rota::tls::alert> : std::true_type {};
template <>
struct std::is_error_code_enum<rota::tls::verify_error> : std::true_type {};
