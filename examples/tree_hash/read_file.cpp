#include "tree_hash/read_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include <rota/this_task.hpp>

#include "tree_hash/last_error.hpp"

namespace tree_hash {
namespace {

/// The walk saw a regular file. If a fifo has replaced it, O_NONBLOCK keeps open() from waiting for a writer.
std::error_code open_file(const entry& file, unique_fd& fd) noexcept {
  constexpr int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  fd = unique_fd(::openat(file.in->fd(), file.name.c_str(), flags));
  if (!fd.is_open()) return last_error();
  struct stat about{};
  if (::fstat(fd.get(), &about) != 0) return last_error();
  if (!S_ISREG(about.st_mode)) return std::make_error_code(std::errc::invalid_argument);
  static_cast<void>(::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_SEQUENTIAL));
  return {};
}

/// Reads to the end. Returns operation_canceled if this task is cancelled.
std::error_code add_content(
    int fd, std::span<std::byte> buffer, sha256& sum, std::uint64_t& bytes, counts& done) {
  while (!rota::this_task::cancel_requested()) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got == 0) return {};
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return last_error();
    const auto size = static_cast<std::size_t>(got);
    sum.add(buffer.first(size));
    bytes += size;
    done.read(size);
  }
  return std::make_error_code(std::errc::operation_canceled);
}

}  // namespace

void read_file(entry& file, std::span<std::byte> buffer, counts& done) {
  unique_fd fd;
  sha256 sum;
  std::uint64_t bytes = 0;
  file.error = open_file(file, fd);
  if (!file.error) file.error = add_content(fd.get(), buffer, sum, bytes, done);
  file.in.reset();
  if (file.error == std::errc::operation_canceled) return;
  if (file.error) return done.failed(file.size, bytes);
  file.sum = sum.finish();
  done.finished(file.size, bytes);
}

}  // namespace tree_hash
