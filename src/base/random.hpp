// xorshift128+: for victims and shuffles. Not for secrets.
#pragma once

#include <cstdint>

namespace rota::base {

/// Vigna, "Further scramblings of Marsaglia's xorshift generators" (2014), variant 23-17-26.
class random {
 public:
  explicit random(std::uint64_t seed) noexcept : a_(mix(seed)), b_(mix(seed + 0x9E37'79B9'7F4A'7C15U)) {}

  [[nodiscard]] std::uint64_t next() noexcept {
    std::uint64_t x = a_;
    const std::uint64_t y = b_;
    a_ = y;
    x ^= x << 23U;
    b_ = x ^ y ^ (x >> 17U) ^ (y >> 26U);
    return b_ + y;
  }

  /// Returns a number in [0, bound), uniform enough; bound > 0. Multiplication instead of division (Lemire).
  [[nodiscard]] std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>(((next() >> 32U) * bound) >> 32U);
  }

 private:
  /// The finaliser of splitmix64: a seed of 0 or 1 must not give a poor start.
  static constexpr std::uint64_t mix(std::uint64_t z) noexcept {
    z += 0x9E37'79B9'7F4A'7C15U;
    z = (z ^ (z >> 30U)) * 0xBF58'476D'1CE4'E5B9U;
    z = (z ^ (z >> 27U)) * 0x94D0'49BB'1331'11EBU;
    return (z ^ (z >> 31U)) | 1U;
  }

  std::uint64_t a_;
  std::uint64_t b_;
};

/// Returns a seed from the kernel, for `runtime_options::seed == 0`. In the model build: a constant.
[[nodiscard]] std::uint64_t entropy() noexcept;

}  // namespace rota::base
