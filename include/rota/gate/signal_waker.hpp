// Which signal words hold something, and the place where their consumer sleeps.
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
//   mark_active(i)   one RMW: s -> (s | bit i) & ~PARKED. Who cleared PARKED wakes the consumer.
//   take             the consumer: one RMW that clears bit i; then it takes word i.
//   park             the consumer: CAS 0 -> PARKED; then it sleeps on the half that holds PARKED, as long as that is PARKED and
//                    nothing else.
//   fork             the child of a process whose consumer sleeps finds PARKED, and no sleeper. Its own consumer, whose CAS fails at that
//                    value, sleeps as if it had succeeded. In one process that value is never met: there is one consumer.
//
// The bad interleaving, where the sleep is not in the same word as the signals: the consumer looks and finds nothing; the
// producer sets its signal and finds nobody asleep; the consumer sleeps. Here one of the two RMWs comes second: the consumer's
// CAS fails if the signal was first, and the producer's RMW sees PARKED if the sleep was.
// The kernel compares the half before it lets anybody sleep: a mark between the CAS and the sleep has changed it, since that
// takes PARKED away. So there is one wake for each sleep, no permit that piles up, and no time after which one looks anyway.
//
// Invariants (tests/unit/gate, tests/model/gate_model.cpp; every interleaving of two producers: src/gate/models/gate.pml):
//   W1  PARKED is set only while the consumer is in park(), and then no bit of a word is.
//   W2  whoever clears PARKED wakes the consumer: a marker, or the consumer that gives up at its deadline.
//   W3  bits of words: I2 of <rota/detail/bitmap_word.hpp>.
//
// Orders: mark releases, and take acquires, as <rota/detail/bitmap_word.hpp> says. Park's CAS needs none of its own: what it
// decides is decided in the word's one order, and whoever wakes up goes on with a take.

/// A summary of up to 63 signal words, 4032 signals, for one consumer.
///
/// Threads       mark_active and has_marks: any. The others: one thread at a time, the consumer; a hand-over of that role
///               needs a happens-before of its own.
/// Ownership     None. Lives longer than its words' gates.
/// Ordering      What happened before a mark happens before what follows the take of that bit.
/// Failure       An index above 62 ends the program. In a forked child: it has no thread of its own, so it works there, with the child's threads,
///               if at the fork no other thread was inside of a call, but for a consumer that waited. A wait() is ended by marks of its
///               own process alone.
/// Cost          128 bytes. mark_active: one read-modify-write, and a system call if the consumer sleeps. A take: one.
/// Example       examples/signal_gate.cpp
class alignas(128) signal_waker {
 public:
  static constexpr unsigned words = 63;

  signal_waker() noexcept = default;
  signal_waker(const signal_waker&) = delete;
  signal_waker& operator=(const signal_waker&) = delete;
  ~signal_waker() = default;

  /// Word `index` holds something: for who has set the first bit there. Wakes the consumer if it sleeps.
  void mark_active(unsigned index) noexcept {
    if (index >= words) [[unlikely]]
      ROTA_FATAL("a waker has words 0 to 62", index);
    mark(index);
  }

  /// Takes one word's index, in turns, or nothing. The word may be empty; if it is not, take() has to follow.
  [[nodiscard]] ROTA_API std::optional<unsigned> try_take() noexcept;
  /// The same; sleeps while there is none.
  [[nodiscard]] ROTA_API unsigned wait() noexcept;
  /// The same; nothing once the time has come.
  [[nodiscard]] ROTA_API std::optional<unsigned> wait_until(
      std::chrono::steady_clock::time_point deadline) noexcept;

  /// A guess: there may be something to take.
  [[nodiscard]] bool has_marks() const noexcept {
    // relaxed. A guess.
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
    // relaxed. A guess; the exchange decides.
    std::uint64_t seen = bits_.load(base::order::relaxed);
    // release. Pairs with unmark(): who takes the bit sees our word's. failure: relaxed. Again a guess; somebody else's
    // exchange succeeded.
    while (!bits_.compare_exchange_weak(
        seen, (seen | (std::uint64_t{1} << index)) & ~parked, base::order::release, base::order::relaxed)) {
    }
    if ((seen & parked) != 0) [[unlikely]]
      wake();
  }
  void unmark(unsigned index) noexcept;
  ROTA_API void wake() noexcept;
  /// Sleeps unless there is a mark. False: the time has come, and there is none.
  bool park(std::chrono::steady_clock::time_point deadline) noexcept;

  base::atomic<std::uint64_t> bits_{0};
  base::cell<unsigned> next_{0};  // the consumer's: where it looks next
};

}  // namespace rota::gate
