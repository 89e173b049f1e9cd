// Control of jobs by other threads: cancel, stop, force stop, pause.
#include "base/tls_slot.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/demand.hpp"
#include "pool/pool_core.hpp"

#include <rota/detail/deadline.hpp>
#include <rota/error.hpp>
#include <rota/pool/this_work.hpp>

#include <utility>

namespace rota::pool::detail {

bool pool_core::cancel(work_core& w, std::uint64_t why) noexcept {
  word seen{};
  if (!w.apply<rule::take_back>(seen, work_status::cancelled, why)) return false;
  if (seen.is(work_status::queued)) {
    take_out(w);
    note_waiting(-1);
  }
  finish(w);
  return true;
}

bool pool_core::stop(work_core& w, std::uint64_t how) noexcept {
  for (;;) {
    if (cancel(w, how & (timed_out | ending))) return true;
    word seen{};
    if (!w.apply<rule::ask>(seen, how | stop_asked)) {
      // Between the two rules the job went from running to a queue, for another attempt.
      if (seen.waits_to_begin()) continue;
      // The job is still being submitted, for example if its timeout has passed already. The submitter checks
      // for the request afterwards.
      return w.apply<rule::ask_early>(seen, how | stop_asked);
    }
    if (seen.has(slept_on)) base::futex_wake_upper(&w.state, 1 << 20);
    if (seen.has(hooked)) w.hook->request(*w.hook);
    if (w.coroutine != nullptr) w.coroutine->stop();
    if ((how & force_asked) != 0) rouse_waiting(w);
    if ((how & force_asked) != 0 && !seen.has(force_asked)) arm_grace(w);
    return true;
  }
}

/// Wakes a job that may block until another job is over, or until a count rises. Changes the other job's
/// word, or raises the count, so that the job checks its own word.
void pool_core::rouse_waiting(work_core& w) noexcept {
  work_core* target = nullptr;
  {
    const base::lock_guard guard(w.lock);
    target = w.waits_for;
    if (target != nullptr) target->retain();
    if (w.waits_on != nullptr) {
      // release: pairs with the waiter, which reads the count, and then its own word.
      w.waits_on->fetch_add(1, base::order::release);
      base::futex_wake(w.waits_on, 1 << 20);
    }
  }
  if (target == nullptr) return;
  word seen{};
  static_cast<void>(target->apply<rule::nudge>(seen));
  base::futex_wake_upper(&target->state, 1 << 20);
  drop(*target);
}

/// Arms the timer after which the job is abandoned. Without memory for the timer, the job is not abandoned.
void pool_core::arm_grace(work_core& w) noexcept {
  // relaxed: only the first thread that requests a force stop comes here.
  timing::timer_node* timer = w.grace.load(base::order::relaxed);
  if (timer == nullptr) {
    timer = new (std::nothrow) timing::timer_node;
    if (timer == nullptr) return;
    // release: pairs with disarm_grace().
    w.grace.store(timer, base::order::release);
  }
  w.retain();
  clock.arm(*timer,
            rota::detail::saturating_deadline(base::now(), options.force_grace),
            timer_waker<&pool_core::on_grace>(w));
  // acq_rel: before say_over(), which then sees the timer; or after it, and then this thread sees `over`.
  if (word{w.state.fetch_add(0, base::order::acq_rel)}.has(over)) disarm_grace(w);
}

void pool_core::disarm_grace(work_core& w) noexcept {
  // acquire: pairs with arm_grace().
  if (timing::timer_node* const timer = w.grace.load(base::order::acquire); timer != nullptr)
    keeper::cancel(*timer);
}

void pool_core::on_grace(work_core& w) noexcept {
  pool_core& self = *w.pool;
  self.abandon(w);
  self.drop(w);
}

void pool_core::abandon(work_core& w) noexcept {
  const auto give_up = [](void* job) noexcept {
    word seen{};
    return static_cast<work_core*>(job)->apply<rule::give_up>(seen);
  };
  // relaxed: at the pool's end the limit is ignored.
  const unsigned most = closing_.load(base::order::relaxed) ? ~0U : options.max_abandoned;
  // acquire: pairs with the claim: a thread that runs the job is found by its seat.
  static_cast<void>(w.state.fetch_add(0, base::order::acquire));
  const crew::on_lose how = threads.lose(&w, most, give_up);
  if (how == crew::on_lose::refused) return;
  // The job is between two segments, or runs inside another job of its thread. No thread is lost with it.
  if (how == crew::on_lose::no_thread) {
    if (!give_up(&w)) return;
    // A thread may have taken the job meanwhile. Then that thread is lost, too.
    if (w.coroutine == nullptr) static_cast<void>(threads.lose(&w, ~0U, [](void*) noexcept { return true; }));
  }
  // relaxed: counted on this thread, or by another thread that counts them out.
  if (const std::uint64_t ends = orphaned_.exchange(0, base::order::relaxed); ends != 0) count_out(ends);
  finish(w);
}

void pool_core::on_timeout(work_core& w) noexcept {
  pool_core& self = *w.pool;
  const on_timeout_action then = w.extras->options.timeout.then;
  if (!is_final(w.load().status())) {
    self.events.tell(
        error_from::work_timed_out, {w.id}, [&](observer& each) { each.work_timed_out({w.id}); });
    if (then == on_timeout_action::stop) self.stop(w, timed_out);
    if (then == on_timeout_action::force_stop) self.stop(w, timed_out | force_asked);
  }
  self.drop(w);
}

void pool_core::arm_timeout(work_core& w, base::time_point from) noexcept {
  timeout_options& limit = w.extras->options.timeout;
  if (limit.limit == base::nanoseconds(0)) return;
  w.retain();
  clock.arm(w.extras->timeout,
            rota::detail::saturating_deadline(from, limit.limit),
            timer_waker<&pool_core::on_timeout>(w));
  // acq_rel: a thread that has ended the job meanwhile sees the timer; or this thread sees the end.
  if (is_final(word{w.state.fetch_add(0, base::order::acq_rel)}.status())) keeper::cancel(w.extras->timeout);
}

// ---- a deadline that a coroutine job has inherited --------------------------------------------------------

void pool_core::arm_deadline(work_core& w) noexcept {
  w.retain();
  clock.arm(w.coroutine->limit, w.coroutine->deadline(), timer_waker<&pool_core::on_deadline>(w));
  // acq_rel: a thread that has ended the job meanwhile sees the timer; or this thread sees the end.
  if (is_final(word{w.state.fetch_add(0, base::order::acq_rel)}.status())) keeper::cancel(w.coroutine->limit);
}

void pool_core::on_deadline(work_core& w) noexcept {
  pool_core& self = *w.pool;
  static_cast<void>(self.end_if_late(w));
  self.drop(w);
}

/// Stops the job if it has inherited a deadline that has passed. Returns true if so.
bool pool_core::end_if_late(work_core& w) noexcept {
  if (w.coroutine == nullptr || !w.coroutine->is_late()) return false;
  note_late(w);
  if (!w.load().has(stop_asked)) static_cast<void>(stop(w, timed_out));
  return true;
}

/// Writes into the word that the deadline ends the job, and tells the observers, once. A job that was asked
/// to stop before keeps that reason.
void pool_core::note_late(work_core& w) noexcept {
  if (w.load().has(stop_asked)) return;
  word seen{};
  if (!w.apply<rule::set>(seen, std::uint64_t{timed_out}) || seen.has(timed_out)) return;
  if (!w.coroutine->is_first_to_tell()) return;
  events.tell(error_from::work_timed_out, {w.id}, [&](observer& each) { each.work_timed_out({w.id}); });
}

void pool_core::on_backoff(work_core& w) noexcept { w.pool->place(w); }

// ---- pauses -----------------------------------------------------------------------------------------------

bool pool_core::is_paused(work_core& w) noexcept {
  // relaxed: a thread that resumes changes the word of each job that sleeps; see go_on().
  if (pauses_.load(base::order::relaxed) == 0) return false;
  if (paused_.load(base::order::relaxed) || w.load().has(held)) return true;
  return may_be_in_groups(w) && circles.is_paused(w);
}

bool pool_core::pause(work_core& w) noexcept {
  word seen{};
  if (!w.apply<rule::set>(seen, std::uint64_t{held})) return false;
  // acq_rel: pairs with hold_if_paused().
  if (!seen.has(held)) pauses_.fetch_add(1, base::order::acq_rel);
  return true;
}

bool pool_core::resume(work_core& w) noexcept {
  word seen{};
  if (!w.apply<rule::clear>(seen, std::uint64_t{held}) || !seen.has(held)) return false;
  // acq_rel: same reason as in pause().
  pauses_.fetch_sub(1, base::order::acq_rel);
  go_on(w);
  release_held();
  return true;
}

/// Wakes the job after a pause that may hold it was ended. Either the job checks for pauses after it has
/// announced its sleep, or its word changes after that announcement.
void pool_core::go_on(work_core& w) noexcept {
  word seen{};
  if (w.apply<rule::nudge>(seen) && seen.has(slept_on)) base::futex_wake_upper(&w.state, 1 << 20);
  // Before the job runs, none of its tasks waits, and the submitter may still set or reset `coroutine`.
  if (seen.is_running() && w.coroutine != nullptr) w.coroutine->go_on();
}

/// Places the jobs again that a pause kept from beginning.
void pool_core::release_held() noexcept {
  work_core* list = nullptr;
  {
    const base::lock_guard guard(lock_);
    list = std::exchange(paused_list_, nullptr);
  }
  place_all(list);
}

void pool_core::pause_all() noexcept {
  // acq_rel, both: pairs with hold_if_paused().
  if (!paused_.exchange(true, base::order::acq_rel)) pauses_.fetch_add(1, base::order::acq_rel);
}

void pool_core::resume_all() noexcept {
  // acq_rel, both: same reason as in pause_all().
  if (!paused_.exchange(false, base::order::acq_rel)) return;
  pauses_.fetch_sub(1, base::order::acq_rel);
  look_again();
}

/// Called after a resume. Each running job checks whether it may go on.
void pool_core::look_again() noexcept {
  memory.for_each([this](work_core& w) {
    if (w.load().is_running()) go_on(w);
  });
  release_held();
}

void pool_core::pause_group(std::string_view name) {
  // acq_rel: same reason as in pause().
  if (circles.set_paused(circles.at(name), true)) pauses_.fetch_add(1, base::order::acq_rel);
}

void pool_core::resume_group(std::string_view name) {
  group_core* const g = circles.find(name);
  if (g == nullptr || !circles.set_paused(*g, false)) return;
  // acq_rel: same reason as in pause().
  pauses_.fetch_sub(1, base::order::acq_rel);
  look_again();
}

void pool_core::unrelate(std::string_view parent, std::string_view child) noexcept {
  circles.unrelate(parent, child);
  look_again();  // the parent's pause does not hold these jobs any more
}

bool pool_core::join_group(work_core& w, std::string_view name) {
  demand_own_process("join_group");
  demand(!name.empty(), "thread_pool::join_group: the name of the group is empty");
  // Groups are never freed, so none is made for a job that cannot join.
  return may_change_groups(w) && circles.join_late(circles.at(name), w);
}

bool pool_core::leave_group(work_core& w, std::string_view name) {
  bool was_held = false;
  const bool has_left = leave_group(w, name, was_held);
  if (was_held) release_held();
  return has_left;
}

bool pool_core::leave_group(work_core& w, std::string_view name, bool& was_held) {
  demand_own_process("leave_group");
  group_core* const g = circles.find(name);
  if (g == nullptr) return false;
  const groups::departure how = circles.leave_early(*g, w);
  if (!how.was_member) return false;
  if (how.was_parked) place(w);
  while (work_core* const next = circles.next_parked(*g)) place(*next);
  // acquire: pairs with hold_if_paused(), as a resume does: the pause of this group may have held the job.
  if (pauses_.load(base::order::acquire) == 0) return true;
  go_on(w);
  // Under the lock: hold_if_paused() has put the job into the list; or it checks later, and finds the job
  // outside of the group.
  const base::lock_guard guard(lock_);
  was_held = was_held || w.load().is(work_status::suspended);
  return true;
}

void pool_core::limit_group(std::string_view name, unsigned most) {
  group_core& g = circles.at(name);
  circles.limit(g, most);
  while (work_core* const next = circles.next_parked(g)) place(*next);
}

// ---- what a job does on a request -------------------------------------------------------------------------

void pool_core::checkpoint(work_core& w) {
  for (;;) {
    word now = w.load();
    if (now.has(force_asked)) throw force_stopped();
    if (!is_paused(w)) return;
    if (now.has(stop_asked)) throw work_stopped();
    word seen{};
    if (!w.apply<rule::pause_here>(seen)) throw force_stopped();  // it was abandoned
    static_cast<void>(w.apply<rule::sleep_on>(seen));
    // After the word shows the sleep: a thread that resumes later changes the word.
    now = w.load();
    if (is_paused(w) && !now.has(stop_asked))
      static_cast<void>(base::futex_wait_upper(w.state, now.upper(), base::never));
    if (!w.apply<rule::go_on>(seen)) throw force_stopped();
  }
}

void pool_core::sleep(work_core& w, base::time_point until) {
  for (;;) {
    word seen{};
    static_cast<void>(w.apply<rule::sleep_on>(seen));
    const word now = w.load();
    if (now.has(force_asked) || is_final(now.status())) throw force_stopped();
    if (now.has(stop_asked)) throw work_stopped();
    if (base::futex_wait_upper(w.state, now.upper(), until) == base::wait_result::timed_out) return;
    if (base::now() >= until) return;
  }
}

}  // namespace rota::pool::detail
