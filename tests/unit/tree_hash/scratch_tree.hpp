// A directory tree that a test may fill. It is deleted after the test.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include "support/scratch_folder.hpp"

namespace tree_hash::testing {

class scratch_tree : public rota::test::scratch_folder {
 public:
  /// Writes a file that is too large to be read to its end within a test.
  void write_endless(std::string_view name) const {
    write(name, "");
    std::filesystem::resize_file(at(name), endless);
  }
  static constexpr std::uintmax_t endless = std::uintmax_t{1} << 38U;
};

/// Root ignores permissions: during its life a process of root has an unprivileged effective user id.
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

/// Returns the number of descriptors of this process that are open below `root`.
inline unsigned open_below(const std::string& root) {
  unsigned count = 0;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(fd, gone).string().starts_with(root)) ++count;
  }
  return count;
}

}  // namespace tree_hash::testing
