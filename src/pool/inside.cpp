// Runs a job inside another one, or on a waiting thread outside the pool.
#include "base/tls_slot.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

namespace rota::pool::detail {

bool pool_core::run_here(work_core& w) noexcept {
  // A reference for this run: the travelling one goes with the queue's entry.
  word seen{};
  // relaxed: same reason as in claim().
  if (closing_.load(base::order::relaxed)) return false;
  // acquire: pairs with the thread that pauses.
  if (options.pause == pause_mode::queued_too && pauses_.load(base::order::acquire) != 0) return false;
  // acquire: a hint: it is checked again under the lock.
  lane* const home = w.home.load(base::order::acquire);
  // In no queue, or on its way from one to another: the thread that holds it will run it.
  if (home == nullptr) return false;
  {
    // Under the lock, so that the entry stays in this queue. Otherwise it might enter a second queue while it
    // is in one.
    const base::lock_guard guard(home->lock);
    // relaxed: under the lock.
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

/// Removes the entry of a job that was taken back in its queue, and drops the travelling reference. If the
/// job is on its way, the thread that holds it drops the reference.
void pool_core::take_out(work_core& w) noexcept {
  for (;;) {
    // acquire: a hint: it is checked again under the lock.
    lane* const home = w.home.load(base::order::acquire);
    if (home == nullptr) return;  // on its way out, or in
    const base::lock_guard guard(home->lock);
    // relaxed: under the lock.
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
    w->retain();  // a coroutine that waits may be gone before the next check
    if (take_on(*w) == on_claim::run && execute_here(*w) != on_execute::waits) drop(*w);
    drop(*w);
    return true;
  }
  return false;
}

}  // namespace rota::pool::detail
