// A histogram of latencies with a relative resolution of 1/64. It stores no samples; adding one takes a few
// instructions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace bench {

/// Each value below 128 has its own bucket. Above, each power of two has 64 buckets, so a quantile is too
/// high by at most 1 in 64.
class histogram {
 public:
  void add(std::uint64_t value) noexcept {
    ++counts_[bucket_of(value)];
    ++total_;
  }

  histogram& operator+=(const histogram& more) noexcept {
    for (std::size_t i = 0; i < counts_.size(); ++i) counts_[i] += more.counts_[i];
    total_ += more.total_;
    return *this;
  }

  [[nodiscard]] std::uint64_t total() const noexcept { return total_; }

  /// Returns the largest value of the first bucket at which the given share of all values is reached; 0 if
  /// there are no values.
  [[nodiscard]] std::uint64_t quantile(double share) const noexcept {
    const double wanted = share * static_cast<double>(total_);
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      seen += counts_[i];
      if (seen != 0 && static_cast<double>(seen) >= wanted) return largest_of(i);
    }
    return 0;
  }

 private:
  static constexpr unsigned sub_bits = 6;
  static constexpr std::uint64_t subs = std::uint64_t{1} << sub_bits;
  static constexpr std::size_t buckets = (64 - sub_bits + 1) * subs;

  static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    const auto width = static_cast<unsigned>(std::bit_width(value));
    const unsigned shift = width > sub_bits + 1 ? width - sub_bits - 1 : 0;
    return static_cast<std::size_t>(shift * subs + (value >> shift));
  }

  static constexpr std::uint64_t largest_of(std::size_t bucket) noexcept {
    if (bucket < 2 * subs) return bucket;
    const std::size_t shift = bucket / subs - 1;
    return ((bucket % subs + subs + 1) << shift) - 1;
  }

  /// Checks the buckets around each power of two: each value has a bucket, and no bucket is too narrow or too
  /// wide.
  static consteval bool buckets_are_right() {
    for (unsigned power = 0; power < 64; ++power) {
      const std::uint64_t two = std::uint64_t{1} << power;
      for (const std::uint64_t value : {two - 1, two, two + two / 3, two + (two - 1)}) {
        const std::size_t bucket = bucket_of(value);
        const std::uint64_t largest = largest_of(bucket);
        if (bucket >= buckets || largest < value || largest - value > value / subs) return false;
        if (bucket_of(largest) != bucket ||
            (largest != ~std::uint64_t{0} && bucket_of(largest + 1) != bucket + 1))
          return false;
      }
    }
    return true;
  }

  std::vector<std::uint64_t> counts_ = std::vector<std::uint64_t>(buckets);
  std::uint64_t total_ = 0;

  friend struct histogram_check;
};

struct histogram_check {
  static_assert(histogram::buckets_are_right());
};

}  // namespace bench
