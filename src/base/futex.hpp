// Sleeping on a 32-bit word.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rota::base {

enum class [[nodiscard]] wait_result {
  woken,      // a wake, or a spurious wakeup: the caller must check again
  changed,    // the word was not `expected`
  timed_out,  // the deadline passed
};

/// Sleeps while `word == expected`, until a wake or the deadline (absolute, monotonic; `never`: no deadline).
wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept;

/// Sleeps like futex_wait(), for a thread that only checks, now and then, whether something must be done for
/// other threads. In the model, time does not move for the sake of this thread alone once it has checked many
/// times while no other thread has gone on.
wait_result futex_watch(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept;

/// Wakes at most `count` sleepers and returns their number. It takes an address, since the word may already
/// be gone: nothing is read.
int futex_wake(const atomic<std::uint32_t>* word, int count) noexcept;

/// The same two for the upper half of a word, which has its highest bits. The kernel knows only words of 32
/// bits.
wait_result futex_wait_upper(atomic<std::uint64_t>& word,
                             std::uint32_t expected,
                             time_point deadline) noexcept;
int futex_wake_upper(const atomic<std::uint64_t>* word, int count) noexcept;

/// Returns the address of that half.
[[nodiscard]] inline const void* upper_half(const atomic<std::uint64_t>* word) noexcept {
  return reinterpret_cast<const std::byte*>(word) + (std::endian::native == std::endian::little ? 4 : 0);
}

}  // namespace rota::base
