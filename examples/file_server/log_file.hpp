// A file of lines that is renamed when it has become large.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>

#include "common/unique_fd.hpp"

namespace file_server {

using common::unique_fd;

struct rotation {
  std::uint64_t size = 0;  // bytes; 0: never
  unsigned keep = 5;       // NAME.1, the newest, to NAME.keep
};

/// Threads    One at a time. Everything may block.
/// Failure    By error codes. What could not be written is lost, by whole lines: a part of one is taken back, or where that
///            cannot be, ended by a line feed before the next. The next write tries again.
class log_file {
 public:
  /// "-" is the standard output, which is never renamed; nor is anything but a regular file.
  log_file(std::string name, rotation r) : name_(std::move(name)), rotation_(r) {}

  /// Creates the file if it is not there, and appends to it if it is. Also for another time: whoever has renamed the file
  /// wants a new one. After an error the old one stays.
  std::error_code open();

  struct [[nodiscard]] written {
    std::uint64_t lines_lost = 0;
    std::error_code error{};  // the first
  };
  /// Writes whole lines. A file ends where its size would be exceeded, but holds one line at least.
  written write(std::string_view lines);

 private:
  [[nodiscard]] std::size_t fitting(std::string_view lines) const noexcept;
  std::error_code rotate();
  void put_lines(std::string_view lines, written& out);
  std::error_code put(std::string_view text, std::size_t& taken);
  void take_back(std::size_t torn) noexcept;

  std::string name_;
  rotation rotation_;
  unique_fd file_{};
  std::uint64_t size_ = 0;
  bool is_regular_ = false;
  bool is_torn_ = false;  // it ends within a line
};

}  // namespace file_server
