// The request parser and the path decoder of examples/file_server, with the split oracle: the bytes cut in
// pieces must mean what they mean whole. The pieces are chosen by the first bytes of the input.
#include <string>
#include <string_view>

#include "../unit/file_server/transcript.hpp"
#include "file_server/target.hpp"
#include "fuzz.hpp"

namespace {

using namespace file_server;
using fuzz::check;

/// Checks a path before it is given to the kernel.
void check_path(std::string_view encoded) {
  safe_path path;
  if (path.assign(encoded) != status::ok) return;
  const std::string_view name = path.view();
  check(!name.empty() && name.front() != '/' && name.back() != '/', "a path is relative and names a file");
  check(name.find('\0') == std::string_view::npos, "no NUL in a path");
  check(name.find("//") == std::string_view::npos, "no empty segment");
  check(name.front() != '.' && name.find("/.") == std::string_view::npos, "no segment begins with a dot");
  check(std::string_view(path.c_str()) == name, "a path ends with NUL");
}

void check_within(std::string_view view, std::string_view bytes) {
  if (view.empty()) return;
  const bool begins_within = view.data() >= bytes.data();
  check(begins_within && view.data() + view.size() <= bytes.data() + bytes.size(),
        "a view lies in the request");
  check(view.find_first_of("\r\n") == std::string_view::npos, "a value is of one line");
}

void check_fields(const request& r, std::string_view bytes) {
  for (const std::string_view view :
       {r.line, r.host, r.query, r.range, r.if_range, r.if_modified_since, r.if_unmodified_since}) {
    check_within(view, bytes);
  }
  for (const field_lines& field : {r.if_match, r.if_none_match, r.accept_encoding}) {
    for (const std::string_view line : field.lines()) check_within(line, bytes);
  }
}

/// Checks every accepted request.
void check_requests(std::string_view bytes, const limits& l) {
  request_parser parser(l);
  for (;;) {
    const testing::exact_copy input(bytes);
    request r;
    const parsed p = parser.parse(input.view(), r);
    if (p.what == verdict::need_more) check(bytes.size() < l.head_bytes(), "a full buffer is decided");
    if (p.what == verdict::refused) check_within(parser.request_line(input.view()), input.view());
    if (p.what != verdict::complete) return;
    check(p.used > 0 && p.used <= bytes.size() && p.used <= l.head_bytes(),
          "a request is as long as the limits say");
    check(r.path.starts_with('/'), "a path begins with a slash");
    check(r.path.find_first_of(" \r\n\t#?") == std::string_view::npos, "a path has no space");
    check_fields(r, input.view().substr(0, p.used));
    check_path(r.path);
    bytes.remove_prefix(p.used);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view bytes = fuzz::text_of(data, size);
  const std::string_view steps = fuzz::take(bytes, 6);
  const std::string_view kind = fuzz::take(bytes, 1);
  if (kind.empty()) return 0;
  // Small limits too, so that the fuzzer reaches them.
  const limits l =
      kind[0] % 2 == 0 ? limits{} : limits{.request_line = 64, .header_bytes = 256, .header_fields = 4};

  const std::string whole = testing::read_whole(bytes, l);
  check(testing::read_cut(bytes, fuzz::cuts_of(steps, bytes.size()), l) == whole,
        "pieces mean the same as the whole");
  testing::transcript each(l);
  for (std::size_t i = 0; i < bytes.size(); ++i) each.feed(bytes.substr(i, 1));
  check(each.text() == whole, "bytes mean the same as the whole");

  check_requests(bytes, l);
  check_path(bytes);
  return 0;
}
