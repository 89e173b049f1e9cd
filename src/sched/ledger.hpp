// How many tasks live. Exact when a shutdown needs it, and without a shared write before.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/futex.hpp"

#include <cstdint>

namespace rota::sched {

// PROTOCOL: two balances
//
// While the scheduler is open, a worker counts the tasks that it spawns and ends in counters of its own; only
// other threads use the shared words. So the value of a shared word alone has no meaning. Each shared word
// starts far above zero, by one `bias` for each part with private counts, so it cannot reach zero before all
// parts have published their counts (close_books()).
//   alive_    + spawned - ended  by threads that play no role, and by workers after their close_books()
//   memories_ + made - freed     the same, for the memory of tasks
// A worker calls close_books() when it reads that the scheduler is no longer open: it adds its own sum less
// one bias, once, and uses the shared words from then on. The thread that brings alive_ to zero wakes the
// thread that shuts down. The thread that brings memories_ to zero after let_go() frees the scheduler. All
// changes are RMWs of one word each; acq_rel: a thread that reads zero observes the end of every task.
class ledger {
 public:
  static constexpr std::int64_t bias = std::int64_t{1} << 40U;

  explicit ledger(unsigned workers) noexcept
      : alive_(bias * workers), memories_(bias * (std::int64_t{workers} + 1)) {}
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;
  ~ledger() = default;

  void spawned() noexcept {
    // seq_cst: in one order with the phase: a task that is counted while the scheduler is open is waited for.
    alive_.fetch_add(1, base::order::seq_cst);
  }
  /// Counts one more owner of the scheduler's memory: a task, a handle, a thread.
  void made() noexcept {
    // relaxed: another count keeps the caller's scheduler alive; only the decrement decides.
    memories_.fetch_add(1, base::order::relaxed);
  }
  void ended() noexcept { lower_alive(1); }
  /// Counts one owner less. Returns true if it was the last: the caller frees the scheduler.
  [[nodiscard]] bool freed() noexcept { return lower_memories(1); }

  /// Adds the sums of a worker, once.
  void close_books(std::int64_t alive, std::int64_t memories) noexcept {
    // relaxed: if the count falls to zero, it does so in the next call.
    memories_.fetch_add(memories, base::order::relaxed);
    static_cast<void>(lower_memories(bias));
    lower_alive(bias - alive);
  }
  /// Drops the bias of the runtime. Returns true if no task's memory is left.
  [[nodiscard]] bool let_go() noexcept { return lower_memories(bias); }

  /// Blocks until no task is alive. Returns false if the deadline passes first.
  [[nodiscard]] bool wait_until_none(base::time_point deadline) noexcept {
    for (;;) {
      // acquire: pairs with the exchange in lower_alive().
      const std::uint32_t seen = none_.load(base::order::acquire);
      if (seen != 0) return true;
      if (base::futex_wait(none_, 0, deadline) == base::wait_result::timed_out) {
        // acquire: same reason as above.
        return none_.load(base::order::acquire) != 0;
      }
    }
  }

 private:
  void lower_alive(std::int64_t by) noexcept {
    // acq_rel: release: the end of these tasks. acquire: the thread that reaches zero observes the end of all
    // others.
    if (alive_.fetch_sub(by, base::order::acq_rel) != by) return;
    // release: pairs with wait_until_none().
    none_.exchange(1, base::order::release);
    base::futex_wake(&none_, 1);
  }
  [[nodiscard]] bool lower_memories(std::int64_t by) noexcept {
    // acq_rel: release: the caller's last use of the scheduler. acquire: before the free, all other uses have
    // happened.
    return memories_.fetch_sub(by, base::order::acq_rel) == by;
  }

  alignas(base::cache_line) base::atomic<std::int64_t> alive_;
  base::atomic<std::uint32_t> none_{0};
  alignas(base::cache_line) base::atomic<std::int64_t> memories_;
};

}  // namespace rota::sched
