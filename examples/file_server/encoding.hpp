// The content codings that a client accepts: Accept-Encoding, RFC 9110 §12.5.3.
#pragma once

#include <cstdint>
#include <string_view>

#include "file_server/field_lines.hpp"

namespace file_server {

enum class coding : std::uint8_t { identity, gzip, br };

/// Returns the name for Content-Encoding.
[[nodiscard]] constexpr std::string_view coding_name(coding c) noexcept {
  return c == coding::br ? "br" : c == coding::gzip ? "gzip" : "identity";
}

/// Returns the file name suffix of a precompressed file.
[[nodiscard]] constexpr std::string_view file_suffix(coding c) noexcept {
  return c == coding::br ? ".br" : c == coding::gzip ? ".gz" : "";
}

[[nodiscard]] constexpr std::string_view tag_suffix(coding c) noexcept {
  return c == coding::br ? "-br" : c == coding::gzip ? "-gz" : "";
}

/// The weight of each coding in thousandths; 0: not acceptable. The default is that of a request without the
/// field: any coding is acceptable, and the server sends the plain file.
struct accepted_codings {
  std::uint16_t identity = 1000;
  std::uint16_t gzip = 0;
  std::uint16_t br = 0;

  [[nodiscard]] constexpr std::uint16_t of(coding c) const noexcept {
    return c == coding::br ? br : c == coding::gzip ? gzip : identity;
  }
  bool operator==(const accepted_codings&) const = default;
};

/// Parses the field. A malformed element counts as absent. If `identity` is not named, it is acceptable, but
/// less than every named coding.
[[nodiscard]] accepted_codings read_accept_encoding(const field_lines& field) noexcept;

}  // namespace file_server
