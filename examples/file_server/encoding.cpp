#include "file_server/encoding.hpp"

#include <optional>

namespace file_server {
namespace {

constexpr std::uint16_t whole = 1000;
constexpr std::uint16_t least = 1;  // for a coding that is not named but allowed

/// Parses qvalue = ( "0" [ "." 0*3DIGIT ] ) / ( "1" [ "." 0*3("0") ] ), in thousandths.
std::optional<std::uint16_t> read_quality(std::string_view text) noexcept {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return std::nullopt;
  if (text.size() > 1 && text[1] != '.') return std::nullopt;
  int value = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t at = i == 0 ? 0 : i + 1;
    const char digit = at < text.size() ? text[at] : '0';
    if (digit < '0' || digit > '9') return std::nullopt;
    value = 10 * value + (digit - '0');
  }
  if (value > whole) return std::nullopt;
  return static_cast<std::uint16_t>(value);
}

/// Parses the weight of a coding. Only `;q=...` may follow the coding.
std::optional<std::uint16_t> read_weight(std::string_view parameters) noexcept {
  if (parameters.empty()) return whole;
  const std::string_view name = trimmed(take_until(parameters, '='));
  return is_word(name, "q") ? read_quality(parameters) : std::nullopt;
}

struct named {
  std::optional<std::uint16_t> identity;
  std::optional<std::uint16_t> gzip;
  std::optional<std::uint16_t> br;
  std::optional<std::uint16_t> any;
};

void read_element(std::string_view element, named& into) noexcept {
  const bool has_parameters = element.find(';') != std::string_view::npos;
  const std::string_view name = trimmed(take_until(element, ';'));
  const std::string_view parameters = trimmed(element);
  if (has_parameters && parameters.empty()) return;
  const auto weight = read_weight(parameters);
  if (!weight) return;
  if (is_word(name, "br")) into.br = weight;
  if (is_word(name, "gzip") || is_word(name, "x-gzip")) into.gzip = weight;
  if (is_word(name, "identity")) into.identity = weight;
  if (name == "*") into.any = weight;
}

}  // namespace

accepted_codings read_accept_encoding(const field_lines& field) noexcept {
  if (field.is_absent()) return {};
  named by;
  for (std::string_view line : field.lines()) {
    while (!line.empty()) read_element(trimmed(take_until(line, ',')), by);
  }
  return {.identity = by.identity.value_or(by.any.value_or(least)),
          .gzip = by.gzip.value_or(by.any.value_or(0)),
          .br = by.br.value_or(by.any.value_or(0))};
}

}  // namespace file_server
