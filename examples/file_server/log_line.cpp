#include "file_server/log_line.hpp"

#include "file_server/http_date.hpp"
#include "file_server/text_writer.hpp"

namespace file_server {
namespace {

constexpr bool is_safe(char c) noexcept { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; }

void add_escaped(text_writer& w, std::string_view text) noexcept {
  constexpr std::string_view digits = "0123456789ABCDEF";
  while (!text.empty()) {
    std::size_t safe = 0;
    while (safe < text.size() && is_safe(text[safe])) ++safe;
    w.add(text.substr(0, safe));
    text.remove_prefix(safe);
    if (text.empty()) break;
    const auto byte = static_cast<unsigned char>(text.front());
    const char escaped[] = {'\\', 'x', digits[byte >> 4U], digits[byte & 0xfU]};
    w.add(std::string_view(escaped, sizeof escaped));
    text.remove_prefix(1);
  }
}

/// Turns "Fri, 20 Nov 2026 08:49:37 GMT" into "20/Nov/2026:08:49:37 +0000".
void add_time(text_writer& w, std::int64_t time) noexcept {
  const auto date = http_date(time);
  const std::string_view text(date.data(), date.size());
  w.add(text.substr(5, 2));
  w.add("/");
  w.add(text.substr(8, 3));
  w.add("/");
  w.add(text.substr(12, 4));
  w.add(":");
  w.add(text.substr(17, 8));
  w.add(" +0000");
}

}  // namespace

std::size_t write_log_line(std::span<char, log_line_capacity> out, const log_entry& e) noexcept {
  text_writer w(out);
  w.add(e.client.empty() ? "-" : e.client.substr(0, 64));
  w.add(" - - [");
  add_time(w, e.time);
  w.add("] \"");
  add_escaped(w, e.request_line.empty() ? "-" : e.request_line.substr(0, longest_logged_request));
  if (e.request_line.size() > longest_logged_request) w.add("...");
  w.add("\" ");
  w.add(std::uint64_t{code_of(e.code)});
  w.add(" ");
  w.add(e.bytes);
  w.add("\n");
  return w.size();
}

}  // namespace file_server
