// How many threads that play no role run a task of the injector.
#pragma once

#include "base/clock.hpp"
#include "base/futex.hpp"

#include <cstdint>

namespace rota::sched {

// PROTOCOL: tasks on threads that play no role
//   The runtime must not end while such a task runs. The shutdown joins no such thread, so it waits for a
//   count.
//
//   shutdown                          helper
//   set the phase `stopping`          count_ + 1
//   read count_; sleep until it is 0  read the phase; `stopping`: take nothing
//                                     take a task, run it until it suspends or ends
//                                     count_ - 1; 0 now: read the phase; `stopping`: wake the shutdown
//
//   All these steps on the count and on the phase are seq_cst. Either the helper reads the phase and takes
//   nothing, or the shutdown reads the count. A sleeping shutdown has set the phase before it read the count.
//   So the helper that lowers the count to 0 afterwards reads the phase `stopping`.
class help_count {
 public:
  void begin() noexcept {
    // seq_cst: before the read of the phase.
    count_.fetch_add(1, base::order::seq_cst);
  }
  /// Ends the help. Returns true if no other thread helps: the caller then reads the phase, and may have to
  /// wake the shutdown.
  [[nodiscard]] bool end() noexcept {
    // seq_cst: after the task has run, and before the read of the phase.
    return count_.fetch_sub(1, base::order::seq_cst) == 1;
  }
  void wake_shutdown() noexcept { base::futex_wake(&count_, 1); }

  [[nodiscard]] std::uint32_t read() const noexcept {
    // seq_cst: after the phase was set.
    return count_.load(base::order::seq_cst);
  }
  /// Blocks the shutdown, after it has set the phase, until no thread helps.
  void wait_until_none() noexcept {
    for (std::uint32_t seen = read(); seen != 0; seen = read())
      static_cast<void>(base::futex_wait(count_, seen, base::never));
  }

 private:
  base::atomic<std::uint32_t> count_{0};
};

}  // namespace rota::sched
