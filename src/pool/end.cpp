// The end of a pool.
#include "pool/absence.hpp"
#include "pool/pool_core.hpp"
#include "pool/watch.hpp"

#include <rota/detail/deadline.hpp>
#include <rota/error.hpp>

#include <utility>
#include <vector>

namespace rota::pool::detail {

// ---- holding the pool open --------------------------------------------------------------------------------

bool pool_core::hold_open() noexcept {
  // acq_rel: same reason as in count_in().
  const std::uint64_t before = outstanding_.fetch_add(1, base::order::acq_rel);
  if ((before & closed_bit) != 0) {
    count_out();
    return false;
  }
  // relaxed: for a report.
  holds_.fetch_add(1, base::order::relaxed);
  if ((before & count_mask) == 0) note_lifecycle(begun_batches_);
  return true;
}

void pool_core::let_go_of_hold() noexcept {
  // relaxed: same reason as in hold_open().
  holds_.fetch_sub(1, base::order::relaxed);
  count_out();
}

work_core& pool_core::begin_busy(busy_note& note) {
  work_core& holder = draw_holder("busy_guard");
  if (!hold_open()) {
    drop(holder);
    throw error(errc::shut_down, "busy_guard");
  }
  note.thread = base::this_thread_id();
  const base::lock_guard guard(lock_);
  note.next = busy_notes_;
  if (busy_notes_ != nullptr) busy_notes_->previous = &note;
  busy_notes_ = &note;
  return holder;
}

void pool_core::end_busy(work_core& holder, busy_note& note) noexcept {
  if (!is_own_process()) return;
  {
    const base::lock_guard guard(lock_);
    (note.previous == nullptr ? busy_notes_ : note.previous->next) = note.next;
    if (note.next != nullptr) note.next->previous = note.previous;
  }
  let_go_of_hold();
  drop(holder);
}

/// Ends the program if the calling thread has a busy_guard: it would wait for itself.
void pool_core::demand_not_busy_here() noexcept {
  const base::lock_guard guard(lock_);
  for (const busy_note* each = busy_notes_; each != nullptr; each = each->next) {
    if (each->thread == base::this_thread_id())
      ROTA_FATAL("a thread_pool is shut down by a thread that has a busy_guard of it", each->thread);
  }
}

// ---- the end ----------------------------------------------------------------------------------------------

void pool_core::shut_down(base::nanoseconds grace) noexcept {
  if (const seat* const here = crew::here(); here != nullptr && here->of == &threads)
    ROTA_FATAL("a thread_pool is shut down on one of its own threads", here->index);
  if (const work_core* const me = work_here(); (me != nullptr && me->pool == this) || clock.is_here())
    ROTA_FATAL("a thread_pool is shut down inside of one of its own works, or by a timer of its own",
               me == nullptr ? 0 : me->id);
  demand_not_busy_here();
  bool first;
  {
    const base::lock_guard guard(lock_);
    first = !std::exchange(shut_down_, true);
  }
  if (first) {
    end_all(grace);
    // release: pairs with the load below.
    ended_.store(1, base::order::release);
    base::futex_wake(&ended_, 1 << 20);
  }
  // acquire: pairs with the store above.
  while (ended_.load(base::order::acquire) == 0) {
    const absence away;
    static_cast<void>(base::futex_wait(ended_, 0, base::never));
  }
}

/// Called after the end. The first call that has memory for it records the abandoned jobs.
pool_report pool_core::report() {
  std::vector<work_id> found;
  memory.for_each([&](work_core& w) {
    const word now = w.load();
    if (now.is(work_status::abandoned) && !now.has(came_back)) found.push_back({w.id});
  });
  const base::lock_guard guard(lock_);
  if (!std::exchange(abandoned_are_noted_, true)) report_.abandoned = std::move(found);
  return report_;
}

void pool_core::end_all(base::nanoseconds grace) noexcept {
  // seq_cst: a submitter that finds no place afterwards does not wait for one.
  closing_.store(true, base::order::seq_cst);
  // acq_rel: this thread waits for what was counted in before; what comes after is refused.
  outstanding_.fetch_or(closed_bit, base::order::acq_rel);
  call_waiter();
  end_watches();
  const accounts before = count_ends();
  start();
  resume_all();
  const base::time_point until = rota::detail::saturating_deadline(base::now(), grace);
  end_each(ending);
  if (!until_idle(until, nullptr)) end_by_force();
  release_held();
  for (work_core* w = circles.take_parked(); w != nullptr; w = circles.take_parked()) drop(*w);
  threads.stop();
  {
    // A start that failed just before may still call missing().
    const base::lock_guard guard(lifecycle_lock_);
    threads_are_over_ = true;
  }
  clock.stop();
  for (timing::timer_node* const each : {&total_timer_, &running_timer_, &climb_timer_, &missing_timer_})
    keeper::cancel(*each);
  const accounts after = count_ends();
  {
    const base::lock_guard guard(lock_);
    report_.cancelled = after.unbegun - before.unbegun;
    report_.ended = after.begun - before.begun;
  }
  static_cast<void>(clear_stored());
}

/// Ends all watches: they take no more items. A later watch finds that the pool closes.
void pool_core::end_watches() noexcept {
  for (;;) {
    watch_core* one = nullptr;
    {
      const base::lock_guard guard(lock_);
      one = watches_;
      if (one == nullptr) return;
      one->retain();
    }
    one->ask(watch_core::request::pool_has_ended);
    one->release();
  }
}

/// Cancels jobs that have not begun, asks running jobs to stop, and wakes paused jobs so that they see the
/// request.
void pool_core::end_each(std::uint64_t how) noexcept {
  memory.for_each([&](work_core& w) {
    if (!end_reservation(w)) {
      const word now = w.load();
      if (!is_final(now.status()) && !now.is(work_status::created)) {
        static_cast<void>(stop(w, how));
        go_on(w);
      }
    }
  });
}

/// Also ends jobs the grace of which has passed before, and that were not abandoned then. Checks again every
/// 10 ms, since a thread may have taken a job a moment before the pool closed, and begun it after each job
/// was asked to stop.
void pool_core::end_by_force() noexcept {
  constexpr auto pause = std::chrono::milliseconds(10);
  end_each(ending | force_asked);
  base::nanoseconds span = options.force_grace;
  while (!until_idle(rota::detail::saturating_deadline(base::now(), span), nullptr)) {
    memory.for_each([this](work_core& w) {
      if (w.load().is_running()) abandon(w);
    });
    end_each(ending | force_asked);
    span = pause;
  }
}

/// Ends a reserved id that will not be submitted. Its waiters go on, its successors end, and the
/// reservation's reference is dropped.
bool pool_core::end_reservation(work_core& w) noexcept {
  word seen{};
  if (!w.apply<rule::give_up_reservation>(seen)) return false;
  work_core* failed = nullptr;
  announce(w, w.load(), failed);
  finish_failed(failed);
  drop(w);
  return true;
}

/// Called when thread_pool is destroyed. Handles may be left.
void pool_core::let_go() noexcept {
  static_cast<void>(memory.close(1));
  if (memory.leave()) delete this;
}

}  // namespace rota::pool::detail
