// Cuts received bytes into lines.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace chat {

enum class [[nodiscard]] found : unsigned char {
  line,
  nothing,   // no complete line yet; room() has space for more bytes
  too_long,  // a line, complete or not, exceeds the limit; no further line can be read
};

class line_buffer {
 public:
  /// `longest` is the maximum length of a line in bytes, without its end, which is LF or CR LF.
  explicit line_buffer(std::size_t longest);

  /// Returns the space for the next bytes. The line that next() returned becomes invalid. Never empty after
  /// found::nothing.
  [[nodiscard]] std::span<std::byte> room() noexcept;
  void commit(std::size_t count) noexcept { end_ += count; }
  /// Finds the next line, without its end. The view is valid until the next room().
  found next(std::string_view& line) noexcept;

 private:
  std::size_t longest_;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t looked_at_ = 0;  // no LF before this
  std::size_t end_ = 0;
};

}  // namespace chat
