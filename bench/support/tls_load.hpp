// Shared by the subjects of the suite `tls`: numbers, sizes and the cipher. bench/tls/rota.cpp says what one
// operation is.
#pragma once

#include <openssl/conf.h>
#include <openssl/ssl.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string_view>

namespace tls_load {

constexpr unsigned visitors = 8;  // connections that are made at a time
constexpr std::size_t message_bytes = 64;
constexpr std::size_t block_bytes = std::size_t{16} << 10U;  // fits into a TLS record
constexpr std::uint64_t blocks_of_a_mib = (std::uint64_t{1} << 20U) / block_bytes;
constexpr std::string_view cipher = "TLS_AES_128_GCM_SHA256";

using message = std::array<std::byte, message_bytes>;

[[noreturn]] inline void wrong(const char* what) { throw std::runtime_error(what); }

inline void require(bool right, const char* what) {
  if (!right) wrong(what);
}

/// Chooses the cipher for all contexts, as the system's openssl.cnf might. Call it before the first context
/// is made. A subject with its own contexts could set the cipher for each; rota leaves the choice to the
/// system.
inline void choose_the_cipher() {
  constexpr char text[] =
      "openssl_conf = all\n[all]\nssl_conf = programs\n[programs]\nsystem_default = chosen\n[chosen]\n"
      "MinProtocol = TLSv1.3\nCiphersuites = TLS_AES_128_GCM_SHA256\nGroups = X25519\n";
  OPENSSL_init_ssl(0, nullptr);
  BIO* const from = BIO_new_mem_buf(text, -1);
  CONF* const all = NCONF_new(nullptr);
  long line = 0;
  const bool done = NCONF_load_bio(all, from, &line) == 1 &&
                    CONF_modules_load(all, nullptr, CONF_MFLAGS_DEFAULT_SECTION) == 1;
  NCONF_free(all);
  BIO_free(from);
  require(done, "OpenSSL takes no configuration");
}

/// Returns the share of one of `many` in `n` operations.
[[nodiscard]] constexpr std::uint64_t share(std::uint64_t n, unsigned many, unsigned which) noexcept {
  return n / many + (which < n % many ? 1 : 0);
}

inline void put_number(std::span<std::byte> into, std::uint64_t number) noexcept {
  std::memcpy(into.data(), &number, sizeof number);
}
[[nodiscard]] inline std::uint64_t number_in(std::span<const std::byte> from) noexcept {
  std::uint64_t number = 0;
  std::memcpy(&number, from.data(), sizeof number);
  return number;
}

}  // namespace tls_load
