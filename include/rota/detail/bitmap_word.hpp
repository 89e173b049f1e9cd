// A word of a set, and the operations on two levels of such words.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>

namespace rota::queue {

// PROTOCOL: two-level bitmap
//
//   summary   bit w: leaf w may hold something         leaf w   bit b: the number 64 w + b is in the set
//
//   operation       first                                     then
//   set             leaf: set the bit                         the leaf was 0: set the summary bit
//   clear, take     leaf: clear the bit; this RMW decides     the leaf became 0: clear the summary bit, read
//                                                             the leaf again, and if it is not 0 set the
//                                                             summary bit again
//   take_word       clear the summary bit                     leaf: exchange with 0
//
// Any thread may do any operation at any time. Exactly one thread takes a bit: the RMW on the leaf decides
// which.
//
// Invariants (tests/unit/queue/bitmap_test.cpp, tests/model/bitmap_model.cpp, tests/model/gate_model.cpp):
//   I1  The number of bits that were set equals the number that were taken or cleared plus the number that
//       are still set. No bit is taken twice.
//   I2  leaf != 0 implies its summary bit, or a thread is between the first and the last step of an operation
//       on that leaf. So a scan finds a bit if it was set before the scan (in happens-before), and if every
//       other operation on its leaf was finished before the scan or has not begun.
//   I3  A summary bit without a leaf bit is harmless: a scan that finds the leaf empty goes on with the next
//       leaf.
//
// While a thread is between the steps, a take may miss bits of that leaf, also bits that other threads set
// long before. The thread between the steps is awake, and it is then responsible for these bits:
//   - Idle workers of the scheduler. A setter is a worker that parks: it scans again after set() has
//     returned. A clearer is a thread that has taken a worker out of the set, or a worker that has taken
//     itself out: it becomes a searcher that scans everything, or wakes one. That is the scheduler's rule
//     "the bitmap only finds a candidate". A thread that finds no candidate relies on this rule and on
//     nothing else.
//   - Gates. No thread clears single bits, so a thread between the steps is a setter, and its second step
//     wakes the consumer.
//
// Why the orders suffice: a thread that makes a leaf nonzero marks it, and all changes of the summary have
// one modification order.
//   - If the setter's mark comes after the clearer's unmark, the summary bit stays set.
//   - If it comes before, unmark acquires the setter's change of the leaf, and the second read, or the
//     exchange, finds it.
// A taker acquires, with the leaf bit, what the setter of the bit did before.

/// Threads       Any.
/// Ordering      What was done before a bit was set happens before what is done after it was taken.
/// Cost          One read-modify-write each.
class bitmap_word {
 public:
  /// Sets the bits. Returns what the word held before.
  std::uint64_t set(std::uint64_t bits) noexcept {
    // release: pairs with the acquire in clear() and take(): a thread that takes these bits sees what this
    // thread did before.
    return bits_.fetch_or(bits, base::order::release);
  }
  /// Clears the bits. Returns what the word held before.
  std::uint64_t clear(std::uint64_t bits) noexcept {
    // acquire: pairs with the release in set(): a thread that takes a bit sees what its setter did before.
    return bits_.fetch_and(~bits, base::order::acquire);
  }
  /// Clears all bits. Returns what the word held before.
  std::uint64_t take() noexcept {
    // acquire: pairs with the release in set(): a thread that takes the bits sees what their setters did
    // before.
    return bits_.exchange(0, base::order::acquire);
  }
  /// Returns a guess of the bits. It includes what happened before the caller's last acquire.
  [[nodiscard]] std::uint64_t guess() const noexcept {
    // relaxed: a guess, or the second read after an unmark(), which has acquired what that read must see.
    return bits_.load(base::order::relaxed);
  }

 private:
  base::atomic<std::uint64_t> bits_{0};
};

/// The operations on two levels. `Summary` has mark(w), which releases, and unmark(w), which acquires. Each
/// returns what the leaf held before.
template <class Summary>
std::uint64_t set_in_two_levels(bitmap_word& leaf,
                                std::uint64_t bits,
                                Summary& summary,
                                unsigned w) noexcept {
  const std::uint64_t before = leaf.set(bits);
  if (before == 0) summary.mark(w);
  return before;
}
/// Clears one bit.
template <class Summary>
std::uint64_t clear_in_two_levels(bitmap_word& leaf,
                                  std::uint64_t bit,
                                  Summary& summary,
                                  unsigned w) noexcept {
  const std::uint64_t before = leaf.clear(bit);
  if (before == bit) {
    // This call made the leaf 0. Without the second read, unmark() hides the bit of a setter that was faster.
    summary.unmark(w);
    if (leaf.guess() != 0) summary.mark(w);
  }
  return before;
}
/// Takes all bits of a leaf. It clears the summary bit first, so it need not read the leaf a second time.
template <class Summary>
std::uint64_t take_in_two_levels(bitmap_word& leaf, Summary& summary, unsigned w) noexcept {
  summary.unmark(w);
  return leaf.take();
}

}  // namespace rota::queue
