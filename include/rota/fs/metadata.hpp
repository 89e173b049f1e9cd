// Metadata of files.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include <rota/io/result.hpp>
#include <rota/task.hpp>

namespace rota::fs {

using io::result;

enum class file_type : unsigned char {
  unknown,
  regular,
  directory,
  symlink,
  block_device,
  character_device,
  fifo,
  socket,
};

[[nodiscard]] constexpr const char* to_string(file_type type) noexcept {
  switch (type) {
    case file_type::unknown: return "unknown";
    case file_type::regular: return "regular";
    case file_type::directory: return "directory";
    case file_type::symlink: return "symlink";
    case file_type::block_device: return "block device";
    case file_type::character_device: return "character device";
    case file_type::fifo: return "fifo";
    case file_type::socket: return "socket";
  }
  return "unknown";
}

/// Metadata of a file, directory or other file system object. A value.
struct file_info {
  using time_point = std::chrono::system_clock::time_point;

  file_type type = file_type::unknown;
  unsigned permissions = 0;  // the lowest twelve bits of the mode, as chmod takes them
  std::uint64_t size = 0;
  std::uint64_t blocks = 0;      // allocated blocks of 512 bytes: less than `size` if there are holes
  std::uint64_t block_size = 0;  // preferred size of a read
  std::uint64_t links = 0;
  std::uint64_t device = 0;  // together with `inode` it identifies the file
  std::uint64_t inode = 0;
  unsigned owner = 0;
  unsigned group = 0;
  time_point modified;
  time_point changed;
  time_point accessed;
  std::optional<time_point> created;  // nullopt if the file system does not record it

  [[nodiscard]] bool is_file() const noexcept { return type == file_type::regular; }
  [[nodiscard]] bool is_directory() const noexcept { return type == file_type::directory; }
  [[nodiscard]] bool is_symlink() const noexcept { return type == file_type::symlink; }
  [[nodiscard]] bool is_same_file(const file_info& other) const noexcept {
    return device == other.device && inode == other.inode;
  }
};

/// Returns the metadata of `path`. Follows symbolic links.
///
/// Threads       Any task.
/// Ownership     Keeps its arguments.
/// Failure       std::error_code of the system: ENOENT, ENOTDIR, EACCES, ELOOP, ... A path with a zero byte
///               is std::errc::invalid_argument. A cancelled call has no effect. Throws `std::bad_alloc`.
/// Cost          One operation of the ring, or one closure in the blocking pool.
/// Example       examples/files.cpp
ROTA_API task<result<file_info>> metadata(std::string path);
/// Returns the metadata of `path` itself, also if it is a symbolic link.
ROTA_API task<result<file_info>> symlink_metadata(std::string path);

}  // namespace rota::fs
