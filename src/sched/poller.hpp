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

/// The driver, as the scheduler sees it.
struct driver_ops {
  /// The holder of the token. Blocks until there are events, interrupt() is called or the deadline has come (a past one:
  /// only looks). Returns how many events it put into `found`.
  unsigned (*wait)(void* self, base::time_point deadline, event_buffer& found) noexcept;
  /// Wakes the tasks of events. Any worker, also after the token has gone: an event may be stale by then.
  void (*dispatch)(void* self, const event_buffer& found, unsigned count) noexcept;
  /// Any thread: makes a wait() that goes on, or the next one, return.
  void (*interrupt)(void* self) noexcept;
  /// Any thread: gives the kernel what tasks have prepared for it. By a worker when it looks at the driver, before it sleeps and before
  /// it lends its role; by the watchdog when a worker stays in one poll: so nothing that is prepared waits for a user's code.
  void (*flush)(void* self) noexcept = [](void*) noexcept {};
};

struct driver_port {
  const driver_ops* ops = nullptr;
  void* self = nullptr;
};

// PROTOCOL: poller
//   token_     0 free, 1 held. Who holds it may wait in the driver. Taken only after the worker has announced that it
//              parks and has scanned again; given back before it does anything else. Nobody is woken to take it: who has
//              given it back is awake, looks at the driver between its tasks, and tries for the token before it sleeps.
//              So once all workers sleep, one of them is in the driver. If an awake one stays in a poll while others
//              sleep on their own words, the watchdog, which is up as long as a worker is, finds the token free and looks.
//   deadline_  what the holder sleeps until, in nanoseconds; the smallest number while nobody sleeps.
//              The holder stores its deadline by an RMW, looks at the timers once more, and waits. Who arms an earlier
//              timer publishes it, reads deadline_ by an RMW, and interrupts the driver if its own is earlier.
//              Same word: of {timer published, poller asleep until later} at least one side sees the other.
class poller {
 public:
  [[nodiscard]] bool try_take() noexcept {
    // relaxed. A guess, to spare the line.
    if (token_.load(base::order::relaxed) != 0) return false;
    // acquire. Pairs with give_back(): the driver's state as the last holder left it.
    return token_.exchange(1, base::order::acquire) == 0;
  }
  void give_back() noexcept {
    // release. Pairs with try_take().
    token_.store(0, base::order::release);
  }

  /// A guess, for the watchdog.
  [[nodiscard]] bool is_free() const noexcept {
    // relaxed. It asks again, and whom it wakes without need goes to sleep again.
    return token_.load(base::order::relaxed) == 0;
  }

  void announce(base::time_point deadline) noexcept {
    // seq_cst. Same word as must_interrupt(); the look at the timers follows.
    deadline_.exchange(deadline.time_since_epoch().count(), base::order::seq_cst);
  }
  void announce_awake() noexcept {
    // relaxed. Who sees it late interrupts a driver in which nobody waits: the next wait returns at once, and looks again.
    deadline_.exchange(nobody, base::order::relaxed);
  }
  [[nodiscard]] bool must_interrupt(base::time_point armed) noexcept {
    // seq_cst. Same word as announce(): after the timer was published.
    return armed.time_since_epoch().count() < deadline_.fetch_add(0, base::order::seq_cst);
  }

 private:
  static constexpr std::int64_t nobody = INT64_MIN;
  alignas(base::cache_line) base::atomic<std::uint32_t> token_{0};
  alignas(base::cache_line) base::atomic<std::int64_t> deadline_{nobody};
};

}  // namespace rota::sched
