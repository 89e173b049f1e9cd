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
  for (const char c : path) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_plain(byte)) {
      text += c;
      continue;
    }
    text += '\\';
    for (const unsigned shift : {6U, 3U, 0U}) text += static_cast<char>('0' + ((byte >> shift) & 7U));
  }
  return text;
}

}  // namespace tree_hash
