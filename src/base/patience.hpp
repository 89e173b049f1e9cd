// How long a thread spins on a word before it sleeps on it.
#pragma once

#include "base/futex.hpp"

#include <algorithm>
#include <cstdint>

namespace rota::base {

/// The history of one thread's waits, and the rule for its next one. A wait that other threads end within
/// less time than a sleep and a wake cost is worth spinning for. After a wait that was longer, the next one
/// does not spin. After spinning in vain a thread does not spin for a number of waits, which doubles each
/// time: the thread that it waits for may need this very processor.
class habit {
 public:
  /// A sleep of less than this was mostly the cost of falling asleep and of waking up.
  static constexpr nanoseconds short_sleep = std::chrono::microseconds(80);
  static constexpr unsigned most_skipped = 1023;

  /// Called before a wait. Returns true if the thread shall spin first, and false if it shall sleep at once.
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
  /// Notes that the wait was ended by something that spinning would not have seen.
  constexpr void forget() noexcept { waits_are_short_ = false; }

 private:
  unsigned to_skip_ = 0;  // so many waits from now on do not spin
  unsigned skipped_ = 0;  // the number of waits to skip that was set after the last spin
  bool waits_are_short_ = false;
};

/// Spins before the waits of one thread, which alone may touch this object. Its results are only hints: a
/// caller that has spun must check the word again as if it had not.
///
/// A thread with long waits never spins, however many they are, and an idle program uses no processor. In the
/// model no thread spins: what a thread sees of a word is a choice there, and a sleep is as good as a long
/// spin.
class patience {
 public:
  /// Does a futex_wait(), after a spin if that is likely to help.
  wait_result wait(atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline) noexcept;

  /// For a thread that announces its sleep in the word and is then woken by a system call; called before the
  /// announcement. Returns once the word is not `expected`, or is not likely to change soon, or at
  /// `deadline`.
  void watch(const atomic<std::uint32_t>& word, std::uint32_t expected, time_point deadline = never) noexcept;
  /// Called around that sleep. `wakes_up`: another thread changed the word. `forget`: something else ended
  /// the sleep.
  void falls_asleep() noexcept;
  void wakes_up() noexcept;
  void forget() noexcept { learnt_.forget(); }

 private:
  habit learnt_;
  time_point since_{};
};

}  // namespace rota::base
