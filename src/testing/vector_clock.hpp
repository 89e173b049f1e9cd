#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace rota::testing::detail {

/// The most fibres in one execution, including `main`. Numbers are not reused, so an element of a clock
/// stands for one thread.
inline constexpr unsigned max_fibres = 16;

/// For each thread, how much of it happens before now (Lamport's relation, stored as in FastTrack).
struct vector_clock {
  std::array<std::uint32_t, max_fibres> at{};

  void join(const vector_clock& other) noexcept {
    for (unsigned i = 0; i < max_fibres; ++i) at[i] = std::max(at[i], other.at[i]);
  }
  [[nodiscard]] bool covers(unsigned fibre, std::uint32_t time) const noexcept { return time <= at[fibre]; }

  /// Returns the first thread of which `other` knows more; max_fibres: none.
  [[nodiscard]] unsigned first_beyond(const vector_clock& other) const noexcept {
    for (unsigned i = 0; i < max_fibres; ++i) {
      if (other.at[i] > at[i]) return i;
    }
    return max_fibres;
  }
};

}  // namespace rota::testing::detail
