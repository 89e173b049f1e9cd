// A histogram of durations: counts in classes. The width of a class grows with the duration, and is at most
// an eighth of it.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"

#include <rota/pool/thread_pool.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace rota::pool::detail {

/// Any thread adds, any thread reads. A reader may miss the latest additions.
class time_record {
 public:
  void add(base::nanoseconds span) noexcept {
    const auto ns = static_cast<std::uint64_t>(span.count() < 0 ? 0 : span.count());
    // relaxed, all: counts.
    counts_[class_of(ns)].fetch_add(1, base::order::relaxed);
    total_.fetch_add(ns, base::order::relaxed);
    std::uint64_t most = longest_.load(base::order::relaxed);
    // relaxed: a maximum. failure: relaxed: the loop tries again.
    while (ns > most &&
           !longest_.compare_exchange_weak(most, ns, base::order::relaxed, base::order::relaxed)) {
    }
  }

  [[nodiscard]] time_summary summary() const noexcept {
    std::array<std::uint64_t, classes> seen{};
    time_summary s;
    for (unsigned i = 0; i < classes; ++i) {
      // relaxed: counts.
      seen[i] = counts_[i].load(base::order::relaxed);
      s.count += seen[i];
    }
    s.median = at(seen, s.count, 500);
    s.p90 = at(seen, s.count, 900);
    s.p99 = at(seen, s.count, 990);
    // relaxed: a maximum.
    s.longest = base::nanoseconds(static_cast<std::int64_t>(longest_.load(base::order::relaxed)));
    // relaxed: a sum.
    const std::uint64_t total = total_.load(base::order::relaxed);
    s.total = base::nanoseconds(static_cast<std::int64_t>(total));
    if (s.count != 0) s.mean = base::nanoseconds(static_cast<std::int64_t>(total / s.count));
    return s;
  }

  static constexpr unsigned classes = 496;

  /// Returns the class of a duration: eight classes for each power of two from 8 ns on; below, one for each
  /// nanosecond.
  [[nodiscard]] static constexpr unsigned class_of(std::uint64_t ns) noexcept {
    if (ns < 8) return static_cast<unsigned>(ns);
    const auto power = static_cast<unsigned>(std::bit_width(ns)) - 1;
    return (power - 2) * 8 + static_cast<unsigned>((ns >> (power - 3)) & 7U);
  }
  /// Returns the longest duration of a class.
  [[nodiscard]] static constexpr std::uint64_t end_of(unsigned index) noexcept {
    if (index < 8) return index;
    const unsigned power = index / 8 + 2;
    const std::uint64_t width = std::uint64_t{1} << (power - 3);
    return (std::uint64_t{1} << power) + (index % 8) * width + (width - 1);
  }

 private:
  [[nodiscard]] static base::nanoseconds at(const std::array<std::uint64_t, classes>& seen,
                                            std::uint64_t count,
                                            std::uint64_t per_mille) noexcept {
    std::uint64_t rest = (count * per_mille + 999) / 1000;
    for (unsigned i = 0; i < classes && rest != 0; ++i) {
      if (seen[i] >= rest) return base::nanoseconds(static_cast<std::int64_t>(end_of(i)));
      rest -= seen[i];
    }
    return base::nanoseconds(0);
  }

  std::array<base::atomic<std::uint64_t>, classes> counts_{};
  base::atomic<std::uint64_t> longest_{0};
  base::atomic<std::uint64_t> total_{0};
};

static_assert(time_record::class_of(7) == 7 && time_record::class_of(8) == 8 &&
              time_record::class_of(15) == 15 && time_record::class_of(16) == 16 &&
              time_record::end_of(16) == 17 && time_record::class_of(time_record::end_of(200)) == 200 &&
              time_record::class_of(time_record::end_of(200) + 1) == 201 &&
              time_record::class_of(~std::uint64_t{0}) == time_record::classes - 1);

}  // namespace rota::pool::detail
