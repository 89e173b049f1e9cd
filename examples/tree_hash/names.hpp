// The names in a directory.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace tree_hash {

/// Reads all names but "." and "..", sorted by their bytes. Names of directories get a slash at the end, and
/// are compared with it. Returns operation_canceled if the calling task is cancelled.
[[nodiscard]] std::error_code names_in(int directory, std::vector<std::string>& names);

}  // namespace tree_hash
