// The lines of one field with a list as its value.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace file_server {

/// RFC 9110 §5.3: a list may come in several lines, which mean the same as one line joined by commas. The
/// first four lines are kept. Later lines are ignored: a condition that needs them does not hold.
class field_lines {
 public:
  static constexpr std::size_t most = 4;

  void add(std::string_view value) noexcept {
    if (kept_ < most) lines_[kept_++] = value;
  }

  [[nodiscard]] bool is_absent() const noexcept { return kept_ == 0; }
  [[nodiscard]] std::span<const std::string_view> lines() const noexcept {
    return std::span(lines_).first(kept_);
  }

  bool operator==(const field_lines& other) const noexcept {
    return std::ranges::equal(lines(), other.lines());
  }

 private:
  std::array<std::string_view, most> lines_{};
  std::uint32_t kept_ = 0;
};

constexpr char small_letter(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Returns true if `text` equals `small` without regard to case. `small` must be in lower case.
constexpr bool is_word(std::string_view text, std::string_view small) noexcept {
  return std::ranges::equal(text, small, {}, small_letter);
}

/// Returns `text` without spaces and tabs at both ends.
constexpr std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// Removes and returns the part of `text` before the next `mark`. After the last part `text` is empty.
constexpr std::string_view take_until(std::string_view& text, char mark) noexcept {
  const std::string_view front = text.substr(0, text.find(mark));
  text.remove_prefix(std::min(text.size(), front.size() + 1));
  return front;
}

}  // namespace file_server
