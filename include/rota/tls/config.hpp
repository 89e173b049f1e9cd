// What a TLS client and a TLS server are made of.
#pragma once

#include <cstddef>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

#include <rota/detail/config.hpp>

namespace rota::tls {

enum class version : unsigned char { tls_1_2, tls_1_3 };

/// A certificate and its key, in PEM: each from a file or from memory, not both. Files are regular files, or symbolic links to such; so are those of the
/// configurations below. Anything else, as a FIFO, is a config_error, and is not waited for.
struct identity {
  std::string
      chain_file{};  // the certificate first, then those that lead to the root, which need not be there
  std::string chain_pem{};
  std::string key_file{};
  std::string key_pem{};
  std::string key_password{};  // of a key that is encrypted; nobody is asked for one
};

/// Are the certificates trusted that the system trusts?
enum class system_trust : unsigned char {
  unless_others,  // if no ca_file, ca_folder or ca_pem is given
  always,
  never,
};
enum class verification : unsigned char {
  required,  // a chain to a certificate that is trusted, valid today, of this host
  none,      // anybody may answer, and read and change everything: for tests
};

struct client_config {
  std::string ca_file{};    // certificates that are trusted, PEM
  std::string ca_folder{};  // files named by hash: see openssl-rehash(1)
  std::string ca_pem{};
  system_trust trust_system = system_trust::unless_others;
  verification verify = verification::required;
  std::vector<identity> own{};      // at most one: shown to a server that asks for it
  std::vector<std::string> alpn{};  // "h2", "http/1.1": the best first; each 1..255 bytes
  version minimum_version = version::tls_1_3;
  // Whose sessions are kept, to be resumed while the host's certificate is valid; 0..65536.
  std::size_t remembered_hosts = 256;
};

/// Of clients.
enum class client_certificates : unsigned char {
  none,      // are not asked for
  optional,  // one that is given is verified
  required,
};
/// A client that names a host that is in no certificate, or none.
enum class unknown_hosts : unsigned char {
  get_the_first,  // of the identities
  are_refused,    // one that names a host: alert unrecognized_name. Who names none gets the first
};
enum class resumption : unsigned char { by_tickets, none };

struct server_config {
  std::vector<identity>
      identities{};  // at least one, at most 1000; a client that names a host gets the first that is valid for it
  unknown_hosts unknown = unknown_hosts::get_the_first;
  client_certificates from_clients = client_certificates::none;
  std::string ca_file{};  // by whom these must be signed
  std::string ca_folder{};
  std::string ca_pem{};
  std::vector<std::string> alpn{};  // the best first; a client with a list that has none of these is refused
  version minimum_version = version::tls_1_3;
  resumption sessions = resumption::by_tickets;
};

/// What is wrong with a configuration: what() begins with the field, "server_config.identities[0].key_file: ...".
class ROTA_API config_error : public std::invalid_argument {
 public:
  config_error(std::string field, const std::string& why, std::error_code code);
  config_error(const config_error&) = default;
  config_error& operator=(const config_error&) = default;
  ~config_error() override;

  [[nodiscard]] const std::string& field() const noexcept { return field_; }
  /// What the system or OpenSSL said; std::errc::invalid_argument if nobody was asked.
  [[nodiscard]] const std::error_code& code() const noexcept { return code_; }

 private:
  std::string field_;
  std::error_code code_;
};

}  // namespace rota::tls
