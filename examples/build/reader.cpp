#include "build/reader.hpp"

#include <algorithm>

namespace build {
namespace {

bool is_in_name(char c, bool with_dots) noexcept {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
  return is_letter || c == '_' || c == '-' || (with_dots && c == '.');
}

void add(text& to, char c) {
  if (to.empty() || to.back().is_variable) to.push_back({.is_variable = false, .text = {}});
  to.back().text += c;
}

std::string shown(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(c);
  if (code >= 0x20 && code < 0x7F) return std::string("'") + c + "'";
  return std::string("byte 0x") + digits[code / 16] + digits[code % 16];
}

}  // namespace

bool reader::is_end_of_line() const noexcept {
  return rest_.empty() || rest_.starts_with('\n') || rest_.starts_with("\r\n");
}

bool reader::take_end_of_line() {
  if (!is_end_of_line()) return false;
  if (rest_.empty()) return true;
  rest_.remove_prefix(rest_.starts_with('\n') ? 1 : 2);
  ++line_;
  return true;
}

void reader::skip_spaces() {
  for (;;) {
    if (rest_.starts_with(' ')) {
      rest_.remove_prefix(1);
    } else if (rest_.starts_with("$\n") || rest_.starts_with("$\r\n")) {
      rest_.remove_prefix(1);
      static_cast<void>(take_end_of_line());
    } else {
      return;
    }
  }
}

void reader::skip_to_next_line() {
  rest_.remove_prefix(std::min(rest_.find('\n'), rest_.size()));
  static_cast<void>(take_end_of_line());
}

unsigned reader::next_line() {
  for (;;) {
    const std::size_t spaces = std::min(rest_.find_first_not_of(' '), rest_.size());
    rest_.remove_prefix(spaces);
    if (rest_.empty()) return 0;
    if (rest_.front() == '\t') refuse("a tab: lines are indented with spaces");
    if (rest_.front() == '#') {
      skip_to_next_line();
    } else if (!take_end_of_line()) {
      return static_cast<unsigned>(spaces);
    }
  }
}

bool reader::next_indented_line() {
  const reader before = *this;
  if (next_line() != 0) return true;
  *this = before;
  return false;
}

std::string reader::read_name(bool with_dots) {
  const auto* const end =
      std::find_if_not(rest_.begin(), rest_.end(), [&](char c) { return is_in_name(c, with_dots); });
  std::string out(rest_.begin(), end);
  rest_.remove_prefix(out.size());
  return out;
}

std::string reader::word(const char* what) {
  std::string out = read_name(true);
  if (out.empty()) refuse(std::string("expected ") + what);
  skip_spaces();
  return out;
}

void reader::read_escape(text& to) {
  rest_.remove_prefix(1);
  if (rest_.empty()) refuse("a '$' at the end of the file");
  const char c = rest_.front();
  if (c == '$' || c == ' ' || c == ':') {
    add(to, c);
    rest_.remove_prefix(1);
  } else if (take_end_of_line()) {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
  } else {
    const bool in_braces = c == '{';
    if (in_braces) rest_.remove_prefix(1);
    std::string name = read_name(in_braces);
    if (name.empty()) refuse("bad '$' escape: $$, $: and '$ ' are literal, $name and ${name} are variables");
    if (in_braces) {
      if (!rest_.starts_with('}')) refuse("'${" + name + "' without '}'");
      rest_.remove_prefix(1);
    }
    to.push_back({.is_variable = true, .text = std::move(name)});
  }
}

text reader::read(std::string_view ends) {
  text out;
  while (!is_end_of_line() && !ends.contains(rest_.front())) {
    const char c = rest_.front();
    if (c == '$') {
      read_escape(out);
      continue;
    }
    if (c == '\0') refuse("a zero byte");
    add(out, c);
    rest_.remove_prefix(1);
  }
  return out;
}

text reader::path() {
  text out = read(" :|");
  skip_spaces();
  return out;
}

text reader::value() {
  text out = read("");
  static_cast<void>(take_end_of_line());
  return out;
}

bool reader::take(std::string_view what) {
  if (!rest_.starts_with(what)) return false;
  rest_.remove_prefix(what.size());
  skip_spaces();
  return true;
}

void reader::demand(std::string_view what) {
  if (!take(what)) refuse("expected '" + std::string(what) + "'");
}

void reader::end_of_line() {
  if (!take_end_of_line()) refuse("expected the end of the line, not " + shown(rest_.front()));
}

}  // namespace build
