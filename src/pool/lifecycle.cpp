// The batches of a pool, from the first work to the end of the last: events, the pool's timeout, the running
// timer.
#include "pool/absence.hpp"
#include "pool/pool_core.hpp"
#include "pool/watch.hpp"

#include <rota/detail/deadline.hpp>

#include <algorithm>
#include <utility>

namespace rota::pool::detail {

bool pool_core::tells_lifecycle() const noexcept {
  return options.total_timeout.limit != base::nanoseconds(0) ||
         options.running_timer.interval != base::nanoseconds(0) || options.hill_climbing.period.count() != 0;
}

/// Counts the beginning or the end of a batch in `batches`: the pool has just got its first outstanding work,
/// or lost its last one. One thread at a time calls the handlers, alternately for the beginning and the end
/// of each batch. A batch that has begun and ended while a handler ran is reported, too.
void pool_core::note_lifecycle(base::atomic<std::uint64_t>& batches) noexcept {
  // acq_rel: the thread that tells the end of a batch sees what the works of the batch did.
  batches.fetch_add(1, base::order::acq_rel);
  if (!tells_lifecycle() && !events.any()) return;
  {
    const base::lock_guard guard(lifecycle_lock_);
    if (std::exchange(telling_, true)) return;
  }
  for (;;) {
    bool begins;
    {
      const base::lock_guard guard(lifecycle_lock_);
      // acquire, both: same reason as for the fetch_add above. A thread that counts while this thread tells
      // takes the lock afterwards, and its batch is found here.
      begins = !running_ && begun_batches_.load(base::order::acquire) > told_;
      const bool ends = running_ && ended_batches_.load(base::order::acquire) >= told_;
      if (!begins && !ends) {
        telling_ = false;
        return;
      }
      running_ = begins;
      if (begins) {
        ++told_;
        began_ = base::now();
        if (options.hill_climbing.period.count() != 0) reset_climb();
      }
    }
    if (begins) {
      begin_batch();
    } else {
      end_batch();
    }
  }
}

/// Adds an observer. The first observer is told of batches that begin from now on.
listener& pool_core::listen(observer& whom) {
  const base::lock_guard guard(lifecycle_lock_);
  if (!tells_lifecycle() && !events.any() && !telling_) {
    running_ = false;
    // acquire: same reason as in note_lifecycle().
    told_ = begun_batches_.load(base::order::acquire);
  }
  return events.add(whom);
}

namespace {

template <void (pool_core::*F)() noexcept>
waker pool_waker(pool_core& pool) noexcept {
  static constexpr waker_vtable vtable{
      .wake = [](void* data) noexcept { (static_cast<pool_core*>(data)->*F)(); },
      .wake_by_ref = [](void*) noexcept {},
      .clone = [](void* data) noexcept { return data; },
      .drop = [](void*) noexcept {},
  };
  return {&pool, &vtable};
}

}  // namespace

namespace {
constexpr auto pause_between_tries = std::chrono::milliseconds(20);
}

// PROTOCOL: threads that the system refuses
//   If no thread can be started for a work, the next submit and the keeper try again. The system may refuse
//   the keeper's thread, too. Then each thread that sleeps until something of the pool is over tries in the
//   keeper's place, in sleep_until(). missing() tells them: it sets is_short_, and then, the first time,
//   raises each count and word that a thread may sleep on. A sleeping thread first reads the word that it
//   sleeps on, and then calls sleep_until(). So it either learns that the keeper lacks its thread, or does
//   not fall asleep: no lost wakeup. Threads that sleep later find that the keeper lacks its thread. The
//   keeper either gets the thread for good, or never.
//   If no thread sleeps and none submits, no thread tries for the work.

/// Called when no thread could be started. Each later submit tries again, and so do the keeper or the waiting
/// threads.
void pool_core::missing() noexcept {
  {
    const base::lock_guard guard(lifecycle_lock_);
    if (threads_are_over_) return;
    // A timer that is armed fires soon enough. To arm it again would drop its old waker under the lock.
    if (missing_timer_.state() != timing::node_state::armed) {
      clock.arm(missing_timer_,
                base::now() + pause_between_tries,
                pool_waker<&pool_core::try_again_to_start>(*this));
    }
  }
  if (!clock.lacks_thread()) return;
  // release: pairs with the exchange in try_for_threads().
  is_short_.store(true, base::order::release);
  // acq_rel: one thread rouses the sleepers, once.
  if (!sleepers_are_told_.exchange(true, base::order::acq_rel)) rouse_sleepers();
}

/// The slow path of sleep_until().
base::time_point pool_core::try_for_threads(base::time_point deadline) noexcept {
  // acq_rel: pairs with the store in missing(). One of several waiting threads tries.
  if (is_short_.exchange(false, base::order::acq_rel)) try_again_to_start();
  clock.retry();
  return clock.lacks_thread() ? std::min(deadline, base::now() + pause_between_tries) : deadline;
}

/// Wakes each thread that sleeps until something is over, so that it checks again.
void pool_core::rouse_sleepers() noexcept {
  memory.for_each([](work_core& w) {
    word seen{};
    if (w.apply<rule::nudge>(seen) && seen.has(slept_on)) base::futex_wake_upper(&w.state, 1 << 20);
  });
  // release: pairs with the acquire load in until_idle().
  idle_epoch_.fetch_add(1, base::order::release);
  base::futex_wake(&idle_epoch_, 1 << 20);
  circles.rouse_all();
  call_waiter();
  const base::lock_guard guard(lock_);
  for (const any_waiter* each = any_waiters_; each != nullptr; each = each->next) {
    // release: pairs with the acquire load in wait_any().
    each->rung->fetch_add(1, base::order::release);
    base::futex_wake(each->rung, 1);
  }
  for (watch_core* each = watches_; each != nullptr; each = each->next_of_pool) each->call_waiters();
}

void pool_core::try_again_to_start() noexcept {
  // relaxed: only a hint. A pool that ends starts no more threads.
  if (closing_.load(base::order::relaxed) || threads.grow()) return;
  missing();
}

void pool_core::begin_batch() noexcept {
  if (options.total_timeout.limit != base::nanoseconds(0)) {
    clock.arm(total_timer_,
              rota::detail::saturating_deadline(began_, options.total_timeout.limit),
              pool_waker<&pool_core::total_time_is_over>(*this));
  }
  if (options.running_timer.interval != base::nanoseconds(0)) arm_running_timer();
  if (options.hill_climbing.period.count() != 0) begin_climb();
  events.tell(error_from::pool_started, {}, [](observer& each) { each.pool_started(); });
}

void pool_core::end_batch() noexcept {
  keeper::cancel(total_timer_);
  keeper::cancel(running_timer_);
  keeper::cancel(climb_timer_);
  const pool_span span{began_, base::now()};
  events.tell(error_from::pool_idle, {}, [&](observer& each) { each.pool_idle(span); });
}

/// Counts one more, or one less, thread that runs works. Each thread reports its own step, so the reports
/// form one chain.
void pool_core::count_runner(unsigned by) noexcept {
  // relaxed: a count. The reported values come from this one operation.
  const unsigned before = runners_.fetch_add(by, base::order::relaxed);
  events.tell(
      error_from::running_changed, {}, [&](observer& each) { each.running_changed(before, before + by); });
}

/// Called by a thread of the pool before it runs a work. Reports the thread if it has run no work since it
/// was idle.
void pool_core::begins_to_run(const seat& here) noexcept {
  auto* const own = static_cast<desk*>(here.own);
  if (own == nullptr || std::exchange(own->runs, true)) return;
  count_runner(1);
}

/// Called by a thread of the pool that finds no other work. Counts it out as a runner, and reports that. The
/// thread does not search yet, so no other thread leaves work to it while a handler runs.
void pool_core::runs_no_more(desk& own) noexcept {
  own.runs = false;
  count_runner(~0U);
}

/// Executes a work on a thread that helps, waits or submits. Such a thread is counted as a runner for this
/// work, if it does not already run one of this pool. The caller has a reference.
pool_core::on_execute pool_core::execute_here(work_core& w) noexcept {
  const work_core* const outer = work_here();
  const bool is_one_more = events.any() && own_desk() == nullptr && (outer == nullptr || outer->pool != this);
  if (is_one_more) count_runner(1);
  on_execute how;
  {
    const foreign_call around;
    how = execute(w);
  }
  if (is_one_more) count_runner(~0U);
  return how;
}

void pool_core::total_time_is_over() noexcept {
  // The timer may belong to a batch that is over. Then it must not affect the current batch, of which the
  // time has only begun. Returns the number of the batch that is late, else 0.
  const auto late_batch = [this]() -> std::uint64_t {
    const base::lock_guard guard(lifecycle_lock_);
    return running_ && base::now() - began_ >= options.total_timeout.limit ? told_ : 0;
  };
  const std::uint64_t now = late_batch();
  if (now == 0) return;
  events.tell(error_from::pool_timed_out, {}, [](observer& each) { each.pool_timed_out(); });
  const on_timeout_action then = options.total_timeout.then;
  // A batch that began while the handlers ran has a time of its own.
  if (then == on_timeout_action::notify || late_batch() != now) return;
  memory.for_each([&](work_core& w) {
    static_cast<void>(stop(w, then == on_timeout_action::stop ? timed_out : timed_out | force_asked));
  });
}

void pool_core::arm_running_timer() noexcept {
  clock.arm(running_timer_,
            rota::detail::saturating_deadline(base::now(), options.running_timer.interval),
            pool_waker<&pool_core::tick>(*this));
}

/// Runs on the keeper's thread.
void pool_core::tick() noexcept {
  base::nanoseconds since{0};
  {
    const base::lock_guard guard(lifecycle_lock_);
    if (!running_) return;
    since = base::now() - began_;
  }
  try {
    options.running_timer.elapsed(since);
  } catch (...) {
    events.report(error_from::running_timer, {}, std::current_exception());
  }
  const base::lock_guard guard(lifecycle_lock_);
  if (running_) arm_running_timer();
}

// ---- hill climbing ----------------------------------------------------------------------------------------

std::uint64_t pool_core::count_of_ends() noexcept {
  return sum(ends_as(work_status::succeeded)) + sum(ends_as(work_status::failed)) +
         sum(ends_as(work_status::stopped)) + sum(ends_as(work_status::force_stopped));
}

/// Discards what was measured before this batch. Under lifecycle_lock_, in the same critical section as
/// running_: so a late timer never compares across the time without jobs.
void pool_core::reset_climb() noexcept {
  climber_.forget();
  samples_.begin(count_of_ends(), began_);
}

void pool_core::begin_climb() noexcept {
  unsigned goal;
  {
    const base::lock_guard guard(lifecycle_lock_);
    goal = climber_.goal();
    arm_climb_timer();
  }
  threads.set_goal(goal);
}

/// Under lifecycle_lock_. A late timer of the batch before may have armed it already.
void pool_core::arm_climb_timer() noexcept {
  if (climb_timer_.state() == timing::node_state::armed) return;
  clock.arm(climb_timer_, samples_.next(), pool_waker<&pool_core::climb>(*this));
}

/// Takes one sample. Runs on the keeper's thread.
void pool_core::climb() noexcept {
  // relaxed: a hint. Paused works do not end, no matter how many threads there are.
  const bool is_saturated = pauses_.load(base::order::relaxed) == 0 && has_work();
  const crew::limits now = threads.bounds();
  unsigned goal;
  {
    const base::lock_guard guard(lifecycle_lock_);
    if (!running_) return;
    hill_climber::sample one{.ended = 0, .span = {}, .is_saturated = is_saturated};
    if (!samples_.take(count_of_ends(), base::now(), one)) {
      arm_climb_timer();
      return;
    }
    goal = climber_.next(one, {.least = std::max(1U, now.min), .most = now.max});
    arm_climb_timer();
  }
  threads.set_goal(goal);
}

void pool_core::start() noexcept {
  work_core* held = nullptr;
  {
    const base::lock_guard guard(lock_);
    // release: pairs with the acquire load in make_ready().
    started_.store(true, base::order::release);
    held = std::exchange(held_, nullptr);
  }
  place_all(held);
}

/// Places the works of a list, from the oldest to the newest. The newest is the first of the list.
void pool_core::place_all(work_core* held) noexcept {
  work_core* forward = nullptr;
  while (held != nullptr) {
    work_core* const next = held->link;
    held->link = forward;
    forward = held;
    held = next;
  }
  while (forward != nullptr) {
    work_core* const next = forward->link;
    place(*forward);
    forward = next;
  }
}

}  // namespace rota::pool::detail
