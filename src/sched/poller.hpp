// Waiting for events and timers: one worker at a time, in the driver.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/clock.hpp"
#include "task/ports.hpp"

#include <array>
#include <cstdint>

namespace rota::sched {

using event_buffer = std::array<core::driver_event, 64>;

/// The driver, as the scheduler uses it.
struct driver_ops {
  /// Called by the holder of the token. Blocks until there are events, interrupt() is called or the deadline
  /// has passed (a past deadline: polls without waiting). Returns how many events it put into `found`.
  unsigned (*wait)(void* self, base::time_point deadline, event_buffer& found) noexcept;
  /// Wakes the tasks of events. Any worker, also after it has returned the token: an event may be stale by
  /// then.
  void (*dispatch)(void* self, const event_buffer& found, unsigned count) noexcept;
  /// Any thread: makes the current wait(), or the next one, return.
  void (*interrupt)(void* self) noexcept;
  /// Any thread: passes prepared operations of tasks to the kernel. A worker calls it when it polls the
  /// driver, before it sleeps and before it lends its role; the watchdog calls it when a worker stays in one
  /// poll. So prepared operations never wait for user code.
  void (*flush)(void* self) noexcept = [](void*) noexcept {};
};

struct driver_port {
  const driver_ops* ops = nullptr;
  void* self = nullptr;
};

// PROTOCOL: poller
//   token_     0 free, 1 held. The holder may wait in the driver. A worker takes it only after it has
//              announced that it parks and has re-scanned, and returns it before it does anything else. No
//              worker is woken to take it: the worker that has returned it is awake, polls the driver between
//              its tasks, and tries for the token before it sleeps. So once all workers sleep, one of them is
//              in the driver. If an awake worker stays in a poll while the others sleep on their own words,
//              the watchdog, which is awake as long as a worker is, finds the token free and notifies.
//   deadline_  the time until which the holder sleeps, in nanoseconds; the smallest number while no worker
//              sleeps there. The holder stores its deadline by an RMW, checks the timers once more, and
//              waits. A thread that arms a timer publishes it, reads deadline_ by an RMW, and interrupts the
//              driver if the timer is earlier. Same word: of {timer published, poller asleep until later} at
//              least one side observes the other.
class poller {
 public:
  [[nodiscard]] bool try_take() noexcept {
    // relaxed: a guess, to avoid a write of the line.
    if (token_.load(base::order::relaxed) != 0) return false;
    // acquire: pairs with give_back(): the state of the driver as the last holder left it.
    return token_.exchange(1, base::order::acquire) == 0;
  }
  void give_back() noexcept {
    // release: pairs with try_take().
    token_.store(0, base::order::release);
  }

  /// A guess, for the watchdog.
  [[nodiscard]] bool is_free() const noexcept {
    // relaxed: the watchdog asks again, and a worker that it wakes needlessly goes back to sleep.
    return token_.load(base::order::relaxed) == 0;
  }

  void announce(base::time_point deadline) noexcept {
    // seq_cst: same word as must_interrupt(); the check of the timers follows.
    deadline_.exchange(deadline.time_since_epoch().count(), base::order::seq_cst);
  }
  void announce_awake() noexcept {
    // relaxed: a late reader interrupts a driver in which no worker waits: the next wait returns at once and
    // polls again.
    deadline_.exchange(nobody, base::order::relaxed);
  }
  [[nodiscard]] bool must_interrupt(base::time_point armed) noexcept {
    // seq_cst: same word as announce(): after the timer was published.
    return armed.time_since_epoch().count() < deadline_.fetch_add(0, base::order::seq_cst);
  }

 private:
  static constexpr std::int64_t nobody = INT64_MIN;
  alignas(base::cache_line) base::atomic<std::uint32_t> token_{0};
  alignas(base::cache_line) base::atomic<std::int64_t> deadline_{nobody};
};

}  // namespace rota::sched
