// Directories: reading them, creating them, and removing them with all their contents.
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
  file_type type = file_type::unknown;  // the type of the name itself: a symbolic link is `symlink`
  std::uint64_t inode = 0;
};

/// Reads a directory in no particular order, without "." and "..". Entries that are created or removed during
/// the read may be returned or not.
///
///   auto all = co_await rota::fs::read_dir("logs");
///   for (;;) {
///     const auto each = co_await all->next();                   // result<optional<dir_entry>>
///     if (!each.has_value() || !each->has_value()) break;
///     use((*each)->name);
///   }
///
/// Threads       One task at a time.
/// Ownership     Owns the descriptor. The entries belong to the caller.
/// Failure       std::error_code of the system: ENOENT, ENOTDIR, EACCES, ...; next() and batch() fail with
///               EBADF if the directory is closed. They are cancel-safe: a cancelled call returns nothing,
///               and the next call returns what was read. The same holds when they throw `std::bad_alloc`.
/// Cost          One closure in the blocking pool for some 32 KiB of names (about a thousand). next() without
///               a closure does not wait.
/// Example       examples/files.cpp
class ROTA_API directory {
 public:
  directory() noexcept = default;
  directory(directory&&) noexcept = default;
  directory& operator=(directory&& other) noexcept {
    directory taken(std::move(other));  // handles self-assignment
    std::swap(fd_, taken.fd_);
    read_.swap(taken.read_);
    rest_.swap(taken.rest_);
    return *this;
  }
  directory(const directory&) = delete;
  directory& operator=(const directory&) = delete;
  ~directory() = default;

  /// Returns the next entry, or nullopt at the end.
  task<result<std::optional<dir_entry>>> next();
  /// Returns as many entries as the system returns at a time. An empty vector means the end.
  task<result<std::vector<dir_entry>>> batch();

 private:
  friend task<result<directory>> read_dir(std::string path);
  explicit directory(detail::descriptor fd) noexcept : fd_(std::move(fd)) {}
  task<result<void>> fill();

  detail::descriptor fd_;
  std::vector<dir_entry> read_;  // in reverse: the last element is returned next
  std::vector<std::byte> rest_;  // bytes from the system that could not be decoded for want of memory
};

ROTA_API task<result<directory>> read_dir(std::string path);

/// Creates the directory `path` and its missing parents. An existing `path` is no error if it is a directory;
/// otherwise EEXIST or ENOTDIR. `path` gets `mode` less the umask of the process. So do the created parents,
/// but their owner always gets write and search permission.
///
/// Failure       As create_dir(). Directories that were created before an error stay.
/// Cost          One closure in the blocking pool.
ROTA_API task<result<void>> create_dir_all(std::string path, unsigned mode = 0777);

/// Removes a directory and all its contents, at any depth. Symbolic links are removed and never followed;
/// this includes `path` itself. Each step is relative to an open directory, not to a path. So an attacker
/// gains nothing by replacing a directory with a link during the removal.
///
/// Failure       The first error ends the removal; what is left then stays. ENOTDIR: `path` is a file.
///               ENOTEMPTY: another process created an entry during the removal. ESTALE: another process
///               moved a directory out while it was emptied. std::errc::invalid_argument: `path` ends in "."
///               or "..", or is "/". A cancelled removal stops between two entries.
/// Cost          One closure in the blocking pool; memory for the names in a directory and in its ancestors;
///               four descriptors.
ROTA_API task<result<void>> remove_dir_all(std::string path);

}  // namespace rota::fs
