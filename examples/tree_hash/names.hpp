// The names in a directory.
#pragma once

#include <string>
#include <system_error>
#include <vector>

namespace tree_hash {

/// All but "." and "..", in the order of their bytes; those of directories end with a slash, with which they are compared.
/// In a task that is to stop: operation_canceled.
[[nodiscard]] std::error_code names_in(int directory, std::vector<std::string>& names);

}  // namespace tree_hash
