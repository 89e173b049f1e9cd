// The global operator new of this test program: counts, and fails on demand, on every thread.
#pragma once

#include <cstddef>

namespace rota::test {

/// What operator new does in the whole process.
struct memory {
  /// From now on `nth` allocations succeed, then the next `in_a_row` fail, whoever asks.
  static void fail_after(std::size_t nth, std::size_t in_a_row) noexcept;
  /// How many have failed since then. Nothing fails any more.
  static std::size_t stop_failing() noexcept;
  /// Blocks that were allocated and not freed.
  [[nodiscard]] static long live() noexcept;
  /// The bytes that these blocks have, as the allocator counts them.
  [[nodiscard]] static long live_bytes() noexcept;
};

/// This thread's frames come from operator new from now on, each of them: nothing is kept for the next one.
void forgo_frame_cache() noexcept;

}  // namespace rota::test
