#include "sched/sleep_driver.hpp"

namespace rota::sched {

const driver_ops sleep_driver::ops_table{
    .wait = [](void* self, base::time_point deadline, event_buffer&) noexcept -> unsigned {
      static_cast<sleep_driver*>(self)->wait(deadline);
      return 0;
    },
    .dispatch = [](void*, const event_buffer&, unsigned) noexcept {},
    .interrupt = [](void* self) noexcept { static_cast<sleep_driver*>(self)->interrupt(); },
};

void sleep_driver::wait(base::time_point deadline) noexcept {
  // acq_rel, both: same word as interrupt(): observes what the interrupter did. A poll consumes the
  // interrupt, too.
  if (deadline == base::time_point::min()) {
    interrupted_.exchange(0, base::order::acq_rel);
    return;
  }
  while (interrupted_.exchange(0, base::order::acq_rel) == 0) {
    if (base::futex_wait(interrupted_, 0, deadline) == base::wait_result::timed_out) return;
  }
}

void sleep_driver::interrupt() noexcept {
  // acq_rel: same word as wait().
  if (interrupted_.exchange(1, base::order::acq_rel) == 0) base::futex_wake(&interrupted_, 1);
}

}  // namespace rota::sched
