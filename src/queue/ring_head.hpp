// The packed head of a ring, as plain data: the rules of ring.hpp without atomics, so that a test can try all
// of them.
#pragma once

#include <cstdint>

namespace rota::queue {

// PROTOCOL: ring head
//
//   63            32 31             0
//   +---------------+---------------+
//   |     steal     |     real      |      both wrap at 2^32; steal is never ahead of real
//   +---------------+---------------+
//
//   steal == real   no thief copies: everything below real is free to be written again
//   steal != real   one thief copies [steal, its claim); the owner may go on popping at real
//
// A ring_head is a value that was read from the word; it may be copied. Every change of the word is a CAS
// from one such value to the next.
struct ring_head {
  std::uint32_t steal;
  std::uint32_t real;

  [[nodiscard]] static constexpr ring_head of(std::uint64_t word) noexcept {
    return {static_cast<std::uint32_t>(word >> 32U), static_cast<std::uint32_t>(word)};
  }
  [[nodiscard]] constexpr std::uint64_t word() const noexcept { return (std::uint64_t{steal} << 32U) | real; }
  [[nodiscard]] constexpr bool is_stealing() const noexcept { return steal != real; }

  /// Returns how many items are queued between real and tail. More than the capacity if the two were not read
  /// at one moment.
  [[nodiscard]] constexpr std::uint32_t queued(std::uint32_t tail) const noexcept { return tail - real; }
  /// Returns how many slots may not be written: they are queued, or a thief still copies them.
  [[nodiscard]] constexpr std::uint32_t used(std::uint32_t tail) const noexcept { return tail - steal; }
  /// Returns how many items a thief takes: half, rounded up.
  [[nodiscard]] constexpr std::uint32_t half(std::uint32_t tail) const noexcept {
    return queued(tail) - queued(tail) / 2;
  }

  /// The head after the owner has taken `count` items from the front. A thief's claim stays as it is.
  [[nodiscard]] constexpr ring_head taken(std::uint32_t count) const noexcept {
    return {is_stealing() ? steal : real + count, real + count};
  }
  /// The head after a thief has claimed `count` items from the front. Call it only if no thief is copying.
  [[nodiscard]] constexpr ring_head claimed(std::uint32_t count) const noexcept {
    return {steal, real + count};
  }
  /// The head after the thief has copied what it claimed.
  [[nodiscard]] constexpr ring_head released() const noexcept { return {real, real}; }

  friend constexpr bool operator==(ring_head, ring_head) noexcept = default;
};

}  // namespace rota::queue
