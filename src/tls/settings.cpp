#include "tls/settings.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

namespace rota::tls::detail {

namespace {

/// Of TLS 1.2: forward secrecy, and ciphers that authenticate. All ciphers of TLS 1.3 have both.
constexpr const char* ciphers_of_1_2 = "ECDHE+AESGCM:ECDHE+CHACHA20";
constexpr std::size_t longest_protocol = 255;
constexpr std::size_t longest_list = 65535;

void trust_certificate(SSL_CTX* context, const std::string& field, const x509_ptr& one) {
  if (X509_STORE_add_cert(SSL_CTX_get_cert_store(context), one.get()) != 1)
    refuse_with_reason(field, "cannot be trusted");
  // Clients are told which issuers are accepted.
  if (SSL_CTX_add_client_CA(context, one.get()) != 1) throw std::bad_alloc();
}

/// Recognizes the file names of a ca_folder: "5ed36f99.0" is a certificate; "5ed36f99.r0" is a list of
/// revoked certificates.
bool is_a_hash(std::string_view name) noexcept {
  constexpr std::size_t digits = 8;
  const auto is_hexadecimal = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return name.size() > digits && name[digits] == '.' &&
         std::ranges::all_of(name.substr(0, digits), is_hexadecimal);
}

/// Refuses files that are not regular. OpenSSL opens them in a handshake: a FIFO would block a worker there.
/// A folder that cannot be listed is accepted: OpenSSL may still open files in it by name.
void demand_regular_files(const std::string& folder, const std::string& field) {
  std::error_code why;
  const std::filesystem::directory_iterator end;
  for (std::filesystem::directory_iterator at(folder, why); !why && at != end; at.increment(why)) {
    if (!is_a_hash(at->path().filename().native())) continue;
    std::error_code unknown;
    const std::filesystem::file_status there = at->status(unknown);
    if (!std::filesystem::exists(there)) continue;
    if (!std::filesystem::is_regular_file(there)) refuse(field, "not a regular file: " + at->path().string());
  }
}

void trust_folder(SSL_CTX* context, const std::string& folder, const std::string& field) {
  refuse_zeros(folder, field);
  std::error_code why;
  if (!std::filesystem::is_directory(folder, why)) {
    if (!why) why = std::make_error_code(std::errc::not_a_directory);
    throw config_error(field, "not a folder: " + folder + ": " + why.message(), why);
  }
  demand_regular_files(folder, field);
  if (SSL_CTX_load_verify_dir(context, folder.c_str()) != 1) refuse_with_reason(field, "cannot be used");
}

/// Refuses a FIFO as the file that OpenSSL reads next: it would block the thread until it has a writer. A
/// missing file is no error.
void demand_no_fifo_for_the_system(const std::string& field) {
  const char* const named = ::secure_getenv(X509_get_default_cert_file_env());
  const std::string file = named == nullptr ? X509_get_default_cert_file() : named;
  std::error_code unknown;
  if (std::filesystem::is_fifo(file, unknown)) refuse(field, "not a regular file: " + file);
}

}  // namespace

ssl_ctx_ptr make_ssl_ctx(side which, version minimum, const std::string& of) {
  ERR_clear_error();
  ssl_ctx_ptr made(SSL_CTX_new(which == side::client ? TLS_client_method() : TLS_server_method()));
  if (made == nullptr) refuse_with_reason(of, "OpenSSL cannot be used");
  const int lowest = minimum == version::tls_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION;
  if (SSL_CTX_set_min_proto_version(made.get(), lowest) != 1 ||
      SSL_CTX_set_max_proto_version(made.get(), 0) != 1)
    refuse_with_reason(of + ".minimum_version", "this OpenSSL has no such version");
  if (SSL_CTX_set_cipher_list(made.get(), ciphers_of_1_2) != 1)
    refuse_with_reason(of, "this OpenSSL has none of the ciphers");
  SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(made.get(),
                   SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                       SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  return made;
}

void trust(SSL_CTX* context, const trust_sources& from, const std::string& of) {
  const auto take = [context, &of](x509_ptr one) { trust_certificate(context, of + ".ca", one); };
  if (!from.file.empty()) for_each_certificate(from.file, {}, of + ".ca", take);
  if (!from.pem.empty()) for_each_certificate({}, from.pem, of + ".ca", take);
  if (!from.folder.empty()) trust_folder(context, from.folder, of + ".ca_folder");
}

void trust_the_system(SSL_CTX* context, const std::string& of) {
  demand_no_fifo_for_the_system(of + ".trust_system");
  if (SSL_CTX_set_default_verify_paths(context) != 1)
    refuse_with_reason(of + ".trust_system", "what the system trusts cannot be read");
  ERR_clear_error();
}

void use(SSL_CTX* context, const loaded_identity& own, const std::string& field) {
  if (SSL_CTX_use_cert_and_key(context, own.certificate.get(), own.key.get(), own.chain.get(), 1) != 1)
    refuse_with_reason(field + ".chain", "OpenSSL does not take it");
}

std::string protocols_of(const std::vector<std::string>& names, const std::string& of) {
  std::string wire;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string field = of + ".alpn[" + std::to_string(i) + "]";
    if (names[i].empty() || names[i].size() > longest_protocol) refuse(field, "not 1 to 255 bytes");
    wire += static_cast<char>(names[i].size());
    wire += names[i];
  }
  if (wire.size() > longest_list) refuse(of + ".alpn", "longer than 65535 bytes");
  return wire;
}

}  // namespace rota::tls::detail
