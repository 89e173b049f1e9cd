// Creates directories with their parents, and removes directories with their contents.
#include <rota/fs/directory.hpp>

#include "base/sys/paths.hpp"
#include "fs/information.hpp"
#include "fs/tree.hpp"

#include <fcntl.h>

namespace rota::fs {

namespace {

using detail::awaiting_task;
using detail::bad_argument;
using detail::descriptor;
using detail::given_up;
using detail::has_zero;
using detail::tree;
namespace sys = detail::sys;

bool is_missing(const result<void>& r) noexcept {
  return !r.has_value() && r.error() == std::errc::no_such_file_or_directory;
}

// ---- creation

/// Creates one directory. An existing directory is no error.
result<void> make_one(const std::string& path, unsigned mode) noexcept {
  const result<void> made = sys::make_folder(AT_FDCWD, path.c_str(), mode);
  if (made.has_value() || made.error() != std::errc::file_exists) return made;
  const result<file_info> there = detail::look_at(AT_FDCWD, path.c_str(), 0);
  return there.has_value() && there->is_directory() ? result<void>() : made;
}

/// Removes redundant ends: "a/b/" and "a/b/." become "a/b".
std::string plain_end(std::string path) {
  while (path.size() > 1 && (path.ends_with('/') || path.ends_with("/."))) path.pop_back();
  return path;
}

result<void> make_all(const std::string& given, unsigned mode, const awaiting_task& by) {
  constexpr unsigned to_enter = 0300;  // whatever the mode: else nothing could be created in it
  const std::string path = plain_end(given);
  const result<void> at_once = make_one(path, mode);
  if (!is_missing(at_once) || path.empty()) return at_once;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (by.has_given_up()) return given_up();
    const result<void> made = make_one(path.substr(0, slash), mode | to_enter);
    if (!made.has_value()) return made;
  }
  return make_one(path, mode);
}

// ---- removal

/// Removes one entry of the open directory, or enters it if it is a directory. Returns true if it was
/// entered: it is the open directory now.
result<bool> remove_or_enter(tree& in, const dir_entry& each, const awaiting_task* by) {
  const auto unlink = [&] { return sys::remove_name(in.here(), each.name.c_str(), 0); };
  if (each.type != file_type::directory) {
    const result<void> removed = unlink();
    if (removed.has_value() || is_missing(removed)) return false;
    if (removed.error() != std::errc::is_a_directory) return std::unexpected(removed.error());
  }
  const result<void> entered = in.enter(-1, each.name, tree::links::refused, by);
  if (entered.has_value()) return true;
  if (is_missing(entered)) return false;
  // It was replaced by another object.
  if (entered.error() != std::errc::not_a_directory &&
      entered.error() != std::errc::too_many_symbolic_link_levels)
    return std::unexpected(entered.error());
  const result<void> removed = unlink();
  if (!removed.has_value() && !is_missing(removed)) return std::unexpected(removed.error());
  return false;
}

/// The open directory is empty: removes it, and opens its parent.
result<void> remove_emptied(tree& in, int above_root) {
  const std::string name = in.name();
  const result<void> left = in.leave();
  if (!left.has_value()) return left;
  const int above = in.depth() == 0 ? above_root : in.here();
  const result<void> removed = sys::remove_name(above, name.c_str(), AT_REMOVEDIR);
  return is_missing(removed) ? result<void>() : removed;
}

result<void> remove_all_below(tree& in, int above_root, const awaiting_task* by) {
  while (in.depth() != 0) {
    if (by != nullptr && by->has_given_up()) return given_up();
    if (in.left().empty()) {
      const result<void> removed = remove_emptied(in, above_root);
      if (!removed.has_value()) return removed;
      continue;
    }
    const dir_entry each = std::move(in.left().back());
    in.left().pop_back();
    const result<bool> done = remove_or_enter(in, each, by);
    if (!done.has_value()) return std::unexpected(done.error());
  }
  return {};
}

}  // namespace

result<void> detail::remove_all(const std::string& path, const awaiting_task* by) {
  const split_path at = split(path);
  if (path.empty()) return std::unexpected(std::make_error_code(std::errc::no_such_file_or_directory));
  if (at.name.empty() || at.name == "." || at.name == "..") return bad_argument();
  const result<descriptor> folder =
      detail::open_blocking(AT_FDCWD, at.folder.c_str(), O_PATH | O_DIRECTORY, 0);
  if (!folder.has_value()) return std::unexpected(folder.error());
  tree all;
  const result<void> entered = all.enter(folder->get(), at.name, tree::links::refused, by);
  if (entered.has_value()) return remove_all_below(all, folder->get(), by);
  const result<file_info> info = detail::look_at(folder->get(), at.name.c_str(), AT_SYMLINK_NOFOLLOW);
  if (!info.has_value() || !info->is_symlink()) return entered;
  return sys::remove_name(folder->get(), at.name.c_str(), 0);
}

task<result<void>> create_dir_all(std::string path, unsigned mode) {
  if (has_zero(path) || mode > detail::most_mode) co_return bad_argument();
  const auto make = [&](const awaiting_task& by) { return make_all(path, mode, by); };
  co_return co_await detail::on_thread(make);
}

task<result<void>> remove_dir_all(std::string path) {
  if (has_zero(path)) co_return bad_argument();
  const auto remove = [&](const awaiting_task& by) { return detail::remove_all(path, &by); };
  co_return co_await detail::on_thread(remove);
}

}  // namespace rota::fs
