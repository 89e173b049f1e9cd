// A work that is run inside of another one, or on a thread that waits and is none of the pool's.
#include "base/tls_slot.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

namespace rota::pool::detail {

bool pool_core::run_here(work_core& w) noexcept {
  // A reference of this run's own: the one that travels goes with the queue's entry.
  word seen{};
  // relaxed. As in claim().
  if (closing_.load(base::order::relaxed)) return false;
  // acquire. Pairs with who pauses.
  if (options.pause == pause_mode::queued_too && pauses_.load(base::order::acquire) != 0) return false;
  // acquire. A hint: under the lock it is looked at again.
  lane* const home = w.home.load(base::order::acquire);
  if (home == nullptr)
    return false;  // in no queue, or on its way from one to another: whoever has it will run it
  {
    // Under the lock, so that its entry is here: else it might come into a second queue while it lies in one.
    const base::lock_guard guard(home->lock);
    // relaxed. Under the lock.
    if (w.home.load(base::order::relaxed) != home || !w.load().is(work_status::queued) ||
        w.coroutine != nullptr)
      return false;
    if (!w.apply<rule::claim>(seen)) return false;
    home->remove(w);
  }
  drop(w);  // the travelling reference
  note_waiting(-1);
  static_cast<void>(execute_here(w));
  return true;
}

/// It was taken back where it lay: its entry goes, and the travelling reference with it. Else whoever has it on its way drops it.
void pool_core::take_out(work_core& w) noexcept {
  for (;;) {
    // acquire. A hint: under the lock it is looked at again.
    lane* const home = w.home.load(base::order::acquire);
    if (home == nullptr) return;  // on its way out, or in
    const base::lock_guard guard(home->lock);
    // relaxed. Under the lock.
    if (w.home.load(base::order::relaxed) != home) continue;
    home->remove(w);
    break;
  }
  drop(w);
}

bool pool_core::help_once() noexcept {
  const seat* const here = crew::here();
  const auto count = static_cast<unsigned>(lanes_.size());
  const unsigned mine = here != nullptr && here->of == &threads ? here->index % count : 0;
  for (unsigned i = 0; i < count; ++i) {
    work_core* const w = pop(lanes_[(mine + i) % count], i == 0 ? which::own : which::stolen);
    if (w == nullptr) continue;
    w->retain();  // a coroutine that waits may be gone before it is looked at again
    if (take_on(*w) == on_claim::run && execute_here(*w) != on_execute::waits) drop(*w);
    drop(*w);
    return true;
  }
  return false;
}

}  // namespace rota::pool::detail
