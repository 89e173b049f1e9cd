// Several ranges of a file in one answer: multipart/byteranges, RFC 9110 §14.6.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "file_server/byte_ranges.hpp"

namespace file_server {

/// The text around the ranges. The bytes of the file go in between:
///
///   write_part(0) bytes write_part(1) bytes ... write_end()
class multipart {
 public:
  /// The space that the output of write_part() or write_end() fits into.
  static constexpr std::size_t capacity = 320;
  using randomness = std::array<std::uint64_t, 2>;

  /// `type` is the media type of the file, `whole` its size. `seed` makes the boundary: 128 random bits that
  /// the content of the file cannot have anticipated.
  void begin(std::string_view type,
             std::uint64_t whole,
             std::span<const byte_range> parts,
             randomness seed) noexcept;

  /// Returns the value of Content-Type, with the boundary.
  [[nodiscard]] std::string_view content_type() const noexcept { return {type_of_all_.data(), type_size_}; }
  /// Returns the length of the whole body.
  [[nodiscard]] std::uint64_t length() const noexcept { return length_; }

  [[nodiscard]] std::size_t write_part(std::span<char> out, const byte_range& part) const noexcept;
  [[nodiscard]] std::size_t write_end(std::span<char> out) const noexcept;

 private:
  [[nodiscard]] std::string_view boundary() const noexcept { return {boundary_.data(), boundary_.size()}; }

  std::string_view type_{};
  std::uint64_t whole_ = 0;
  std::uint64_t length_ = 0;
  std::array<char, 32> boundary_{};
  std::array<char, 80> type_of_all_{};
  std::size_t type_size_ = 0;
};

}  // namespace file_server
