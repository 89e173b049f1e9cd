// A few numbers in a random order.
#pragma once

#include "base/random.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rota::base {

/// Yields the numbers below `count`, each once, in an order that depends on `draw` alone. If draws are
/// uniform, each order is equally likely. So of several numbers that the caller may use, each is equally
/// likely to be the first. A random start followed by a circle is not fair: of 0 and 7 in a circle of eight,
/// 7 comes first for seven of the eight starts.
///
/// R. Durstenfeld's shuffle (1964), done one step per call. A number of 64 bits gives eight random positions
/// of up to 64; then it is mixed anew.
class drawn_order {
 public:
  static constexpr std::size_t most = 64;

  drawn_order(std::size_t count, std::uint64_t draw) noexcept : draw_(draw), left_(draw), count_(count) {
    for (std::size_t i = 0; i < count; ++i) at_[i] = static_cast<unsigned char>(i);
  }

  /// Returns the next number. Call it `count` times at most.
  [[nodiscard]] std::size_t next() noexcept {
    constexpr std::size_t per_draw = 8;
    if (given_ != 0 && given_ % per_draw == 0) left_ = random(draw_ + given_).next();
    const std::size_t choices = count_ - given_;
    const std::size_t other = given_ + left_ % choices;
    left_ /= choices;
    std::swap(at_[given_], at_[other]);
    return at_[given_++];
  }

 private:
  std::uint64_t draw_;
  std::uint64_t left_;  // the unused part of the draw
  std::size_t count_;
  std::size_t given_ = 0;
  unsigned char at_[most];
};

}  // namespace rota::base
