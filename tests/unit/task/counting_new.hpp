// The global operator new of this test program: counts, and fails on demand.
#pragma once

#include <cstddef>

namespace rota::test {

/// What operator new did on this thread since `reset()`. Frames from the cache of free frames do not count.
struct allocations {
  static void reset() noexcept;
  [[nodiscard]] static std::size_t made() noexcept;
  [[nodiscard]] static std::size_t freed() noexcept;
  /// Makes the `nth` allocation of this thread from now on fail, once. 0 is the next one.
  static void fail_after(std::size_t nth) noexcept;
  static void stop_failing() noexcept;
};

}  // namespace rota::test
