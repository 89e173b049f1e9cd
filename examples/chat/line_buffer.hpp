// Bytes as they arrive, cut into lines.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace chat {

enum class [[nodiscard]] found : unsigned char {
  line,
  nothing,   // no whole one; there is room for more
  too_long,  // a line, or what there is of it, is longer than it may be; there is nothing more to be had
};

class line_buffer {
 public:
  /// `longest`: bytes of a line, without its end, which is LF or CR LF.
  explicit line_buffer(std::size_t longest);

  /// What next() has shown is gone. Never empty after found::nothing.
  [[nodiscard]] std::span<std::byte> room() noexcept;
  void commit(std::size_t count) noexcept { end_ += count; }
  /// The next line without its end; valid until room().
  found next(std::string_view& line) noexcept;

 private:
  std::size_t longest_;
  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t looked_at_ = 0;  // no LF before this
  std::size_t end_ = 0;
};

}  // namespace chat
