// Parses values of single fields, and writes bytes that a client chose. The first byte chooses which.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "file_server/byte_ranges.hpp"
#include "file_server/encoding.hpp"
#include "file_server/entity_tag.hpp"
#include "file_server/html.hpp"
#include "file_server/http_date.hpp"
#include "file_server/log_line.hpp"
#include "file_server/target.hpp"
#include "fuzz.hpp"

namespace {

using namespace file_server;
using fuzz::check;

constexpr std::int64_t now = 1'795'000'000;

field_lines one_line(std::string_view text) {
  field_lines out;
  out.add(text);
  return out;
}

/// A date that was parsed is written and parsed again.
void a_date(std::string_view text) {
  const auto time = parse_http_date(text, now);
  if (!time || *time < 0 || *time > 253'402'300'799) return;
  const auto written = http_date(*time);
  check(parse_http_date({written.data(), written.size()}, now) == time, "a date means what is written of it");
}

std::string written(const byte_ranges& ranges) {
  std::string out = "bytes=";
  for (const byte_range& r : ranges.items()) {
    out += std::to_string(r.first) + "-" + std::to_string(r.last()) + ",";
  }
  return out;
}

void a_range(std::string_view text, std::uint64_t size) {
  byte_ranges ranges;
  const range_verdict what = select_ranges(text, size, ranges);
  if (what != range_verdict::partial) return;
  check(!ranges.items().empty(), "a part has a range");
  for (const byte_range& r : ranges.items()) {
    check(r.size != 0 && r.first < size && r.size <= size - r.first, "a range lies in the file");
  }
  for (const byte_range& a : ranges.items()) {
    const auto meets = [&](const byte_range& b) { return a.first <= b.last() && b.first <= a.last(); };
    check(std::ranges::count_if(ranges.items(), meets) == 1, "no two ranges overlap");
  }
  byte_ranges again;
  check(select_ranges(written(ranges), size, again) == range_verdict::partial,
        "ranges mean what is written of them");
  check(std::ranges::equal(ranges.items(), again.items()), "and the same ones");
}

void a_list_of_tags(std::string_view text) {
  constexpr std::string_view tag = "\"a,b\"";
  const field_lines field = one_line(text);
  const bool weak = lists(field, tag, comparison::weak);
  if (lists(field, tag, comparison::strong)) check(weak, "what is equal is also weakly equal");
  if (weak) check(text == "*" || text.find(tag) != std::string_view::npos, "a tag stands in its list");
  if (text != "*" && !text.starts_with('"') && !text.starts_with("W/")) {
    const std::string longer = "\"x\" , " + std::string(text);
    check(!weak || lists(one_line(longer), tag, comparison::weak), "a tag more takes none away");
  }
}

/// RFC 9110 §5.3: a list may be cut into lines at its commas.
void a_list_of_codings(std::string_view text) {
  const accepted_codings whole = read_accept_encoding(one_line(text));
  check(std::max({whole.identity, whole.gzip, whole.br}) <= 1000, "a weight is at most one");
  if (std::count(text.begin(), text.end(), ',') >= static_cast<std::ptrdiff_t>(field_lines::most)) return;
  field_lines cut;
  std::string_view rest = text;
  do cut.add(take_until(rest, ','));
  while (!rest.empty());
  check(read_accept_encoding(cut) == whole, "lines mean what they mean joined");
}

void a_line_of_the_log(std::string_view text) {
  std::array<char, log_line_capacity> out;
  const std::size_t size = write_log_line(out, {.client = "::1", .request_line = text, .time = now});
  check(size != 0, "a line has room");
  const std::string_view line(out.data(), size - 1);
  check(out[size - 1] == '\n', "a line ends");
  check(std::ranges::all_of(line, [](char c) { return c >= 0x20 && c < 0x7f; }), "a line is printable");
  check(std::ranges::count(line, '"') == 2, "a request is between its quotes");
}

void a_name_on_a_page(std::string_view text) {
  std::string escaped;
  add_escaped(escaped, text);
  check(escaped.find_first_of("<>\"'") == std::string::npos, "nothing ends a text or an attribute");
  std::string link = "/";
  add_percent_encoded(link, text);
  safe_path path;
  if (path.assign(link) == status::ok && !text.empty())
    check(path.view() == text, "a link leads to its name");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::text_of(data, size);
  const std::string_view kind = fuzz::take(text, 1);
  if (kind.empty()) return 0;
  switch (static_cast<unsigned char>(kind[0]) % 8U) {
    case 0: a_date(text); break;
    case 1: a_range(text, 10); break;
    case 2: a_range(text, 0x7fffffffffffffff); break;
    case 3: a_list_of_tags(text); break;
    case 4: a_list_of_codings(text); break;
    case 5: a_line_of_the_log(text); break;
    case 6: a_name_on_a_page(text); break;
    default: a_range(text, 0); break;
  }
  return 0;
}
