// When files were written.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <ctime>
#include <optional>
#include <string>

namespace build {

/// Nanoseconds since 1970, as file systems count.
using file_time = std::int64_t;

[[nodiscard]] inline file_time nanoseconds_of(const timespec& t) noexcept {
  return file_time{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

/// Nothing: there is none.
[[nodiscard]] inline std::optional<file_time> written_at(const std::string& path) noexcept {
  struct stat about{};
  if (::stat(path.c_str(), &about) != 0) return std::nullopt;
  return nanoseconds_of(about.st_mtim);
}

}  // namespace build
