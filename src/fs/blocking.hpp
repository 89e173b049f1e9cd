// What closures of this room share: code that blocks, and looks up between two steps whether anybody still wants it.
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

/// What nobody looks at: see awaiting_task.
[[nodiscard]] inline std::unexpected<std::error_code> given_up() noexcept {
  return std::unexpected(make_error_code(errc::cancelled));
}

/// The canceller of a task cannot wake a thread of the pool that waits in the kernel: the thread looks for itself, so often.
inline constexpr std::chrono::milliseconds between_looks(5);
/// Sleeps until the next look.
void pause_between_looks() noexcept;

[[nodiscard]] result<descriptor> open_blocking(int at, const char* path, int flags, unsigned mode) noexcept;
/// The same with O_NONBLOCK, so that a FIFO's other side is not waited for; but for a lease of somebody else's on a file (F_SETLEASE) it is, as
/// without. `by` has given up: errc::cancelled.
[[nodiscard]] result<descriptor> open_without_peer(const std::string& path,
                                                   int flags,
                                                   unsigned mode,
                                                   const awaiting_task& by) noexcept;
/// The same, and waits for a FIFO's other side as open(2) without O_NONBLOCK does. The descriptor has the flags that were asked for. With O_NONBLOCK or
/// O_PATH in `flags`, and for a device, it is open(2) as it is.
[[nodiscard]] result<descriptor> open_with_peer(const std::string& path,
                                                int flags,
                                                unsigned mode,
                                                const awaiting_task& by) noexcept;
/// Of what was opened to read with O_NONBLOCK: waits until a FIFO has, or has had, a writer since. `by` has given up: errc::cancelled.
[[nodiscard]] result<void> wait_for_writer(int fd, const awaiting_task& by) noexcept;
/// All of it, where the descriptor stands, which may have been opened with O_NONBLOCK, in pieces of a megabyte.
[[nodiscard]] result<void> write_blocking(int fd,
                                          std::span<const std::byte> all,
                                          const awaiting_task& by) noexcept;

enum class direction : unsigned char { in, out };
/// Of what was opened with O_NONBLOCK and has nothing now, or no room: waits until it may have. `by` has given up: errc::cancelled.
[[nodiscard]] result<void> wait_blocking(int fd, direction what, const awaiting_task& by) noexcept;

/// Where a name lies, and the last part of it; "" where it has none ("/", "").
struct split_path {
  std::string folder;  // "." if it names none
  std::string name;
};
[[nodiscard]] split_path split(std::string_view path);

/// Sixteen digits that nobody else has thought of.
[[nodiscard]] std::string unique_digits();

}  // namespace rota::fs::detail
