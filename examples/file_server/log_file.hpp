// A file of lines that is rotated: renamed when it has become large.
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
  std::uint64_t size = 0;  // bytes; 0: never rotate
  unsigned keep = 5;       // NAME.1, the newest, to NAME.keep
};

/// Threads    One at a time. Every function may block.
/// Failure    By error codes. Lines that could not be written are lost as whole lines: a partial line is
///            removed or, if that fails, ended by a line feed before the next line. The next write tries
///            again.
class log_file {
 public:
  /// "-" is the standard output. Only a regular file is ever renamed.
  log_file(std::string name, rotation r) : name_(std::move(name)), rotation_(r) {}

  /// Opens the file for appending and creates it if needed. Can be called again: after an outside rename it
  /// creates a new file. After an error the old file stays open.
  std::error_code open();

  struct [[nodiscard]] written {
    std::uint64_t lines_lost = 0;
    std::error_code error{};  // the first error
  };
  /// Writes whole lines. A file is rotated before it would exceed its size, but holds at least one line.
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
  bool is_torn_ = false;  // the file ends within a line
};

}  // namespace file_server
