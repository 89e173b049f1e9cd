// A set of up to 4096 small numbers, in two levels: which words hold something, and the words.
#pragma once

#include "base/atomic.hpp"
#include "base/bits.hpp"
#include "base/cache_line.hpp"

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

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
// Invariants (tests/unit/queue/bitmap_test.cpp, tests/model/bitmap_model.cpp):
//   I1  as many bits were taken or cleared as were set, plus those that are still set; no bit is taken twice.
//   I2  leaf != 0 implies its summary bit, or somebody is between his first and last step on that leaf.
//       So a bit is found, if it was set before the look (in happens-before), and if whatever else was done
//       to its leaf was finished before the look, or has not begun.
//   I3  a summary bit without a leaf bit is harmless: a look that finds the leaf empty goes on with the next.
//
// While somebody is between the steps, a take may miss bits of that leaf, also bits of others who are long
// done. He who is between the steps is then responsible, and he is awake: a setter (a worker that parks)
// re-scans after set() has returned, a clearer (who took somebody, or himself, out) goes on as, or wakes, a
// searcher that looks everywhere. That is the scheduler's rule "the bitmap only finds a candidate"; who finds
// none relies on it, and on nothing else.
//
// Why the orders suffice: whoever makes a leaf other than 0 marks it, and all changes of the summary have one
// order. If the setter's mark() comes after the clearer's unmark(), the summary bit stays. If it comes
// before, unmark() acquires the setter's leaf, and the second look finds it. A taker acquires with the leaf
// bit what its setter did before.
class bitmap {
 public:
  static constexpr std::uint32_t max_size = 64 * 64;

  /// For the numbers 0 .. size - 1. Allocates once, 128 bytes for each 64; throws std::bad_alloc.
  explicit bitmap(std::uint32_t size) : size_(checked(size)), leaves_(std::make_unique<leaf[]>(words())) {}
  bitmap(const bitmap&) = delete;
  bitmap& operator=(const bitmap&) = delete;
  ~bitmap() = default;

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t words() const noexcept { return (size_ + 63) / 64; }

  /// Puts `index` in. True: it was not in.
  bool set(std::uint32_t index) noexcept {
    ROTA_ASSERT(index < size_);
    const std::uint64_t mask = base::bit(index % 64);
    return (set_word(index / 64, mask) & mask) == 0;
  }

  /// Takes `index` out. True: it was in, and this call took it.
  [[nodiscard]] bool clear(std::uint32_t index) noexcept {
    ROTA_ASSERT(index < size_);
    return clear_bit(index / 64, index % 64);
  }

  /// Takes out the lowest number, or nothing.
  [[nodiscard]] std::optional<std::uint32_t> take_lowest() noexcept { return take_from(0); }

  /// Takes out the lowest number not below `start`, or else the lowest: for a cursor that goes round.
  [[nodiscard]] std::optional<std::uint32_t> take_next(std::uint32_t start) noexcept {
    ROTA_ASSERT(start < size_);
    const auto found = take_from(start);
    return found.has_value() || start == 0 ? found : take_from(0);
  }

  /// Puts several numbers of one word in; returns what the word held before.
  std::uint64_t set_word(std::uint32_t word, std::uint64_t bits) noexcept {
    ROTA_ASSERT(word < words() && (bits & ~used_bits(word)) == 0);
    // release. Pairs with clear_bit() and take_word(): who takes these bits sees what we did before.
    const std::uint64_t before = leaves_[word].bits.fetch_or(bits, base::order::release);
    if (before == 0 && bits != 0) mark(word);  // NOT IN A MODEL: no bits at all
    return before;
  }

  /// Takes out a whole word, perhaps empty. The summary bit goes first, so nothing has to be looked at again.
  [[nodiscard]] std::uint64_t take_word(std::uint32_t word) noexcept {
    ROTA_ASSERT(word < words());
    unmark(word);
    // acquire. Pairs with set_word(): what the setters did before is seen.
    return leaves_[word].bits.exchange(0, base::order::acquire);
  }

  /// A guess: bit w says that word w may hold something.
  [[nodiscard]] std::uint64_t summary() const noexcept {
    // relaxed. A guess; what happened before the caller's last acquire is in it.
    return summary_.load(base::order::relaxed);
  }

  /// A guess, and may say yes while nothing is in.
  [[nodiscard]] bool any() const noexcept { return summary() != 0; }

  /// A guess, for reports.
  [[nodiscard]] std::uint32_t count() const noexcept {
    int sum = 0;
    // relaxed. A guess; the words are not read at one moment.
    for (std::uint32_t w = 0; w < words(); ++w) {
      sum += std::popcount(leaves_[w].bits.load(base::order::relaxed));
    }
    return static_cast<std::uint32_t>(sum);
  }

 private:
  struct alignas(base::cache_line) leaf {
    base::atomic<std::uint64_t> bits{0};
  };

  [[nodiscard]] static std::uint32_t checked(std::uint32_t size) noexcept {
    if (size == 0 || size > max_size) ROTA_FATAL("a bitmap holds 1 to 4096 bits", size);
    return size;
  }

  /// The bits of a word that are numbers below size().
  [[nodiscard]] std::uint64_t used_bits(std::uint32_t word) const noexcept {
    const std::uint32_t rest = size_ - word * 64;
    return rest < 64 ? base::bit(rest) - 1 : ~std::uint64_t{0};
  }

  void mark(std::uint32_t word) noexcept {
    // release. Pairs with the acquire in unmark(): who unmarks after us sees our leaf.
    summary_.fetch_or(base::bit(word), base::order::release);
  }

  void unmark(std::uint32_t word) noexcept {
    // acquire. Pairs with the release in mark(): the look at the leaf that follows sees the bits of who
    // marked before.
    summary_.fetch_and(~base::bit(word), base::order::acquire);
  }

  [[nodiscard]] bool clear_bit(std::uint32_t word, unsigned index) noexcept {
    const std::uint64_t mask = base::bit(index);
    // acquire. Pairs with set_word(): who takes the bit sees what its setter did before.
    const std::uint64_t before = leaves_[word].bits.fetch_and(~mask, base::order::acquire);
    if ((before & mask) == 0) return false;
    if (before == mask) unmark_emptied(word);
    return true;
  }

  /// The leaf became 0 by our hand. Without the second look, a setter faster than unmark() is hidden.
  void unmark_emptied(std::uint32_t word) noexcept {
    unmark(word);
    // relaxed. unmark() has acquired what must be seen; a later setter finds 0, and marks by itself.
    if (leaves_[word].bits.load(base::order::relaxed) != 0) mark(word);
  }

  [[nodiscard]] std::optional<std::uint32_t> take_from(std::uint32_t start) noexcept {
    const std::uint32_t first = start / 64;
    const std::uint64_t below = base::bit(start % 64) - 1;  // of the first word: not these
    for (std::uint64_t rest = summary() & ~(base::bit(first) - 1); rest != 0; rest &= rest - 1) {
      const unsigned word = base::lowest_bit(rest);
      const auto index = take_in(word, word == first ? ~below : ~std::uint64_t{0});
      if (index.has_value()) return word * 64 + *index;
    }
    return std::nullopt;
  }

  /// Each further round means that somebody else took the bit we wanted.
  [[nodiscard]] std::optional<unsigned> take_in(std::uint32_t word, std::uint64_t wanted) noexcept {
    for (;;) {
      // relaxed. A guess; the RMW in clear_bit() decides.
      const std::uint64_t seen = leaves_[word].bits.load(base::order::relaxed) & wanted;
      if (seen == 0) return std::nullopt;
      if (const unsigned index = base::lowest_bit(seen); clear_bit(word, index)) return index;
    }
  }

  const std::uint32_t size_;
  const std::unique_ptr<leaf[]> leaves_;
  // Everybody reads the two above, and they never change: the summary has a line of its own.
  alignas(base::cache_line) base::atomic<std::uint64_t> summary_{0};
};

}  // namespace rota::queue
