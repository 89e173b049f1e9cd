// When a descriptor goes that a task may be just using.
#pragma once

#include "base/atomic.hpp"

#include <rota/detail/config.hpp>

#include <cstdint>

namespace rota::process::detail {

// PROTOCOL: closing
//   A pipe has no shutdown: whoever reads comes to the end when the descriptor is closed, and not before. So it is closed at once, but never under
//   an operation that is in the middle of a try: that would meet whatever gets the number next. The registration (P14) orders who waits.
//
//   word_  31                                        1        0
//        +--------------------------------------------+--------+
//        |     operations in the middle of a try      | closed |
//        +--------------------------------------------+--------+
//
//   enter:  closed: no try · else one more, by a CAS
//   leave:  one less; closed, and it was the last one: closes the descriptor
//   close:  closed, for good, by a fetch_or; the first one then ends the registration, which wakes who waits; no try: closes the descriptor
//
//   C1  after `closed` the number of tries only falls: so one, and only one, finds closed and no try, and closes the descriptor.
//   C2  `closed` is set before the registration ends: who is woken by that, or is told by arm() to try again, finds it closed.
//   C3  the slot in the driver is given back by the owner's destructor, when nobody can ask the registration any more.
//   Checked: tests/model/closing_model.cpp.
class closing {
 public:
  enum class [[nodiscard]] on_enter : unsigned char { may_try, closed };
  on_enter enter() noexcept {
    // acquire. Pairs with close(): who is told that it is closed sees what was done before.
    std::uint32_t seen = word_.load(base::order::acquire);
    do {
      if ((seen & closed) != 0) return on_enter::closed;
      // acquire. A success may not ask for less than a failure. failure: acquire. As above.
    } while (!word_.compare_exchange_weak(seen, seen + one, base::order::acquire, base::order::acquire));
    return on_enter::may_try;
  }

  enum class [[nodiscard]] on_leave : unsigned char { nothing, close_descriptor };
  on_leave leave() noexcept {
    // acq_rel. release: my try comes before the end of the descriptor. acquire: if I end it, every other's does, too.
    const std::uint32_t before = word_.fetch_sub(one, base::order::acq_rel);
    ROTA_ASSERT(before >= one);
    return before == (one | closed) ? on_leave::close_descriptor : on_leave::nothing;
  }

  enum class [[nodiscard]] on_close : unsigned char { was_closed, wake, wake_and_close_descriptor };
  on_close close() noexcept {
    // acq_rel. release: pairs with enter(). acquire: the tries that have left come before the end of the descriptor.
    const std::uint32_t before = word_.fetch_or(closed, base::order::acq_rel);
    if ((before & closed) != 0) return on_close::was_closed;
    return before == 0 ? on_close::wake_and_close_descriptor : on_close::wake;
  }

  [[nodiscard]] bool is_closed() const noexcept {
    // acquire. Pairs with close().
    return (word_.load(base::order::acquire) & closed) != 0;
  }
  /// Of its last user: the descriptor has gone. A fork may have a try that nobody will ever leave.
  [[nodiscard]] bool is_over() const noexcept {
    // acquire. Pairs with leave().
    return word_.load(base::order::acquire) == closed;
  }

 private:
  static constexpr std::uint32_t closed = 1;
  static constexpr std::uint32_t one = 2;
  base::atomic<std::uint32_t> word_{0};
};

}  // namespace rota::process::detail
