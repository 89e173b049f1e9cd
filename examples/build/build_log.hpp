// Remembers which command made each existing file.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "build/file_times.hpp"
#include "common/unique_fd.hpp"

namespace build {

struct made_file {
  std::uint64_t command = 0;  // hash_of() the command
  file_time started = 0;      // when the command started
  file_time left = 0;         // time of the file when the command had ended; 0: no file

  friend bool operator==(const made_file&, const made_file&) = default;
};

/// FNV-1a: good enough to detect a changed command, and the same on every machine.
[[nodiscard]] std::uint64_t hash_of(std::string_view command) noexcept;

/// A file of lines. Each command adds one line for each file that it has made; the last line of a path
/// counts. A malformed line is skipped, so a truncated line causes one unnecessary run of a command and no
/// other harm.
///
/// Threads    Any.
class build_log {
 public:
  /// Reads the log, if the file exists.
  explicit build_log(std::string path);

  [[nodiscard]] std::optional<made_file> find(const std::string& output) const;
  /// Returns the time stamp that a file gets if it is written now. Only the file system knows it: some file
  /// systems have a finer resolution than the coarse clock, others a coarser one than the precise clock.
  [[nodiscard]] file_time now() const noexcept;
  /// Returns false if the line could not be written.
  [[nodiscard]] bool add(const std::string& output, const made_file& what);

 private:
  void read_line(std::string_view line);
  void write_anew() const;
  [[nodiscard]] common::unique_fd open() const noexcept;

  std::string path_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, made_file> files_;
};

}  // namespace build
