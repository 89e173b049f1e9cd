// Cleans text, and checks names.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chat {

/// Removes control characters (C0, DEL, C1), so that no client can send escape sequences to the terminal of
/// another. Replaces a tab by a space, and a byte that is not UTF-8 by U+FFFD. Removes spaces at both ends.
[[nodiscard]] std::string cleaned(std::string_view text);
[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;

inline constexpr std::size_t longest_name = 20;

enum class [[nodiscard]] name_fault : unsigned char {
  none,
  empty,
  too_long,
  begins_badly,
  has_bad_characters
};

/// Checks the name of a nick or a room: a letter, then letters, digits, - and _. Only ASCII, so that no two
/// names look the same.
name_fault check_name(std::string_view name) noexcept;
[[nodiscard]] std::string describe(name_fault fault);
/// Folds case: names that differ only in case are equal.
[[nodiscard]] std::string folded(std::string_view name);

}  // namespace chat
