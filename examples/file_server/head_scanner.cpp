#include "file_server/head_scanner.hpp"

#include <algorithm>
#include <array>

namespace file_server {
namespace {

/// Printable ASCII without the delimiters of RFC 3986, which never belong to a target, in particular '#'.
constexpr std::array<bool, 256> target_bytes = [] {
  std::array<bool, 256> allowed{};
  for (std::size_t c = 0x21; c < 0x7f; ++c) allowed[c] = true;
  for (const char c : {'"', '#', '<', '>'}) allowed[static_cast<unsigned char>(c)] = false;
  return allowed;
}();

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

}  // namespace

status check_request_line(std::string_view line) noexcept {
  constexpr std::string_view name = "HTTP/";
  const std::size_t space = line.rfind(' ');
  if (space == std::string_view::npos) return status::bad_request;
  const std::string_view version = line.substr(space + 1);
  if (version.size() != 8 || !version.starts_with(name)) return status::bad_request;
  if (!is_digit(version[5]) || version[6] != '.' || !is_digit(version[7])) return status::bad_request;

  const std::string_view front = line.substr(0, space);
  const std::size_t gap = front.find(' ');
  if (gap == 0 || gap == std::string_view::npos || gap + 1 == front.size()) return status::bad_request;
  const std::string_view target = front.substr(gap + 1);
  const auto allowed = [](char c) { return target_bytes[static_cast<unsigned char>(c)]; };
  if (!std::all_of(target.begin(), target.end(), allowed)) return status::bad_request;
  if (version[5] != '1' || version[7] > '1') return status::version_not_supported;
  return status::ok;
}

head_scanner::result head_scanner::scan(std::string_view input) noexcept {
  if (phase_ == phase::empty_line) {
    const result skipped = skip_empty_line(input);
    if (phase_ == phase::empty_line) return skipped;
  }
  for (;;) {
    const std::size_t end = std::min(input.size(), window_end());
    const std::size_t feed = input.substr(0, end).find('\n', scanned_);
    if (feed == std::string_view::npos) {
      scanned_ = end;
      if (input.size() >= window_end()) return {found::error, over_limit()};
      return {found::need_more, status::ok};
    }
    if (feed == line_ || input[feed - 1] != '\r') return {found::error, status::bad_request};
    const std::string_view line = input.substr(line_, feed - 1 - line_);
    line_ = scanned_ = feed + 1;
    const result taken = take_line(line);
    if (taken.what != found::need_more) return taken;
  }
}

/// RFC 9112 §2.2: skips one empty line before a request, for old clients.
head_scanner::result head_scanner::skip_empty_line(std::string_view input) noexcept {
  if (input.empty() || input == "\r") return {found::need_more, status::ok};
  if (input.starts_with("\r\n")) first_ = line_ = scanned_ = 2;
  phase_ = phase::request_line;
  return {found::need_more, status::ok};
}

head_scanner::result head_scanner::take_line(std::string_view line) noexcept {
  if (phase_ == phase::field_lines) return take_field_line(line);
  const status judged = check_request_line(line);
  if (judged != status::ok) return {found::error, judged};
  phase_ = phase::field_lines;
  fields_ = line_;
  return {found::need_more, status::ok};
}

head_scanner::result head_scanner::take_field_line(std::string_view line) noexcept {
  if (line.empty()) return {found::head, status::ok};
  if (line.front() == ' ' || line.front() == '\t') return {found::error, status::bad_request};  // obs-fold
  if (count_ == limits_.header_fields) return {found::error, status::fields_too_large};
  ++count_;
  return {found::need_more, status::ok};
}

/// Returns the position before which the line feed of the current line must stand.
std::size_t head_scanner::window_end() const noexcept {
  if (phase_ == phase::field_lines) return fields_ + limits_.header_bytes;
  return first_ + limits_.request_line + 2;
}

status head_scanner::over_limit() const noexcept {
  return phase_ == phase::field_lines ? status::fields_too_large : status::uri_too_long;
}

}  // namespace file_server
