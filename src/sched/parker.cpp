#include "sched/parker.hpp"

namespace rota::sched {

void parker::park() noexcept {
  patience_.watch(word_, unparked);
  std::uint32_t seen = unparked;
  // acq_rel: same word as unpark(): observes what the claimer did. failure: acquire: it was notified already;
  // same reason.
  if (word_.compare_exchange_strong(seen, parked, base::order::acq_rel, base::order::acquire)) {
    patience_.falls_asleep();
    do {
      // No deadline: a lost wakeup is a bug, and must show as a hang.
      static_cast<void>(base::futex_wait(word_, parked, base::never));
      // acquire: pairs with the exchange in unpark().
    } while (word_.load(base::order::acquire) == parked);
    patience_.wakes_up();
  }
  // acq_rel: same word as unpark(): consumes the notification and observes what came before it.
  word_.exchange(unparked, base::order::acq_rel);
}

on_enter parker::enter_driver(base::time_point deadline) noexcept {
  patience_.watch(word_, unparked, deadline);
  std::uint32_t seen = unparked;
  // acq_rel: same word as unpark(). failure: acquire: it was notified already.
  if (word_.compare_exchange_strong(seen, parked_in_driver, base::order::acq_rel, base::order::acquire)) {
    patience_.falls_asleep();
    return on_enter::entered;
  }
  // acq_rel: consumes the notification.
  word_.exchange(unparked, base::order::acq_rel);
  return on_enter::notified;
}

bool parker::leave_driver() noexcept {
  // acq_rel: same word as unpark(): consumes the notification, if any, and observes what came before it.
  const bool was_notified = word_.exchange(unparked, base::order::acq_rel) == notified;
  // An event does not change the word, so polling the word would not help a worker that events wake.
  if (was_notified)
    patience_.wakes_up();
  else
    patience_.forget();
  return was_notified;
}

on_unpark parker::unpark() noexcept {
  // acq_rel: same word as park(): the worker observes what the caller did before.
  switch (word_.exchange(notified, base::order::acq_rel)) {
    case parked: base::futex_wake(&word_, 1); break;
    case parked_in_driver: return on_unpark::interrupt_driver;
    default: break;
  }
  return on_unpark::nothing;
}

}  // namespace rota::sched
