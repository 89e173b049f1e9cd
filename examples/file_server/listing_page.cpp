#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>

#include "file_server/html.hpp"
#include "file_server/listing.hpp"

namespace file_server {
namespace {

constexpr std::string_view style = R"(
:root { color-scheme: light dark; --line: rgb(128 128 128 / .25);
  --soft: color-mix(in srgb, currentColor 62%, transparent); }
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.25rem; font-weight: 600; overflow-wrap: anywhere; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .4rem .75rem .4rem 0; text-align: left; border-bottom: 1px solid var(--line); }
th { font-size: .8rem; font-weight: 600; color: var(--soft); }
th:nth-child(n+2), td:nth-child(n+2) { text-align: right; white-space: nowrap; padding-right: 0; padding-left: 1.5rem; }
td:nth-child(n+2), p { color: var(--soft); font-size: .9rem; font-variant-numeric: tabular-nums; }
td:first-child { width: 100%; overflow-wrap: anywhere; }
a { text-decoration: none; }
a:hover, a:focus-visible { text-decoration: underline; }
tbody tr:hover { background: var(--line); }
@media (max-width: 36rem) { th:nth-child(3), td:nth-child(3) { display: none; } }
)";

/// Formats a size: "1023 B", "1.5 KiB", "12 MiB".
std::string size_text(std::uint64_t bytes) {
  constexpr std::array units{"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  std::uint64_t tenths = 10 * (bytes >> 10U) + 10 * (bytes & 1023U) / 1024;
  if (bytes < 1024) return std::to_string(bytes) + " B";
  std::size_t unit = 1;
  for (; tenths >= 10'240; ++unit) tenths /= 1024;
  const std::string number = tenths < 100 ? std::to_string(tenths / 10) + "." + std::to_string(tenths % 10)
                                          : std::to_string(tenths / 10);
  return number + " " + units[unit];
}

/// Formats a time in UTC: "2026-11-20 08:49".
std::string date_text(std::int64_t time) {
  using namespace std::chrono;
  constexpr std::int64_t last_second_of_9999 = 253'402'300'799;
  const sys_seconds when{seconds(std::clamp(time, std::int64_t{0}, last_second_of_9999))};
  const sys_days day = floor<days>(when);
  const year_month_day date{day};
  const hh_mm_ss clock{when - day};
  std::array<char, 48> text{};
  const int size = std::snprintf(text.data(),
                                 text.size(),
                                 "%04d-%02u-%02u %02d:%02d",
                                 int{date.year()},
                                 unsigned{date.month()},
                                 unsigned{date.day()},
                                 static_cast<int>(clock.hours().count()),
                                 static_cast<int>(clock.minutes().count()));
  return {text.data(), static_cast<std::size_t>(size)};
}

void add_row(std::string& out, const listed& e) {
  out += "<tr><td><a href=\"";
  add_percent_encoded(out, e.name);
  if (e.is_folder) out += '/';
  out += "\">";
  add_escaped(out, e.name);
  if (e.is_folder) out += '/';
  out += "</a></td><td>";
  if (!e.is_folder) out += size_text(e.size);
  out += "</td><td>";
  out += date_text(e.modified);
  out += "</td></tr>\n";
}

void add_beginning(std::string& out, std::string_view path) {
  out +=
      "<!doctype html>\n<html lang=\"en\">\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Index of /";
  add_escaped(out, path);
  out += "</title>\n<style>";
  out += style;
  out += "</style>\n<h1>Index of /";
  add_escaped(out, path);
  out +=
      "</h1>\n<table>\n<thead><tr><th scope=\"col\">Name</th><th scope=\"col\">Size</th>"
      "<th scope=\"col\">Modified (UTC)</th></tr></thead>\n<tbody>\n";
  if (!path.empty()) out += "<tr><td><a href=\"../\">../</a></td><td></td><td></td></tr>\n";
}

}  // namespace

std::string to_html(const listing& l, std::string_view path) {
  std::string out;
  add_beginning(out, path);
  for (const listed& e : l.entries) add_row(out, e);
  out += "</tbody>\n</table>\n";
  if (l.entries.empty()) out += "<p>Nothing to show.</p>\n";
  if (l.has_more) {
    out += "<p>There are more: this page shows " + std::to_string(l.entries.size()) + " of them.</p>\n";
  }
  out += "</html>\n";
  return out;
}

}  // namespace file_server
