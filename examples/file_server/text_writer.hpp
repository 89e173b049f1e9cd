// Writes text into a buffer of the caller.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace file_server {

/// Appends to a span, and remembers whether something did not fit.
class text_writer {
 public:
  explicit text_writer(std::span<char> out) noexcept : out_(out) {}

  void add(std::string_view text) noexcept {
    if (text.size() > out_.size() - size_) {
      fits_ = false;
      return;
    }
    size_ += text.copy(out_.data() + size_, text.size());
  }

  void add(std::uint64_t number) noexcept {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    add(std::string_view(digits, static_cast<std::size_t>(end.ptr - digits)));
  }

  void field(std::string_view name, std::string_view value) noexcept {
    add(name);
    add(": ");
    add(value);
    add("\r\n");
  }

  /// Returns the size; 0 if something did not fit.
  [[nodiscard]] std::size_t size() const noexcept { return fits_ ? size_ : 0; }

 private:
  std::span<char> out_;
  std::size_t size_ = 0;
  bool fits_ = true;
};

}  // namespace file_server
