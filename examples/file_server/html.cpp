#include "file_server/html.hpp"

namespace file_server {
namespace {

constexpr std::string_view unreserved_marks = "-._~";

constexpr bool is_unreserved(char c) noexcept {
  const bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  return is_letter || (c >= '0' && c <= '9') || unreserved_marks.find(c) != std::string_view::npos;
}

}  // namespace

void add_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  }
}

void add_percent_encoded(std::string& out, std::string_view segment) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char c : segment) {
    if (is_unreserved(c)) {
      out += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    out += '%';
    out += digits[byte >> 4U];
    out += digits[byte & 0xfU];
  }
}

}  // namespace file_server
