// Finds what is in a tree, in a fixed order, with few descriptors and without a long path.
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

/// Names within a directory come in the order of their bytes, that of a directory taken with a slash behind it: so paths come
/// in the order in which `sort` has them in the C locale.
///
/// Threads    One at a time. Blocks on the disk; in a task that is to stop, it does not go on to the next name.
/// Ownership  The directories whose files are unread stay open while their entries live; beside these a quarter of
///            `directories` at most. Those further up are closed, and opened again by "..", which must be the same directory.
/// Failure    What cannot be read is an entry. The constructor throws std::system_error.
/// Cost       The names of each directory on the way down are kept.
class walk {
 public:
  /// Follows a symbolic link at `root`, and no other.
  walk(const std::string& root, unsigned directories, counts& found);

  /// The next entries: `most`, or fewer if directories are open enough; at least one, unless this task is to stop.
  [[nodiscard]] std::vector<entry> next(std::size_t most);

  [[nodiscard]] bool is_over() const noexcept { return levels_.empty(); }
  /// May be asked at any time, also while another thread walks.
  [[nodiscard]] bool has_room() const noexcept { return open_.load() < directories_; }

 private:
  struct identity {
    dev_t device = 0;
    ino_t inode = 0;
    friend bool operator==(const identity&, const identity&) = default;
  };
  struct level {
    shared_directory self;  // null while it is closed, which the lowest never is, and once it is lost
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
