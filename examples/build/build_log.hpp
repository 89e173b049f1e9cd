// What is remembered of the commands that made the files that are there.
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
  std::uint64_t command = 0;  // hash_of() of it
  file_time started = 0;      // the command
  file_time left = 0;         // of the file when the command had ended; 0: there was none

  friend bool operator==(const made_file&, const made_file&) = default;
};

/// FNV-1a: good enough to see that a command has changed, and the same everywhere.
[[nodiscard]] std::uint64_t hash_of(std::string_view command) noexcept;

/// A file of lines, to which one is added for each file that a command has made; the last one of a path counts. What is no such line
/// is passed over, so that a line that was cut short costs a command and nothing else.
///
/// Threads    Any.
class build_log {
 public:
  /// Reads it, if it is there.
  explicit build_log(std::string path);

  [[nodiscard]] std::optional<made_file> find(const std::string& output) const;
  /// The time that a file has which is written now. There is no other clock for that: some file systems date finer than the clock of
  /// ticks, some coarser than the others.
  [[nodiscard]] file_time now() const noexcept;
  /// False: it could not be written.
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
