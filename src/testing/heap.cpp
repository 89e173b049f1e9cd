#include "testing/heap.hpp"

#include "testing/sanitizers.hpp"

#include <algorithm>
#include <cstring>

namespace rota::testing::detail {

namespace {

constexpr int freed_pattern = 0xDB;

/// Finds the newest block that begins at `address`: recent allocations are often freed first. An object and
/// its memory may have the same address.
auto find(std::vector<heap::block>& blocks, const void* address, bool is_object) noexcept {
  const auto found = std::find_if(blocks.rbegin(), blocks.rend(), [=](const auto& b) {
    return b.begin == address && (b.size == 0) == is_object;
  });
  return found == blocks.rend() ? blocks.end() : found.base() - 1;
}

}  // namespace

void heap::add(const block& b) {
  // Only the address of an object is reused: its memory is not in quarantine.
  if (const auto again = find(freed_, b.begin, b.size == 0); again != freed_.end()) freed_.erase(again);
  live_.push_back(b);
}

heap::verdict heap::remove(const void* address, std::size_t size) {
  const auto found = find(live_, address, size == 0);
  if (found == live_.end()) {
    return find(freed_, address, size == 0) == freed_.end() ? verdict::unknown : verdict::twice;
  }
  if (found->size != size) return verdict::wrong_size;
  if (size != 0) {
    std::memset(const_cast<void*>(found->begin), freed_pattern, size);
    poison(found->begin, size);
  }
  freed_.push_back(*found);
  live_.erase(found);
  return verdict::fine;
}

bool heap::is_quarantined(const void* address) const noexcept {
  return std::any_of(freed_.begin(), freed_.end(), [=](const block& b) {
    return address >= b.begin && address < static_cast<const std::byte*>(b.begin) + b.size;
  });
}

void heap::clear() noexcept {
  for (const auto* blocks : {&live_, &freed_}) {
    for (const block& b : *blocks) {
      if (b.size == 0) continue;
      unpoison(b.begin, b.size);
      b.release(const_cast<void*>(b.begin));
    }
  }
  live_.clear();
  freed_.clear();
}

}  // namespace rota::testing::detail
