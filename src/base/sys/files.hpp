// The system calls of descriptors of any kind, and of files.
#pragma once

#include "base/sys/result.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>

#include <rota/detail/config.hpp>

struct iovec;
struct statx;

namespace rota::base::sys {

void close(int fd) noexcept;
/// Closes the descriptor of a file and reports errors of writes that the system had put off (EIO, ENOSPC,
/// EDQUOT). The descriptor is closed in any case.
result<void> close_file(int fd) noexcept;

/// Opens a file. `at`: a directory, or AT_FDCWD. The descriptor does not survive an exec.
result<int> open_file(int at, const char* path, int flags, unsigned mode) noexcept;
/// Opens a regular file to read it, also by a symbolic link to one; fclose() closes it. Does not wait for a
/// FIFO's writer, and makes no terminal the controlling one of the process. EISDIR; EINVAL: it is no regular
/// file.
ROTA_API result<std::FILE*> open_regular(const char* path) noexcept;
/// Opens a file without a name in `folder`. EOPNOTSUPP, EISDIR, ENOENT: the file system, or the kernel, does
/// not support that.
result<int> open_unnamed(const char* folder, unsigned mode) noexcept;
/// Opens a regular file to read it. `size`: its size a moment before. Does not wait: the path to it is in the
/// kernel's memory, and the file system asks no other party. Any error means that the file must be opened in
/// another way, and tells nothing about the file.
result<int> open_cached(const char* path, std::uint64_t& size) noexcept;
/// Returns the flags of an open descriptor: O_RDONLY, O_APPEND and the like.
result<int> flags_of(int fd) noexcept;
/// Sets the flags that an open descriptor can change: O_APPEND, O_NONBLOCK, O_DIRECT, O_NOATIME.
result<void> set_flags(int fd, int flags) noexcept;
/// Returns true if a pipe or FIFO that `fd` can read is open to write, or has bytes in it. Takes no byte, and
/// does not block.
result<bool> has_writer(int fd) noexcept;

/// In place of an offset: the current position of the descriptor, which moves on. Also for descriptors
/// without offsets, such as pipes.
inline constexpr std::uint64_t no_offset = ~std::uint64_t{0};

// Each call transfers at most 0x7FFFF000 bytes, and blocks. A write to a pipe without a reader returns EPIPE
// and never raises a signal.
result<std::size_t> read_at(int fd, std::span<std::byte> into, std::uint64_t offset) noexcept;
result<std::size_t> write_at(int fd, std::span<const std::byte> from, std::uint64_t offset) noexcept;
result<std::size_t> read_v_at(int fd, const iovec* into, unsigned parts, std::uint64_t offset) noexcept;
result<std::size_t> write_v_at(int fd, const iovec* from, unsigned parts, std::uint64_t offset) noexcept;
/// Reads what is in memory already. Does not block: EAGAIN; EOPNOTSUPP if the file system cannot tell.
result<std::size_t> read_cached(int fd, const iovec* into, unsigned parts, std::uint64_t offset) noexcept;

result<void> sync_file(int fd, bool data_only) noexcept;
result<void> set_length(int fd, std::uint64_t length) noexcept;
/// `mode`: as that of fallocate.
result<void> allocate(int fd, int mode, std::uint64_t offset, std::uint64_t size) noexcept;
/// Returns the current position of the descriptor. ESPIPE: it has no offsets.
result<std::uint64_t> offset_of(int fd) noexcept;
/// Tells the kernel how the file will be read: POSIX_FADV_SEQUENTIAL and the like.
result<void> advise(int fd, std::uint64_t offset, std::uint64_t size, int how) noexcept;

/// Describes a file. With `path` "" and AT_EMPTY_PATH in `flags`: `at` itself.
result<void> info(int at, const char* path, int flags, unsigned mask, struct statx& into) noexcept;

/// Copies from one file into another without passing through this process; both offsets move on. Returns 0 if
/// `from` has ended, or does not tell its size (as in /proc). EXDEV, EINVAL, EOPNOTSUPP, ENOSYS: the caller
/// must copy by reading and writing.
result<std::size_t> copy_range(
    int from, std::uint64_t& from_at, int to, std::uint64_t& to_at, std::size_t most) noexcept;
/// Makes `to` share all blocks of `from`. EOPNOTSUPP, EXDEV, EINVAL, ENOTTY: not possible here.
result<void> share_blocks(int from, int to) noexcept;

struct mapped {
  void* at;
};
/// As mmap. `offset` is a multiple of the page size.
result<mapped> map(std::size_t size, int protection, int flags, int fd, std::uint64_t offset) noexcept;
void unmap(void* at, std::size_t size) noexcept;
result<void> advise_mapped(void* at, std::size_t size, int how) noexcept;
result<void> sync_mapped(void* at, std::size_t size) noexcept;
[[nodiscard]] std::size_t page_size() noexcept;

}  // namespace rota::base::sys
