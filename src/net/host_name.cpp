#include "net/host_name.hpp"

#include <algorithm>
#include <cstddef>

namespace rota::net::detail {

namespace {

constexpr std::size_t longest_label = 63;
constexpr std::size_t longest_name = 253;

std::string_view without_root(std::string_view host) noexcept {
  if (host.ends_with('.')) host.remove_suffix(1);
  return host;
}

std::string_view last_label(std::string_view host) noexcept {
  host = without_root(host);
  return host.substr(host.rfind('.') + 1);  // npos + 1 is 0: there is one label
}

// The functions of <cctype> follow the locale.
constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr char lowered(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}
constexpr bool is_hexadecimal_digit(char c) noexcept {
  return is_digit(c) || (lowered(c) >= 'a' && lowered(c) <= 'f');
}

}  // namespace

bool is_well_formed(std::string_view host) noexcept {
  host = without_root(host);
  if (host.size() > longest_name || host.find('\0') != std::string_view::npos) return false;
  for (;;) {
    const std::size_t dot = std::min(host.find('.'), host.size());
    if (dot == 0 || dot > longest_label) return false;
    if (dot == host.size()) return true;
    host.remove_prefix(dot + 1);
  }
}

bool is_plain_name(std::string_view name) noexcept {
  const auto is_plain = [](char c) {
    return is_digit(c) || (lowered(c) >= 'a' && lowered(c) <= 'z') || c == '-' || c == '_' || c == '.';
  };
  return is_well_formed(name) && std::ranges::all_of(name, is_plain);
}

bool ends_in_a_number(std::string_view host) noexcept {
  std::string_view label = last_label(host);
  if (label.size() >= 2 && label.front() == '0' && lowered(label[1]) == 'x') {
    label.remove_prefix(2);
    return std::ranges::all_of(label, is_hexadecimal_digit);
  }
  return !label.empty() && std::ranges::all_of(label, is_digit);
}

bool is_localhost(std::string_view host) noexcept {
  return std::ranges::equal(last_label(host), std::string_view("localhost"), {}, lowered);
}

}  // namespace rota::net::detail
