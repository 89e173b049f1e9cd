#include "chat/text.hpp"

#include <algorithm>
#include <cstdint>

namespace chat {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool may_follow(char c) noexcept { return is_letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_'; }

struct character {
  std::size_t bytes;  // 0: not well-formed UTF-8
  std::uint32_t code = 0;
};

constexpr character none{0};

std::size_t length_by(unsigned char first) noexcept {
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first < 0xE0) return 2;
  if (first >= 0xE0 && first < 0xF0) return 3;
  return first >= 0xF0 && first < 0xF5 ? 4 : 0;
}

bool is_well_chosen(const character& c) noexcept {
  if (c.bytes == 3) return c.code >= 0x800 && (c.code < 0xD800 || c.code > 0xDFFF);
  return c.bytes != 4 || (c.code >= 0x10000 && c.code <= 0x10FFFF);
}

/// Decodes the first character of `text`, which must not be empty.
character decode(std::string_view text) noexcept {
  const auto first = static_cast<unsigned char>(text[0]);
  character c{length_by(first), first};
  if (c.bytes == 0 || c.bytes > text.size()) return none;
  if (c.bytes > 1) c.code &= 0x7FU >> c.bytes;
  for (const char each : text.substr(1, c.bytes - 1)) {
    const auto byte = static_cast<unsigned char>(each);
    if ((byte & 0xC0U) != 0x80U) return none;
    c.code = (c.code << 6U) | (byte & 0x3FU);
  }
  return is_well_chosen(c) ? c : none;
}

bool is_control(std::uint32_t code) noexcept { return code < 0x20 || (code >= 0x7F && code < 0xA0); }

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t first = text.find_first_not_of(' ');
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(' ') - first + 1);
}

std::string cleaned(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const character c = decode(text);
    if (c.bytes == 0) {
      out += replacement;
    } else if (c.code == '\t') {
      out += ' ';
    } else if (!is_control(c.code)) {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(std::max<std::size_t>(c.bytes, 1));
  }
  return std::string(trimmed(out));
}

name_fault check_name(std::string_view name) noexcept {
  if (name.empty()) return name_fault::empty;
  if (name.size() > longest_name) return name_fault::too_long;
  if (!is_letter(name[0])) return name_fault::begins_badly;
  return std::ranges::all_of(name, may_follow) ? name_fault::none : name_fault::has_bad_characters;
}

std::string describe(name_fault fault) {
  switch (fault) {
    case name_fault::none: break;
    case name_fault::empty: return "a name is missing";
    case name_fault::too_long: return "a name has at most " + std::to_string(longest_name) + " characters";
    case name_fault::begins_badly: return "a name begins with a letter, a to z";
    case name_fault::has_bad_characters: return "a name has letters, digits, - and _ only";
  }
  return "it is a good name";
}

std::string folded(std::string_view name) {
  std::string out(name);
  std::ranges::transform(
      out, out.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

}  // namespace chat
