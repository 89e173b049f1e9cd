// Runs each operation on the bitmap and on a std::set and compares the results. For one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "queue/bitmap.hpp"
#include "support/verdict.hpp"

namespace rota::queue {

class bitmap_duel {
 public:
  explicit bitmap_duel(std::uint32_t size) : bits_(size) {}

  [[nodiscard]] std::uint32_t size() const { return bits_.size(); }
  [[nodiscard]] const std::string& broken() const { return verdict_.broken(); }

  void set(std::uint32_t i) {
    verdict_.expect(bits_.set(i) == in_.insert(i).second, "set() says whether the number was in");
    check();
  }
  void clear(std::uint32_t i) {
    verdict_.expect(bits_.clear(i) == (in_.erase(i) == 1), "clear() says whether it took the number");
    check();
  }

  void take_lowest() { took(bits_.take_lowest(), in_.begin(), "take_lowest() takes the lowest"); }
  void take_next(std::uint32_t start) {
    const auto above = in_.lower_bound(start);
    took(bits_.take_next(start), above == in_.end() ? in_.begin() : above, "take_next() goes round");
  }

  /// Sets those of `bits` that are numbers below size().
  void set_word(std::uint32_t word, std::uint64_t bits) {
    const std::uint64_t before = word_of(word);
    std::uint64_t put = 0;
    for (std::uint32_t b = 0; b < 64 && word * 64 + b < size(); ++b) {
      if (((bits >> b) & 1U) == 0) continue;
      put |= std::uint64_t{1} << b;
      in_.insert(word * 64 + b);
    }
    verdict_.expect(bits_.set_word(word, put) == before, "set_word() says what was in");
    check();
  }
  void take_word(std::uint32_t word) {
    verdict_.expect(bits_.take_word(word) == word_of(word), "take_word() takes the whole word");
    in_.erase(in_.lower_bound(word * 64), in_.lower_bound(word * 64 + 64));
    check();
  }

 private:
  using numbers = std::set<std::uint32_t>;

  void took(std::optional<std::uint32_t> got, numbers::iterator wanted, const char* what) {
    const bool none = wanted == in_.end();
    verdict_.expect(got.has_value() != none && (none || *got == *wanted), what);
    if (!none) in_.erase(wanted);
    check();
  }

  [[nodiscard]] std::uint64_t word_of(std::uint32_t word) const {
    std::uint64_t bits = 0;
    for (auto at = in_.lower_bound(word * 64); at != in_.end() && *at < word * 64 + 64; ++at) {
      bits |= std::uint64_t{1} << (*at % 64);
    }
    return bits;
  }

  /// With one thread no operation is between the two levels, so the guesses are exact.
  void check() {
    std::uint64_t summary = 0;
    for (const std::uint32_t i : in_) summary |= std::uint64_t{1} << (i / 64);
    verdict_.expect(bits_.summary() == summary, "the summary says which words hold something");
    verdict_.expect(bits_.any() == !in_.empty(), "any() says whether something is in");
    verdict_.expect(bits_.count() == in_.size(), "count() counts");
  }

  bitmap bits_;
  numbers in_;
  test::verdict verdict_;
};

}  // namespace rota::queue
