// The decisions of the chaos build: when a thread waits, so that other threads overtake it where they seldom
// do.
#pragma once

#include "base/random.hpp"

#include <array>
#include <cstdint>

namespace rota::base {

/// The decisions of one thread: a function of the seed, the thread's number and the number of calls. It reads
/// no clock.
///
/// A thread is a victim in a tenth of its stretches. A victim waits once, for one of twelve times from 1 us
/// to 2 s, for short ones more often than for long ones. A thread earns the time that it may wait, 2 ns for
/// each decision. So it can afford the longer times later, one after the other. A thread that takes at least
/// 8 ns from one point to the next waits at most a fifth of its time.
class chaos {
 public:
  static constexpr std::uint64_t go_on = 0;
  static constexpr std::uint64_t give_way = 1;
  static constexpr std::uint64_t earned = 2;
  static constexpr std::array<std::uint64_t, 12> waits{1'000,
                                                       3'740,
                                                       14'000,
                                                       52'300,
                                                       196'000,
                                                       732'000,
                                                       2'740'000,
                                                       10'200'000,
                                                       38'300'000,
                                                       143'000'000,
                                                       535'000'000,
                                                       2'000'000'000};

  /// A wait lasts at most `longest` nanoseconds.
  chaos(std::uint64_t seed, std::uint64_t thread, std::uint64_t longest) noexcept
      : random_(seed * 0x9E37'79B9'7F4A'7C15U + thread), longest_(longest) {
    wish();
    credit_ = waits[below(8)];
  }

  /// Returns go_on, give_way, or the number of nanoseconds to wait.
  [[nodiscard]] std::uint64_t next() noexcept {
    credit_ += earned;
    if (left_ == 0) begin_stretch();
    --left_;
    if (is_victim_ && credit_ >= wish_ && below(32) == 0) return wait();
    if (--until_way_ != 0) return go_on;
    until_way_ = 1 + below(255);
    return give_way;
  }

 private:
  std::uint32_t below(std::uint32_t bound) noexcept { return random_.below(bound); }

  void begin_stretch() noexcept {
    left_ = std::uint32_t{64} << below(8);
    is_victim_ = below(10) == 0;
  }
  void wish() noexcept {
    std::size_t i = 0;
    while (i + 1 < waits.size() && below(2) == 0) ++i;
    wish_ = waits[i] < longest_ ? waits[i] : longest_;
  }
  std::uint64_t wait() noexcept {
    const std::uint64_t span = wish_;
    credit_ -= span;
    is_victim_ = false;
    wish();
    return span;
  }

  random random_;
  std::uint64_t longest_;
  std::uint64_t credit_ = 0;
  std::uint64_t wish_ = 0;
  std::uint32_t left_ = 0;
  std::uint32_t until_way_ = 1;
  bool is_victim_ = false;
};

}  // namespace rota::base
