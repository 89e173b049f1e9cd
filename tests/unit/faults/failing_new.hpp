// The global operator new of this test program. It counts, and fails on demand on every thread.
#pragma once

#include <cstddef>

namespace rota::test {

/// What operator new does in the whole process.
struct memory {
  /// Lets `nth` allocations succeed; then the next `in_a_row` fail, on any thread.
  static void fail_after(std::size_t nth, std::size_t in_a_row) noexcept;
  /// Ends all failures. Returns the number of failures since fail_after().
  static std::size_t stop_failing() noexcept;
  /// Calls `call` in the next allocation of this thread, before it takes memory, and in no other.
  static void before_next_here(void (*call)(void* with), void* with) noexcept;
  /// Returns the number of blocks that are allocated.
  [[nodiscard]] static long live() noexcept;
  /// Returns the size of these blocks in bytes, as the allocator counts it.
  [[nodiscard]] static long live_bytes() noexcept;
};

/// Disables the frame cache of this thread: each frame comes from operator new from now on.
void forgo_frame_cache() noexcept;

}  // namespace rota::test
