// Files as a whole: read, written, replaced, copied.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <rota/io/result.hpp>
#include <rota/task.hpp>

namespace rota::fs {

using io::result;

// Threads       Any task.
// Ownership     They keep the paths. Bytes to be written live until the co_await is done.
// Failure       std::error_code of the system; a path with a zero byte is std::errc::invalid_argument. Cancelled before it was begun, nothing has
//               happened; later it is given up between two steps: of write(), append() and copy() a part may be there, of write_atomically()
//               all or nothing. A FIFO is not waited for: to read one that nobody has open to write gives nothing, to write one that nobody reads is
//               ENXIO; else it is read to its end, and written as there is room, and a cancellation ends that at once, or 5 ms later.
//               Throws `std::bad_alloc`.
// Cost          One closure in the blocking pool each, with or without a ring: several calls in one go. A regular file of at most 64 KiB of ext4, XFS,
//               btrfs, F2FS or tmpfs that is in memory already, with the way to it, is read where the task runs (Linux 5.12), and no thread is asked.
// Example       examples/files.cpp

/// errc::too_long: there are more than `most` bytes.
ROTA_API task<result<std::vector<std::byte>>> read(std::string path, std::size_t most = ~std::size_t{0});
/// The same as text, whatever bytes they are.
ROTA_API task<result<std::string>> read_to_string(std::string path, std::size_t most = ~std::size_t{0});

/// It is made, or what was in it goes first.
ROTA_API task<result<void>> write(std::string path, std::span<const std::byte> all);
ROTA_API task<result<void>> write(std::string path, std::string text);
/// It is made, or they go behind what is there.
ROTA_API task<result<void>> append(std::string path, std::span<const std::byte> more);
ROTA_API task<result<void>> append(std::string path, std::string text);

struct atomic_options {
  std::optional<unsigned>
      mode{};          // nothing: that of the file that is replaced; if there is none, 0666 less the umask
  bool synced = true;  // it is on the disk before it has its name, and its name when this ends
};

/// Who opens `path` finds what was there before, or all of this, and never a part, also after a crash: written into a file of another name beside
/// it (".name.0123456789abcdef"), which is renamed then, or removed. A symbolic link at `path` is replaced itself. Owner, access lists and
/// hard links of what was there go. An error after the renaming (EIO): it is there, but may not be on the disk.
ROTA_API task<result<void>> write_atomically(std::string path, std::span<const std::byte> all);
ROTA_API task<result<void>> write_atomically(std::string path, std::string text);
ROTA_API task<result<void>> write_atomically(std::string path,
                                             std::span<const std::byte> all,
                                             atomic_options how);

/// All of `from`'s bytes, and its lowest nine permissions; how many. `to` is made, or what was in it goes. By sharing blocks where the file system can,
/// else within the kernel, else through this process. EISDIR; std::errc::invalid_argument: `from` is no regular file, `to` is a FIFO, or both are the same.
ROTA_API task<result<std::uint64_t>> copy(std::string from, std::string to);

}  // namespace rota::fs
