// Writes to a stream that may be stalled or broken.
#pragma once

#include <string_view>
#include <system_error>

#include "common/unique_fd.hpp"

namespace tree_hash {

using common::unique_fd;

/// Opens a terminal again, non-blocking. Other processes that write to the terminal are not affected. The
/// result is not open if `fd` is no terminal, or cannot be opened here.
[[nodiscard]] unique_fd open_terminal_again(int fd) noexcept;

/// Writes all of `text`, in pieces that end with a line where possible.
///
/// Threads    One that may block. If the calling task is cancelled, it returns operation_canceled within a
///            tenth of a second, also while the reader is stalled.
[[nodiscard]] std::error_code write_all(int fd, std::string_view text) noexcept;

}  // namespace tree_hash
