// Whole files: read, write, replace, copy.
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
// Ownership     They keep the paths. Bytes to be written must live until the co_await is done.
// Failure       std::error_code of the system; a path with a zero byte is std::errc::invalid_argument. A call
//               that is cancelled before it begins has no effect. A later cancellation stops the call between
//               two steps: write(), append() and copy() may leave a part, write_atomically() leaves all or
//               nothing. The functions do not wait for the peer of a FIFO: reading one that no process has
//               open for writing returns nothing, and writing one that no process reads is ENXIO. Otherwise a
//               FIFO is read to its end, and written as space becomes free; a cancellation ends that within 5
//               ms. Throws `std::bad_alloc`.
// Cost          One closure in the blocking pool each, with or without a ring: several system calls in one
//               closure. A regular file of at most 64 KiB on ext4, XFS, btrfs, F2FS or tmpfs is read on the
//               thread that runs the task, without a closure, if the file and its path are cached (Linux
//               5.12).
// Example       examples/files.cpp

/// Reads the file. Returns errc::too_long if it has more than `most` bytes.
ROTA_API task<result<std::vector<std::byte>>> read(std::string path, std::size_t most = ~std::size_t{0});
/// Reads the file into a string. The bytes are not checked.
ROTA_API task<result<std::string>> read_to_string(std::string path, std::size_t most = ~std::size_t{0});

/// Creates the file, or discards its contents first.
ROTA_API task<result<void>> write(std::string path, std::span<const std::byte> all);
ROTA_API task<result<void>> write(std::string path, std::string text);
/// Creates the file, or appends to it.
ROTA_API task<result<void>> append(std::string path, std::span<const std::byte> more);
ROTA_API task<result<void>> append(std::string path, std::string text);

struct atomic_options {
  std::optional<unsigned>
      mode{};          // nullopt: that of the replaced file; if there is none, 0666 less the umask
  bool synced = true;  // flush the file before the rename, and the directory before the call ends
};

/// Replaces `path` atomically. A process that opens `path` finds the old contents or all of the new ones,
/// never a part, also after a crash. The bytes are written into a file with another name beside `path`
/// (".name.0123456789abcdef"), which is then renamed; after an error or a cancellation it is removed. A
/// symbolic link at `path` is itself replaced. Owner, access lists and hard links of the old file are lost.
/// After an error that follows the rename (EIO) the new file is in place, but may not be on the disk.
ROTA_API task<result<void>> write_atomically(std::string path, std::span<const std::byte> all);
ROTA_API task<result<void>> write_atomically(std::string path, std::string text);
ROTA_API task<result<void>> write_atomically(std::string path,
                                             std::span<const std::byte> all,
                                             atomic_options how);

/// Copies all bytes of `from` and its lowest nine permission bits, and returns the number of bytes. Creates
/// `to`, or discards its contents. Shares blocks where the file system can; else copies within the kernel,
/// else through this process. EISDIR; std::errc::invalid_argument: `from` is no regular file, `to` is a FIFO,
/// or both are the same file.
ROTA_API task<result<std::uint64_t>> copy(std::string from, std::string to);

}  // namespace rota::fs
