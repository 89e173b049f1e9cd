// Limits of the number of threads, threads that are given up, and the end of all threads.
#include "base/tls_slot.hpp"
#include "pool/crew.hpp"

#include <algorithm>
#include <utility>

namespace rota::pool::detail {

void crew::resize(unsigned min, unsigned max) noexcept {
  unsigned surplus;
  {
    const base::lock_guard guard(mutex_);
    if (min < min_) remind_idle();
    min_ = min;
    max_ = max;
    update();
    surplus = threads_ > cap() ? threads_ - cap() : 0;
  }
  wake_idle(surplus);
  fill();
  if (client_.has_work()) attract();
}

void crew::set_goal(unsigned goal) noexcept {
  unsigned surplus;
  {
    const base::lock_guard guard(mutex_);
    goal_ = goal;
    update();
    surplus = threads_ > cap() ? threads_ - cap() : 0;
  }
  wake_idle(surplus);
  if (client_.has_work()) attract();
}

/// Under the lock.
void crew::count_extra(int by) noexcept {
  extra_ += static_cast<unsigned>(by);
  update();
}

void crew::add_extra() noexcept {
  {
    const base::lock_guard guard(mutex_);
    count_extra(+1);
  }
  if (client_.has_work()) attract();
}

void crew::remove_extra() noexcept {
  {
    const base::lock_guard guard(mutex_);
    count_extra(-1);
    if (threads_ <= cap()) return;
  }
  wake_idle(1);
}

void crew::enter_region(seat& here) noexcept {
  // A child of fork() has the seat, and none of the other threads.
  if (!is_own_process()) return;
  {
    const base::lock_guard guard(mutex_);
    // relaxed: under the lock. A lost thread is not counted.
    if (here.regions++ != 0 || here.lost.load(base::order::relaxed)) return;
    ++regions_;
    count_extra(+1);
  }
  if (client_.has_work()) attract();
}

void crew::leave_region(seat& here) noexcept {
  if (!is_own_process()) return;
  {
    const base::lock_guard guard(mutex_);
    // relaxed: same reason as in enter_region(). The thread may have been lost in between.
    if (--here.regions != 0 || here.lost.load(base::order::relaxed)) return;
    --regions_;
    count_extra(-1);
    if (threads_ <= cap()) return;
  }
  wake_idle(1);
}

crew::on_lose crew::lose(void* job, unsigned most, bool (*give_up)(void* job) noexcept) noexcept {
  {
    const base::lock_guard guard(mutex_);
    const auto found = std::find_if(seats_.begin(), seats_.end(), [job](const auto& s) {
      // acquire: pairs with the client's store, for loses(). If the thread has gone on to another job,
      // give_up() fails.
      return s != nullptr && s->job.load(base::order::acquire) == job;
    });
    if (found == seats_.end()) return on_lose::no_thread;
    if (lost_ >= most || !give_up(job)) return on_lose::refused;
    client_.loses(**found);
    part(*found);
  }
  base::futex_wake(&left_, 1);
  fill();
  if (client_.has_work()) attract();
  return on_lose::lost;
}

void crew::leave_at_end(seat& here) noexcept {
  {
    const base::lock_guard guard(mutex_);
    // relaxed: the lock orders it.
    if (!stopping_ || here.lost.load(base::order::relaxed)) return;
    part(seats_[here.index]);
  }
  base::futex_wake(&left_, 1);
}

/// Under the lock: gives up the thread of this seat. The crew no longer owns the thread.
void crew::part(std::unique_ptr<seat>& place) noexcept {
  seat* const here = place.release();
  if (here->pending != nullptr) {
    here->pending->is_lost = true;
  } else {
    here->thread.detach();
  }
  // release: every reader of `lost` holds the lock, so the lock orders this store, too.
  here->lost.store(true, base::order::release);
  --threads_;
  ++lost_;
  if (here->regions != 0) --regions_, --extra_;
  update();
  note_left();
}

/// Ends a thread that was given up, when its run() has returned after all. The crew still counts it in lost_,
/// and owns nothing else of it.
void crew::forget(seat& here, void* job) noexcept {
  crew_client& client = client_;
  base::this_thread_locals().seat = nullptr;
  {
    // The lock of the thread that gave it up: from here on the seat belongs to this thread.
    const base::lock_guard guard(mutex_);
    --lost_;
  }
  delete &here;
  // The last access: the crew may be destroyed with it.
  client.gone(job);
}

void crew::stop() noexcept {
  {
    const base::lock_guard guard(mutex_);
    stopping_ = true;
    update();
    for (auto& each : seats_) {
      if (each != nullptr && !each->ended && client_.leaves_behind(*each)) part(each);
    }
  }
  wake_idle(~0U);
  for (;;) {
    // acquire: before the scan. A thread that leaves after the scan raises it again.
    const std::uint32_t seen = left_.load(base::order::acquire);
    reap();
    {
      const base::lock_guard guard(mutex_);
      const bool all_gone =
          std::all_of(seats_.begin(), seats_.end(), [](const auto& s) { return s == nullptr; });
      if (all_gone && pending_ == 0) return seats_.clear();
    }
    static_cast<void>(base::futex_wait(left_, seen, base::never));
  }
}

crew::counts crew::count() noexcept {
  const base::lock_guard guard(mutex_);
  // relaxed: a report.
  return {.threads = threads_,
          .idle = static_cast<unsigned>(word_.load(base::order::relaxed) & idle_mask),
          .goal = within_bounds(),
          .extra = extra_,
          .regions = regions_,
          .lost = lost_,
          .pending = pending_,
          .started = started_,
          .retired = retired_,
          .failures = failures_};
}

crew::limits crew::bounds() noexcept {
  const base::lock_guard guard(mutex_);
  return {min_, max_, keep_alive_};
}

}  // namespace rota::pool::detail
