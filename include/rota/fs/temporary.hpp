// Temporary files and directories that remove themselves.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <rota/fs/file.hpp>

namespace rota::fs {

/// Creates an unnamed file (mode 0600) for reading and writing. It disappears when it is closed. It is
/// created in `folder`, or in the temporary folder of the process (TMPDIR, or the default of the system). No
/// other process can open it.
///
/// Threads       Any task.  Ownership  The file's.
/// Failure       As open_options::open(). Throws `std::bad_alloc`.
/// Cost          One closure in the blocking pool. On a file system without unnamed files the file has a name
///               for a moment.
/// Example       examples/files.cpp
ROTA_API task<result<file>> temp_file();
ROTA_API task<result<file>> temp_file(std::string folder);

/// A directory (mode 0700) with a unique name. Its destructor removes it with all its contents.
///
/// Threads       Any. In a forked child of the process that created it the destructor removes nothing.
/// Ownership     Owns the directory until release().
/// Failure       std::error_code of the system. The destructor reports no error: call remove() for that.
///               Throws `std::bad_alloc`.
/// Cost          One closure in the blocking pool. The destructor removes the directory on its own thread and
///               *blocks that thread meanwhile*: co_await remove() first if the directory is large.
/// Example       examples/files.cpp
class ROTA_API temp_dir {
 public:
  temp_dir() noexcept = default;
  temp_dir(temp_dir&& other) noexcept
      : path_(std::exchange(other.path_, {})), process_(std::exchange(other.process_, 0)) {}
  temp_dir& operator=(temp_dir&& other) noexcept {
    path_.swap(other.path_);
    std::swap(process_, other.process_);
    return *this;
  }
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;
  ~temp_dir();

  /// Creates it in the temporary folder of the process.
  static task<result<temp_dir>> create();
  /// Creates "<prefix>0123456789abcdef" in `folder`. Its path is absolute, also if `folder` is not. ENOENT:
  /// `folder` is "". std::errc::invalid_argument: `prefix` contains a slash.
  static task<result<temp_dir>> create_in(std::string folder, std::string prefix);

  /// Returns "" if the object is empty: never created, removed, released or moved from.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// Returns the path of `name` inside the directory.
  [[nodiscard]] std::string at(const std::string& name) const { return path_ + "/" + name; }
  /// Removes the directory. After an error or a cancellation the destructor tries once more.
  task<result<void>> remove();
  /// Gives up ownership and returns the path. The directory stays.
  [[nodiscard]] std::string release() noexcept {
    process_ = 0;
    return std::exchange(path_, {});
  }

 private:
  explicit temp_dir(std::string path) noexcept;
  std::string path_;
  std::uint64_t process_ = 0;
};

}  // namespace rota::fs
