// How many descriptors this process has open.
#pragma once

#include <cstddef>
#include <filesystem>
#include <system_error>

namespace rota::test {

/// Does not count those of /proc: a runtime's watchdog opens one for a moment when it checks a thread.
inline std::size_t open_files() {
  std::size_t n = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::filesystem::path of = std::filesystem::read_symlink(each.path(), gone);
    if (!gone && !of.native().starts_with("/proc/")) ++n;
  }
  return n;
}

}  // namespace rota::test
