#include "sched/parker.hpp"

namespace rota::sched {

void parker::park() noexcept {
  patience_.watch(word_, unparked);
  std::uint32_t seen = unparked;
  // acq_rel. Same word as unpark(): what the claimer did is seen. failure: acquire. It was notified already: the same.
  if (word_.compare_exchange_strong(seen, parked, base::order::acq_rel, base::order::acquire)) {
    patience_.falls_asleep();
    do {
      // No deadline: a wake that is lost is a bug, and must look like one.
      static_cast<void>(base::futex_wait(word_, parked, base::never));
      // acquire. Pairs with the exchange in unpark().
    } while (word_.load(base::order::acquire) == parked);
    patience_.wakes_up();
  }
  // acq_rel. Same word as unpark(): consumes the notification and sees what came before it.
  word_.exchange(unparked, base::order::acq_rel);
}

on_enter parker::enter_driver(base::time_point deadline) noexcept {
  patience_.watch(word_, unparked, deadline);
  std::uint32_t seen = unparked;
  // acq_rel. Same word as unpark(). failure: acquire. It was notified already.
  if (word_.compare_exchange_strong(seen, parked_in_driver, base::order::acq_rel, base::order::acquire)) {
    patience_.falls_asleep();
    return on_enter::entered;
  }
  // acq_rel. Consumes the notification.
  word_.exchange(unparked, base::order::acq_rel);
  return on_enter::notified;
}

bool parker::leave_driver() noexcept {
  // acq_rel. Same word as unpark(): consumes the notification, if any, and sees what came before it.
  const bool was_notified = word_.exchange(unparked, base::order::acq_rel) == notified;
  // An event would not have shown in the word: who is woken by events looks for them at once.
  if (was_notified)
    patience_.wakes_up();
  else
    patience_.forget();
  return was_notified;
}

on_unpark parker::unpark() noexcept {
  // acq_rel. Same word as park(): what the caller did before is seen by the worker.
  switch (word_.exchange(notified, base::order::acq_rel)) {
    case parked: base::futex_wake(&word_, 1); break;
    case parked_in_driver: return on_unpark::interrupt_driver;
    default: break;
  }
  return on_unpark::nothing;
}

}  // namespace rota::sched
