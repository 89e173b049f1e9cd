// From the first work to the end of the last: the events, the pool's own timeout, the running timer.
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

/// Something is outstanding, or no longer: `batches` counts that. One thread at a time tells of it: of each batch, and of its end, in
/// turns, also of one that has come and gone while a handler ran.
void pool_core::note_lifecycle(base::atomic<std::uint64_t>& batches) noexcept {
  // acq_rel. What the works of a batch did is seen by who tells of its end.
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
      // acquire, both. As above. Who counts while this thread tells takes the lock afterwards, and is found here.
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

/// The first that listens hears of batches that begin from now on.
listener& pool_core::listen(observer& whom) {
  const base::lock_guard guard(lifecycle_lock_);
  if (!tells_lifecycle() && !events.any() && !telling_) {
    running_ = false;
    // acquire. As above.
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
//   A work that no thread comes for is tried for by whatever submits next, and by the keeper. The keeper's thread may be refused, too: then
//   whoever sleeps until something of the pool is over does it in its place, in sleep_until(). Told of that: is_short_, and then, the
//   first time, each count and word that somebody may sleep on is raised. A sleeper reads what it sleeps on, then asks; so either it
//   knows, or it does not fall asleep. Later ones find that the keeper lacks its thread, which it either gets for good or not.
//   Nobody sleeps, nobody submits: then nobody looks for the work either.

/// No thread could be started. Each later work tries again, and so does the keeper, or those that wait.
void pool_core::missing() noexcept {
  {
    const base::lock_guard guard(lifecycle_lock_);
    if (threads_are_over_) return;
    // One that is armed comes soon enough; and a waker that it gave up would be dropped under the lock.
    if (missing_timer_.state() != timing::node_state::armed) {
      clock.arm(missing_timer_,
                base::now() + pause_between_tries,
                pool_waker<&pool_core::try_again_to_start>(*this));
    }
  }
  if (!clock.lacks_thread()) return;
  // release. Pairs with try_for_threads().
  is_short_.store(true, base::order::release);
  // acq_rel. One tells, once.
  if (!sleepers_are_told_.exchange(true, base::order::acq_rel)) rouse_sleepers();
}

/// See sleep_until().
base::time_point pool_core::try_for_threads(base::time_point deadline) noexcept {
  // acq_rel. Pairs with missing(); one of several tries.
  if (is_short_.exchange(false, base::order::acq_rel)) try_again_to_start();
  clock.retry();
  return clock.lacks_thread() ? std::min(deadline, base::now() + pause_between_tries) : deadline;
}

/// Each that sleeps until something is over looks again.
void pool_core::rouse_sleepers() noexcept {
  memory.for_each([](work_core& w) {
    word seen{};
    if (w.apply<rule::nudge>(seen) && seen.has(slept_on)) base::futex_wake_upper(&w.state, 1 << 20);
  });
  // release. Pairs with wait_idle().
  idle_epoch_.fetch_add(1, base::order::release);
  base::futex_wake(&idle_epoch_, 1 << 20);
  circles.rouse_all();
  call_waiter();
  const base::lock_guard guard(lock_);
  for (const any_waiter* each = any_waiters_; each != nullptr; each = each->next) {
    // release. Pairs with wait_any().
    each->rung->fetch_add(1, base::order::release);
    base::futex_wake(each->rung, 1);
  }
  for (watch_core* each = watches_; each != nullptr; each = each->next_of_pool) each->call_waiters();
}

void pool_core::try_again_to_start() noexcept {
  // relaxed. A pool that ends starts no more.
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

/// One thread more, or less, runs works. Each tells of its own step, and the steps are one chain.
void pool_core::count_runner(unsigned by) noexcept {
  // relaxed. A count; what is told comes from this one step.
  const unsigned before = runners_.fetch_add(by, base::order::relaxed);
  events.tell(
      error_from::running_changed, {}, [&](observer& each) { each.running_changed(before, before + by); });
}

/// A thread of the pool's. Told before the work begins, and by a thread that has not run any since it was idle.
void pool_core::begins_to_run(const seat& here) noexcept {
  auto* const own = static_cast<desk*>(here.own);
  if (own == nullptr || std::exchange(own->runs, true)) return;
  count_runner(1);
}

/// It does not search yet: nobody leaves work to it while a handler runs.
void pool_core::runs_no_more(desk& own) noexcept {
  own.runs = false;
  count_runner(~0U);
}

/// On a thread that helps, waits or submits: counted for this one, if it runs none of this pool's already. The caller has a reference.
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
  // The timer may be one of a batch that is over: then it says nothing of the one that runs, whose time has only begun.
  const auto late_batch = [this]() -> std::uint64_t {
    const base::lock_guard guard(lifecycle_lock_);
    return running_ && base::now() - began_ >= options.total_timeout.limit ? told_ : 0;
  };
  const std::uint64_t now = late_batch();
  if (now == 0) return;
  events.tell(error_from::pool_timed_out, {}, [](observer& each) { each.pool_timed_out(); });
  const on_timeout_action then = options.total_timeout.then;
  // What began while the handlers ran has a time of its own.
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

/// On the keeper's thread.
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

// ---- hill climbing --------------------------------------------------------------------------------------------------

std::uint64_t pool_core::count_of_ends() noexcept {
  return sum(ends_as(work_status::succeeded)) + sum(ends_as(work_status::failed)) +
         sum(ends_as(work_status::stopped)) + sum(ends_as(work_status::force_stopped));
}

/// Under lifecycle_lock_, with running_, so that no late timer compares across the time without jobs: what was measured before says nothing
/// of this batch.
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

/// Under lifecycle_lock_. A timer of the batch before that is late may have armed it.
void pool_core::arm_climb_timer() noexcept {
  if (climb_timer_.state() == timing::node_state::armed) return;
  clock.arm(climb_timer_, samples_.next(), pool_waker<&pool_core::climb>(*this));
}

/// On the keeper's thread: one sample.
void pool_core::climb() noexcept {
  // relaxed. A hint: what is paused does not end, however many threads there are.
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
    // release. Pairs with place().
    started_.store(true, base::order::release);
    held = std::exchange(held_, nullptr);
  }
  place_all(held);
}

/// A list, the last first.
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
