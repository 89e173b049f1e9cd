#include <rota/tls/self_signed.hpp>

#include "tls/host.hpp"
#include "tls/identity.hpp"
#include "tls/openssl.hpp"

#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

namespace rota::tls {

namespace detail {

namespace {

constexpr std::size_t most_names = 100;
constexpr int most_days = 3650;
constexpr long seconds_of_a_day = 86'400;
/// The certificate is valid from 300 s ago on, since clocks differ.
constexpr long slack = 300;

inline void free_names(GENERAL_NAMES* names) noexcept { GENERAL_NAMES_free(names); }
inline void free_name(GENERAL_NAME* name) noexcept { GENERAL_NAME_free(name); }
using names_ptr = std::unique_ptr<GENERAL_NAMES, freed_by<&free_names>>;
using name_ptr = std::unique_ptr<GENERAL_NAME, freed_by<&free_name>>;

void demand(bool good) {
  if (!good) refuse_with_reason("self_signed", "OpenSSL cannot make it");
}

void demand_arguments(const std::vector<std::string>& hosts, int days) {
  if (hosts.empty() || hosts.size() > most_names)
    throw std::invalid_argument("tls::self_signed: not 1 to 100 hosts");
  if (days < 1 || days > most_days) throw std::invalid_argument("tls::self_signed: not 1 to 3650 days");
  for (const std::string& each : hosts) {
    if (!read_address(each).has_value() && !is_a_name(each))
      throw std::invalid_argument("tls::self_signed: not a host: " + each);
  }
}

name_ptr name_of(const std::string& host) {
  name_ptr made(GENERAL_NAME_new());
  if (made == nullptr) throw std::bad_alloc();
  if (const std::optional<address> number = read_address(host); number.has_value()) {
    ASN1_OCTET_STRING* const bytes = ASN1_OCTET_STRING_new();
    if (bytes == nullptr) throw std::bad_alloc();
    GENERAL_NAME_set0_value(made.get(), GEN_IPADD, bytes);
    demand(ASN1_OCTET_STRING_set(bytes, number->bytes, static_cast<int>(number->size)) == 1);
    return made;
  }
  ASN1_IA5STRING* const text = ASN1_IA5STRING_new();
  if (text == nullptr) throw std::bad_alloc();
  GENERAL_NAME_set0_value(made.get(), GEN_DNS, text);
  demand(ASN1_STRING_set(text, host.data(), static_cast<int>(host.size())) == 1);
  return made;
}

void add_names(X509* to, const std::vector<std::string>& hosts) {
  const names_ptr names(GENERAL_NAMES_new());
  if (names == nullptr) throw std::bad_alloc();
  for (const std::string& each : hosts) {
    name_ptr one = name_of(each);
    demand(sk_GENERAL_NAME_push(names.get(), one.get()) != 0);
    static_cast<void>(one.release());
  }
  demand(X509_add1_ext_i2d(to, NID_subject_alt_name, names.get(), 0, 0) == 1);
}

/// Sets a random serial number: two certificates with the same name and number would be taken for the same.
void number_it(X509* made) {
  unsigned char bytes[16];
  demand(RAND_bytes(bytes, sizeof bytes) == 1);
  bytes[0] &= 0x7fU;  // above zero
  bytes[0] |= 0x40U;
  BIGNUM* const number = BN_bin2bn(bytes, sizeof bytes, nullptr);
  const bool done = number != nullptr && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(made)) != nullptr;
  BN_free(number);
  demand(done);
}

x509_ptr make_certificate(EVP_PKEY* key, const std::vector<std::string>& hosts, int days) {
  x509_ptr made(X509_new());
  if (made == nullptr) throw std::bad_alloc();
  demand(X509_set_version(made.get(), X509_VERSION_3) == 1 && X509_set_pubkey(made.get(), key) == 1);
  number_it(made.get());
  demand(X509_gmtime_adj(X509_getm_notBefore(made.get()), -slack) != nullptr);
  demand(X509_gmtime_adj(X509_getm_notAfter(made.get()), days * seconds_of_a_day) != nullptr);
  X509_NAME* const name = X509_get_subject_name(made.get());
  const std::string common = hosts.front().substr(0, 64);  // the greatest length of a common name
  const auto* const text = reinterpret_cast<const unsigned char*>(common.c_str());
  demand(X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, text, -1, -1, 0) == 1);
  demand(X509_set_issuer_name(made.get(), name) == 1);
  add_names(made.get(), hosts);
  demand(X509_sign(made.get(), key, EVP_sha256()) > 0);
  return made;
}

template <class Write>
std::string pem_of(Write write) {
  const bio_ptr out(BIO_new(BIO_s_mem()));
  demand(out != nullptr && write(out.get()) == 1);
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(out.get(), &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

}  // namespace
}  // namespace detail

identity self_signed(const std::vector<std::string>& hosts, int days) {
  detail::demand_arguments(hosts, days);
  ERR_clear_error();
  const detail::key_ptr key(EVP_EC_gen("P-256"));
  detail::demand(key != nullptr);
  const detail::x509_ptr made = detail::make_certificate(key.get(), hosts, days);
  identity out;
  out.chain_pem = detail::pem_of([&](BIO* to) { return PEM_write_bio_X509(to, made.get()); });
  out.key_pem = detail::pem_of([&](BIO* to) {
    return PEM_write_bio_PrivateKey(to, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return out;
}

}  // namespace rota::tls
