// Sleeping on a 32-bit word.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"

#include <cstdint>

namespace rota::base {

enum class [[nodiscard]] wait_result {
  woken,      // a wake, or a spurious return: look again
  changed,    // the word was not `expected`
  timed_out,  // the deadline passed
};

/// Sleeps while `word == expected`, until a wake or the deadline (absolute, monotonic; `never`: none).
wait_result futex_wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept;

/// Wakes at most `count` sleepers; returns how many. Takes an address, since the word may already be gone: nothing is read.
int futex_wake(const atomic<std::uint32_t>* word, int count) noexcept;

}  // namespace rota::base
