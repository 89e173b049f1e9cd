// A set of up to 4096 small numbers, in two levels: which words hold something, and the words.
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

/// The numbers of the protocol in <rota/detail/bitmap_word.hpp>, which gates share. Lock-free; any thread.
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
    if (bits == 0) return leaves_[word].bits.guess();  // NOT IN A MODEL: no bits at all
    return set_in_two_levels(leaves_[word].bits, bits, summary_, word);
  }

  /// Takes out a whole word, perhaps empty.
  [[nodiscard]] std::uint64_t take_word(std::uint32_t word) noexcept {
    ROTA_ASSERT(word < words());
    return take_in_two_levels(leaves_[word].bits, summary_, word);
  }

  /// A guess: bit w says that word w may hold something.
  [[nodiscard]] std::uint64_t summary() const noexcept { return summary_.guess(); }

  /// A guess, and may say yes while nothing is in.
  [[nodiscard]] bool any() const noexcept { return summary() != 0; }

  /// A guess, for reports.
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
      // release. Pairs with the acquire in unmark(): who unmarks after us sees our leaf.
      bits.fetch_or(base::bit(word), base::order::release);
    }
    void unmark(unsigned word) noexcept {
      // acquire. Pairs with the release in mark(): the look at the leaf that follows sees the bits of who
      // marked before.
      bits.fetch_and(~base::bit(word), base::order::acquire);
    }
    [[nodiscard]] std::uint64_t guess() const noexcept {
      // relaxed. A guess; what happened before the caller's last acquire is in it.
      return bits.load(base::order::relaxed);
    }
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

  [[nodiscard]] bool clear_bit(std::uint32_t word, unsigned index) noexcept {
    const std::uint64_t mask = base::bit(index);
    return (clear_in_two_levels(leaves_[word].bits, mask, summary_, word) & mask) != 0;
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
      const std::uint64_t seen = leaves_[word].bits.guess() & wanted;  // the RMW in clear_bit() decides
      if (seen == 0) return std::nullopt;
      if (const unsigned index = base::lowest_bit(seen); clear_bit(word, index)) return index;
    }
  }

  const std::uint32_t size_;
  const std::unique_ptr<leaf[]> leaves_;
  // Everybody reads the two above, and they never change: the summary has a line of its own.
  alignas(base::cache_line) marks summary_;
};

}  // namespace rota::queue
