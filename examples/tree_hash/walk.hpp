// Lists a tree in a fixed order, with few descriptors and without long paths.
#pragma once

#include <sys/stat.h>

#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

#include "tree_hash/counts.hpp"
#include "tree_hash/directory.hpp"
#include "tree_hash/entry.hpp"

namespace tree_hash {

/// Names within a directory are sorted by their bytes; the name of a directory counts with a slash behind it.
/// So paths come in the order of `sort` in the C locale.
///
/// Threads    One at a time. Blocks on the disk. If the calling task is cancelled, it does not go on to the
///            next name.
/// Ownership  A directory with unread files stays open while their entries live. Beside these, at most a
///            quarter of `directories` is open. Directories further up are closed. They are reopened by "..",
///            which must lead to the same directory.
/// Failure    What cannot be read becomes an entry. The constructor throws std::system_error.
/// Cost       Keeps the names of each directory on the way down.
class walk {
 public:
  /// Follows a symbolic link at `root`, and no other.
  walk(const std::string& root, unsigned directories, counts& found);

  /// Returns the next entries: `most`, or fewer if too many directories are open; at least one, unless this
  /// task is cancelled.
  [[nodiscard]] std::vector<entry> next(std::size_t most);

  [[nodiscard]] bool is_over() const noexcept { return levels_.empty(); }
  /// May be called at any time, also while another thread walks.
  [[nodiscard]] bool has_room() const noexcept { return open_.load() < directories_; }

 private:
  struct identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const identity&, const identity&) = default;
  };
  struct level {
    shared_directory self;  // null while it is closed (the lowest never is), and after it was lost
    identity id;
    std::vector<std::string> names;  // those of directories end with a slash
    std::size_t position = 0;
  };
  using entries = std::vector<entry>;

  void step(entries& out);
  void descend(std::string name, entries& out);
  void enter(unique_fd fd, std::string name, entries& out);
  void close_distant();
  void leave(entries& out);
  [[nodiscard]] std::error_code reopen(level& parent, const level& child);
  static void lose(level& which, std::error_code why, entries& out);
  void look_at(std::string name, entries& out);
  [[nodiscard]] static entry read_link(int folder, std::string name);

  open_count open_{0};
  unsigned directories_;
  counts& counts_;
  std::vector<level> levels_;
  entries begun_;
};

}  // namespace tree_hash
