// How long a thread looks at a word before it sleeps on it.
#pragma once

#include "base/futex.hpp"

#include <algorithm>
#include <cstdint>

namespace rota::base {

/// What one thread has learnt of its waits, and the rule by which it learns. Waits that others end within less time than a sleep and
/// a wake cost are worth a look first; after one that was longer the next is not. And who has looked in vain does not for a
/// while, twice as long each time: whom it waits for may need this very processor.
class habit {
 public:
  /// A sleep that short was mostly the way to it and back.
  static constexpr nanoseconds short_sleep = std::chrono::microseconds(80);
  static constexpr unsigned most_skipped = 1023;

  /// Before a wait. False: sleep at once.
  [[nodiscard]] constexpr bool looks_first() noexcept {
    if (!waits_are_short_) return false;
    if (to_skip_ == 0) return true;
    --to_skip_;
    return false;
  }
  constexpr void looked(bool in_vain) noexcept {
    skipped_ = in_vain ? std::min(2 * skipped_ + 1, most_skipped) : 0;
    to_skip_ = skipped_;
  }
  constexpr void slept(nanoseconds how_long) noexcept { waits_are_short_ = how_long < short_sleep; }
  /// It was ended by what no look would have seen.
  constexpr void forget() noexcept { waits_are_short_ = false; }

 private:
  unsigned to_skip_ = 0;  // so many waits
  unsigned skipped_ = 0;  // after the last look
  bool waits_are_short_ = false;
};

/// The waits of one thread, which alone may touch it. Nothing but a guess: whoever looked goes on as if it had not.
///
/// So a thread whose waits are long never spins, however many they are, and an idle program uses no processor. In the model
/// nobody looks: what a thread sees of a word is a choice, and a sleep is as good as a look that lasts.
class patience {
 public:
  /// futex_wait(), after a look.
  wait_result wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept;

  /// For who says in the word that it sleeps, and is woken by a system call then. Before that: returns once the word is not
  /// `expected`, or is likely not to change soon, or at `deadline`.
  void watch(const atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline = never) noexcept;
  /// Around that sleep. `wakes_up`: somebody changed the word. `forget`: it was something else.
  void falls_asleep() noexcept;
  void wakes_up() noexcept;
  void forget() noexcept { learnt_.forget(); }

 private:
  habit learnt_;
  time_point since_{};
};

}  // namespace rota::base
