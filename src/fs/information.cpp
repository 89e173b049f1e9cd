#include "fs/information.hpp"

#include <fcntl.h>

namespace rota::fs {

namespace {

constexpr unsigned statx_mask = STATX_BASIC_STATS | STATX_BTIME;

file_info::time_point time_of(const statx_timestamp& t) noexcept {
  using clock = std::chrono::system_clock;
  // A file system may store years that the clock cannot represent: clamp them.
  constexpr std::int64_t most = (clock::duration::max)() / std::chrono::seconds(1) - 1;
  if (t.tv_sec > most) return (clock::time_point::max)();
  if (t.tv_sec < -most) return (clock::time_point::min)();
  return clock::time_point(std::chrono::duration_cast<clock::duration>(std::chrono::seconds(t.tv_sec) +
                                                                       std::chrono::nanoseconds(t.tv_nsec)));
}

std::uint64_t device_of(std::uint32_t major, std::uint32_t minor) noexcept {
  return std::uint64_t{major} << 32U | minor;
}

}  // namespace

namespace detail {

file_type type_of_mode(unsigned mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFREG: return file_type::regular;
    case S_IFDIR: return file_type::directory;
    case S_IFLNK: return file_type::symlink;
    case S_IFBLK: return file_type::block_device;
    case S_IFCHR: return file_type::character_device;
    case S_IFIFO: return file_type::fifo;
    case S_IFSOCK: return file_type::socket;
    default: return file_type::unknown;
  }
}

file_info info_of(const struct statx& from) noexcept {
  file_info made;
  made.type = type_of_mode(from.stx_mode);
  made.permissions = from.stx_mode & most_mode;
  made.size = from.stx_size;
  made.blocks = from.stx_blocks;
  made.block_size = from.stx_blksize;
  made.links = from.stx_nlink;
  made.device = device_of(from.stx_dev_major, from.stx_dev_minor);
  made.inode = from.stx_ino;
  made.owner = from.stx_uid;
  made.group = from.stx_gid;
  made.modified = time_of(from.stx_mtime);
  made.changed = time_of(from.stx_ctime);
  made.accessed = time_of(from.stx_atime);
  if ((from.stx_mask & STATX_BTIME) != 0) made.created = time_of(from.stx_btime);
  return made;
}

result<file_info> look_at(int at, const char* path, int flags) noexcept {
  struct statx found{};
  const result<void> asked = sys::info(at, path, flags, statx_mask, found);
  if (!asked.has_value()) return std::unexpected(asked.error());
  return info_of(found);
}

task<result<file_info>> information(int at, std::string path, int flags) {
  if (has_zero(path)) co_return bad_argument();
  struct statx found{};
  const auto prepare = [&](sys::ring_request& r) noexcept {
    sys::prepare_info(r, at, path.c_str(), flags, statx_mask, &found);
  };
  const auto make = [&]() noexcept { return sys::info(at, path.c_str(), flags, statx_mask, found); };
  const system_call call("file information", sys::ring_call::info, prepare, make);
  const number asked = co_await perform(call);
  if (!asked.has_value()) co_return std::unexpected(asked.error());
  co_return info_of(found);
}

}  // namespace detail

task<result<file_info>> metadata(std::string path) {
  return detail::information(AT_FDCWD, std::move(path), 0);
}

task<result<file_info>> symlink_metadata(std::string path) {
  return detail::information(AT_FDCWD, std::move(path), AT_SYMLINK_NOFOLLOW);
}

}  // namespace rota::fs
