// Entity tags: RFC 9110 §8.8.3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "file_server/encoding.hpp"
#include "file_server/field_lines.hpp"

namespace file_server {

/// What the tag of a file is made of. Another file, another content or another coding has another tag.
/// Exception: two changes of equal size, in place and within one tick of the file system's clock have the
/// same tag. Only a server that reads the content could tell them apart.
struct file_identity {
  std::uint64_t inode = 0;
  std::uint64_t size = 0;
  std::int64_t modified = 0;               // seconds since 1970
  std::uint32_t modified_nanoseconds = 0;  // of that second

  bool operator==(const file_identity&) const = default;
};

/// A strong tag, with its quotes.
class entity_tag {
 public:
  static constexpr std::size_t longest = 64;

  entity_tag() noexcept = default;
  entity_tag(const file_identity& file, coding c) noexcept;

  [[nodiscard]] std::string_view text() const noexcept { return {text_.data(), size_}; }

 private:
  std::array<char, longest> text_{};
  std::size_t size_ = 0;
};

/// weak: W/"a" equals "a". strong: W/"a" equals nothing, not even itself.
enum class comparison : std::uint8_t { weak, strong };

/// Returns true if an If-Match or If-None-Match lists `tag`, which is strong. "*" matches every tag. A
/// malformed element ends the list.
[[nodiscard]] bool lists(const field_lines& field, std::string_view tag, comparison how) noexcept;

}  // namespace file_server
