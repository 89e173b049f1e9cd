// Helpers of closures in this module: blocking code that checks between two steps whether the task still
// wants the result.
#pragma once

#include "base/sys/files.hpp"
#include "fs/system_call.hpp"

#include <rota/detail/fs_descriptor.hpp>
#include <rota/error.hpp>

#include <chrono>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace rota::fs::detail {

/// A result that no code reads: see awaiting_task.
[[nodiscard]] inline std::unexpected<std::error_code> given_up() noexcept {
  return std::unexpected(make_error_code(errc::cancelled));
}

/// The canceller of a task cannot wake a pool thread that waits in the kernel, so the thread polls at this
/// interval.
inline constexpr std::chrono::milliseconds between_looks(5);
/// Sleeps until the next poll.
void pause_between_looks() noexcept;

[[nodiscard]] result<descriptor> open_blocking(int at, const char* path, int flags, unsigned mode) noexcept;
/// The same with O_NONBLOCK, so that it does not wait for the peer of a FIFO. It does wait, as without the
/// flag, while another process holds a lease on the file (F_SETLEASE). Returns errc::cancelled if `by` has
/// given up.
[[nodiscard]] result<descriptor> open_without_peer(const std::string& path,
                                                   int flags,
                                                   unsigned mode,
                                                   const awaiting_task& by) noexcept;
/// The same, but waits for the peer of a FIFO as open(2) without O_NONBLOCK does. The descriptor has the
/// requested flags. With O_NONBLOCK or O_PATH in `flags`, and for a device, it is a plain open(2).
[[nodiscard]] result<descriptor> open_with_peer(const std::string& path,
                                                int flags,
                                                unsigned mode,
                                                const awaiting_task& by) noexcept;
/// `fd` was opened for reading with O_NONBLOCK. Waits until a FIFO has a writer, or has had one since.
/// Returns errc::cancelled if `by` has given up.
[[nodiscard]] result<void> wait_for_writer(int fd, const awaiting_task& by) noexcept;
/// Writes all bytes at the offset of the descriptor, in pieces of a megabyte. The descriptor may be
/// O_NONBLOCK.
[[nodiscard]] result<void> write_blocking(int fd,
                                          std::span<const std::byte> all,
                                          const awaiting_task& by) noexcept;

enum class direction : unsigned char { in, out };
/// `fd` was opened with O_NONBLOCK and has no data, or no space, now. Waits until it may have. Returns
/// errc::cancelled if `by` has given up.
[[nodiscard]] result<void> wait_blocking(int fd, direction what, const awaiting_task& by) noexcept;

/// The folder of a path and its last component; "" if it has none ("/", "").
struct split_path {
  std::string folder;  // "." if the path has no folder
  std::string name;
};
[[nodiscard]] split_path split(std::string_view path);

/// Returns sixteen random digits.
[[nodiscard]] std::string unique_digits();

}  // namespace rota::fs::detail
