// A directory and all that is below it, one entry after the other.
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
  bool follow_links = false;    // to directories, as if they were there; not the 41st of them in a row
  bool stay_on_device = false;  // what is mounted below is given, and not entered
  bool sorted = false;          // by name, within each directory
  std::size_t max_depth = ~std::size_t{0};  // 0: the root alone
};

/// What a walk has come to.
struct walk_entry {
  std::string path;  // the root as it was given, and what is below it
  std::size_t depth = 0;
  file_type type =
      file_type::unknown;  // of a symbolic link: symlink, unless links are followed and it leads to something
  std::uint64_t inode = 0;
  /// A directory that cannot be entered (EACCES, ...; ELOOP: a link that leads to where the walk is already), or the root is not there. The walk goes
  /// on with the others.
  std::error_code error;
};

/// Walks through a tree: each directory first, then what is in it. The root is the first entry; it is followed if it is a symbolic link.
///
///   rota::fs::walk all("src");
///   for (;;) {
///     const auto each = co_await all.next();                    // optional<walk_entry>
///     if (!each) break;
///     if (each->path.ends_with("/.git")) all.skip();
///   }
///
/// However deep: a place in a tree is no stack of calls, and takes three descriptors, and one more for each link that is followed.
///
/// Threads       One task at a time.
/// Ownership     Owns descriptors. The entries are the caller's.
/// Failure       Of an entry: its `error`. ESTALE: a directory was moved away while the walk was in it, and what is above it cannot be found any more: the
///               walk ends with this entry. What is in a directory that may be read, and not searched, is given; the directories among it cannot be
///               entered. Of next(): errc::queue_full, as an entry with that error, at the root's path, and a call later may go on.
///               Cancelled, it has given nothing, and what was found is given by the next call. So it is where it throws `std::bad_alloc`: a call
///               later goes on where it was.
/// Cost          One closure in the blocking pool for up to 256 entries; memory for the names in a directory and in those above it.
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

  /// Nothing: no more.
  task<std::optional<walk_entry>> next();
  /// What is in the directory that was given last is left out; nothing, if it was none.
  void skip();

 private:
  struct state;
  state* state_;
};

}  // namespace rota::fs
