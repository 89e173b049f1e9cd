// What a program asks of the allocator. Every operator new of a subject's passes by here, whoever calls it.
#pragma once

#include <cstdint>

namespace bench {

struct allocations {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

/// From now on; before, nothing is counted, and each call costs a look at a flag.
void count_allocations() noexcept;
[[nodiscard]] allocations allocations_so_far() noexcept;

}  // namespace bench
