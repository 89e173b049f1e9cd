#include "file_server/entity_tag.hpp"

#include <charconv>

namespace file_server {
namespace {

/// Returns true for etagc: every printable character except the quote, and every byte beyond ASCII. There is
/// no escape.
constexpr bool may_stand_in_tag(char c) noexcept {
  const auto byte = static_cast<unsigned char>(c);
  return byte == 0x21 || (byte >= 0x23 && byte != 0x7f);
}

struct listed_tag {
  std::string_view opaque{};  // with its quotes; empty: no tag
  bool is_weak = false;
};

/// Takes a tag off the front of `text`.
listed_tag take_tag(std::string_view& text) noexcept {
  listed_tag out;
  out.is_weak = text.starts_with("W/");
  if (out.is_weak) text.remove_prefix(2);
  if (!text.starts_with('"')) return {};
  std::size_t end = 1;
  while (end < text.size() && may_stand_in_tag(text[end])) ++end;
  if (end == text.size() || text[end] != '"') return {};
  out.opaque = text.substr(0, end + 1);
  text.remove_prefix(end + 1);
  return out;
}

bool line_lists(std::string_view line, std::string_view tag, comparison how) noexcept {
  for (;;) {
    // RFC 9110 §5.6.1: empty elements are skipped.
    const std::size_t next = line.find_first_not_of(" \t,");
    if (next == std::string_view::npos) return false;
    line.remove_prefix(next);
    const listed_tag one = take_tag(line);
    if (one.opaque == tag && !(one.is_weak && how == comparison::strong)) return true;
    const std::size_t behind = line.find_first_not_of(" \t");
    if (one.opaque.empty() || behind == std::string_view::npos || line[behind] != ',') return false;
  }
}

}  // namespace

entity_tag::entity_tag(const file_identity& file, coding c) noexcept {
  char* to = text_.data();
  char* const end = to + text_.size();
  const auto number = [&](std::uint64_t n) { to = std::to_chars(to, end, n, 16).ptr; };
  *to++ = '"';
  number(file.inode);
  *to++ = '-';
  number(file.size);
  *to++ = '-';
  number(static_cast<std::uint64_t>(file.modified));
  *to++ = '.';
  number(file.modified_nanoseconds);
  to += tag_suffix(c).copy(to, static_cast<std::size_t>(end - to));
  *to++ = '"';
  size_ = static_cast<std::size_t>(to - text_.data());
}

bool lists(const field_lines& field, std::string_view tag, comparison how) noexcept {
  const auto lines = field.lines();
  if (lines.size() == 1 && lines[0] == "*") return true;
  return std::ranges::any_of(lines, [&](std::string_view line) { return line_lists(line, tag, how); });
}

}  // namespace file_server
