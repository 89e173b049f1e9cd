// Wakers that count, for the tests of the shards.
#pragma once

#include <atomic>
#include <vector>

#include <rota/waker.hpp>

#include "time/shard.hpp"
#include "wheel_support.hpp"

namespace time_test {

using rota::timing::arm_result;
using rota::timing::cancel_result;
using rota::timing::node_state;
using rota::timing::on_arm;
using rota::timing::shard;
using rota::timing::timers;

inline constexpr time_point start{1'000'000s};

/// Counts the wakes and drops of its wakers. Allocates nothing.
struct listener {
  std::atomic<unsigned> woken{0};
  std::atomic<unsigned> dropped{0};

  static listener& of(void* data) noexcept { return *static_cast<listener*>(data); }
  static void wake(void* data) noexcept { of(data).woken.fetch_add(1, std::memory_order_acq_rel); }
  static void drop(void* data) noexcept { of(data).dropped.fetch_add(1, std::memory_order_acq_rel); }
  static void* clone(void* data) noexcept { return data; }
  static constexpr rota::waker_vtable vtable{wake, wake, clone, drop};

  [[nodiscard]] rota::waker waker() noexcept { return {this, &vtable}; }
};

/// Arms a timer and ignores the result.
inline void arm(shard& on, timer_node& node, time_point deadline, rota::waker wake = {}) {
  static_cast<void>(on.arm(node, deadline, std::move(wake)));
}

}  // namespace time_test
