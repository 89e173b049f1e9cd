// Shared by the tests of this folder.
#pragma once

#include <chrono>
#include <cstdint>
#include <random>
#include <vector>

#include "time/wheel.hpp"

namespace time_test {

using namespace std::chrono_literals;
using rota::base::never;
using rota::base::time_point;
using rota::timing::timer_node;
using rota::timing::wheel;
using std::chrono::nanoseconds;

inline constexpr unsigned plenty = ~0U;

/// Returns the time `tick` milliseconds after the clock's zero.
[[nodiscard]] constexpr time_point at_tick(std::uint64_t tick) noexcept {
  return time_point(nanoseconds(static_cast<std::int64_t>(tick * 1'000'000)));
}

/// Polls once. Returns the timers that fire, in order.
[[nodiscard]] inline std::vector<timer_node*> poll(wheel& timers, time_point now) {
  std::vector<timer_node*> fired;
  timers.begin_poll(now);
  unsigned effort = plenty;
  while (timer_node* node = timers.pop(effort)) fired.push_back(node);
  return fired;
}

/// A poller that sleeps exactly as long as the wheel says. Counts its spurious wakeups.
struct sleeper {
  wheel& timers;
  time_point now{};
  unsigned woken_for_nothing = 0;

  /// Sleeps until a timer fires. Returns an empty list if none ever will.
  [[nodiscard]] std::vector<timer_node*> sleep() {
    while (timers.next_deadline() != never) {
      now = timers.next_deadline();
      auto fired = poll(timers, now);
      if (!fired.empty()) return fired;
      ++woken_for_nothing;
    }
    return {};
  }
};

/// 64 to the power of `level`: the milliseconds in one slot of that level.
[[nodiscard]] constexpr std::uint64_t span_of(unsigned level) noexcept {
  return std::uint64_t{1} << (6 * level);
}

}  // namespace time_test
