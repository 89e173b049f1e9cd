#undef _FORTIFY_SOURCE  // it defines pread() itself, inline

#include "unit/faults/failing_files.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <cstdarg>
#include <cstdio>

namespace rota::test::call {

constinit failing_call open_at;
constinit failing_call read_at;
constinit failing_call read_in_memory;
constinit failing_call write_at;
constinit failing_call write_to_pipe;
constinit failing_call sync_file;
constinit failing_call copy_range;
constinit failing_call rename_at;
constinit failing_call unlink_at;

}  // namespace rota::test::call

#if ROTA_TEST_STANDS_IN

namespace call = rota::test::call;
using rota::test::calls;

extern "C" {

int openat(int at, const char* path, int flags, ...) {
  std::va_list more;
  va_start(more, flags);
  const unsigned mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, unsigned) : 0U;
  va_end(more);
  if (const int error = call::open_at.next_error(); error != 0) return calls::failing(error);
  return static_cast<int>(::syscall(SYS_openat, at, path, flags, mode));
}

ssize_t pread(int fd, void* into, size_t size, off_t offset) {
  if (const int error = call::read_at.next_error(); error != 0) return calls::failing(error);
  return ::syscall(SYS_pread64, fd, into, calls::shortened(size), offset);
}

/// With one buffer, the size is limited as in the other calls.
ssize_t preadv2(int fd, const iovec* into, int count, off_t offset, int flags) {
  if (const int error = call::read_in_memory.next_error(); error != 0) return calls::failing(error);
  iovec one = *into;
  if (count == 1) one.iov_len = calls::shortened(one.iov_len);
  return ::syscall(SYS_preadv2, fd, count == 1 ? &one : into, count, offset, 0, flags);
}

ssize_t pwrite(int fd, const void* from, size_t size, off_t offset) {
  if (const int error = call::write_at.next_error(); error != 0) return calls::failing(error);
  return ::syscall(SYS_pwrite64, fd, from, calls::shortened(size), offset);
}

/// Descriptors other than pipes, such as event counters, are left alone.
ssize_t write(int fd, const void* from, size_t size) {
  struct stat about{};
  if (::fstat(fd, &about) != 0 || !S_ISFIFO(about.st_mode)) return ::syscall(SYS_write, fd, from, size);
  if (const int error = call::write_to_pipe.next_error(); error != 0) return calls::failing(error);
  return ::syscall(SYS_write, fd, from, calls::shortened(size));
}

int fsync(int fd) {
  if (const int error = call::sync_file.next_error(); error != 0) return calls::failing(error);
  return static_cast<int>(::syscall(SYS_fsync, fd));
}

int fdatasync(int fd) {
  if (const int error = call::sync_file.next_error(); error != 0) return calls::failing(error);
  return static_cast<int>(::syscall(SYS_fdatasync, fd));
}

ssize_t copy_file_range(int from, off_t* from_at, int to, off_t* to_at, size_t most, unsigned flags) {
  if (const int error = call::copy_range.next_error(); error != 0) return calls::failing(error);
  return ::syscall(SYS_copy_file_range, from, from_at, to, to_at, calls::shortened(most), flags);
}

int renameat(int from_at, const char* from, int to_at, const char* to) noexcept {
  if (const int error = call::rename_at.next_error(); error != 0) return calls::failing(error);
  return static_cast<int>(::syscall(SYS_renameat2, from_at, from, to_at, to, 0));
}

int unlinkat(int at, const char* path, int flags) noexcept {
  if (const int error = call::unlink_at.next_error(); error != 0) return calls::failing(error);
  return static_cast<int>(::syscall(SYS_unlinkat, at, path, flags));
}

}  // extern "C"

#endif
