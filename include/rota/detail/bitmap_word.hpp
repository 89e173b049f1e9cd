// A word of a set, and the steps over two levels of such words.
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
// Anybody may do anything at any time. A bit is taken by exactly one: the RMW on its leaf says by whom.
//
// Invariants (tests/unit/queue/bitmap_test.cpp, tests/model/bitmap_model.cpp, tests/model/gate_model.cpp):
//   I1  as many bits were taken or cleared as were set, plus those that are still set; no bit is taken twice.
//   I2  leaf != 0 implies its summary bit, or somebody is between his first and last step on that leaf.
//       So a bit is found, if it was set before the look (in happens-before), and if whatever else was done
//       to its leaf was finished before the look, or has not begun.
//   I3  a summary bit without a leaf bit is harmless: a look that finds the leaf empty goes on with the next.
//
// While somebody is between the steps, a take may miss bits of that leaf, also bits of others who are long
// done. He who is between the steps is then responsible, and he is awake. Of the scheduler's idle workers: a
// setter (a worker that parks) re-scans after set() has returned, a clearer (who took somebody, or himself,
// out) goes on as, or wakes, a searcher that looks everywhere. That is the scheduler's rule "the bitmap only
// finds a candidate"; who finds none relies on it, and on nothing else. Of gates: nobody clears single bits,
// so he who is between the steps is a setter, and his second step is what wakes the consumer.
//
// Why the orders suffice: whoever makes a leaf other than 0 marks it, and all changes of the summary have one
// order. If the setter's mark comes after the clearer's unmark, the summary bit stays. If it comes before,
// unmark acquires the setter's leaf, and the second look, or the exchange, finds it. A taker acquires with the
// leaf bit what its setter did before.

/// Threads       Any.
/// Ordering      What was done before a bit was set happens before what is done after it was taken.
/// Cost          One read-modify-write each.
class bitmap_word {
 public:
  /// Returns what the word held before.
  std::uint64_t set(std::uint64_t bits) noexcept {
    // release. Pairs with clear() and take(): who takes these bits sees what we did before.
    return bits_.fetch_or(bits, base::order::release);
  }
  /// The same: what it held before.
  std::uint64_t clear(std::uint64_t bits) noexcept {
    // acquire. Pairs with set(): who takes a bit sees what its setter did before.
    return bits_.fetch_and(~bits, base::order::acquire);
  }
  /// All of it.
  std::uint64_t take() noexcept {
    // acquire. Pairs with set(): who takes the bits sees what their setters did before.
    return bits_.exchange(0, base::order::acquire);
  }
  /// A guess; what happened before the caller's last acquire is in it.
  [[nodiscard]] std::uint64_t guess() const noexcept {
    // relaxed. A guess, or a second look: unmark() has acquired what that must see.
    return bits_.load(base::order::relaxed);
  }

 private:
  base::atomic<std::uint64_t> bits_{0};
};

/// The steps. `Summary` has mark(w), which releases, and unmark(w), which acquires. Each returns what the leaf held before.
template <class Summary>
std::uint64_t set_in_two_levels(bitmap_word& leaf,
                                std::uint64_t bits,
                                Summary& summary,
                                unsigned w) noexcept {
  const std::uint64_t before = leaf.set(bits);
  if (before == 0) summary.mark(w);
  return before;
}
/// One bit.
template <class Summary>
std::uint64_t clear_in_two_levels(bitmap_word& leaf,
                                  std::uint64_t bit,
                                  Summary& summary,
                                  unsigned w) noexcept {
  const std::uint64_t before = leaf.clear(bit);
  if (before == bit) {
    // The leaf became 0 by our hand. Without the second look, a setter faster than unmark() is hidden.
    summary.unmark(w);
    if (leaf.guess() != 0) summary.mark(w);
  }
  return before;
}
/// The summary bit goes first, so nothing has to be looked at again.
template <class Summary>
std::uint64_t take_in_two_levels(bitmap_word& leaf, Summary& summary, unsigned w) noexcept {
  summary.unmark(w);
  return leaf.take();
}

}  // namespace rota::queue
