// A word of 64 signals: bit b is set while the queue of gate b has something to do.
#pragma once

#include <bit>
#include <cstdint>

#include <rota/detail/base.hpp>
#include <rota/detail/bitmap_word.hpp>

namespace rota::gate {

/// One bit for each of up to 64 signal gates. The word's index is the bit of the signal_waker that stands for
/// the word.
///
/// Threads       Any. A bit that is set is taken by one caller only.
/// Ownership     None. Must outlive its gates.
/// Ordering      What happened before a bit was set happens before what follows the taking of that bit.
/// Failure       An index above 62 ends the program, because a waker has no bit for it. In a forked child:
///               works, see signal_waker.
/// Cost          128 bytes, so that no two words share a cache line. set, acquire, take: one
///               read-modify-write.
/// Example       examples/signal_gate.cpp
class alignas(128) signal_word {
 public:
  static constexpr unsigned bits = 64;
  // Of one waker: bit 63 of its word says that the consumer sleeps
  static constexpr unsigned most_words = 63;

  explicit signal_word(unsigned index) noexcept : index_(index) {
    if (index >= most_words) ROTA_FATAL("a signal word's index is 0 to 62", index);
  }
  signal_word(const signal_word&) = delete;
  signal_word& operator=(const signal_word&) = delete;
  ~signal_word() = default;

  [[nodiscard]] unsigned index() const noexcept { return index_; }

  /// Sets a bit, 0 to 63. Returns true if the word was empty; then the caller must call mark_active(index())
  /// of the waker.
  [[nodiscard]] bool set(unsigned bit) noexcept { return word_.set(mask_of(bit)) == 0; }
  /// Takes one bit. Returns true if the bit was set; then only this call took it. The waker's bit for this
  /// word may stay set.
  [[nodiscard]] bool acquire(unsigned bit) noexcept {
    return (word_.clear(mask_of(bit)) & mask_of(bit)) != 0;
  }
  /// Takes all bits. The consumer calls it after it has taken this word's index from the waker. In that order
  /// no bit is missed.
  [[nodiscard]] std::uint64_t take() noexcept { return word_.take(); }

  /// Approximate values, for reports.
  [[nodiscard]] bool is_set(unsigned bit) const noexcept { return (word_.guess() & mask_of(bit)) != 0; }
  [[nodiscard]] unsigned size() const noexcept { return static_cast<unsigned>(std::popcount(word_.guess())); }
  [[nodiscard]] bool is_empty() const noexcept { return word_.guess() == 0; }

 private:
  friend class signal_gate;

  [[nodiscard]] static std::uint64_t mask_of(unsigned bit) noexcept {
    if (bit >= bits) [[unlikely]]
      ROTA_FATAL("a signal's bit is 0 to 63", bit);
    return std::uint64_t{1} << bit;
  }

  queue::bitmap_word word_;
  const unsigned index_;
};

}  // namespace rota::gate
