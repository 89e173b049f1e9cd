#include "chat/line_buffer.hpp"

#include <algorithm>

namespace chat {
namespace {

constexpr std::size_t least_size = 4096;

}  // namespace

line_buffer::line_buffer(std::size_t longest)
    : longest_(longest), bytes_(std::max(longest + 2, least_size)) {}

std::span<std::byte> line_buffer::room() noexcept {
  std::copy(bytes_.data() + begin_, bytes_.data() + end_, bytes_.data());
  looked_at_ -= begin_;
  end_ -= begin_;
  begin_ = 0;
  return std::as_writable_bytes(std::span(bytes_).subspan(end_));
}

found line_buffer::next(std::string_view& line) noexcept {
  const std::string_view all(bytes_.data(), end_);
  const std::size_t feed = all.find('\n', looked_at_);
  std::string_view text = all.substr(begin_, feed == std::string_view::npos ? feed : feed - begin_);
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (text.size() > longest_) return found::too_long;
  if (feed == std::string_view::npos) {
    looked_at_ = end_;
    return found::nothing;
  }
  begin_ = feed + 1;
  looked_at_ = begin_;
  line = text;
  return found::line;
}

}  // namespace chat
