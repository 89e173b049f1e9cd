// Retries of a job that has failed.
#include "base/random.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

#include <rota/detail/deadline.hpp>

#include <algorithm>

namespace rota::pool::detail {

bool pool_core::may_try_again(work_core& w) noexcept {
  const work_extras& e = *w.extras;
  const unsigned limit = e.options.retry.limit;
  return (limit == retry_options::unlimited || e.attempt < limit) && !w.load().has(last_attempt);
}

/// Returns `never`: no attempt follows because the job was asked to stop. Sets was_cut_off if the inherited
/// deadline is the cause. Then the failure was not meant to be the last, and the deadline says more. A job
/// that stop_retry() has ended keeps its failure.
pool_core::on_retry pool_core::cut_off(work_core& w) noexcept {
  const word now = w.load();
  w.extras->was_cut_off =
      now.has(timed_out) && !now.has(last_attempt) && w.coroutine != nullptr && w.coroutine->was_late();
  return on_retry::never;
}

/// Called after a failure that need not be the last. Reports it, and prepares the next attempt.
pool_core::on_retry pool_core::try_again(work_core& w, seat* mine) noexcept {
  work_extras& e = *w.extras;
  if (!w.load().is_running()) return on_retry::never;  // it was abandoned: its end was reported
  // An attempt that begins after the deadline is useless.
  if (end_if_late(w)) return cut_off(w);
  const std::exception_ptr thrown = w.type->exception(w.body);
  if (e.options.retry.only_if) {
    try {
      if (!e.options.retry.only_if(thrown)) return on_retry::never;
    } catch (...) {
      events.report(error_from::retry_filter, {w.id}, std::current_exception());
      return on_retry::never;
    }
  }
  tell_of_attempt(w);
  static_cast<void>(end_if_late(w));
  const word now = w.load();
  if (now.has(last_attempt) || !now.is_running()) return on_retry::never;
  if (now.has(stop_asked)) return cut_off(w);
  ++e.attempt;
  const base::nanoseconds pause = next_pause(e);
  if (e.options.retry.where == retry_where::requeued) {
    word seen{};
    leave_seat(w);
    if (!w.apply<rule::again>(seen, work_status::suspended)) {
      --e.attempt;
      // release: same reason as in run(). The job ends here after all, and may have to be given up.
      if (mine != nullptr) mine->job.store(&w, base::order::release);
      return cut_off(w);
    }
    give_place_on(w);
    w.retain();  // the travelling reference; the runner drops its own when it returns
    if (pause == base::nanoseconds(0)) {
      place(w);
    } else {
      clock.arm(e.backoff,
                rota::detail::saturating_deadline(base::now(), pause),
                timer_waker<&pool_core::on_backoff>(w));
      // acq_rel: a thread that took the job back meanwhile sees the timer; or this thread sees the end.
      if (is_final(word{w.state.fetch_add(0, base::order::acq_rel)}.status())) keeper::cancel(e.backoff);
    }
    return on_retry::elsewhere;
  }
  if (pause != base::nanoseconds(0)) {
    try {
      sleep(w, rota::detail::saturating_deadline(base::now(), pause));
    } catch (...) {  // asked to stop: the failure was the last
      --e.attempt;
      return cut_off(w);
    }
    if (end_if_late(w)) {
      --e.attempt;
      return cut_off(w);
    }
  }
  return on_retry::here;
}

base::nanoseconds pool_core::next_pause(work_extras& e) noexcept {
  const retry_options& how = e.options.retry;
  base::nanoseconds pause = std::min(e.next_backoff, how.max_backoff);
  e.next_backoff = pause >= how.max_backoff / 2 ? how.max_backoff : pause * 2;
  if (how.jitter && pause > base::nanoseconds(1)) {
    base::random dice(static_cast<std::uint64_t>(base::now().time_since_epoch().count()) ^ e.attempt);
    pause =
        base::nanoseconds(static_cast<std::int64_t>(dice.next() % static_cast<std::uint64_t>(pause.count())));
  }
  return pause;
}

}  // namespace rota::pool::detail
