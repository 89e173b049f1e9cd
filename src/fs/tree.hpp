// A position in a directory tree; it descends and ascends without a depth limit.
#pragma once

#include "fs/blocking.hpp"

#include <rota/fs/directory.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::fs::detail {

/// Identifies a directory.
struct identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const identity&, const identity&) = default;
};

/// Appends as many entries as the system returns at a time, without "." and "..". If the system does not tell
/// the type of an entry, it is looked up. Returns false at the end. `rest`: bytes of the system that could
/// not be decoded for want of memory; they are decoded first.
[[nodiscard]] result<bool> read_entries(int folder,
                                        std::vector<std::byte>& rest,
                                        std::vector<dir_entry>& into);

/// An open directory and its ancestors up to a root, with the remaining names of each. Each directory is read
/// as a whole, so one descriptor is enough: it ascends by "..", and must find there the directory that it
/// came from. Blocks.
class tree {
 public:
  enum class links : unsigned char { refused, followed };

  /// Opens `name` in the open directory, or in `at` if none is open, and moves there. After an error it stays
  /// where it was; ENOTDIR, ELOOP: `name` is no directory, or a link. errc::cancelled: `by` has given up;
  /// with null it never gives up.
  [[nodiscard]] result<void> enter(int at, const std::string& name, links how, const awaiting_task* by);
  /// Moves to the parent; from the root: to nowhere. ESTALE: the parent is another directory by now, and the
  /// position is lost. It is also lost if ".." cannot be searched any more (EACCES). If it could never be
  /// searched, nothing was entered from there, and the way back is kept open.
  [[nodiscard]] result<void> leave();
  void give_up() noexcept;

  [[nodiscard]] std::size_t depth() const noexcept { return levels_.size(); }
  [[nodiscard]] int here() const noexcept { return here_.get(); }
  [[nodiscard]] const identity& which() const noexcept { return levels_.back().which; }
  [[nodiscard]] const identity& root() const noexcept { return levels_.front().which; }
  /// Returns true if the directory is the current one or an ancestor.
  [[nodiscard]] bool is_inside(const identity& which) const noexcept;
  /// Returns how many ancestors were entered by links.
  [[nodiscard]] std::size_t followed() const noexcept { return followed_; }
  /// Returns the name by which the current directory was entered.
  [[nodiscard]] const std::string& name() const noexcept { return levels_.back().name; }
  /// Returns the remaining entries: the last one is the next.
  [[nodiscard]] std::vector<dir_entry>& left() noexcept { return levels_.back().left; }

 private:
  struct level {
    std::string name;
    identity which;
    std::vector<dir_entry> left;
    descriptor above;  // entered by a link: ".." leads elsewhere
  };
  [[nodiscard]] static result<level> look_into(int folder, const awaiting_task* by);

  descriptor here_;
  // The directory from which the open one was entered, unless by a link; kept until it is left, or another
  // one is entered.
  descriptor before_;
  std::vector<level> levels_;
  std::size_t followed_ = 0;
};

[[nodiscard]] result<identity> identity_of(int folder) noexcept;

/// See remove_dir_all(). Blocks. With `by` null it goes on to the end.
[[nodiscard]] result<void> remove_all(const std::string& path, const awaiting_task* by);

}  // namespace rota::fs::detail
