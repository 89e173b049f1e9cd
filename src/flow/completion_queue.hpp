// The tasks of a join_set, and the order in which they ended.
#pragma once

#include "base/atomic.hpp"
#include "base/mutex.hpp"
#include "flow/sibling_ring.hpp"

#include <rota/detail/family.hpp>
#include <rota/waker.hpp>

#include <cstdint>
#include <source_location>

namespace rota::core {

// PROTOCOL: the tasks of a join_set
//
//   field         access
//   fresh_ asked_ tasks that run; those in asked_ have been cancelled by cancel_all(). Under mutex_
//   ended_        tasks that have ended, in that order. Under mutex_
//   cancelling_   number of threads that have announced a cancellation to all tasks, and have not found
//                 fresh_ empty since. Under mutex_
//   waiter_       the task that waits for the next end. Under mutex_
//   abandoned_    the set is gone. Under mutex_
//   size_         number of tasks in the three rings: written under mutex_, read by any thread
//   references_   one of the set, one of every task that has not reported its end. The thread that takes it
//                 to 0 deletes this object
//
// The set has the handle of every task in a ring. The thread that takes a task out of a ring for good drops
// its handle. A task that ends moves itself from its ring to ended_, unless the set is gone and has taken it
// out.
// Q1  No task is cancelled, woken, dropped or freed under mutex_.
// Q2  Tasks are asked to stop as header.hpp says (one cancellation of several tasks). A task may be spawned
//     between the announcement and the last pick, and that pick finds it. So launch() announces the
//     cancellation to a task if cancelling_ is not 0, in the critical section that appends it. An announced
//     task may suspend until it is cancelled. So the pick that finds fresh_ empty decrements cancelling_ in
//     its own critical section.
// mutex_ orders all of it. references_ goes down by acq_rel, so that the deletion comes after the last use by
// every other thread.
class completion_queue final : public family {
 public:
  completion_queue() = default;

  header& launch(promise_base& root, const result_vtable& type, std::source_location site);
  void cancel_all(cancel_reason reason) noexcept;
  /// Cancels and drops all tasks, and gives up the set's reference. Called when the set is destroyed.
  void abandon_all() noexcept;
  [[nodiscard]] std::size_t size() const noexcept {
    // relaxed: a number for reports; it orders nothing.
    return size_.load(base::order::relaxed);
  }

  void ended(header& child, const ending& how, bool unseen) noexcept override;
  void dropped(header& child, const ending& how) noexcept override;
  [[nodiscard]] header* parent() const noexcept override { return nullptr; }
  [[nodiscard]] base::time_point own_deadline_of_parent() const noexcept override { return base::never; }

  /// Sets the waiter, which every end wakes. Throws `errc::already_joined` if another task waits.
  void set_waiter(waker w);
  void demand_no_waiter();
  void forget_waiter() noexcept;
  [[nodiscard]] bool has_next() noexcept;
  /// Returns true if the task that has_next() refers to was cancelled.
  [[nodiscard]] bool is_next_cancelled() noexcept;
  [[nodiscard]] bool all_ended() noexcept;
  [[nodiscard]] header* take_next() noexcept;

 private:
  /// Called under the lock.
  void demand_no_waiter_locked() const;

  ~completion_queue() = default;

  unsigned pick(header** into, unsigned most, sibling_ring* to) noexcept;
  void resize(std::int64_t by) noexcept;
  void begin_cancelling() noexcept;
  void release() noexcept;

  base::mutex mutex_;
  base::cell<bool> abandoned_{false};
  base::cell<unsigned> cancelling_{0};
  base::atomic<std::uint64_t> size_{0};
  base::atomic<std::uint64_t> references_{1};
  sibling_ring fresh_;
  sibling_ring asked_;
  sibling_ring ended_;
  waker waiter_;
};

}  // namespace rota::core
