// Writing to a stream that may be stalled or broken.
#pragma once

#include <string_view>
#include <system_error>

#include "common/unique_fd.hpp"

namespace tree_hash {

using common::unique_fd;

/// A terminal, opened again, so that a write to it never waits, and others that write to it still may. Not open: `fd` is no
/// terminal, or must not be opened here.
[[nodiscard]] unique_fd open_terminal_again(int fd) noexcept;

/// Writes all of `text`, in pieces that end with a line where that is possible.
///
/// Threads    One that may block. In a task that is to stop it returns within a tenth of a second, also while nobody reads:
///            operation_canceled.
[[nodiscard]] std::error_code write_all(int fd, std::string_view text) noexcept;

}  // namespace tree_hash
