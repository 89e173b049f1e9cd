#include "fs/tree.hpp"

#include "base/sys/paths.hpp"
#include "fs/information.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <new>
#include <string_view>

namespace rota::fs::detail {

namespace {

constexpr int for_reading = O_RDONLY | O_DIRECTORY;

file_type type_of_entry(unsigned char type) noexcept {
  return type == DT_UNKNOWN ? file_type::unknown : type_of_mode(DTTOIF(unsigned{type}));
}

}  // namespace

result<identity> identity_of(int folder) noexcept {
  const result<file_info> info = look_at(folder, "", AT_EMPTY_PATH);
  if (!info.has_value()) return std::unexpected(info.error());
  return identity{info->device, info->inode};
}

namespace {

/// Takes the first entry of `left`, and advances `left`. If there is no memory, `left` stays.
void take_entry(int folder, std::span<const std::byte>& left, std::vector<dir_entry>& into) {
  std::span<const std::byte> after = left;
  const sys::folder_entry each = sys::next_entry(after);
  const std::string_view name(each.name, each.length);
  if (name != "." && name != "..") {
    file_type type = type_of_entry(each.type);
    if (type == file_type::unknown) {
      const result<file_info> info = look_at(folder, each.name, AT_SYMLINK_NOFOLLOW);
      if (info.has_value()) type = info->type;
    }
    into.push_back({std::string(name), type, each.inode});
  }
  left = after;
}

}  // namespace

// The system returns everything once: bytes for which there is no memory are kept for the next call.
result<bool> read_entries(int folder, std::vector<std::byte>& rest, std::vector<dir_entry>& into) {
  if (rest.empty()) {
    rest.resize(std::size_t{32} << 10U);  // not on the stack, which may be small
    const number got = sys::read_folder(folder, rest);
    rest.resize(got.value_or(0));
    if (!got.has_value()) return std::unexpected(got.error());
    if (*got == 0) return false;
  }
  std::span<const std::byte> left(rest);
  try {
    while (!left.empty()) take_entry(folder, left, into);
  } catch (const std::bad_alloc&) {
    rest.erase(rest.begin(), rest.end() - static_cast<std::ptrdiff_t>(left.size()));
    throw;
  }
  rest.clear();
  return true;
}

result<tree::level> tree::look_into(int folder, const awaiting_task* by) {
  level made;
  const result<identity> which = identity_of(folder);
  if (!which.has_value()) return std::unexpected(which.error());
  made.which = *which;
  std::vector<std::byte> rest;
  for (;;) {
    if (by != nullptr && by->has_given_up()) return given_up();
    const result<bool> more = read_entries(folder, rest, made.left);
    if (!more.has_value()) return std::unexpected(more.error());
    if (!*more) return made;
  }
}

result<void> tree::enter(int at, const std::string& name, links how, const awaiting_task* by) {
  const int flags = how == links::refused ? for_reading | O_NOFOLLOW : for_reading;
  result<descriptor> opened = open_blocking(here_ ? here_.get() : at, name.c_str(), flags, 0);
  if (!opened.has_value()) return std::unexpected(opened.error());
  result<level> made = look_into(opened->get(), by);
  if (!made.has_value()) return std::unexpected(made.error());
  made->name = name;
  levels_.push_back(std::move(*made));
  if (how == links::followed) {
    ++followed_;
    levels_.back().above = std::move(here_);
  }
  before_ = std::move(here_);
  here_ = std::move(*opened);
  return {};
}

result<void> tree::leave() {
  const bool was_link = static_cast<bool>(levels_.back().above);
  descriptor above = std::move(levels_.back().above);
  descriptor before = std::move(before_);
  levels_.pop_back();
  if (was_link) --followed_;
  if (levels_.empty()) {
    here_ = descriptor();
    return {};
  }
  if (!was_link) {
    result<descriptor> opened = open_blocking(here_.get(), "..", for_reading, 0);
    // A directory that may be read, but not searched, has no "..".
    if (!opened.has_value() && before) opened = std::move(before);
    result<identity> which =
        opened.has_value() ? identity_of(opened->get()) : std::unexpected(opened.error());
    if (which.has_value() && *which != levels_.back().which)
      which = std::unexpected(std::error_code(ESTALE, std::generic_category()));
    if (!which.has_value()) {
      give_up();
      return std::unexpected(which.error());
    }
    above = std::move(*opened);
  }
  here_ = std::move(above);
  return {};
}

void tree::give_up() noexcept {
  here_ = descriptor();
  before_ = descriptor();
  levels_.clear();
  followed_ = 0;
}

bool tree::is_inside(const identity& which) const noexcept {
  return std::any_of(levels_.begin(), levels_.end(), [&](const level& l) { return l.which == which; });
}

}  // namespace rota::fs::detail
