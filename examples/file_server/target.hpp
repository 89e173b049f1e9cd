// From the request target to a relative path that cannot leave the served directory.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "file_server/status.hpp"

namespace file_server {

struct target_parts {
  std::string_view path;       // "/" where the target has none
  std::string_view query;      // without '?'
  std::string_view authority;  // host[:port] of an absolute-form target; empty for origin-form
};

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;

/// Returns true for a byte that is not allowed in a path: below blank, or DEL.
[[nodiscard]] constexpr bool is_control(char c) noexcept {
  return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
}

/// The scheme that the client speaks, with which an absolute-form target must begin.
enum class scheme : std::uint8_t { http, https };

/// Splits an origin-form ("/a?b") or absolute-form ("http://host/a?b") target. GET and HEAD allow no other
/// form.
[[nodiscard]] std::optional<target_parts> split_target(std::string_view target,
                                                       scheme spoken = scheme::http) noexcept;

/// Returns true for uri-host [":" port] of RFC 9110 §7.2. An empty text is well formed.
[[nodiscard]] bool is_authority(std::string_view text) noexcept;

/// A decoded path, relative, without empty segments and without any segment that begins with a dot.
///
/// Failure  bad_request: not a well-formed path (bad percent, control character, backslash, not UTF-8).
///          not_found: well formed, but never the name of a file that is served (a dot segment or dot-file,
///          an empty segment, an encoded slash or backslash, longer than the kernel accepts).
class safe_path {
 public:
  static constexpr std::size_t longest = 4095;  // PATH_MAX without the terminator
  static constexpr std::string_view index_name = "index.html";

  safe_path() noexcept { bytes_[0] = '\0'; }

  /// Decodes the path of a target, which begins with '/'. A trailing slash stands for index.html.
  [[nodiscard]] status assign(std::string_view encoded) noexcept;

  /// Turns the name of a directory into the name of its index file.
  [[nodiscard]] status append_index() noexcept;

  /// Appends the end of a file name, such as ".gz". resize() removes it again.
  [[nodiscard]] status append_suffix(std::string_view text) noexcept { return append(text); }
  void resize(std::size_t size) noexcept {
    size_ = size;
    bytes_[size_] = '\0';
  }

  [[nodiscard]] const char* c_str() const noexcept { return bytes_.data(); }
  [[nodiscard]] std::string_view view() const noexcept { return {bytes_.data(), size_}; }

 private:
  [[nodiscard]] status decode(std::string_view encoded) noexcept;
  [[nodiscard]] status append(std::string_view text) noexcept;
  [[nodiscard]] status too_long() noexcept;

  std::array<char, longest + 1> bytes_;
  std::size_t size_ = 0;
};

}  // namespace file_server
