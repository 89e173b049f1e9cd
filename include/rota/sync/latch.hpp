// A counter that is counted down to 0 once, and that tasks and threads wait for.
#pragma once

#include <cstdint>

#include <rota/detail/plain_waits.hpp>
#include <rota/time.hpp>

namespace rota::sync {

// PROTOCOL: latch
//   word_    63      62                  0
//          +-------+----------------------+
//          |waiting|        count         |
//          +-------+----------------------+
//
//   count_down   by compare-exchange, unless there are waiters and the count would become 0. Then under the
//                list's lock: `waiting` is cleared in the same step, and all waiters are granted.
//   wait         passes if the count is 0. Otherwise, under the list's lock: a compare-exchange that has seen
//                a count above 0 sets `waiting`, and the caller joins the list.
//
//   L1  Under the lock, the list has waiters exactly while `waiting` is set. Only the lock's holder changes
//       that bit.
//   L2  A count of 0 stays, and no caller joins the list any more.
//   L3  With waiters the count becomes 0 only under the list's lock: see W5 of the wait list.

/// Waits until a number of events have happened. It can be used once: the count cannot be raised again.
///
///   rota::sync::latch loaded(3);
///   loaded.count_down();                   // three times, wherever
///   co_await loaded.wait();                // in a task
///   loaded.blocking_wait();                // in a thread, or a work of a pool
///
/// Threads       Any.
/// Ownership     Destroying a latch that has waiters ends the program with a sentence. A wait that has passed
///               may destroy it.
/// Ordering      What was done before each count_down happens before the return of each wait.
/// Failure       The constructor throws `std::invalid_argument` if the count is more than max_count.
///               count_down throws it if `n` is more than what is left, before anything has changed. A
///               cancelled wait changes nothing.
/// Cost          count_down: one read-modify-write; a wait at 0: one load. No allocation. A wait: one wake,
///               and the list's lock twice.
/// Example       examples/latch.cpp
class ROTA_API latch : public core::plain_waits<latch> {
 public:
  using count = std::uint64_t;

  static constexpr count max_count = (count{1} << 63U) - 1;

  explicit latch(count things);
  latch(const latch&) = delete;
  latch& operator=(const latch&) = delete;
  ~latch() { list_.end("a sync::latch was destroyed while a task or a thread waits for it"); }

  void count_down(count n = 1) {
    // relaxed: a guess; the exchange decides.
    std::uint64_t seen = word_.load(base::order::relaxed);
    do {
      if (seen == (waiting | n) || n > (seen & ~waiting)) [[unlikely]]
        return count_down_slowly(n);
      // release: pairs with the acquire of the thread that sees 0. failure: relaxed: again a guess.
    } while (!word_.compare_exchange_weak(seen, seen - n, base::order::release, base::order::relaxed));
  }
  /// Counts down in the call, and returns an awaitable that waits for the rest. The latch must live until
  /// that wait has passed.
  core::plain_wait<latch> arrive_and_wait(count n = 1) {
    count_down(n);
    return wait();
  }
  /// The same for a thread.
  void blocking_arrive_and_wait(count n = 1) {
    count_down(n);
    blocking_wait();
  }
  /// Returns what is left. A guess, unless it is 0.
  [[nodiscard]] count left() const noexcept {
    // acquire: pairs with the release in count_down(), for a caller that sees 0.
    return word_.load(base::order::acquire) & ~waiting;
  }

 private:
  friend class core::plain_waits<latch>;

  static constexpr std::uint64_t waiting = std::uint64_t{1} << 63U;
  static const core::wait_rules rules;

  static constexpr std::uint64_t since() noexcept { return 0; }
  [[nodiscard]] core::wait_target target() noexcept { return {&list_, this, &rules}; }
  [[nodiscard]] bool try_now(const core::wait_node& /*me*/) const noexcept { return left() == 0; }
  void count_down_slowly(count n);
  bool count_down_in(core::wait_section& section, count n, count& there) noexcept;
  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;
  void leave(const core::wait_section& section) noexcept;

  base::atomic<std::uint64_t> word_;
  core::wait_list list_;
};

}  // namespace rota::sync
