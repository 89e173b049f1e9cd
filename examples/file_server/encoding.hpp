// Which content codings a client takes: Accept-Encoding, RFC 9110 §12.5.3.
#pragma once

#include <cstdint>
#include <string_view>

#include "file_server/field_lines.hpp"

namespace file_server {

enum class coding : std::uint8_t { identity, gzip, br };

/// For Content-Encoding.
[[nodiscard]] constexpr std::string_view coding_name(coding c) noexcept {
  return c == coding::br ? "br" : c == coding::gzip ? "gzip" : "identity";
}

/// What the name of a precompressed file ends with.
[[nodiscard]] constexpr std::string_view file_suffix(coding c) noexcept {
  return c == coding::br ? ".br" : c == coding::gzip ? ".gz" : "";
}

[[nodiscard]] constexpr std::string_view tag_suffix(coding c) noexcept {
  return c == coding::br ? "-br" : c == coding::gzip ? "-gz" : "";
}

/// How much a client wants each coding, in thousandths; 0: not at all. The default is that of a request without the field: "any",
/// of which a server that is asked for nothing gives the plain one.
struct accepted_codings {
  std::uint16_t identity = 1000;
  std::uint16_t gzip = 0;
  std::uint16_t br = 0;

  [[nodiscard]] constexpr std::uint16_t of(coding c) const noexcept {
    return c == coding::br ? br : c == coding::gzip ? gzip : identity;
  }
  bool operator==(const accepted_codings&) const = default;
};

/// An element that is malformed counts as absent. `identity` that is not named is acceptable, but less than all that is.
[[nodiscard]] accepted_codings read_accept_encoding(const field_lines& field) noexcept;

}  // namespace file_server
