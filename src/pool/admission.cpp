// Full queues: places, waiting for a place, and jobs that are discarded.
#include "pool/absence.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

#include <rota/error.hpp>
#include <rota/pool/this_work.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace rota::pool::detail {

// PROTOCOL: places
//   waiting_ counts the jobs that are accepted for a queue and have not begun. A submitter takes a place by a
//   compare-exchange, before it pushes the job. So submitted jobs never exceed a limit. Jobs that come back
//   (a later attempt, a predecessor that has ended, start, resume, a place in a group) are counted, and never
//   refused.
//   The waiters for a place form a line, under lock_. Only the first one checks for a place, and a later
//   submitter does not overtake it. A thread that frees a place counts down first, and then calls the first
//   waiter under lock_. If the waiter has checked before the call, it checks again. If it checks after the
//   call, it sees the count. A waiter that leaves the line calls the first one that is left.

/// Returns false for a job that waits for others, or has a thread of its own: it needs no place now.
bool pool_core::takes_place(const work_options* wanted) noexcept {
  return wanted == nullptr || (wanted->after.empty() && !wanted->long_running);
}

void pool_core::count_waiting(int by) noexcept {
  // acq_rel: see the protocol.
  waiting_.fetch_add(static_cast<std::uint64_t>(static_cast<std::int64_t>(by)), base::order::acq_rel);
  if (by < 0) call_waiter();
}

/// Returns the limit of waiting_. A job that finds a thread at once does not wait, so free threads add to the
/// limits of the queues.
std::int64_t pool_core::places() const noexcept {
  constexpr auto endless = std::uint64_t{1} << 62U;
  std::uint64_t most = endless;
  if (options.queue_limit != 0) most = std::min<std::uint64_t>(most, options.queue_limit);
  if (options.worker_queue_limit != 0 && options.worker_queue_limit < most / lanes_.size())
    most = options.worker_queue_limit * lanes_.size();
  return static_cast<std::int64_t>(most + threads.room());
}

/// Takes a place, which is then counted. Returns false if there is none.
bool pool_core::take_place() noexcept {
  // relaxed: a guess; the compare-exchange decides. The count is below zero if a job was taken back before it
  // was counted.
  std::uint64_t now = waiting_.load(base::order::relaxed);
  while (static_cast<std::int64_t>(now) < places()) {
    // acq_rel: see the protocol. failure: relaxed: the reloaded count is again only a guess.
    if (waiting_.compare_exchange_weak(now, now + 1, base::order::acq_rel, base::order::relaxed)) return true;
  }
  return false;
}

/// Takes a place, unless a submitter waits in the line.
bool pool_core::take_place_in_turn() noexcept {
  {
    const base::lock_guard guard(lock_);
    if (first_waiter_ != nullptr) return false;
  }
  return take_place();
}

/// Calls the first waiter for a place, so that it checks again.
void pool_core::call_waiter() noexcept {
  const base::lock_guard guard(lock_);
  if (first_waiter_ == nullptr) return;
  // release: pairs with wait_for_place(). The waiter takes this lock before it returns, so its node still
  // exists.
  first_waiter_->called.fetch_add(1, base::order::release);
  base::futex_wake(&first_waiter_->called, 1);
}

/// Waits for a place. Returns true if it got one, which is counted. Returns false if the pool ends. Throws
/// force_stopped.
bool pool_core::wait_for_place() {
  place_waiter mine;
  {
    const base::lock_guard guard(lock_);
    (last_waiter_ == nullptr ? first_waiter_ : last_waiter_->next) = &mine;
    last_waiter_ = &mine;
  }
  const blocked_on said(mine.called);
  std::optional<absence> away;
  for (;;) {
    // acquire: pairs with call_waiter(). Before the check.
    const std::uint32_t seen = mine.called.load(base::order::acquire);
    const on_line now = look_for_place(mine, said.is_forced());
    if (now != on_line::stay) call_waiter();
    if (now == on_line::force) throw force_stopped();
    if (now != on_line::stay) return now == on_line::place;
    if (away.has_value()) {
      static_cast<void>(base::futex_wait(mine.called, seen, sleep_until(base::never)));
    } else {
      away.emplace();  // this may have taken some time: check again
    }
  }
}

pool_core::on_line pool_core::look_for_place(place_waiter& mine, bool is_forced) noexcept {
  const base::lock_guard guard(lock_);
  on_line found = on_line::stay;
  if (first_waiter_ == &mine && take_place()) found = on_line::place;
  // relaxed: set before the first waiter was called.
  if (found == on_line::stay && closing_.load(base::order::relaxed)) found = on_line::closed;
  if (found == on_line::stay && is_forced) found = on_line::force;
  if (found == on_line::stay) return found;
  place_waiter* before = nullptr;
  for (place_waiter* each = first_waiter_; each != &mine; each = each->next) before = each;
  (before == nullptr ? first_waiter_ : before->next) = mine.next;
  if (last_waiter_ == &mine) last_waiter_ = before;
  return found;
}

rejection pool_core::policy_for(const work_core& w) noexcept {
  if (options.on_full != rejection::custom) return options.on_full;
  const foreign_call around;
  try {
    // relaxed: a report.
    const rejection chosen = options.choose_rejection(w.priority, waiting_.load(base::order::relaxed));
    if (chosen != rejection::custom) return chosen;
  } catch (...) {
    events.report(error_from::rejection_choice, {w.id}, std::current_exception());
  }
  return rejection::abort;
}

/// Takes a place for a submitted job, or decides by the policy what becomes of the job. Throws if the job is
/// rejected.
pool_core::on_admit pool_core::admit(work_core& w) {
  if (take_place_in_turn()) return on_admit::take;
  const rejection policy = policy_for(w);
  events.tell(error_from::work_rejected, {w.id}, [&](observer& each) { each.work_rejected({w.id}, policy); });
  switch (policy) {
    case rejection::caller_runs: return on_admit::run_here;
    case rejection::discard_newest: return on_admit::discard;
    case rejection::discard_queued: return on_admit::discard_other;
    case rejection::block:
      // The pool's own threads free places, so they do not wait for one.
      if (crew::here() != nullptr && crew::here()->of == &threads) return on_admit::run_here;
      return wait_for_place() ? on_admit::take : on_admit::place;
    default: count_one(ends_as(work_status::rejected)); throw error(errc::queue_full, "submit");
  }
}

// ---- discarding a job -------------------------------------------------------------------------------------

namespace {

/// Returns true for a job that is never discarded: a coroutine that has begun, which has its place already;
/// or a job of an item, which the source would only give out again.
bool is_kept(const work_core& w) noexcept {
  return (w.coroutine != nullptr && w.coroutine->has_tasks()) ||
         (w.extras != nullptr && w.extras->item != nullptr);
}

work_core* reversed(work_core* list) noexcept {
  work_core* back = nullptr;
  while (list != nullptr) {
    work_core* const next = std::exchange(list->link, back);
    back = std::exchange(list, next);
  }
  return back;
}

}  // namespace

/// Returns the queue that holds the lowest priority. Returns null if that is unknown, or if all queues are
/// empty.
lane* pool_core::lowest_lane() noexcept {
  lane* found = nullptr;
  int least = 0;
  for (lane& each : lanes_) {
    const base::lock_guard guard(each.lock);
    const std::optional<int> here = each.queue->lowest();
    if (!here.has_value() || (found != nullptr && *here >= least)) continue;
    found = &each;
    least = *here;
  }
  return found;
}

/// Takes out the job that this queue would discard, with its travelling reference. Returns null if the
/// priority of that job is above `most`.
work_core* pool_core::take_lost(lane& from, int most) noexcept {
  const base::lock_guard guard(from.lock);
  work_core* aside = nullptr;
  work_core* out = nullptr;
  while (from.queue->lowest().value_or(most) <= most) {
    out = static_cast<work_core*>(from.queue->discard());
    if (out == nullptr || (out->priority <= most && !is_kept(*out))) break;
    out->link = std::exchange(aside, out);
    const bool above = out->priority > most;
    out = nullptr;
    if (above) break;
  }
  // In the order in which they were submitted.
  if (options.queue == queue_order::fifo) aside = reversed(aside);
  while (aside != nullptr) from.queue->set(*std::exchange(aside, aside->link));
  out != nullptr ? from.note_out(*out) : from.note_size();
  return out;
}

bool pool_core::discard_from(lane& from, int most) noexcept {
  while (work_core* const out = take_lost(from, most)) {
    word seen{};
    const bool took = out->apply<rule::take_back>(seen, work_status::discarded, std::uint64_t{0});
    if (took) {
      note_waiting(-1);
      finish(*out);
    }
    drop(*out);
    if (took) return true;
  }
  return false;
}

/// Discards the waiting job with the lowest priority, if that is not above the priority of `w`. Returns false
/// if there is none.
bool pool_core::discard_one(const work_core& w) noexcept {
  lane* const first = lowest_lane();
  if (first != nullptr && discard_from(*first, w.priority)) return true;
  return std::any_of(
      lanes_.begin(), lanes_.end(), [&](lane& each) { return discard_from(each, w.priority); });
}

}  // namespace rota::pool::detail
