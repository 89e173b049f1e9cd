#pragma once

#include <bit>
#include <cstdint>

namespace rota::base {

/// Returns the index of the lowest set bit. `word` is not 0.
[[nodiscard]] constexpr unsigned lowest_bit(std::uint64_t word) noexcept {
  return static_cast<unsigned>(std::countr_zero(word));
}

[[nodiscard]] constexpr std::uint64_t bit(unsigned index) noexcept { return std::uint64_t{1} << index; }

}  // namespace rota::base
