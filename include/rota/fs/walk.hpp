// Walks a directory tree, one entry after the other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include <rota/fs/metadata.hpp>

namespace rota::fs {

struct walk_options {
  bool follow_links = false;    // enters linked directories as if they were in place; at most 40 links deep
  bool stay_on_device = false;  // mount points are returned, but not entered
  bool sorted = false;          // by name, within each directory
  std::size_t max_depth = ~std::size_t{0};  // 0: only the root
};

/// One entry of a walk.
struct walk_entry {
  std::string path;  // begins with the root as it was given
  std::size_t depth = 0;
  file_type type =
      file_type::unknown;  // of a symbolic link: symlink, unless links are followed and it leads to something
  std::uint64_t inode = 0;
  /// Set if a directory cannot be entered (EACCES, ...; ELOOP: the link leads to a directory that the walk is
  /// in already), or if the root does not exist. The walk goes on with the other entries.
  std::error_code error;
};

/// Walks through a tree: each directory first, then its contents. The root is the first entry. It is followed
/// if it is a symbolic link.
///
///   rota::fs::walk all("src");
///   for (;;) {
///     const auto each = co_await all.next();                    // optional<walk_entry>
///     if (!each) break;
///     if (each->path.ends_with("/.git")) all.skip();
///   }
///
/// The depth is not limited: a position in the tree needs no recursion. It takes three descriptors, and one
/// more for each followed link.
///
/// Threads       One task at a time.
/// Ownership     Owns descriptors. The entries belong to the caller.
/// Failure       Errors of one entry: its `error`. ESTALE: a directory was moved away while the walk was in
///               it, so that its ancestors cannot be found any more; the walk ends with this entry. The
///               entries of a directory that can be read, but not searched, are returned; the directories
///               among them cannot be entered. Errors of next(): errc::queue_full, as an entry with that
///               error at the path of the root; a later call may go on. next() is cancel-safe: a cancelled
///               call returns nothing, and the next call returns what was found. The same holds when it
///               throws `std::bad_alloc`.
/// Cost          One closure in the blocking pool for up to 256 entries; memory for the names in a directory
///               and in its ancestors.
/// Example       examples/files.cpp
class ROTA_API walk {
 public:
  explicit walk(std::string root, walk_options how = {});
  walk(walk&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  walk& operator=(walk&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  walk(const walk&) = delete;
  walk& operator=(const walk&) = delete;
  ~walk();

  /// Returns the next entry, or nullopt at the end.
  task<std::optional<walk_entry>> next();
  /// Skips the contents of the directory that was returned last. No effect if the last entry was no
  /// directory.
  void skip();

 private:
  struct state;
  state* state_;
};

}  // namespace rota::fs
