// 64 signals in one word: which of its queues have something to do.
#pragma once

#include <bit>
#include <cstdint>

#include <rota/detail/base.hpp>
#include <rota/detail/bitmap_word.hpp>

namespace rota::gate {

/// One bit for each of up to 64 signal gates. Its index says which bit of a signal_waker stands for the word.
///
/// Threads       Any. A bit that is set is taken by one caller only.
/// Ownership     None. Lives longer than its gates.
/// Ordering      What happened before a bit was set happens before what follows its taking.
/// Failure       An index above 62 ends the program: a waker has no bit for it. In a forked child: it works, see signal_waker.
/// Cost          128 bytes, so that no two words share a cache line. set, acquire, take: one read-modify-write.
/// Example       examples/signal_gate.cpp
class alignas(128) signal_word {
 public:
  static constexpr unsigned bits = 64;
  static constexpr unsigned most_words = 63;  // of one waker: its 64th bit says that the consumer sleeps

  explicit signal_word(unsigned index) noexcept : index_(index) {
    if (index >= most_words) ROTA_FATAL("a signal word's index is 0 to 62", index);
  }
  signal_word(const signal_word&) = delete;
  signal_word& operator=(const signal_word&) = delete;
  ~signal_word() = default;

  [[nodiscard]] unsigned index() const noexcept { return index_; }

  /// Sets a bit, 0 to 63. True: the word was empty, and whoever did this owes the waker a mark_active(index()).
  [[nodiscard]] bool set(unsigned bit) noexcept { return word_.set(mask_of(bit)) == 0; }
  /// Takes one bit. True: it was set, and this call took it. The waker may go on saying that the word holds something.
  [[nodiscard]] bool acquire(unsigned bit) noexcept {
    return (word_.clear(mask_of(bit)) & mask_of(bit)) != 0;
  }
  /// Takes all bits. For the consumer, after it has taken the word's index from the waker: in that order nothing is overlooked.
  [[nodiscard]] std::uint64_t take() noexcept { return word_.take(); }

  /// Guesses, for reports.
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
