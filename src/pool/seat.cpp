// A thread of the pool takes its desk, leaves it, or is given up together with it.
#include "base/tls_slot.hpp"
#include "pool/pool_core.hpp"

#include <utility>

namespace rota::pool::detail {

void pool_core::begins(seat& here) noexcept {
  here.nice = options.nice;
  {
    const base::lock_guard guard(lock_);
    if (free_desks_ == nullptr) {
      // Without memory for a desk the thread counts like a thread outside of the pool.
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

/// Counts out what has ended on this thread, and returns its stock and its desk.
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
  // relaxed, both: this thread's own field. The thread that runs the work next, and a thread that gives it
  // up, are ordered by the operations that follow.
  if (here != nullptr && here->job.load(base::order::relaxed) == &w)
    here->job.store(nullptr, base::order::relaxed);
}

/// Takes over the count of the ended works of a given-up thread: it is not known when, or if, that thread
/// returns.
void pool_core::loses(seat& here) noexcept {
  auto* const own = static_cast<desk*>(here.own);
  if (own == nullptr) return;
  // relaxed, all: the thread is inside of the work that was just given up, or about to enter it. What it
  // counted before was published with its job. It counts nothing more before it has asked whether it is lost.
  orphaned_.fetch_add(own->ended.load(base::order::relaxed), base::order::relaxed);
  own->ended.store(0, base::order::relaxed);
}

/// Returns true if the thread of the seat runs an abandoned work: a coroutine that was abandoned while it
/// waited, and that unwinds on this thread. That may take forever, and ends nothing that is waited for.
bool pool_core::leaves_behind(seat& here) noexcept {
  // acquire: pairs with the release in run(). If the thread has left the work meanwhile, it has asked under
  // the crew's lock whether it is lost: then this thread sees what it wrote before. Or it asks later.
  const auto* const w = static_cast<work_core*>(here.job.load(base::order::acquire));
  return w != nullptr && w->load().is(work_status::abandoned);
}

/// Drops the reference of an abandoned work that has come back.
void pool_core::gone(void* job) noexcept { drop(*static_cast<work_core*>(job)); }

}  // namespace rota::pool::detail
