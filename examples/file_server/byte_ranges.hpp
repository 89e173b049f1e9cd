// Byte ranges of a file: RFC 9110 §14.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace file_server {

/// A range of bytes, never empty.
struct byte_range {
  std::uint64_t first = 0;
  std::uint64_t size = 0;

  [[nodiscard]] constexpr std::uint64_t last() const noexcept { return first + size - 1; }
  bool operator==(const byte_range&) const = default;
};

class byte_ranges {
 public:
  static constexpr std::size_t most = 16;

  void clear() noexcept { count_ = 0; }
  void add(byte_range r) noexcept { items_[count_++] = r; }
  [[nodiscard]] std::span<const byte_range> items() const noexcept { return std::span(items_).first(count_); }
  [[nodiscard]] bool overlap() const noexcept;

 private:
  std::array<byte_range, most> items_{};
  std::size_t count_ = 0;
};

/// whole          no Range, or one that is ignored: of another unit, malformed, with more than 16 ranges, or
///                with overlapping ranges (§14.2 allows that, as a defence against requests for many copies
///                of a file).
/// partial        206, with the ranges in `into`, in the order of the field.
/// unsatisfiable  416.
enum class range_verdict : std::uint8_t { whole, partial, unsatisfiable };

/// Selects the ranges. `field` is the value of a Range, or empty; `size` is the size of the representation.
[[nodiscard]] range_verdict select_ranges(std::string_view field,
                                          std::uint64_t size,
                                          byte_ranges& into) noexcept;

}  // namespace file_server
