#include <rota/io/algorithms.hpp>

#include <algorithm>

namespace rota::io::detail {

growing::~growing() { into_->resize(used_); }

std::span<std::byte> growing::room(std::size_t most) {
  constexpr std::size_t least = 4096;
  constexpr std::size_t largest = std::size_t{1} << 20U;
  if (into_->size() == used_) {
    // Grow by the present size, so that there are few steps, but not so much that writing the zeroes costs
    // more than the reads.
    into_->resize(used_ + std::min(most, std::clamp(used_, least, largest)));
  }
  return std::span(*into_).subspan(used_, std::min(most, into_->size() - used_));
}

}  // namespace rota::io::detail
