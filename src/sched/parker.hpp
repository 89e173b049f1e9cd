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
//   notified          it was told to get up, and has not seen it  unpark()
//
// unpark() exchanges `notified`, whatever was there: the old value says whom to wake, and what its caller did before is
// seen by the worker. The worker consumes the notification by an exchange. Each unpark() of a claimed worker is consumed
// exactly once: the claim that preceded it is the only one until the worker has set its bit again.
// One word, all read-modify-writes: of {notified, asleep} at least one side sees the other.

enum class [[nodiscard]] on_unpark : std::uint8_t { nothing, interrupt_driver };
enum class [[nodiscard]] on_enter : std::uint8_t { entered, notified };

class parker {
 public:
  /// The owner. Sleeps until it is notified, however long that takes, and consumes the notification.
  void park() noexcept;

  /// The owner, before it waits in the driver, until `deadline` at most. `notified`: it need not; the notification is consumed.
  on_enter enter_driver(base::time_point deadline = base::never) noexcept;
  /// The owner, before or in the driver: notified, and not consumed yet.
  [[nodiscard]] bool is_notified() const noexcept {
    // acquire. Pairs with the exchange in unpark(), which comes before the interrupt that a wait() may have taken.
    return word_.load(base::order::acquire) == notified;
  }
  /// The owner, after it. True: it was notified; consumed.
  [[nodiscard]] bool leave_driver() noexcept;

  /// Anybody who has claimed the worker. `interrupt_driver`: it is there.
  on_unpark unpark() noexcept;

 private:
  enum value : std::uint32_t { unparked, parked, parked_in_driver, notified };
  base::atomic<std::uint32_t> word_{unparked};
  base::patience patience_;
};

}  // namespace rota::sched
