// The system calls that make, remove, rename and list names. They block.
#pragma once

#include "base/sys/result.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace rota::base::sys {

// `at`: a directory, or AT_FDCWD.
/// `flags`: AT_REMOVEDIR.
result<void> remove_name(int at, const char* path, int flags) noexcept;
result<void> make_folder(int at, const char* path, unsigned mode) noexcept;
/// `flags`: RENAME_NOREPLACE, RENAME_EXCHANGE; EINVAL: the file system does not support them.
result<void> rename_path(int from_at, const char* from, int to_at, const char* to, unsigned flags) noexcept;
result<void> make_link(int from_at, const char* from, int to_at, const char* to, int flags) noexcept;
result<void> make_symlink(const char* target, int at, const char* path) noexcept;
/// Throws std::bad_alloc.
result<std::string> read_symlink(int at, const char* path);
/// Returns the absolute path, without symbolic links, "." and "..". Throws std::bad_alloc.
result<std::string> real_path(const char* path);
/// Sets the mode of the file that `path` leads to.
result<void> set_path_mode(const char* path, unsigned mode) noexcept;
/// Sets the mode of a Unix socket, before bind(): the file is made with that mode, less the process's umask.
result<void> set_mode(int fd, unsigned mode) noexcept;

/// One entry of a directory; `name` lies in the bytes that were read.
struct folder_entry {
  const char* name;
  std::size_t length;
  std::uint64_t inode;
  unsigned char type;  // DT_REG and the like; DT_UNKNOWN: the file system does not say
};
/// Reads as many whole entries as fit and returns the number of bytes; 0 at the end. ENOENT: the directory
/// has been removed.
result<std::size_t> read_folder(int fd, std::span<std::byte> into) noexcept;
/// Returns the entry at the start of `bytes`, and moves `bytes` on to the next one.
folder_entry next_entry(std::span<const std::byte>& bytes) noexcept;

/// Makes a descriptor that reports changes in directories and of files. It does not block, and does not
/// survive an exec.
result<int> make_watch() noexcept;
/// Adds a watch and returns its number. `mask`: IN_MODIFY and the like.
result<int> watch_path(int watch, const char* path, unsigned mask) noexcept;
result<void> unwatch_path(int watch, int number) noexcept;

}  // namespace rota::base::sys
