// Where a worker sleeps.
#pragma once

#include "base/futex.hpp"
#include "base/patience.hpp"

#include <cstdint>

namespace rota::sched {

// PROTOCOL: parker word
//
//   value             means                                       set by
//   unparked          the worker runs                             park(), leave_driver()
//   parked            it sleeps on this word, or is about to      park()
//   parked_in_driver  it waits in the driver, or is about to      enter_driver()
//   notified          it was told to get up; not yet consumed     unpark()
//
// unpark() exchanges in `notified` in any state. The old value tells how to wake the worker, and the worker
// observes what the caller did before. The worker consumes the notification by an exchange. Each unpark() of
// a claimed worker is consumed exactly once: no second claim is possible until the worker has set its bit
// again.
// One word, all read-modify-writes: of {notified, asleep} at least one side observes the other.

enum class [[nodiscard]] on_unpark : std::uint8_t { nothing, interrupt_driver };
enum class [[nodiscard]] on_enter : std::uint8_t { entered, notified };

class parker {
 public:
  /// Owner: sleeps without a limit until it is notified, and consumes the notification.
  void park() noexcept;

  /// Owner: announces that it is about to wait in the driver, until `deadline` at most. Returns `notified` if
  /// it need not wait; the notification is consumed then.
  on_enter enter_driver(base::time_point deadline = base::never) noexcept;
  /// Owner, before or inside the driver: returns true if there is a notification that is not consumed yet.
  [[nodiscard]] bool is_notified() const noexcept {
    // acquire: pairs with the exchange in unpark(), which precedes the interrupt that a wait() may have
    // consumed.
    return word_.load(base::order::acquire) == notified;
  }
  /// Owner: ends the stay in the driver. Returns true if it was notified; the notification is consumed.
  [[nodiscard]] bool leave_driver() noexcept;

  /// Called by the claimer of the worker: notifies it. Returns `interrupt_driver` if the worker is in the
  /// driver.
  on_unpark unpark() noexcept;

 private:
  enum value : std::uint32_t { unparked, parked, parked_in_driver, notified };
  base::atomic<std::uint32_t> word_{unparked};
  base::patience patience_;
};

}  // namespace rota::sched
