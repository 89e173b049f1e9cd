// Decides when a descriptor is closed that a task may be using.
#pragma once

#include "base/atomic.hpp"

#include <rota/detail/config.hpp>

#include <cstdint>

namespace rota::process::detail {

// PROTOCOL: closing
//   A pipe has no shutdown: a reader reaches the end only when the write end is closed. So a descriptor is
//   closed at once, but never during a try of an operation: the operation would then use the next file that
//   gets the number. The registration (P14) orders the waiters.
//
//   word_  31                                        1        0
//        +--------------------------------------------+--------+
//        |     operations in the middle of a try      | closed |
//        +--------------------------------------------+--------+
//
//   enter:  closed: no try · else one more, by a CAS
//   leave:  one less; closed, and it was the last one: closes the descriptor
//   close:  closed, for good, by a fetch_or; the first one then ends the registration, which wakes the
//           waiter; no try in progress: closes the descriptor
//
//   C1  after `closed` the number of tries only falls. So exactly one leave or close finds closed and no try,
//       and closes the descriptor.
//   C2  `closed` is set before the registration ends. So a waiter that is woken by that, or is told by arm()
//       to try again, finds it closed.
//   C3  the owner's destructor returns the slot in the driver, when no task can use the registration any
//       more.
//   Checked: tests/model/closing_model.cpp.
class closing {
 public:
  enum class [[nodiscard]] on_enter : unsigned char { may_try, closed };
  on_enter enter() noexcept {
    // acquire: pairs with close(): a caller that finds it closed observes what happened before the close.
    std::uint32_t seen = word_.load(base::order::acquire);
    do {
      if ((seen & closed) != 0) return on_enter::closed;
      // acquire: a success must not be weaker than a failure. failure: acquire: same reason as for the load
      // above.
    } while (!word_.compare_exchange_weak(seen, seen + one, base::order::acquire, base::order::acquire));
    return on_enter::may_try;
  }

  enum class [[nodiscard]] on_leave : unsigned char { nothing, close_descriptor };
  on_leave leave() noexcept {
    // acq_rel: release: this try comes before the close of the descriptor. acquire: if this call leads to the
    // close, all other tries come before that, too.
    const std::uint32_t before = word_.fetch_sub(one, base::order::acq_rel);
    ROTA_ASSERT(before >= one);
    return before == (one | closed) ? on_leave::close_descriptor : on_leave::nothing;
  }

  enum class [[nodiscard]] on_close : unsigned char { was_closed, wake, wake_and_close_descriptor };
  on_close close() noexcept {
    // acq_rel: release: pairs with enter(). acquire: the tries that have left come before the close of the
    // descriptor.
    const std::uint32_t before = word_.fetch_or(closed, base::order::acq_rel);
    if ((before & closed) != 0) return on_close::was_closed;
    return before == 0 ? on_close::wake_and_close_descriptor : on_close::wake;
  }

  [[nodiscard]] bool is_closed() const noexcept {
    // acquire: pairs with close().
    return (word_.load(base::order::acquire) & closed) != 0;
  }
  /// Returns true if the descriptor is closed. For the last user. In a fork the count may include a try of a
  /// thread that does not exist there.
  [[nodiscard]] bool is_over() const noexcept {
    // acquire: pairs with leave().
    return word_.load(base::order::acquire) == closed;
  }

 private:
  static constexpr std::uint32_t closed = 1;
  static constexpr std::uint32_t one = 2;
  base::atomic<std::uint32_t> word_{0};
};

}  // namespace rota::process::detail
