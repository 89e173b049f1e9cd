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
/// The same of a file, and what it says of writes that the system had put off (EIO, ENOSPC, EDQUOT). The descriptor is gone, whatever it says.
result<void> close_file(int fd) noexcept;

/// `at`: a directory, or AT_FDCWD. It does not survive an exec.
result<int> open_file(int at, const char* path, int flags, unsigned mode) noexcept;
/// A regular file, to be read, also by a symbolic link to one; fclose() closes it. Does not wait for a FIFO's writer, and makes no terminal the process's own.
/// EISDIR; EINVAL: it is no regular file.
ROTA_API result<std::FILE*> open_regular(const char* path) noexcept;
/// The same as open_file(), in `folder`, without a name. EOPNOTSUPP, EISDIR, ENOENT: the file system, or the kernel, has none.
result<int> open_unnamed(const char* folder, unsigned mode) noexcept;
/// Of a regular file, to be read; `size`: what it had a moment before. Does not wait: what is on the way to it is in the kernel's memory, and the file
/// system asks nobody else. Any error means that it must be opened otherwise, and says nothing of the file.
result<int> open_cached(const char* path, std::uint64_t& size) noexcept;
/// Of an open one: O_RDONLY, O_APPEND and the like.
result<int> flags_of(int fd) noexcept;
/// Sets those that an open descriptor can change: O_APPEND, O_NONBLOCK, O_DIRECT, O_NOATIME.
result<void> set_flags(int fd, int flags) noexcept;
/// Returns true if a pipe or FIFO that `fd` can read is open to write, or has bytes in it. Takes no byte, and does not block.
result<bool> has_writer(int fd) noexcept;

/// Instead of an offset: where the descriptor stands, which moves on; for what has no offsets, as pipes.
inline constexpr std::uint64_t no_offset = ~std::uint64_t{0};

// At most 0x7FFFF000 bytes at a time. They block. A pipe that nobody reads is EPIPE, and never a signal.
result<std::size_t> read_at(int fd, std::span<std::byte> into, std::uint64_t offset) noexcept;
result<std::size_t> write_at(int fd, std::span<const std::byte> from, std::uint64_t offset) noexcept;
result<std::size_t> read_v_at(int fd, const iovec* into, unsigned parts, std::uint64_t offset) noexcept;
result<std::size_t> write_v_at(int fd, const iovec* from, unsigned parts, std::uint64_t offset) noexcept;
/// What is in memory already. Does not block: EAGAIN; EOPNOTSUPP where one cannot ask.
result<std::size_t> read_cached(int fd, const iovec* into, unsigned parts, std::uint64_t offset) noexcept;

result<void> sync_file(int fd, bool data_only) noexcept;
result<void> set_length(int fd, std::uint64_t length) noexcept;
/// `mode`: as fallocate's.
result<void> allocate(int fd, int mode, std::uint64_t offset, std::uint64_t size) noexcept;
/// Where the descriptor stands. ESPIPE: it has no offsets.
result<std::uint64_t> offset_of(int fd) noexcept;
/// How it will be read: POSIX_FADV_SEQUENTIAL and the like.
result<void> advise(int fd, std::uint64_t offset, std::uint64_t size, int how) noexcept;

/// `path` "" with AT_EMPTY_PATH in `flags`: of `at` itself.
result<void> info(int at, const char* path, int flags, unsigned mask, struct statx& into) noexcept;

/// From one file into another, without passing through this process; both offsets move on. 0: `from` has ended, or says nothing of its
/// size (as in /proc). EXDEV, EINVAL, EOPNOTSUPP, ENOSYS: by reading and writing.
result<std::size_t> copy_range(
    int from, std::uint64_t& from_at, int to, std::uint64_t& to_at, std::size_t most) noexcept;
/// `to` shares all of `from`'s blocks. EOPNOTSUPP, EXDEV, EINVAL, ENOTTY: not here.
result<void> share_blocks(int from, int to) noexcept;

struct mapped {
  void* at;
};
/// As mmap. `offset`: a multiple of the page's size.
result<mapped> map(std::size_t size, int protection, int flags, int fd, std::uint64_t offset) noexcept;
void unmap(void* at, std::size_t size) noexcept;
result<void> advise_mapped(void* at, std::size_t size, int how) noexcept;
result<void> sync_mapped(void* at, std::size_t size) noexcept;
[[nodiscard]] std::size_t page_size() noexcept;

}  // namespace rota::base::sys
