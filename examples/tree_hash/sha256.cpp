#include "tree_hash/sha256.hpp"

#include <openssl/evp.h>

#include <new>
#include <stdexcept>

namespace tree_hash {
namespace {

void demand(int result) {
  if (result != 1) throw std::runtime_error("OpenSSL refuses SHA-256");
}

/// Fetched once: EVP_sha256() would search for the algorithm at each begin.
const EVP_MD* algorithm() {
  static const EVP_MD* const found = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  demand(found != nullptr ? 1 : 0);
  return found;
}

}  // namespace

std::string to_hex(const digest& d) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  text.reserve(2 * d.size());
  for (const std::byte b : d) {
    text += digits[std::to_integer<std::size_t>(b >> 4U)];
    text += digits[std::to_integer<std::size_t>(b & std::byte{15})];
  }
  return text;
}

void sha256::freer::operator()(evp_md_ctx_st* context) const noexcept { EVP_MD_CTX_free(context); }

sha256::sha256() : context_(EVP_MD_CTX_new()) {
  if (context_ == nullptr) throw std::bad_alloc();
  begin();
}

void sha256::begin() { demand(EVP_DigestInit_ex2(context_.get(), algorithm(), nullptr)); }

void sha256::add(std::span<const std::byte> bytes) {
  demand(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()));
}

digest sha256::finish() {
  digest d{};
  demand(EVP_DigestFinal_ex(context_.get(), reinterpret_cast<unsigned char*>(d.data()), nullptr));
  begin();
  return d;
}

}  // namespace tree_hash
