// Counts allocations: every call of operator new in a subject.
#pragma once

#include <cstdint>

namespace bench {

struct allocations {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
};

/// Starts the counting. Before, nothing is counted, and each call costs a check of a flag.
void count_allocations() noexcept;
[[nodiscard]] allocations allocations_so_far() noexcept;

}  // namespace bench
