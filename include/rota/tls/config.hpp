// The configurations of a TLS client and a TLS server.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <rota/detail/config.hpp>

namespace rota::tls {

enum class version : unsigned char { tls_1_2, tls_1_3 };

/// A certificate and its key, in PEM: each from a file or from memory, not both. Files are regular files, or
/// symbolic links to regular files. The same holds for the files of the configurations below. Any other file,
/// such as a FIFO, is a config_error, and the constructor does not wait for it.
struct identity {
  // The certificate first, then those that lead to the root. The root itself may be missing.
  std::string chain_file{};
  std::string chain_pem{};
  std::string key_file{};
  std::string key_pem{};
  std::string key_password{};  // of an encrypted key; there is no prompt for it
};

/// Whether the certificates that the system trusts are trusted.
enum class system_trust : unsigned char {
  unless_others,  // if no ca_file, ca_folder or ca_pem is given
  always,
  never,
};
enum class verification : unsigned char {
  required,  // a chain to a trusted certificate, valid today, for this host
  none,      // any peer may answer, and read and change everything: for tests
};

struct client_config {
  std::string ca_file{};    // trusted certificates, PEM
  std::string ca_folder{};  // a folder of files that are named by hash: see openssl-rehash(1)
  std::string ca_pem{};
  system_trust trust_system = system_trust::unless_others;
  verification verify = verification::required;
  std::vector<identity> own{};      // at most one: sent to a server that asks for it
  std::vector<std::string> alpn{};  // "h2", "http/1.1": in order of preference; each 1..255 bytes
  version minimum_version = version::tls_1_3;
  // The number of hosts for which sessions are kept. A session is resumed while the host's certificate is
  // valid. 0..65536.
  std::size_t remembered_hosts = 256;
};

/// Whether a server asks clients for certificates.
enum class client_certificates : unsigned char {
  none,      // it does not ask
  optional,  // a certificate that the client sends is verified
  required,
};
/// For a client that names no host, or a host that is in no certificate.
enum class unknown_hosts : unsigned char {
  get_the_first,  // the first of the identities is used
  are_refused,    // alert unrecognized_name for an unknown host; without a host the first identity is used
};
enum class resumption : unsigned char { by_tickets, none };

struct server_config {
  // 1 to 1000. A client that names a host gets the first identity that is valid for the host.
  std::vector<identity> identities{};
  unknown_hosts unknown = unknown_hosts::get_the_first;
  client_certificates from_clients = client_certificates::none;
  std::string ca_file{};  // the issuers that must have signed client certificates
  std::string ca_folder{};
  std::string ca_pem{};
  std::vector<std::string> alpn{};  // the best first; a client with a list that has none of these is refused
  version minimum_version = version::tls_1_3;
  resumption sessions = resumption::by_tickets;
};

/// A mistake in a configuration. what() begins with the field, "server_config.identities[0].key_file: ...".
class ROTA_API config_error : public std::invalid_argument {
 public:
  config_error(std::string field, const std::string& why, std::error_code code);
  config_error(const config_error&) = default;
  config_error& operator=(const config_error&) = default;
  ~config_error() override;

  [[nodiscard]] const std::string& field() const noexcept { return field_; }
  /// Returns the error of the system or of OpenSSL, or std::errc::invalid_argument if rota found the mistake
  /// itself.
  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }

 private:
  std::string field_;
  std::error_code code_;
};

}  // namespace rota::tls
