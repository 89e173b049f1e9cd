// Maps a file into memory.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace log_analyzer {

/// Threads: any. Owns the mapping. If the file becomes shorter while it is read, SIGBUS ends the program.
class mapped_file {
 public:
  /// Throws std::system_error, which names the file.
  explicit mapped_file(const std::string& path);
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file();

  [[nodiscard]] std::string_view text() const noexcept { return {static_cast<const char*>(start_), size_}; }

 private:
  void* start_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace log_analyzer
