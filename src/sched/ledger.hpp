// How many tasks live. Exact when it matters, free when it does not.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/futex.hpp"

#include <cstdint>

namespace rota::sched {

// PROTOCOL: two balances
//
// While the scheduler is open, a worker counts what it spawns and ends in counters of its own, and only other threads use
// the shared words. So a shared word says nothing by itself; each begins far above zero, by one `bias` for every part
// whose books are not closed yet, so that it cannot reach zero before they all are.
//   alive_    + spawned - ended  by threads that play no role, and by workers that have closed their books
//   memories_ + made - freed     the same, for the memory of tasks
// A worker closes its books when it sees that the scheduler is no longer open: it adds its own sum less one bias, once,
// and from then on uses the shared words. Whoever brings alive_ to zero tells the thread that shuts down; whoever brings
// memories_ to zero after the runtime has let go frees the scheduler.
// All are RMWs on one word each; acq_rel: who sees zero sees the end of every task.
class ledger {
 public:
  static constexpr std::int64_t bias = std::int64_t{1} << 40U;

  explicit ledger(unsigned workers) noexcept
      : alive_(bias * workers), memories_(bias * (std::int64_t{workers} + 1)) {}
  ledger(const ledger&) = delete;
  ledger& operator=(const ledger&) = delete;
  ~ledger() = default;

  void spawned() noexcept {
    // seq_cst. In one order with the phase: who counts first and finds the scheduler open is waited for.
    alive_.fetch_add(1, base::order::seq_cst);
  }
  /// Somebody needs the scheduler's memory from now on: a task, a handle, a thread.
  void made() noexcept {
    // relaxed. The caller is kept by somebody else; the count that matters is the one that falls.
    memories_.fetch_add(1, base::order::relaxed);
  }
  void ended() noexcept { lower_alive(1); }
  /// True: this was the last, and the caller frees the scheduler.
  [[nodiscard]] bool freed() noexcept { return lower_memories(1); }

  /// A worker's sums, once.
  void close_books(std::int64_t alive, std::int64_t memories) noexcept {
    // relaxed. The fall to zero, if any, is the next call's.
    memories_.fetch_add(memories, base::order::relaxed);
    static_cast<void>(lower_memories(bias));
    lower_alive(bias - alive);
  }
  /// The runtime lets go. True: no task's memory is left.
  [[nodiscard]] bool let_go() noexcept { return lower_memories(bias); }

  /// Blocks until no task is alive. False: the deadline came first.
  [[nodiscard]] bool wait_until_none(base::time_point deadline) noexcept {
    for (;;) {
      // acquire. Pairs with the exchange in lower_alive().
      const std::uint32_t seen = none_.load(base::order::acquire);
      if (seen != 0) return true;
      if (base::futex_wait(none_, 0, deadline) == base::wait_result::timed_out) {
        // acquire. The same.
        return none_.load(base::order::acquire) != 0;
      }
    }
  }

 private:
  void lower_alive(std::int64_t by) noexcept {
    // acq_rel. release: the end of these tasks. acquire: who reaches zero has seen every other's.
    if (alive_.fetch_sub(by, base::order::acq_rel) != by) return;
    // release. Pairs with wait_until_none().
    none_.exchange(1, base::order::release);
    base::futex_wake(&none_, 1);
  }
  [[nodiscard]] bool lower_memories(std::int64_t by) noexcept {
    // acq_rel. release: my last use of the scheduler. acquire: if I free it, every other's has happened.
    return memories_.fetch_sub(by, base::order::acq_rel) == by;
  }

  alignas(base::cache_line) base::atomic<std::int64_t> alive_;
  base::atomic<std::uint32_t> none_{0};
  alignas(base::cache_line) base::atomic<std::int64_t> memories_;
};

}  // namespace rota::sched
