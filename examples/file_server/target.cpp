#include "file_server/target.hpp"

#include <algorithm>

namespace file_server {
namespace {

constexpr int hex_value(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

constexpr bool is_alnum(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool is_reg_name_char(char c) noexcept {
  constexpr std::string_view others = "-._~!$&'()*+,;=";
  return is_alnum(c) || others.find(c) != std::string_view::npos;
}

bool is_reg_name(std::string_view text) noexcept {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (is_reg_name_char(text[i])) continue;
    if (text[i] != '%' || i + 2 >= text.size()) return false;
    if (hex_value(text[i + 1]) < 0 || hex_value(text[i + 2]) < 0) return false;
    i += 2;
  }
  return true;
}

bool is_ip_literal(std::string_view text) noexcept {
  if (text.size() < 4 || text.front() != '[' || text.back() != ']') return false;
  const std::string_view inside = text.substr(1, text.size() - 2);
  return std::all_of(
      inside.begin(), inside.end(), [](char c) { return hex_value(c) >= 0 || c == ':' || c == '.'; });
}

bool is_port(std::string_view text) noexcept {
  return text.size() <= 5 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

target_parts parts_of(std::string_view path_and_query) noexcept {
  const std::size_t mark = path_and_query.find('?');
  target_parts out{path_and_query.substr(0, mark), {}, {}};
  if (mark != std::string_view::npos) out.query = path_and_query.substr(mark + 1);
  if (out.path.empty()) out.path = "/";
  return out;
}

bool begins_with(std::string_view target, std::string_view prefix) noexcept {
  return target.size() >= prefix.size() &&
         std::equal(
             prefix.begin(), prefix.end(), target.begin(), [](char a, char b) { return a == lower(b); });
}

/// Returns the length of the well-formed UTF-8 sequence at the front of `text`; 0 if there is none.
std::size_t sequence_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool overlong = first == 0xe0 && second < 0xa0;
    const bool surrogate = first == 0xed && second > 0x9f;
    return tail(1) && tail(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool overlong = first == 0xf0 && second < 0x90;
    const bool beyond = first == 0xf4 && second > 0x8f;
    return tail(1) && tail(2) && tail(3) && !overlong && !beyond ? 4 : 0;
  }
  return 0;
}

/// Returns true if no segment is empty or begins with a dot. The empty path, which is the root itself, has no
/// segment.
bool is_served_name(std::string_view path) noexcept {
  char before = '/';
  for (const char c : path) {
    if (before == '/' && (c == '/' || c == '.')) return false;
    before = c;
  }
  return true;
}

}  // namespace

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const std::size_t length = sequence_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::optional<target_parts> split_target(std::string_view target, scheme spoken) noexcept {
  if (target.starts_with('/')) return parts_of(target);
  const std::string_view prefix = spoken == scheme::http ? "http://" : "https://";
  if (!begins_with(target, prefix)) return std::nullopt;
  target.remove_prefix(prefix.size());
  const std::string_view authority = target.substr(0, target.find_first_of("/?"));
  if (authority.empty() || authority.starts_with(':') || !is_authority(authority)) return std::nullopt;
  target_parts out = parts_of(target.substr(authority.size()));
  out.authority = authority;
  return out;
}

bool is_authority(std::string_view text) noexcept {
  const std::size_t bracket = text.rfind(']');
  const std::size_t colon = text.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view host = text.substr(0, colon);
  if (colon != std::string_view::npos && !is_port(text.substr(colon + 1))) return false;
  return host.starts_with('[') ? is_ip_literal(host) : is_reg_name(host);
}

status safe_path::assign(std::string_view encoded) noexcept {
  size_ = 0;
  if (!encoded.starts_with('/')) return status::bad_request;
  const status decoded = decode(encoded.substr(1));
  bytes_[size_] = '\0';
  if (decoded == status::bad_request) return decoded;
  if (!is_utf8(view())) return status::bad_request;
  if (decoded != status::ok || !is_served_name(view())) return status::not_found;
  if (size_ != 0 && bytes_[size_ - 1] != '/') return status::ok;
  return append(index_name);
}

status safe_path::append_index() noexcept {
  const status slash = append("/");
  return slash == status::ok ? append(index_name) : slash;
}

status safe_path::decode(std::string_view encoded) noexcept {
  status result = status::ok;
  for (std::size_t i = 0; i < encoded.size(); ++i) {
    char c = encoded[i];
    if (c == '\\' || static_cast<unsigned char>(c) >= 0x80) return status::bad_request;
    if (c == '%') {
      if (i + 2 >= encoded.size()) return status::bad_request;
      const int high = hex_value(encoded[i + 1]);
      const int low = hex_value(encoded[i + 2]);
      if (high < 0 || low < 0) return status::bad_request;
      c = static_cast<char>(high * 16 + low);
      i += 2;
      if (c == '/' || c == '\\') result = status::not_found;
    }
    if (is_control(c)) return status::bad_request;
    if (size_ == longest) return too_long();
    bytes_[size_++] = c;
  }
  return result;
}

status safe_path::too_long() noexcept {
  size_ = 0;  // a truncated path must not be checked as text
  return status::not_found;
}

status safe_path::append(std::string_view text) noexcept {
  if (text.size() > longest - size_) return too_long();
  std::copy(text.begin(), text.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(size_));
  size_ += text.size();
  bytes_[size_] = '\0';
  return status::ok;
}

}  // namespace file_server
