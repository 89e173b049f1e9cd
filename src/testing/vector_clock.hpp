#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

namespace rota::testing::detail {

/// Fibres in one execution, `main` included. Numbers are not used twice, so that a clock's place means one
/// thread.
inline constexpr unsigned max_fibres = 16;

/// Per thread, how much of it happens before now (Lamport's relation, kept as in FastTrack).
struct vector_clock {
  std::array<std::uint32_t, max_fibres> at{};

  void join(const vector_clock& other) noexcept {
    for (unsigned i = 0; i < max_fibres; ++i) at[i] = std::max(at[i], other.at[i]);
  }
  [[nodiscard]] bool covers(unsigned fibre, std::uint32_t time) const noexcept { return time <= at[fibre]; }

  /// The first thread that `other` knows more of; max_fibres: none.
  [[nodiscard]] unsigned first_beyond(const vector_clock& other) const noexcept {
    for (unsigned i = 0; i < max_fibres; ++i) {
      if (other.at[i] > at[i]) return i;
    }
    return max_fibres;
  }
};

}  // namespace rota::testing::detail
