// Lines in the format of sha256sum, and names for messages.
#pragma once

#include <string>
#include <string_view>

#include "tree_hash/sha256.hpp"

namespace tree_hash {

/// Returns "<hex>  <path>\n". If the path has a backslash, newline or carriage return, these are escaped, and
/// the line begins with a backslash.
[[nodiscard]] std::string digest_line(const digest& d, std::string_view path);

/// Escapes a name for messages: control characters and backslashes become \ooo. So a name can neither end a
/// line nor move the cursor.
[[nodiscard]] std::string printable(std::string_view path);

}  // namespace tree_hash
