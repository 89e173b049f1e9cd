#include "tls/identity.hpp"

#include "base/sys/files.hpp"

#include <cstdio>
#include <limits>
#include <new>
#include <utility>

#include <openssl/pem.h>

namespace rota::tls {

config_error::config_error(std::string field, const std::string& why, std::error_code code)
    : std::invalid_argument(field + ": " + why), field_(std::move(field)), code_(code) {}
config_error::~config_error() = default;

namespace detail {

namespace {

std::error_code invalid() noexcept { return std::make_error_code(std::errc::invalid_argument); }

/// Requires exactly one of the two ways to give a text.
void demand_one_source(const std::string& field, const std::string& file, const std::string& pem) {
  if (!file.empty() && !pem.empty()) refuse(field + "_file", "given beside " + field + "_pem: one of them");
  if (file.empty() && pem.empty()) refuse(field + "_file", "empty, and so is " + field + "_pem");
}

/// Opens a regular file. A FIFO would block the thread until it has a writer.
bio_ptr open_file(const std::string& field, const std::string& file) {
  const base::sys::result<std::FILE*> opened = base::sys::open_regular(file.c_str());
  if (!opened.has_value()) {
    const bool is_other = opened.error() == std::errc::invalid_argument;
    const std::string why = (is_other ? "not a regular file: " : "cannot open ") + file;
    throw config_error(field, why + ": " + opened.error().message(), opened.error());
  }
  bio_ptr text(BIO_new_fp(*opened, BIO_CLOSE));
  if (text != nullptr) return text;
  static_cast<void>(std::fclose(*opened));
  throw std::bad_alloc();
}

bio_ptr open_text(const std::string& field, const std::string& file, const std::string& pem) {
  ERR_clear_error();
  if (file.empty()) {
    if (pem.size() > static_cast<std::size_t>(std::numeric_limits<int>::max())) refuse(field, "too long");
    bio_ptr text(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
    if (text == nullptr) throw std::bad_alloc();
    return text;
  }
  refuse_zeros(file, field);
  return open_file(field, file);
}

std::string name_of(const std::string& field, const std::string& file) {
  return field + (file.empty() ? "_pem" : "_file");
}

/// Returns the next certificate, or null if there is none left.
x509_ptr next_certificate(BIO* text, const std::string& field) {
  x509_ptr one(PEM_read_bio_X509(text, nullptr, nullptr, nullptr));
  if (one != nullptr) return one;
  const unsigned long last = ERR_peek_last_error();
  if (ERR_GET_LIB(last) == ERR_LIB_PEM && ERR_GET_REASON(last) == PEM_R_NO_START_LINE) {
    ERR_clear_error();
    return one;
  }
  refuse_with_reason(field, "not a certificate in PEM");
}

/// The callback of PEM_read_bio_PrivateKey. It never asks a terminal. It only reads the password: so there is
/// no copy that must be wiped.
int give_password(char* into, int size, int /*for_writing*/, void* password) {
  const auto& text = *static_cast<const std::string*>(password);
  if (text.empty() || text.size() > static_cast<std::size_t>(size)) return -1;
  text.copy(into, text.size());
  return static_cast<int>(text.size());
}

key_ptr load_key(const identity& from, const std::string& field) {
  demand_one_source(field + ".key", from.key_file, from.key_pem);
  const std::string name = name_of(field + ".key", from.key_file);
  const bio_ptr text = open_text(name, from.key_file, from.key_pem);
  auto* const password = const_cast<std::string*>(&from.key_password);
  key_ptr key(PEM_read_bio_PrivateKey(text.get(), nullptr, give_password, password));
  if (key != nullptr) return key;
  const char* const hint = password->empty() ? "; if it is encrypted, key_password must be given" : "";
  refuse_with_reason(name, std::string("not a private key in PEM that can be read") + hint);
}

}  // namespace

void refuse(const std::string& field, const std::string& why) { throw config_error(field, why, invalid()); }

void refuse_zeros(const std::string& path, const std::string& field) {
  if (path.find('\0') != std::string::npos) refuse(field, "a path with a zero in it");
}

void refuse_with_reason(const std::string& field, const std::string& why) {
  const std::error_code reason = take_error(invalid());
  throw config_error(field, why + ": " + reason.message(), reason);
}

void for_each_certificate(const std::string& file,
                          const std::string& pem,
                          const std::string& field,
                          const std::function<void(x509_ptr)>& take) {
  const std::string name = name_of(field, file);
  const bio_ptr text = open_text(name, file, pem);
  for (int count = 0;; ++count) {
    x509_ptr one = next_certificate(text.get(), name);
    if (one == nullptr && count == 0) refuse(name, "no certificate in PEM is in it");
    if (one == nullptr) return;
    take(std::move(one));
  }
}

loaded_identity load(const identity& from, const std::string& field) {
  loaded_identity made;
  made.chain.reset(sk_X509_new_null());
  if (made.chain == nullptr) throw std::bad_alloc();
  demand_one_source(field + ".chain", from.chain_file, from.chain_pem);
  for_each_certificate(from.chain_file, from.chain_pem, field + ".chain", [&made](x509_ptr one) {
    if (made.certificate == nullptr) {
      made.certificate = std::move(one);
    } else if (sk_X509_push(made.chain.get(), one.get()) != 0) {
      static_cast<void>(one.release());
    } else {
      throw std::bad_alloc();
    }
  });
  made.key = load_key(from, field);
  if (X509_check_private_key(made.certificate.get(), made.key.get()) != 1)
    refuse_with_reason(name_of(field + ".key", from.key_file), "not the key of the certificate");
  return made;
}

}  // namespace detail
}  // namespace rota::tls
