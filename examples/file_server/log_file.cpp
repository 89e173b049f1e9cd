#include "file_server/log_file.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace file_server {
namespace {

std::error_code last_error() noexcept { return {errno, std::generic_category()}; }

void keep_first(std::error_code& first, std::error_code next) noexcept {
  if (!first) first = next;
}

/// Another process that shares a terminal or a pipe may have made it non-blocking.
void wait_until_writable(int fd) noexcept {
  pollfd one{.fd = fd, .events = POLLOUT, .revents = 0};
  static_cast<void>(::poll(&one, 1, -1));
}

}  // namespace

std::error_code log_file::open() {
  constexpr int flags = O_WRONLY | O_APPEND | O_CREAT | O_NOCTTY | O_CLOEXEC;
  constexpr mode_t mode = 0640;
  unique_fd opened(name_ == "-" ? ::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3)
                                : ::open(name_.c_str(), flags, mode));
  struct stat about{};
  if (!opened.is_open() || ::fstat(opened.get(), &about) != 0) return last_error();
  is_regular_ = S_ISREG(about.st_mode) && name_ != "-";
  size_ = static_cast<std::uint64_t>(about.st_size);
  if (is_regular_ && size_ == 0) is_torn_ = false;
  file_ = std::move(opened);
  return {};
}

log_file::written log_file::write(std::string_view lines) {
  written out;
  while (!lines.empty()) {
    const std::size_t size = fitting(lines);
    if (size == 0) {
      keep_first(out.error, rotate());
      continue;
    }
    put_lines(lines.substr(0, size), out);
    lines.remove_prefix(size);
  }
  return out;
}

/// Returns how many bytes of `lines` belong into this file; 0: the file is full.
std::size_t log_file::fitting(std::string_view lines) const noexcept {
  if (rotation_.size == 0 || !is_regular_) return lines.size();
  const std::uint64_t room = rotation_.size - std::min(rotation_.size, size_);
  if (lines.size() <= room) return lines.size();
  const std::size_t last = lines.substr(0, static_cast<std::size_t>(room)).rfind('\n');
  if (last != std::string_view::npos) return last + 1;
  if (size_ != 0) return 0;
  return std::min(lines.size(), lines.find('\n') + 1);
}

/// After an error the current file is used as if it were new, so the next attempt comes after a whole file
/// more. If a file could not be renamed, its predecessor is not renamed either, because that would overwrite
/// it.
std::error_code log_file::rotate() {
  const auto numbered = [&](unsigned n) { return name_ + "." + std::to_string(n); };
  std::error_code failed;
  for (unsigned n = rotation_.keep; n > 0 && !failed; --n) {
    const std::string from = n == 1 ? name_ : numbered(n - 1);
    if (::rename(from.c_str(), numbered(n).c_str()) != 0 && errno != ENOENT) failed = last_error();
  }
  if (!failed) failed = open();
  if (failed) size_ = 0;
  return failed;
}

void log_file::put_lines(std::string_view lines, written& out) {
  std::size_t taken = 0;
  std::error_code failed;
  if (is_torn_) {
    failed = put("\n", taken);
    is_torn_ = failed.value() != 0;
    taken = 0;
  }
  if (!failed) failed = put(lines, taken);
  if (!failed) return;
  keep_first(out.error, failed);
  const std::size_t last = lines.substr(0, taken).rfind('\n');
  const std::size_t whole = last == std::string_view::npos ? 0 : last + 1;
  const std::string_view lost = lines.substr(whole);
  out.lines_lost += static_cast<std::uint64_t>(std::count(lost.begin(), lost.end(), '\n'));
  if (taken != whole) take_back(taken - whole);
}

/// Writes `text`. `taken` is the number of bytes that the file has taken, also after an error.
std::error_code log_file::put(std::string_view text, std::size_t& taken) {
  while (taken < text.size()) {
    const ssize_t done = ::write(file_.get(), text.data() + taken, text.size() - taken);
    if (done >= 0) {
      taken += static_cast<std::size_t>(done);
      size_ += static_cast<std::uint64_t>(done);
    } else if (errno == EAGAIN) {
      wait_until_writable(file_.get());
    } else if (errno != EINTR) {
      return last_error();
    }
  }
  return {};
}

/// Removes the last `torn` bytes, unless another process has appended behind them.
void log_file::take_back(std::size_t torn) noexcept {
  struct stat about{};
  const off_t end = ::lseek(file_.get(), 0, SEEK_CUR);
  const auto size = static_cast<off_t>(torn);
  const bool is_ours =
      is_regular_ && end >= size && ::fstat(file_.get(), &about) == 0 && about.st_size == end;
  is_torn_ = !is_ours || ::ftruncate(file_.get(), end - size) != 0;
  if (!is_torn_) size_ -= std::min<std::uint64_t>(size_, torn);
}

}  // namespace file_server
