// A summary of the signal words that hold something, and the word on which their consumer sleeps.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include <rota/detail/base.hpp>
#include <rota/detail/bitmap_word.hpp>

namespace rota::gate {

// PROTOCOL: signal waker
//
//   63       62                            0
//   +--------+-----------------------------+
//   | PARKED |  word i may hold something  |
//   +--------+-----------------------------+
//
//   mark_active(i)   one RMW: s -> (s | bit i) & ~PARKED. The thread that clears PARKED wakes the consumer.
//   take             the consumer: one RMW that clears bit i; then it takes word i.
//   park             the consumer: CAS 0 -> PARKED; then a futex wait on the half that holds PARKED, while
//                    that half is PARKED alone.
//   fork             A child is forked while the consumer sleeps: the word is PARKED, and no thread sleeps.
//                    The CAS of the child's consumer fails at that value; then the consumer sleeps as if its
//                    CAS had succeeded. Within one process the CAS never meets that value, because there is
//                    one consumer.
//
// Lost wakeup, if the sleep were not in the same word as the signals:
//   1. T1 (consumer) checks the signals and finds none.
//   2. T2 (producer) sets its signal and finds no sleeper.
//   3. T1 sleeps. The signal is set, and no thread wakes T1.
// Prevented: both RMWs are on one word, so one of them comes second. If the signal was first, the consumer's
// CAS fails. If the sleep was first, the producer's RMW sees PARKED.
// Before it blocks the thread, the kernel compares the half of the word. A mark between the CAS and the sleep
// has changed the half, since a mark clears PARKED. So there is one wake for each sleep, no stored permit,
// and no periodic re-check.
//
// Invariants (tests/unit/gate, tests/model/gate_model.cpp; every interleaving of two producers:
// src/gate/models/gate.pml):
//   W1  PARKED is set only while the consumer is in park(), and then no word's bit is set.
//   W2  PARKED is cleared by a marker, which wakes the consumer, or by the consumer itself at its deadline.
//   W3  bits of words: I2 of <rota/detail/bitmap_word.hpp>.
//
// Orders: mark releases and take acquires, as <rota/detail/bitmap_word.hpp> says. The CAS of park needs no
// order of its own: its result depends on the modification order of this word alone, and a consumer that
// wakes up goes on with a take.

/// A summary of up to 63 signal words, 4032 signals, for one consumer.
///
/// Threads       mark_active and has_marks: any. The others: one thread at a time, the consumer. To hand that
///               role over needs a happens-before of its own.
/// Ownership     None. Must outlive the gates of its words.
/// Ordering      What happened before a mark happens before what follows the take of that bit.
/// Failure       An index above 62 ends the program. In a forked child: it has no thread of its own, so it
///               works there with the child's threads, if at the fork no other thread was inside a call,
///               except a consumer that waited. A wait() is ended only by marks of its own process.
/// Cost          128 bytes. mark_active: one read-modify-write, and a system call if the consumer sleeps. A
///               take: one.
/// Example       examples/signal_gate.cpp
class alignas(128) signal_waker {
 public:
  static constexpr unsigned words = 63;

  signal_waker() noexcept = default;
  signal_waker(const signal_waker&) = delete;
  signal_waker& operator=(const signal_waker&) = delete;
  ~signal_waker() = default;

  /// Marks word `index`. The thread that has set the first bit of that word calls it. Wakes the consumer if
  /// it sleeps.
  void mark_active(unsigned index) noexcept {
    if (index >= words) [[unlikely]]
      ROTA_FATAL("a waker has words 0 to 62", index);
    mark(index);
  }

  /// Takes one word's index, in turns. Returns nothing if no word is marked. The word may be empty. If it is
  /// not, take() of that word has to follow.
  [[nodiscard]] ROTA_API std::optional<unsigned> try_take() noexcept;
  /// Takes one word's index as try_take() does, and sleeps while no word is marked.
  [[nodiscard]] ROTA_API unsigned wait() noexcept;
  /// Takes one word's index as wait() does. Returns nothing at the deadline.
  [[nodiscard]] ROTA_API std::optional<unsigned> wait_until(
      std::chrono::steady_clock::time_point deadline) noexcept;

  /// Returns true if some word may be marked: an approximate value.
  [[nodiscard]] bool has_marks() const noexcept {
    // relaxed: a hint only.
    return (bits_.load(base::order::relaxed) & ~parked) != 0;
  }

 private:
  friend class signal_gate;
  template <class Summary>
  friend std::uint64_t queue::set_in_two_levels(queue::bitmap_word&,
                                                std::uint64_t,
                                                Summary&,
                                                unsigned) noexcept;

  static constexpr std::uint64_t parked = std::uint64_t{1} << 63U;

  void mark(unsigned index) noexcept {
    // relaxed: a hint; the compare-exchange decides.
    std::uint64_t seen = bits_.load(base::order::relaxed);
    // release: pairs with unmark(): a consumer that takes the bit sees the bits of the word.
    // failure: relaxed: again a hint; another thread's exchange succeeded.
    while (!bits_.compare_exchange_weak(
        seen, (seen | (std::uint64_t{1} << index)) & ~parked, base::order::release, base::order::relaxed)) {
    }
    if ((seen & parked) != 0) [[unlikely]]
      wake();
  }
  void unmark(unsigned index) noexcept;
  ROTA_API void wake() noexcept;
  /// Sleeps unless there is a mark. Returns false at the deadline if there is no mark.
  bool park(std::chrono::steady_clock::time_point deadline) noexcept;

  base::atomic<std::uint64_t> bits_{0};
  base::cell<unsigned> next_{0};  // the consumer's: the word that it checks first next time
};

}  // namespace rota::gate
