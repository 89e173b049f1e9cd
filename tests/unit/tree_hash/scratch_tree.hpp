// A tree that a test may fill, and that is gone after it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tree_hash::testing {

class scratch_tree {
 public:
  scratch_tree() {
    std::string name = (std::filesystem::temp_directory_path() / "tree_hash_test.XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    if (::chmod(name.c_str(), 0755) != 0) throw std::runtime_error("chmod failed");
    path_ = name;
  }
  scratch_tree(const scratch_tree&) = delete;
  scratch_tree& operator=(const scratch_tree&) = delete;
  ~scratch_tree() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::string at(std::string_view name) const { return (path_ / name).string(); }
  [[nodiscard]] std::string root() const { return path_.string(); }

  void write(std::string_view name, std::string_view content) const {
    std::filesystem::create_directories(std::filesystem::path(at(name)).parent_path());
    std::ofstream(at(name), std::ios::binary) << content;
  }
  /// A file that nobody reads to its end within the life of a test.
  void write_endless(std::string_view name) const {
    write(name, "");
    std::filesystem::resize_file(at(name), endless);
  }
  static constexpr std::uintmax_t endless = std::uintmax_t{1} << 38U;

 private:
  std::filesystem::path path_;
};

/// For root, permissions do not count: while this lives the process is nobody.
class unprivileged {
 public:
  unprivileged() { become(65'534); }
  unprivileged(const unprivileged&) = delete;
  unprivileged& operator=(const unprivileged&) = delete;
  ~unprivileged() { become(0); }

 private:
  static void become(uid_t user) {
    if (::getuid() == 0 && ::seteuid(user) != 0) std::abort();
  }
};

/// Descriptors of this process that are open on something below `root`.
inline unsigned open_below(const std::string& root) {
  unsigned count = 0;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(fd, gone).string().starts_with(root)) ++count;
  }
  return count;
}

}  // namespace tree_hash::testing
