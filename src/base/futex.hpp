// Sleeping on a 32-bit word.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"

#include <bit>
#include <cstddef>
#include <cstdint>

namespace rota::base {

enum class [[nodiscard]] wait_result {
  woken,      // a wake, or a spurious return: look again
  changed,    // the word was not `expected`
  timed_out,  // the deadline passed
};

/// Sleeps while `word == expected`, until a wake or the deadline (absolute, monotonic; `never`: none).
wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept;

/// The same, for a thread that only looks, now and then, whether something must be done for others. In the model time does not
/// move for its sake alone, once it has looked many times and nobody else has gone on.
wait_result futex_watch(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept;

/// Wakes at most `count` sleepers; returns how many. Takes an address, since the word may already be gone: nothing is read.
int futex_wake(const atomic<std::uint32_t>* word, int count) noexcept;

/// The same two on the upper half of a word, where its highest bits are; the kernel knows words of 32 bits only.
wait_result futex_wait_upper(atomic<std::uint64_t>& word,
                             std::uint32_t expected,
                             time_point deadline) noexcept;
int futex_wake_upper(const atomic<std::uint64_t>* word, int count) noexcept;

/// Where that half lies.
[[nodiscard]] inline const void* upper_half(const atomic<std::uint64_t>* word) noexcept {
  return reinterpret_cast<const std::byte*>(word) + (std::endian::native == std::endian::little ? 4 : 0);
}

}  // namespace rota::base
