// Directories: read, made and removed with all that is in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <rota/detail/fs_descriptor.hpp>
#include <rota/fs/metadata.hpp>

namespace rota::fs {

/// One name in a directory.
struct dir_entry {
  std::string name;
  file_type type = file_type::unknown;  // of a symbolic link: symlink
  std::uint64_t inode = 0;
};

/// Reads a directory, in no order, without "." and "..". What comes or goes meanwhile may be given or not.
///
///   auto all = co_await rota::fs::read_dir("logs");
///   for (;;) {
///     const auto each = co_await all->next();                   // result<optional<dir_entry>>
///     if (!each.has_value() || !each->has_value()) break;
///     use((*each)->name);
///   }
///
/// Threads       One task at a time.
/// Ownership     Owns the descriptor. The entries are the caller's.
/// Failure       std::error_code of the system: ENOENT, ENOTDIR, EACCES, ...; of next() and batch() EBADF for one that is closed. Cancelled, they have
///               given nothing, and what was read is given by the next call. So it is where they throw `std::bad_alloc`.
/// Cost          One closure in the blocking pool for some 32 KiB of names: about a thousand. next() without one of them: no wait.
/// Example       examples/files.cpp
class ROTA_API directory {
 public:
  directory() noexcept = default;
  directory(directory&&) noexcept = default;
  directory& operator=(directory&& other) noexcept {
    directory taken(std::move(other));  // it may be this one itself
    std::swap(fd_, taken.fd_);
    read_.swap(taken.read_);
    rest_.swap(taken.rest_);
    return *this;
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() = default;

  /// Nothing: no more.
  task<result<std::optional<dir_entry>>> next();
  /// As many as the system gives at a time; none: no more.
  task<result<std::vector<dir_entry>>> batch();

 private:
  friend task<result<directory>> read_dir(std::string path);
  explicit directory(detail::descriptor fd) noexcept : fd_(std::move(fd)) {}
  task<result<void>> fill();

  detail::descriptor fd_;
  std::vector<dir_entry> read_;  // the last one is the next
  std::vector<std::byte> rest_;  // has been given by the system, and there was no memory for it
};

ROTA_API task<result<directory>> read_dir(std::string path);

/// Makes `path`, and what is missing above it. That it is there already is right, if it is a directory; else EEXIST or ENOTDIR.
/// `mode`, less the process's umask, is `path`'s; what is above it is made so, too, but its owner may write and search it in any case.
///
/// Failure       As create_dir(). What was made before an error stays.
/// Cost          One closure in the blocking pool.
ROTA_API task<result<void>> create_dir_all(std::string path, unsigned mode = 0777);

/// Removes a directory and all that is in it, however deep. A symbolic link is removed, and never followed: `path` itself, too, if it is one. Each step
/// is made from the directory that was opened, not by a path: who exchanges directories for links meanwhile gains nothing.
///
/// Failure       The first error: what is left is left. ENOTDIR: `path` is a file; ENOTEMPTY: somebody has put something there meanwhile; ESTALE:
///               somebody has moved a directory out while it was being emptied; std::errc::invalid_argument: it ends in "." or "..", or is "/".
///               Cancelled, it stops between two of them.
/// Cost          One closure in the blocking pool; memory for the names in a directory and in those above it; four descriptors.
ROTA_API task<result<void>> remove_dir_all(std::string path);

}  // namespace rota::fs
