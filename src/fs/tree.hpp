// A place in a tree of directories, which goes down and up without a limit.
#pragma once

#include "fs/blocking.hpp"

#include <rota/fs/directory.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace rota::fs::detail {

/// Which directory it is.
struct identity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  friend bool operator==(const identity&, const identity&) = default;
};

/// Appends what the system gives at a time, without "." and ".."; where it does not say of which type an entry is, it is looked at. False: no more.
/// `rest`: what the system has given, and for which there was no memory yet, comes first.
[[nodiscard]] result<bool> read_entries(int folder,
                                        std::vector<std::byte>& rest,
                                        std::vector<dir_entry>& into);

/// A directory that is open, and those above it up to a root, with the names that are left in each. Each is read as a whole, so that one descriptor is
/// enough: up goes by "..", and what is found there must be the directory that it came from. Blocks.
class tree {
 public:
  enum class links : unsigned char { refused, followed };

  /// Opens what `name` is in the directory that is open, or `at` if none is, and goes there. It stays where it was: an error; ENOTDIR, ELOOP: it is no
  /// directory, or a link. errc::cancelled: `by` has given up; null: nobody can.
  [[nodiscard]] result<void> enter(int at, const std::string& name, links how, const awaiting_task* by);
  /// To the one above; from the root: to nowhere. ESTALE: that is another one by now, and it is nowhere then; so it is if ".." may not be looked for
  /// any more (EACCES). Where that could never be done nothing was entered from, and the way back is kept.
  [[nodiscard]] result<void> leave();
  void give_up() noexcept;

  [[nodiscard]] std::size_t depth() const noexcept { return levels_.size(); }
  [[nodiscard]] int here() const noexcept { return here_.get(); }
  [[nodiscard]] const identity& which() const noexcept { return levels_.back().which; }
  [[nodiscard]] const identity& root() const noexcept { return levels_.front().which; }
  /// It is here, or above.
  [[nodiscard]] bool is_inside(const identity& which) const noexcept;
  /// So many were entered by links.
  [[nodiscard]] std::size_t followed() const noexcept { return followed_; }
  /// As it was entered.
  [[nodiscard]] const std::string& name() const noexcept { return levels_.back().name; }
  /// Those that are left: the last one is the next.
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
  // Where the directory that is open was entered from, unless by a link; until it is left, or another one entered.
  descriptor before_;
  std::vector<level> levels_;
  std::size_t followed_ = 0;
};

[[nodiscard]] result<identity> identity_of(int folder) noexcept;

/// See remove_dir_all(). Blocks. `by`: null: it goes on to the end.
[[nodiscard]] result<void> remove_all(const std::string& path, const awaiting_task* by);

}  // namespace rota::fs::detail
