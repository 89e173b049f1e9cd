// Lines as sha256sum prints them, and names in messages.
#pragma once

#include <string>
#include <string_view>

#include "tree_hash/sha256.hpp"

namespace tree_hash {

/// "<hex>  <path>\n". With a backslash, newline or carriage return in the path these are escaped, and the line begins with a
/// backslash.
[[nodiscard]] std::string digest_line(const digest& d, std::string_view path);

/// For messages: control characters and backslashes as \ooo, so that a name can neither end a line nor move a cursor.
[[nodiscard]] std::string printable(std::string_view path);

}  // namespace tree_hash
