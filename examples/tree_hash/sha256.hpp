// SHA-256, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace tree_hash {

using digest = std::array<std::byte, 32>;

[[nodiscard]] std::string to_hex(const digest& d);

/// An incremental SHA-256. Throws std::bad_alloc, and std::runtime_error if OpenSSL has no SHA-256.
class sha256 {
 public:
  sha256();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// Returns the digest of all added bytes, and starts a new sum.
  [[nodiscard]] digest finish();

 private:
  struct freer {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  void begin();

  std::unique_ptr<evp_md_ctx_st, freer> context_;
};

}  // namespace tree_hash
