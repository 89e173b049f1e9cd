// Modification times of files.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

namespace build {

/// Nanoseconds since 1970, the unit of file systems.
using file_time = std::int64_t;

[[nodiscard]] inline file_time nanoseconds_of(const timespec& t) noexcept {
  return file_time{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Returns nullopt if the file does not exist.
[[nodiscard]] inline std::optional<file_time> written_at(const std::string& path) noexcept {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return std::nullopt;
  return nanoseconds_of(about.st_mtim);
}

}  // namespace build
