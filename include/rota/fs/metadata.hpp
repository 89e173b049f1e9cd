// What the system knows of a file.
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

/// Of a file, a directory, whatever has a name. A value.
struct file_info {
  using time_point = std::chrono::system_clock::time_point;

  file_type type = file_type::unknown;
  unsigned permissions = 0;  // the lowest twelve bits of its mode, as chmod takes them
  std::uint64_t size = 0;
  std::uint64_t blocks = 0;      // what it takes, in pieces of 512 bytes: less than its size if it has holes
  std::uint64_t block_size = 0;  // what it is best read by
  std::uint64_t links = 0;
  std::uint64_t device = 0;  // with `inode`: which file it is
  std::uint64_t inode = 0;
  unsigned owner = 0;
  unsigned group = 0;
  time_point modified;
  time_point changed;
  time_point accessed;
  std::optional<time_point> created;  // nothing: the file system does not know

  [[nodiscard]] bool is_file() const noexcept { return type == file_type::regular; }
  [[nodiscard]] bool is_directory() const noexcept { return type == file_type::directory; }
  [[nodiscard]] bool is_symlink() const noexcept { return type == file_type::symlink; }
  [[nodiscard]] bool is_same_file(const file_info& other) const noexcept {
    return device == other.device && inode == other.inode;
  }
};

/// Of what `path` leads to.
///
/// Threads       Any task.
/// Ownership     Keeps what it was given.
/// Failure       std::error_code of the system: ENOENT, ENOTDIR, EACCES, ELOOP, ... A path with a zero byte is std::errc::invalid_argument.
///               Cancelled, nothing has happened. Throws `std::bad_alloc`.
/// Cost          One operation of the ring, or one closure in the blocking pool.
/// Example       examples/files.cpp
ROTA_API task<result<file_info>> metadata(std::string path);
/// The same of a symbolic link itself.
ROTA_API task<result<file_info>> symlink_metadata(std::string path);

}  // namespace rota::fs
