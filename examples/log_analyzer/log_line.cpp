#include "log_analyzer/log_line.hpp"

#include <charconv>
#include <cstring>

namespace log_analyzer {
namespace {

/// Removes the text before `end`, and `end`, from the front of `rest`. Returns false if there is no `end`.
bool cut(std::string_view& rest, char end, std::string_view& into) noexcept {
  const void* const at = rest.empty() ? nullptr : std::memchr(rest.data(), end, rest.size());
  if (at == nullptr) return false;
  const auto length = static_cast<std::size_t>(static_cast<const char*>(at) - rest.data());
  into = rest.substr(0, length);
  rest.remove_prefix(length + 1);
  return true;
}

bool skip(std::string_view& rest, char wanted) noexcept {
  if (rest.empty() || rest.front() != wanted) return false;
  rest.remove_prefix(1);
  return true;
}

/// Skips a quoted text. Quotes and backslashes in it are escaped by a backslash.
bool skip_quoted(std::string_view& rest) noexcept {
  if (!skip(rest, '"')) return false;
  std::string_view part;
  for (;;) {
    if (!cut(rest, '"', part)) return false;
    std::size_t slashes = 0;
    while (slashes < part.size() && part[part.size() - 1 - slashes] == '\\') ++slashes;
    if (slashes % 2 == 0) return true;
  }
}

template <class Number>
bool take_number(std::string_view& rest, Number& into) noexcept {
  const auto [end, failed] = std::from_chars(rest.data(), rest.data() + rest.size(), into);
  if (failed != std::errc()) return false;
  rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
  return true;
}

}  // namespace

bool parse(std::string_view line, request& into) noexcept {
  std::string_view ignored;
  if (!cut(line, ' ', into.client) || into.client.empty()) return false;
  if (!cut(line, ' ', ignored) || !cut(line, '[', ignored) || !cut(line, ']', ignored)) return false;
  if (!skip(line, ' ') || !skip_quoted(line) || !skip(line, ' ')) return false;
  if (!take_number(line, into.status) || into.status < 100 || into.status > 999 || !skip(line, ' '))
    return false;
  // "-" means that no bytes were sent.
  into.bytes = 0;
  if (!skip(line, '-') && !take_number(line, into.bytes)) return false;
  return line.empty() || line.front() == ' ';
}

}  // namespace log_analyzer
