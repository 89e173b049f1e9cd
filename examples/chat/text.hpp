// What may be said, and what may be a name.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace chat {

/// Without control characters (C0, DEL, C1), so that nobody can speak to the others' terminals; a tab becomes a space, a byte that is
/// no UTF-8 U+FFFD. No spaces at its ends.
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

/// Of nicks and rooms: a letter, then letters, digits, - and _. ASCII, so that no two names look the same.
name_fault check_name(std::string_view name) noexcept;
[[nodiscard]] std::string describe(name_fault fault);
/// Names that are the same but for capitals are the same.
[[nodiscard]] std::string folded(std::string_view name);

}  // namespace chat
