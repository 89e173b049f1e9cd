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

/// A sum that bytes are added to. Throws std::bad_alloc, and std::runtime_error if OpenSSL has no SHA-256.
class sha256 {
 public:
  sha256();

  void add(std::span<const std::byte> bytes);
  void add(std::string_view text) { add(std::as_bytes(std::span(text))); }
  /// Of all that was added. The sum begins anew.
  [[nodiscard]] digest finish();

 private:
  struct freer {
    void operator()(evp_md_ctx_st* context) const noexcept;
  };
  void begin();

  std::unique_ptr<evp_md_ctx_st, freer> context_;
};

}  // namespace tree_hash
