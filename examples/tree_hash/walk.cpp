#include "tree_hash/walk.hpp"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string_view>
#include <utility>

#include <rota/this_task.hpp>

#include "tree_hash/last_error.hpp"
#include "tree_hash/names.hpp"

namespace tree_hash {
namespace {

constexpr int directory_flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_CLOEXEC;

entry failure(std::string name, std::error_code why) {
  return {.what = kind::failure, .name = std::move(name), .error = why};
}

}  // namespace

walk::walk(const std::string& root, unsigned directories, counts& found)
    : directories_(directories), counts_(found) {
  unique_fd fd(::open(root.c_str(), directory_flags));
  if (!fd.is_open()) throw std::system_error(last_error(), root);
  enter(std::move(fd), "", begun_);
}

std::vector<entry> walk::next(std::size_t most) {
  entries out = std::exchange(begun_, {});
  while (!is_over() && out.size() < most && !rota::this_task::cancel_requested()) {
    step(out);
    if (!has_room()) break;
  }
  return out;
}

void walk::step(entries& out) {
  level& lowest = levels_.back();
  if (lowest.position == lowest.names.size()) return leave(out);
  std::string name = std::move(lowest.names[lowest.position++]);
  if (!name.ends_with('/')) return look_at(std::move(name), out);
  name.pop_back();
  descend(std::move(name), out);
}

void walk::descend(std::string name, entries& out) {
  unique_fd fd(::openat(levels_.back().self->fd(), name.c_str(), directory_flags | O_NOFOLLOW));
  if (!fd.is_open()) {
    out.push_back(failure(std::move(name), last_error()));
    return;
  }
  enter(std::move(fd), std::move(name), out);
}

void walk::enter(unique_fd fd, std::string name, entries& out) {
  out.push_back({.what = kind::begin, .name = std::move(name)});
  struct stat about{};
  std::error_code failed = ::fstat(fd.get(), &about) == 0 ? std::error_code() : last_error();
  level next;
  if (!failed) failed = names_in(fd.get(), next.names);
  next.id = {about.st_dev, about.st_ino};
  next.self = std::make_shared<const directory>(std::move(fd), open_);
  if (failed) lose(next, failed, out);
  levels_.push_back(std::move(next));
  close_distant();
}

void walk::close_distant() {
  const std::size_t kept = std::max(directories_ / 4, 2U);
  if (levels_.size() > kept + 1) levels_[levels_.size() - 1 - kept].self.reset();
}

void walk::leave(entries& out) {
  out.push_back({.what = kind::end});
  const level child = std::move(levels_.back());
  levels_.pop_back();
  if (levels_.empty() || levels_.back().self != nullptr) return;
  if (const std::error_code failed = reopen(levels_.back(), child)) lose(levels_.back(), failed, out);
}

/// Opens the parent by "..". A directory further down may have been moved meanwhile; the way up must not lead
/// out of the tree.
std::error_code walk::reopen(level& parent, const level& child) {
  const auto moved = std::make_error_code(std::errc::no_such_file_or_directory);
  if (child.self == nullptr) return moved;
  unique_fd fd(::openat(child.self->fd(), "..", directory_flags));
  struct stat about{};
  if (!fd.is_open() || ::fstat(fd.get(), &about) != 0) return last_error();
  if (identity{about.st_dev, about.st_ino} != parent.id) return moved;
  parent.self = std::make_shared<const directory>(std::move(fd), open_);
  return {};
}

/// Reports an error and skips the names that have not been examined yet.
void walk::lose(level& which, std::error_code why, entries& out) {
  out.push_back(failure("", why));
  which.position = which.names.size();
}

void walk::look_at(std::string name, entries& out) {
  const shared_directory& folder = levels_.back().self;
  struct stat about{};
  if (::fstatat(folder->fd(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) != 0) {
    out.push_back(failure(std::move(name), last_error()));
    return;
  }
  switch (about.st_mode & S_IFMT) {
    case S_IFREG: break;
    case S_IFLNK: return out.push_back(read_link(folder->fd(), std::move(name)));
    case S_IFDIR: return descend(std::move(name), out);
    case S_IFIFO: return out.push_back({.what = kind::fifo, .name = std::move(name)});
    case S_IFSOCK: return out.push_back({.what = kind::socket, .name = std::move(name)});
    default: return out.push_back({.what = kind::device, .name = std::move(name)});
  }
  const auto size = static_cast<std::uint64_t>(about.st_size);
  counts_.found(size);
  out.push_back(
      {.what = kind::file, .is = state::unread, .name = std::move(name), .size = size, .in = folder});
}

entry walk::read_link(int folder, std::string name) {
  std::array<char, PATH_MAX> target{};
  const ssize_t length = ::readlinkat(folder, name.c_str(), target.data(), target.size());
  if (length < 0) return failure(std::move(name), last_error());
  sha256 sum;
  sum.add(std::string_view(target.data(), static_cast<std::size_t>(length)));
  return {.what = kind::link, .name = std::move(name), .sum = sum.finish()};
}

}  // namespace tree_hash
