// A set of up to 4096 small numbers, in two levels: a summary of the words that hold something, and the
// words.
#pragma once

#include "base/atomic.hpp"
#include "base/bits.hpp"
#include "base/cache_line.hpp"

#include <rota/detail/bitmap_word.hpp>

#include <bit>
#include <cstdint>
#include <memory>
#include <optional>

namespace rota::queue {

/// Implements the protocol in <rota/detail/bitmap_word.hpp>, which gates use as well. Lock-free; any thread.
class bitmap {
 public:
  static constexpr std::uint32_t max_size = 64 * 64;

  /// A set for the numbers 0 .. size - 1. Allocates once, 128 bytes for each 64; throws std::bad_alloc.
  explicit bitmap(std::uint32_t size) : size_(checked(size)), leaves_(std::make_unique<leaf[]>(words())) {}
  bitmap(const bitmap&) = delete;
  bitmap& operator=(const bitmap&) = delete;
  ~bitmap() = default;

  [[nodiscard]] std::uint32_t size() const noexcept { return size_; }
  [[nodiscard]] std::uint32_t words() const noexcept { return (size_ + 63) / 64; }

  /// Inserts `index`. Returns true if it was not in the set.
  bool set(std::uint32_t index) noexcept {
    ROTA_ASSERT(index < size_);
    const std::uint64_t mask = base::bit(index % 64);
    return (set_word(index / 64, mask) & mask) == 0;
  }

  /// Removes `index`. Returns true if it was in the set and this call took it.
  [[nodiscard]] bool clear(std::uint32_t index) noexcept {
    ROTA_ASSERT(index < size_);
    return clear_bit(index / 64, index % 64);
  }

  /// Takes the lowest number, if there is any.
  [[nodiscard]] std::optional<std::uint32_t> take_lowest() noexcept { return take_from(0); }

  /// Takes the lowest number that is not below `start`, or else the lowest: for a cursor that goes round.
  [[nodiscard]] std::optional<std::uint32_t> take_next(std::uint32_t start) noexcept {
    ROTA_ASSERT(start < size_);
    const auto found = take_from(start);
    return found.has_value() || start == 0 ? found : take_from(0);
  }

  /// Inserts several numbers of one word. Returns what the word held before.
  std::uint64_t set_word(std::uint32_t word, std::uint64_t bits) noexcept {
    ROTA_ASSERT(word < words() && (bits & ~used_bits(word)) == 0);
    if (bits == 0) return leaves_[word].bits.guess();  // NOT IN A MODEL: no bits at all
    return set_in_two_levels(leaves_[word].bits, bits, summary_, word);
  }

  /// Takes a whole word, which may be empty.
  [[nodiscard]] std::uint64_t take_word(std::uint32_t word) noexcept {
    ROTA_ASSERT(word < words());
    return take_in_two_levels(leaves_[word].bits, summary_, word);
  }

  /// Returns a guess: bit w is set if word w may hold something.
  [[nodiscard]] std::uint64_t summary() const noexcept { return summary_.guess(); }

  /// Returns a guess: it may return true while the set is empty.
  [[nodiscard]] bool any() const noexcept { return summary() != 0; }

  /// Returns a guess of the size, for reports.
  [[nodiscard]] std::uint32_t count() const noexcept {
    int sum = 0;
    for (std::uint32_t w = 0; w < words(); ++w) sum += std::popcount(leaves_[w].bits.guess());
    return static_cast<std::uint32_t>(sum);
  }

 private:
  struct alignas(base::cache_line) leaf {
    bitmap_word bits;
  };
  struct marks {
    void mark(unsigned word) noexcept {
      // release: pairs with the acquire in unmark(): a thread that unmarks after this sees the changed leaf.
      bits.fetch_or(base::bit(word), base::order::release);
    }
    void unmark(unsigned word) noexcept {
      // acquire: pairs with the release in mark(): the read of the leaf that follows sees the bits of the
      // threads that marked before.
      bits.fetch_and(~base::bit(word), base::order::acquire);
    }
    [[nodiscard]] std::uint64_t guess() const noexcept {
      // relaxed: a guess; it includes what happened before the caller's last acquire.
      return bits.load(base::order::relaxed);
    }
    base::atomic<std::uint64_t> bits{0};
  };

  [[nodiscard]] static std::uint32_t checked(std::uint32_t size) noexcept {
    if (size == 0 || size > max_size) ROTA_FATAL("a bitmap holds 1 to 4096 bits", size);
    return size;
  }

  /// Returns the bits of a word that stand for numbers below size().
  [[nodiscard]] std::uint64_t used_bits(std::uint32_t word) const noexcept {
    const std::uint32_t rest = size_ - word * 64;
    return rest < 64 ? base::bit(rest) - 1 : ~std::uint64_t{0};
  }

  [[nodiscard]] bool clear_bit(std::uint32_t word, unsigned index) noexcept {
    const std::uint64_t mask = base::bit(index);
    return (clear_in_two_levels(leaves_[word].bits, mask, summary_, word) & mask) != 0;
  }

  [[nodiscard]] std::optional<std::uint32_t> take_from(std::uint32_t start) noexcept {
    const std::uint32_t first = start / 64;
    const std::uint64_t below = base::bit(start % 64) - 1;  // of the first word: these are left out
    for (std::uint64_t rest = summary() & ~(base::bit(first) - 1); rest != 0; rest &= rest - 1) {
      const unsigned word = base::lowest_bit(rest);
      const auto index = take_in(word, word == first ? ~below : ~std::uint64_t{0});
      if (index.has_value()) return word * 64 + *index;
    }
    return std::nullopt;
  }

  /// Takes one of the wanted bits of a word. Each further round means that another thread took the bit first.
  [[nodiscard]] std::optional<unsigned> take_in(std::uint32_t word, std::uint64_t wanted) noexcept {
    for (;;) {
      const std::uint64_t seen = leaves_[word].bits.guess() & wanted;  // the RMW in clear_bit() decides
      if (seen == 0) return std::nullopt;
      if (const unsigned index = base::lowest_bit(seen); clear_bit(word, index)) return index;
    }
  }

  const std::uint32_t size_;
  const std::unique_ptr<leaf[]> leaves_;
  // Every thread reads the two above, and they never change. So the summary has a cache line of its own.
  alignas(base::cache_line) marks summary_;
};

}  // namespace rota::queue
