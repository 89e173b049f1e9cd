// The one task that a worker runs next.
#pragma once

#include "base/atomic.hpp"

namespace rota::sched {

// PROTOCOL: LIFO slot
//   task_  null, or an entry. Only the owner puts one in, so an empty slot stays empty until it does. The owner takes it
//          out by exchange; a thief too, and only while the slot is ripe.
//   ripe_  set by the watchdog when the owner has been in one poll for longer than a look of it takes, cleared by the
//          owner when it touches the slot again. It is permission, not possession: the exchange decides.
//   The mark is a publish (the entry becomes visible to more workers): seq_cst, and who marks looks.
template <class T>
class lifo_slot {
 public:
  /// Owner. The task that was there before, if any.
  [[nodiscard]] T* put(T& task) noexcept {
    // relaxed. Only the owner fills the slot: empty stays empty.
    if (task_.load(base::order::relaxed) == nullptr) {
      // release. Pairs with the acquire of a thief's exchange.
      task_.store(&task, base::order::release);
      return nullptr;
    }
    // acq_rel. release: as above. acquire: nothing; the owner put the old one there.
    return task_.exchange(&task, base::order::acq_rel);
  }

  /// Owner.
  [[nodiscard]] T* take() noexcept {
    // relaxed. Empty stays empty.
    if (task_.load(base::order::relaxed) == nullptr) return nullptr;
    unripen();
    // acquire. For symmetry with the thief; what is taken was put by this worker's role.
    return task_.exchange(nullptr, base::order::acquire);
  }

  /// Owner: takes this very task out.
  [[nodiscard]] bool take_if(T& task) noexcept {
    T* seen = &task;
    // acquire. As take(). failure: relaxed. Another one is there, or a thief was faster.
    return task_.compare_exchange_strong(seen, nullptr, base::order::acquire, base::order::relaxed);
  }

  /// The watchdog. True: something was there, so the caller looks.
  [[nodiscard]] bool ripen() noexcept {
    // acquire. Pairs with put(): an unripen() that came before this task does not undo the mark. If the task is taken
    //          meanwhile, the look was for nothing.
    if (task_.load(base::order::acquire) == nullptr) return false;
    // seq_cst. A publish in form (b): before the look, against the re-scan of who parks.
    ripe_.store(true, base::order::seq_cst);
    return true;
  }

  /// Anybody.
  [[nodiscard]] bool is_ripe() const noexcept {
    // seq_cst. The fourth access of form (b).
    return ripe_.load(base::order::seq_cst) && !is_empty();
  }
  [[nodiscard]] T* steal() noexcept {
    if (!is_ripe()) return nullptr;
    // acq_rel. acquire: pairs with put(). release: the owner that finds it empty comes after us.
    return task_.exchange(nullptr, base::order::acq_rel);
  }
  [[nodiscard]] bool is_empty() const noexcept {
    // relaxed. A guess.
    return task_.load(base::order::relaxed) == nullptr;
  }

 private:
  void unripen() noexcept {
    // relaxed, both. Permission may be withdrawn late: the exchange decides.
    if (ripe_.load(base::order::relaxed)) ripe_.store(false, base::order::relaxed);
  }

  base::atomic<T*> task_{nullptr};
  base::atomic<bool> ripe_{false};
};

}  // namespace rota::sched
