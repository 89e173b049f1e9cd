// The task that a worker runs next.
#pragma once

#include "base/atomic.hpp"

namespace rota::sched {

// PROTOCOL: LIFO slot
//   task_  null, or an entry. Only the owner puts one in, so an empty slot stays empty until the owner does.
//          The owner takes it out by exchange; so does a thief, but only while the slot is ripe.
//   ripe_  set by the watchdog when the owner has stayed in one poll from one check to the next; cleared by
//          the owner when it takes from the slot. It is permission, not possession: the exchange decides.
//   The mark is a publish (the entry becomes visible to more workers): seq_cst, and the watchdog then
//   notifies.
template <class T>
class lifo_slot {
 public:
  /// Owner: puts `task` in. Returns the task that was there before, or null.
  [[nodiscard]] T* put(T& task) noexcept {
    // relaxed: only the owner fills the slot: empty stays empty.
    if (task_.load(base::order::relaxed) == nullptr) {
      // release: pairs with the acquire of a thief's exchange.
      task_.store(&task, base::order::release);
      return nullptr;
    }
    // acq_rel: release: same reason as above. acquire: not needed; the owner put the old task there.
    return task_.exchange(&task, base::order::acq_rel);
  }

  /// Owner: takes the task out. Returns null if the slot is empty.
  [[nodiscard]] T* take() noexcept {
    // relaxed: empty stays empty.
    if (task_.load(base::order::relaxed) == nullptr) return nullptr;
    unripen();
    // acquire: for symmetry with the thief; this worker's role put the task there.
    return task_.exchange(nullptr, base::order::acquire);
  }

  /// Owner: takes `task` out. Returns false if the slot does not hold it.
  [[nodiscard]] bool take_if(T& task) noexcept {
    T* seen = &task;
    // acquire: same reason as in take(). failure: relaxed: another task is there, or a thief was faster.
    return task_.compare_exchange_strong(seen, nullptr, base::order::acquire, base::order::relaxed);
  }

  /// Watchdog: marks the slot ripe. Returns true if it holds a task: the caller then notifies.
  [[nodiscard]] bool ripen() noexcept {
    // acquire: pairs with put(): an unripen() that came before this task does not undo the mark. If the task
    // is taken meanwhile, the notification is needless.
    if (task_.load(base::order::acquire) == nullptr) return false;
    // seq_cst: a publish in form 2: before the notification, against the re-scan of a parking worker.
    ripe_.store(true, base::order::seq_cst);
    return true;
  }

  /// Any thread: returns true if a thief may take the task.
  [[nodiscard]] bool is_ripe() const noexcept {
    // seq_cst: the fourth access of form 2.
    return ripe_.load(base::order::seq_cst) && !is_empty();
  }
  [[nodiscard]] T* steal() noexcept {
    if (!is_ripe()) return nullptr;
    // acq_rel: acquire: pairs with put(). release: the owner that finds the slot empty comes after this
    // thief.
    return task_.exchange(nullptr, base::order::acq_rel);
  }
  [[nodiscard]] bool is_empty() const noexcept {
    // relaxed: a guess.
    return task_.load(base::order::relaxed) == nullptr;
  }

 private:
  void unripen() noexcept {
    // relaxed, both: the permission may be withdrawn late: the exchange decides.
    if (ripe_.load(base::order::relaxed)) ripe_.store(false, base::order::relaxed);
  }

  base::atomic<T*> task_{nullptr};
  base::atomic<bool> ripe_{false};
};

}  // namespace rota::sched
