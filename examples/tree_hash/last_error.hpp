// The error code of the last system call.
#pragma once

#include <cerrno>
#include <system_error>

namespace tree_hash {

[[nodiscard]] inline std::error_code last_error() noexcept { return {errno, std::generic_category()}; }

}  // namespace tree_hash
