// A thread takes its desk, leaves it, or is lost with it.
#include "base/tls_slot.hpp"
#include "pool/pool_core.hpp"

#include <utility>

namespace rota::pool::detail {

void pool_core::begins(seat& here) noexcept {
  here.nice = options.nice;
  {
    const base::lock_guard guard(lock_);
    if (free_desks_ == nullptr) {
      // Without memory for one it does as other threads do.
      free_desks_ = new (std::nothrow) desk;
      if (free_desks_ != nullptr) free_desks_->next_made = std::exchange(desks_, free_desks_);
    }
    here.own = free_desks_;
    if (desk* const mine = free_desks_; mine != nullptr) {
      free_desks_ = mine->next_free;
      mine->index = here.index;
      mine->is_taken = true;
    }
  }
  if (options.nice != 0) base::set_niceness(options.nice);
  if (!options.on_thread_start) return;
  try {
    options.on_thread_start(here.index);
  } catch (...) {
    events.report(error_from::thread_hook, {}, std::current_exception());
  }
}

/// Nothing of this thread's is counted, or kept, any more.
void pool_core::leave_desk(seat& here) noexcept {
  settle(here);
  auto* const own = static_cast<desk*>(std::exchange(here.own, nullptr));
  if (own == nullptr) return;
  if (own->runs) runs_no_more(*own);
  memory.bring_back(own->stock);
  const base::lock_guard guard(lock_);
  own->is_taken = false;
  own->next_free = std::exchange(free_desks_, own);
}

void pool_core::ends(seat& here) noexcept {
  leave_desk(here);
  if (!options.on_thread_end) return;
  try {
    options.on_thread_end(here.index);
  } catch (...) {
    events.report(error_from::thread_hook, {}, std::current_exception());
  }
}

void pool_core::leave_seat(const work_core& w) noexcept {
  seat* const here = crew::here();
  // relaxed, both. This thread's; who runs it next, and who gives that one up, come after what follows.
  if (here != nullptr && here->job.load(base::order::relaxed) == &w)
    here->job.store(nullptr, base::order::relaxed);
}

/// Nobody knows when it comes back, and counts out what has ended there.
void pool_core::loses(seat& here) noexcept {
  auto* const own = static_cast<desk*>(here.own);
  if (own == nullptr) return;
  // relaxed, all. The thread is inside of the work that was just given up, or on its way there: what it counted before was published
  // with its job, and it counts nothing before it asks whether it is lost.
  orphaned_.fetch_add(own->ended.load(base::order::relaxed), base::order::relaxed);
  own->ended.store(0, base::order::relaxed);
}

/// A coroutine that was abandoned while it waited unwinds there: that may take for ever, and brings nothing to an end that is waited for.
bool pool_core::leaves_behind(seat& here) noexcept {
  // acquire. Pairs with run(). If its thread has gone on meanwhile, it has asked whether it is lost before, under the crew's lock, and what
  // it wrote before that is seen; or it asks later.
  const auto* const w = static_cast<work_core*>(here.job.load(base::order::acquire));
  return w != nullptr && w->load().is(work_status::abandoned);
}

/// It was abandoned, and has come back.
void pool_core::gone(void* job) noexcept { drop(*static_cast<work_core*>(job)); }

}  // namespace rota::pool::detail
