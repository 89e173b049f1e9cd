#include "file_server/byte_ranges.hpp"

#include <algorithm>
#include <limits>
#include <optional>

#include "file_server/field_lines.hpp"

namespace file_server {
namespace {

/// Parses 1*DIGIT. A number that is too large becomes the largest position, which is behind the end of any
/// file.
std::optional<std::uint64_t> read_position(std::string_view digits) noexcept {
  constexpr std::uint64_t largest = std::numeric_limits<std::uint64_t>::max();
  if (digits.empty()) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : digits) {
    if (c < '0' || c > '9') return std::nullopt;
    const auto digit = static_cast<std::uint64_t>(c - '0');
    value = value > (largest - digit) / 10 ? largest : value * 10 + digit;
  }
  return value;
}

enum class element : std::uint8_t { malformed, unsatisfiable, satisfiable, everything_of_nothing };

element read_suffix(std::string_view digits, std::uint64_t size, byte_range& into) noexcept {
  const auto length = read_position(digits);
  if (!length) return element::malformed;
  if (*length == 0) return element::unsatisfiable;
  if (size == 0) return element::everything_of_nothing;
  into.size = std::min(*length, size);
  into.first = size - into.size;
  return element::satisfiable;
}

element read_range(std::string_view text, std::uint64_t size, byte_range& into) noexcept {
  const std::size_t dash = text.find('-');
  if (dash == std::string_view::npos) return element::malformed;
  if (dash == 0) return read_suffix(text.substr(1), size, into);
  const auto first = read_position(text.substr(0, dash));
  const std::string_view behind = text.substr(dash + 1);
  const auto last = behind.empty() ? std::numeric_limits<std::uint64_t>::max() : read_position(behind);
  if (!first || !last || *last < *first) return element::malformed;
  if (*first >= size) return element::unsatisfiable;
  into.first = *first;
  into.size = std::min(*last, size - 1) - *first + 1;
  return element::satisfiable;
}

}  // namespace

bool byte_ranges::overlap() const noexcept {
  std::array<byte_range, most> sorted = items_;
  const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(count_);
  std::sort(sorted.begin(), end, [](const byte_range& a, const byte_range& b) { return a.first < b.first; });
  return std::adjacent_find(sorted.begin(), end, [](const byte_range& a, const byte_range& b) {
           return a.last() >= b.first;
         }) != end;
}

range_verdict select_ranges(std::string_view field, std::uint64_t size, byte_ranges& into) noexcept {
  into.clear();
  const bool has_unit = field.find('=') != std::string_view::npos;
  if (!has_unit || !is_word(take_until(field, '='), "bytes")) return range_verdict::whole;
  std::size_t seen = 0;
  while (!field.empty()) {
    const std::string_view text = trimmed(take_until(field, ','));
    if (text.empty()) continue;  // §5.6.1: an empty element
    byte_range one;
    const element what = read_range(text, size, one);
    if (what == element::malformed || what == element::everything_of_nothing) return range_verdict::whole;
    if (++seen > byte_ranges::most) return range_verdict::whole;
    if (what == element::satisfiable) into.add(one);
  }
  if (seen == 0 || into.overlap()) return range_verdict::whole;
  return into.items().empty() ? range_verdict::unsatisfiable : range_verdict::partial;
}

}  // namespace file_server
