// The monotonic clock, and no other: a step of the wall clock changes nothing in rota.
#pragma once

#include <chrono>

namespace rota::base {

using time_point = std::chrono::steady_clock::time_point;
using nanoseconds = std::chrono::nanoseconds;

/// The deadline that never comes.
inline constexpr time_point never = time_point::max();

/// Reads CLOCK_MONOTONIC. In the model build: the virtual clock.
[[nodiscard]] time_point now() noexcept;

}  // namespace rota::base
