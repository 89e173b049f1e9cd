// The request parser and the path decoder of examples/file_server, with the split oracle: the bytes cut in
// pieces must mean what they mean whole. The pieces are chosen by the first bytes of the input.
//
// Build and run, from the root of the repository:
//   clang++-19 -std=c++2b -g -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all -Iexamples
//     tests/fuzz/http_request_fuzz.cpp
//     examples/file_server/{request_parser,head_scanner,head_fields,limits,target}.cpp -o http_request_fuzz
//   ./http_request_fuzz -dict=tests/fuzz/http_request.dict -max_len=2048 CORPUS_FOLDER
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "../unit/file_server/transcript.hpp"
#include "file_server/target.hpp"

namespace {

using namespace file_server;

void check(bool good, const char* what) {
  if (good) return;
  std::fprintf(stderr, "broken: %s\n", what);
  std::abort();
}

/// What must hold of every path that is handed to the kernel.
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

/// What must hold of every request that is let through.
void check_requests(std::string_view bytes, const limits& l) {
  request_parser parser(l);
  for (;;) {
    const testing::exact_copy input(bytes);
    request r;
    const parsed p = parser.parse(input.view(), r);
    if (p.what == verdict::need_more) check(bytes.size() < l.head_bytes(), "a full buffer is decided");
    if (p.what != verdict::complete) return;
    check(p.used > 0 && p.used <= bytes.size() && p.used <= l.head_bytes(),
          "a request is as long as the limits say");
    check(r.path.starts_with('/'), "a path begins with a slash");
    check(r.path.find_first_of(" \r\n\t#?") == std::string_view::npos, "a path has no space");
    check_path(r.path);
    bytes.remove_prefix(p.used);
  }
}

std::vector<std::size_t> cuts_of(const std::uint8_t* steps, std::size_t count, std::size_t size) {
  std::vector<std::size_t> cuts;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    at += steps[i];
    if (at > size) break;
    cuts.push_back(at);
  }
  return cuts;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t steps = 6;
  if (size < steps + 1) return 0;
  // Small limits too, so that the fuzzer reaches them.
  const limits l =
      data[steps] % 2 == 0 ? limits{} : limits{.request_line = 64, .header_bytes = 256, .header_fields = 4};
  const std::string_view bytes(reinterpret_cast<const char*>(data) + steps + 1, size - steps - 1);

  const std::string whole = testing::read_whole(bytes, l);
  check(testing::read_cut(bytes, cuts_of(data, steps, bytes.size()), l) == whole,
        "pieces mean the same as the whole");
  testing::transcript each(l);
  for (std::size_t i = 0; i < bytes.size(); ++i) each.feed(bytes.substr(i, 1));
  check(each.text() == whole, "bytes mean the same as the whole");

  check_requests(bytes, l);
  check_path(bytes);
  return 0;
}
