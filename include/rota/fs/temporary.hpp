// Files and directories that go by themselves.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <rota/fs/file.hpp>

namespace rota::fs {

/// A file without a name, to read and write, which goes when it is closed: in `folder`, or where the process keeps such files (TMPDIR, or the system's
/// own folder). Nobody else can open it; 0600.
///
/// Threads       Any task.  Ownership  The file's.
/// Failure       As open_options::open(). Throws `std::bad_alloc`.
/// Cost          One closure in the blocking pool. Where the file system has no files without a name: one that has one for a moment.
/// Example       examples/files.cpp
ROTA_API task<result<file>> temp_file();
ROTA_API task<result<file>> temp_file(std::string folder);

/// A directory of one's own (0700), with a name that nobody else has, removed with all that is in it by the destructor.
///
/// Threads       Any. In a child of the process that made it the destructor removes nothing.
/// Ownership     Owns the directory until release().
/// Failure       std::error_code of the system. The destructor tells no error: remove() does. Throws `std::bad_alloc`.
/// Cost          One closure in the blocking pool. The destructor removes where it runs, and *blocks its thread meanwhile*: co_await remove() first,
///               if there is much in it.
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

  /// Where the process keeps such files.
  static task<result<temp_dir>> create();
  /// In `folder`: "<prefix>0123456789abcdef"; its path is absolute, also where `folder` is not. ENOENT: `folder` is "".
  /// std::errc::invalid_argument: a slash in `prefix`.
  static task<result<temp_dir>> create_in(std::string folder, std::string prefix);

  /// "": it is empty, was removed, released or moved from.
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  /// `name` in it.
  [[nodiscard]] std::string at(const std::string& name) const { return path_ + "/" + name; }
  /// Removes it. After an error, or cancelled, the destructor tries it once more.
  task<result<void>> remove();
  /// It stays.
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
