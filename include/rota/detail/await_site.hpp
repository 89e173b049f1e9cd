// The place of a co_await: its line, and whether that line belongs to rota.
#pragma once

#include <source_location>
#include <string_view>

namespace rota::core {

/// The place of a co_await, made at compile time. is_in_library() is a constant at each place, so it costs no
/// instruction.
class await_site {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): the default argument of await_transform() is a
  // std::source_location.
  consteval await_site(std::source_location where) noexcept
      : where_(where), is_in_library_(is_in_library(where.file_name())) {}

  [[nodiscard]] constexpr std::source_location location() const noexcept { return where_; }
  /// Returns true in rota's headers and in the sources of its libraries.
  [[nodiscard]] constexpr bool is_in_library() const noexcept { return is_in_library_; }

 private:
#if defined(ROTA_DETAIL_LIBRARY)
  static consteval bool is_in_library(const char* /*file*/) noexcept { return true; }
#else
  /// Returns true if `file` lies in the folder that contains this header's folder. This works because the
  /// compiler found both by the same path.
  static consteval bool is_in_library(const char* file) noexcept {
    constexpr std::string_view own = "/detail/await_site.hpp";
    std::string_view folder = std::source_location::current().file_name();
    if (!folder.ends_with(own)) return false;
    folder.remove_suffix(own.size() - 1);
    return std::string_view(file).starts_with(folder);
  }
#endif

  std::source_location where_;
  bool is_in_library_;
};

}  // namespace rota::core
