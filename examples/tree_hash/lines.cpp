#include "tree_hash/lines.hpp"

namespace tree_hash {
namespace {

void add_escaped(std::string& line, char c) {
  switch (c) {
    case '\\': line += "\\\\"; break;
    case '\n': line += "\\n"; break;
    case '\r': line += "\\r"; break;
    default: line += c;
  }
}

bool is_plain(unsigned char c) noexcept { return c >= 0x20 && c != 0x7f && c != '\\'; }

/// U+0080 to U+009F in UTF-8: terminals interpret them as control characters, too.
bool begins_with_c1(std::string_view text) noexcept {
  if (text.size() < 2 || text[0] != '\xc2') return false;
  const auto second = static_cast<unsigned char>(text[1]);
  return second >= 0x80 && second <= 0x9f;
}

void add_octal(std::string& text, unsigned char c) {
  text += '\\';
  for (const unsigned shift : {6U, 3U, 0U}) text += static_cast<char>('0' + ((c >> shift) & 7U));
}

}  // namespace

std::string digest_line(const digest& d, std::string_view path) {
  const bool is_escaped = path.find_first_of("\\\n\r") != std::string_view::npos;
  std::string line = is_escaped ? "\\" : "";
  line += to_hex(d);
  line += "  ";
  for (const char c : path) add_escaped(line, c);
  line += '\n';
  return line;
}

std::string printable(std::string_view path) {
  std::string text;
  while (!path.empty()) {
    const std::size_t size = begins_with_c1(path) ? 2 : 1;
    for (const char c : path.substr(0, size)) {
      if (size == 1 && is_plain(static_cast<unsigned char>(c))) {
        text += c;
      } else {
        add_octal(text, static_cast<unsigned char>(c));
      }
    }
    path.remove_prefix(size);
  }
  return text;
}

}  // namespace tree_hash
