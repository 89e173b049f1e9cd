#include "base/sys/files.hpp"

#include "base/linux/call.hpp"
#include "base/linux/without_sigpipe.hpp"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

namespace rota::base::sys {

namespace {

result<void> nothing(long value) noexcept {
  if (value == -1) return std::unexpected(last_error());
  return {};
}

off_t signed_of(std::uint64_t offset) noexcept { return static_cast<off_t>(offset); }

}  // namespace

void close(int fd) noexcept {
  before_system_call();
  // On Linux the descriptor is closed even if EINTR is returned: never call it a second time.
  ::close(fd);
}

result<void> close_file(int fd) noexcept {
  before_system_call();
  return ::close(fd) == 0 || errno == EINTR ? result<void>() : std::unexpected(last_error());
}

result<int> open_file(int at, const char* path, int flags, unsigned mode) noexcept {
  return descriptor(uninterrupted([&] { return ::openat(at, path, flags | O_CLOEXEC, mode); }));
}

result<std::FILE*> open_regular(const char* path) noexcept {
  const result<int> opened = open_file(AT_FDCWD, path, O_RDONLY | O_NONBLOCK | O_NOCTTY, 0);
  if (!opened.has_value()) return std::unexpected(opened.error());
  struct stat found{};
  result<void> good = done(::fstat(*opened, &found));
  if (good.has_value() && S_ISDIR(found.st_mode))
    good = std::unexpected(std::make_error_code(std::errc::is_a_directory));
  if (good.has_value() && !S_ISREG(found.st_mode))
    good = std::unexpected(std::make_error_code(std::errc::invalid_argument));
  std::FILE* const made = good.has_value() ? ::fdopen(*opened, "r") : nullptr;
  if (made != nullptr) return made;
  if (good.has_value()) good = std::unexpected(last_error());
  close(*opened);
  return std::unexpected(good.error());
}

result<int> open_unnamed(const char* folder, unsigned mode) noexcept {
  return open_file(AT_FDCWD, folder, O_TMPFILE | O_RDWR, mode);
}

result<int> flags_of(int fd) noexcept {
  before_system_call();
  return descriptor(::fcntl(fd, F_GETFL));
}

result<void> set_flags(int fd, int flags) noexcept { return done(::fcntl(fd, F_SETFL, flags)); }

// A tee() from an empty pipe returns 0 without a writer, and EAGAIN with one.
result<bool> has_writer(int fd) noexcept {
  int ends[2];
  const result<void> made = done(::pipe2(ends, O_CLOEXEC | O_NONBLOCK));
  if (!made.has_value()) return std::unexpected(made.error());
  const result<std::size_t> copied =
      bytes(uninterrupted([&] { return ::tee(fd, ends[1], 1, SPLICE_F_NONBLOCK); }));
  close(ends[0]);
  close(ends[1]);
  if (copied.has_value()) return *copied != 0;
  if (would_block(copied.error())) return true;
  return std::unexpected(copied.error());
}

result<std::size_t> read_at(int fd, std::span<std::byte> into, std::uint64_t offset) noexcept {
  return bytes(uninterrupted([&] {
    if (offset == no_offset) return ::read(fd, into.data(), into.size());
    return ::pread(fd, into.data(), into.size(), signed_of(offset));
  }));
}

result<std::size_t> write_at(int fd, std::span<const std::byte> from, std::uint64_t offset) noexcept {
  if (offset != no_offset)
    return bytes(uninterrupted([&] { return ::pwrite(fd, from.data(), from.size(), signed_of(offset)); }));
  const without_sigpipe quiet;
  return bytes(uninterrupted([&] { return ::write(fd, from.data(), from.size()); }));
}

result<std::size_t> read_v_at(int fd, const iovec* into, unsigned parts, std::uint64_t offset) noexcept {
  const int count = static_cast<int>(parts);
  return bytes(uninterrupted([&] {
    if (offset == no_offset) return ::readv(fd, into, count);
    return ::preadv(fd, into, count, signed_of(offset));
  }));
}

result<std::size_t> write_v_at(int fd, const iovec* from, unsigned parts, std::uint64_t offset) noexcept {
  const int count = static_cast<int>(parts);
  if (offset != no_offset)
    return bytes(uninterrupted([&] { return ::pwritev(fd, from, count, signed_of(offset)); }));
  const without_sigpipe quiet;
  return bytes(uninterrupted([&] { return ::writev(fd, from, count); }));
}

result<std::size_t> read_cached(int fd, const iovec* into, unsigned parts, std::uint64_t offset) noexcept {
  const int count = static_cast<int>(parts);
  return bytes(uninterrupted([&] { return ::preadv2(fd, into, count, signed_of(offset), RWF_NOWAIT); }));
}

result<void> sync_file(int fd, bool data_only) noexcept {
  return nothing(uninterrupted([&] { return data_only ? ::fdatasync(fd) : ::fsync(fd); }));
}

result<void> set_length(int fd, std::uint64_t length) noexcept {
  return nothing(uninterrupted([&] { return ::ftruncate(fd, signed_of(length)); }));
}

result<void> allocate(int fd, int mode, std::uint64_t offset, std::uint64_t size) noexcept {
  return nothing(uninterrupted([&] { return ::fallocate(fd, mode, signed_of(offset), signed_of(size)); }));
}

result<std::uint64_t> offset_of(int fd) noexcept {
  before_system_call();
  const off_t at = ::lseek(fd, 0, SEEK_CUR);
  if (at == -1) return std::unexpected(last_error());
  return static_cast<std::uint64_t>(at);
}

result<void> advise(int fd, std::uint64_t offset, std::uint64_t size, int how) noexcept {
  before_system_call();
  const int error = ::posix_fadvise(fd, signed_of(offset), signed_of(size), how);
  if (error != 0) return std::unexpected(std::error_code(error, std::generic_category()));
  return {};
}

result<void> info(int at, const char* path, int flags, unsigned mask, struct statx& into) noexcept {
  return nothing(uninterrupted([&] { return ::statx(at, path, flags, mask, &into); }));
}

result<std::size_t> copy_range(
    int from, std::uint64_t& from_at, int to, std::uint64_t& to_at, std::size_t most) noexcept {
  off64_t out_of = signed_of(from_at);
  off64_t into = signed_of(to_at);
  const result<std::size_t> copied =
      bytes(uninterrupted([&] { return ::copy_file_range(from, &out_of, to, &into, most, 0); }));
  from_at = static_cast<std::uint64_t>(out_of);
  to_at = static_cast<std::uint64_t>(into);
  return copied;
}

result<void> share_blocks(int from, int to) noexcept {
  return nothing(uninterrupted([&] { return ::ioctl(to, FICLONE, from); }));
}

result<mapped> map(std::size_t size, int protection, int flags, int fd, std::uint64_t offset) noexcept {
  before_system_call();
  void* const at = ::mmap(nullptr, size, protection, flags, fd, signed_of(offset));
  if (at == MAP_FAILED) return std::unexpected(last_error());
  return mapped{at};
}

void unmap(void* at, std::size_t size) noexcept {
  before_system_call();
  ::munmap(at, size);
}

result<void> advise_mapped(void* at, std::size_t size, int how) noexcept {
  return nothing(uninterrupted([&] { return ::madvise(at, size, how); }));
}

result<void> sync_mapped(void* at, std::size_t size) noexcept {
  return nothing(uninterrupted([&] { return ::msync(at, size, MS_SYNC); }));
}

std::size_t page_size() noexcept { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

}  // namespace rota::base::sys
