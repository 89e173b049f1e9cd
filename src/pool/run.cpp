// Taking works out of queues, and running them.
#include "base/tls_slot.hpp"
#include "pool/coroutine_part.hpp"
#include "pool/pool_core.hpp"

#include <rota/detail/unguarded.hpp>
#include <rota/pool/this_work.hpp>

#include <algorithm>
#include <optional>
#include <utility>

namespace rota::pool::detail {

// ---- taking -----------------------------------------------------------------------------------------------

/// Takes a work out of a queue. The caller gets the travelling reference.
work_core* pool_core::pop(lane& from, which end) noexcept {
  // relaxed: a hint. A caller that must not miss a work takes the lock.
  if (from.waiting.load(base::order::relaxed) == 0) return nullptr;
  const base::time_point now = options.aging == base::nanoseconds(0) ? base::time_point{} : base::now();
  const base::lock_guard guard(from.lock);
  auto* const out =
      static_cast<work_core*>(end == which::own ? from.queue->get(now) : from.queue->steal(now));
  if (out != nullptr) from.note_out(*out);
  return out;
}

/// Moves jobs out of `from` into `out`, in one critical section: half of them, or one, and never more than
/// `out` holds. Each comes with its travelling reference.
void pool_core::pop_stolen(lane& from, stolen_jobs& out) noexcept {
  // relaxed: a hint. has_work() takes the lock before a thread sleeps.
  if (from.waiting.load(base::order::relaxed) == 0) return;
  const base::time_point now = options.aging == base::nanoseconds(0) ? base::time_point{} : base::now();
  const base::lock_guard guard(from.lock);
  const std::size_t share = options.steal == steal_amount::half ? from.queue->size() / 2 : 1;
  const std::size_t limit = std::clamp<std::size_t>(share, 1, out.jobs.size());
  while (out.count < limit) {
    auto* const next = static_cast<work_core*>(from.queue->steal(now));
    if (next == nullptr) return;
    from.note_out(*next);
    out.jobs[out.count++] = next;
  }
}

/// Steals from the first other queue that has jobs. Returns the first of them; the others go to this thread's
/// own queue. Takes the victim's lock once and then its own lock once, never both: two thieves that steal
/// from each other cannot deadlock.
work_core* pool_core::steal_into(unsigned mine) noexcept {
  const auto count = static_cast<unsigned>(lanes_.size());
  for (unsigned i = 1; i < count; ++i) {
    stolen_jobs some;
    pop_stolen(lanes_[(mine + i) % count], some);
    if (some.count == 0) continue;
    count_one(total::stolen, some.count);
    if (some.count > 1) {
      {
        const base::lock_guard guard(lanes_[mine].lock);
        // The job that was stolen first must leave this queue first. In a lifo queue it is added last.
        const bool is_lifo = options.queue == queue_order::lifo;
        for (std::size_t k = 1; k < some.count; ++k)
          lanes_[mine].put(*some.jobs[is_lifo ? some.count - k : k]);
      }
      // Between the two critical sections the jobs are in no queue. A thread that made its last scan in that
      // gap sleeps. If this thread came by a search, found() wakes that thread.
      threads.attract();
    }
    return some.jobs[0];
  }
  return nullptr;
}

void* pool_core::take(seat& here) noexcept {
  if (work_core* const w = pop(long_lane_, which::own)) return w;
  const unsigned mine = here.index % static_cast<unsigned>(lanes_.size());
  if (work_core* const w = pop(lanes_[mine], which::own)) return w;
  if (work_core* const w = steal_into(mine)) return w;
  if (auto* const own = static_cast<desk*>(here.own); own != nullptr) {
    settle(here);
    if (own->runs) runs_no_more(*own);
  }
  clock.retry();
  return nullptr;
}

bool pool_core::has_work() noexcept {
  const auto has = [](lane& each) {
    const base::lock_guard guard(each.lock);
    return each.queue->size() != 0;
  };
  return has(long_lane_) || std::any_of(lanes_.begin(), lanes_.end(), has);
}

// ---- running ----------------------------------------------------------------------------------------------

crew_client::on_run pool_core::run(seat& here, void* job) noexcept {
  auto& w = *static_cast<work_core*>(job);
  if (options.pause == pause_mode::queued_too && hold_if_paused(w)) return on_run::done;
  // relaxed: a hint. User code that belongs to no work may run below: callbacks of works that end without
  // having run, and the unwinding of a coroutine that is already over. So this thread first counts out what
  // has ended on it. It does so before the seat names the work: from then on the thread may be given up,
  // together with its count.
  if (w.coroutine != nullptr || events.any() || closing_.load(base::order::relaxed)) settle(here);
  // release: also by the compare-exchange that claims the work. A thread that sees that the work runs, and is
  // about to give it up, finds this seat, and what was counted at its desk before.
  here.job.store(&w, base::order::release);
  if (claim(w) == on_claim::not_now) return on_run::done;
  if (events.any()) [[unlikely]]
    begins_to_run(here);
  if (w.coroutine != nullptr) return run_segment(here, w);
  const on_execute how = execute(w, &here);
  if (how == on_execute::gone) return on_run::done;
  if (how == on_execute::last) {
    if (!w.type->is_quiet) settle(here);
    recycle(w);
    return on_run::done;
  }
  // relaxed: if another thread has read the job to give it up, this thread is lost, and checks that below.
  here.job.store(nullptr, base::order::relaxed);
  if (how == on_execute::given_up && threads.is_lost(here)) {
    leave_desk(here);
    return on_run::given_up;
  }
  settle(here);
  drop(w);
  return on_run::done;
}

/// Runs one segment of a coroutine. As soon as the coroutine waits, another thread may run it.
crew_client::on_run pool_core::run_segment(seat& here, work_core& w) noexcept {
  // acq_rel: takes a reference for the check at the end. A thread that gives the work up has either read this
  // seat, or `abandoned` is found here.
  const word before{w.state.fetch_add(1, base::order::acq_rel)};
  if (before.is(work_status::abandoned)) [[unlikely]]
    threads.leave_at_end(here);
  const on_execute how = execute(w);
  // relaxed: if another thread has read the job to give it up, this thread is lost, and checks that below.
  here.job.store(nullptr, base::order::relaxed);
  if (how != on_execute::waits) drop(w);
  // acq_rel: between two segments another thread that has read this seat before may be about to give the work
  // up.
  const word after{w.state.fetch_add(0, base::order::acq_rel)};
  if ((after.is(work_status::abandoned) || after.has(force_asked)) && threads.is_lost(here)) {
    leave_desk(here);
    return on_run::given_up;
  }
  drop(w);
  return on_run::done;
}

/// As claim(), but does not begin a paused work.
pool_core::on_claim pool_core::take_on(work_core& w) noexcept {
  if (options.pause == pause_mode::queued_too && hold_if_paused(w)) return on_claim::not_now;
  return claim(w);
}

/// Claims a work that this thread has taken out of its queue. Returns not_now if the work is over or held;
/// then its travelling reference is gone.
pool_core::on_claim pool_core::claim(work_core& w) noexcept {
  word seen{};
  // relaxed: the thread that ends the pool waits for running works, also for works that begin a moment later.
  if (closing_.load(base::order::relaxed) && !w.load().has(begun)) {
    leave_seat(w);
    if (w.apply<rule::take_back>(seen, work_status::cancelled, std::uint64_t{ending})) {
      note_waiting(-1);
      finish(w);
    }
    drop(w);
    return on_claim::not_now;
  }
  // Checks the deadline before the work begins. A late work is over afterwards, or about to be, and cannot be
  // claimed.
  if (w.coroutine != nullptr && w.load().waits_to_begin() && w.coroutine->is_late()) {
    leave_seat(w);
    static_cast<void>(end_if_late(w));
  }
  if (!w.apply<rule::claim>(seen)) {
    // A coroutine that continues is `running` already. One that was abandoned unwinds.
    if (w.coroutine != nullptr && w.coroutine->has_tasks()) return on_claim::run;
    leave_seat(w);
    drop(w);
    return on_claim::not_now;
  }
  note_waiting(-1);
  return on_claim::run;
}

/// Moves a paused work to the list of held works, with its travelling reference. Returns false if the work is
/// not paused.
bool pool_core::hold_if_paused(work_core& w) noexcept {
  // acquire: pairs with the increments in pause(), pause_all() and pause_group().
  if (pauses_.load(base::order::acquire) == 0) return false;
  // relaxed: same reason as in claim(). A held work of a pool that ends would never be resumed.
  if (closing_.load(base::order::relaxed) && !w.load().has(begun)) return false;
  {
    const base::lock_guard guard(lock_);
    word seen{};
    if (!is_paused(w) || !w.apply<rule::hold>(seen)) return false;
    w.link = paused_list_;
    paused_list_ = &w;
  }
  note_waiting(-1);
  return true;
}

namespace {

/// Sets the current work of this thread, for this_work. May be nested.
class presence {
 public:
  explicit presence(work_core& w) noexcept : before_(std::exchange(base::this_thread_locals().work, &w)) {}
  presence(const presence&) = delete;
  presence& operator=(const presence&) = delete;
  ~presence() { base::this_thread_locals().work = before_; }

 private:
  void* before_;
};

/// Sets the niceness of a thread of the pool while it runs a work that names one. A foreign thread keeps its
/// niceness: a change could not be undone without a privilege.
class niceness {
 public:
  niceness(const crew& threads, const work_core& w) noexcept {
    if (w.extras == nullptr || w.extras->options.nice == 0) return;
    seat* const mine = crew::here();
    if (mine == nullptr || mine->of != &threads) return;
    here_ = mine;
    before_ = mine->nice;
    set(w.extras->options.nice);
  }
  niceness(const niceness&) = delete;
  niceness& operator=(const niceness&) = delete;
  ~niceness() {
    if (here_ != nullptr) set(before_);
  }

 private:
  void set(int to) noexcept {
    if (here_->nice != to) base::set_niceness(to);
    here_->nice = to;
  }
  seat* here_ = nullptr;
  int before_ = 0;
};

}  // namespace

/// Returns the final status of a work that has thrown this exception.
work_status pool_core::kind_of(work_core& w, const std::exception_ptr& thrown) noexcept {
  try {
    std::rethrow_exception(thrown);
  } catch (const work_stopped&) {
    return work_status::stopped;
  } catch (const force_stopped&) {
    return work_status::force_stopped;
  } catch (const cancelled_error&) {
    // Something that the work waited for was cancelled. The cause may be a request to stop this work; or its
    // deadline, if the timer has not fired yet.
    static_cast<void>(w.pool->end_if_late(w));
    const word now = w.load();
    if (now.has(force_asked)) return work_status::force_stopped;
    return now.has(stop_asked) ? work_status::stopped : work_status::failed;
  } catch (...) {
    return work_status::failed;
  }
}

/// Runs one attempt of a function.
work_status pool_core::attempt(work_core& w, bool last) noexcept {
  try {
    core::demand_unguarded();
    w.type->run(w.body, w, last);
    return work_status::succeeded;
  } catch (...) {
    w.type->set_exception(w.body, std::current_exception());
  }
  return kind_of(w, w.type->exception(w.body));
}

/// Runs one segment of a coroutine. Returns nothing if the coroutine waits.
std::optional<work_status> pool_core::segment(work_core& w, bool last) noexcept {
  coroutine_part& part = *w.coroutine;
  if (!part.has_begun()) {
    begin_attempt(w);
    try {
      part.begin(w.type->begin(w.body, w, last));
    } catch (...) {
      static_cast<void>(part.take_end());
      w.type->set_exception(w.body, std::current_exception());
      return kind_of(w, w.type->exception(w.body));
    }
  } else if (w.extras != nullptr) {
    w.extras->segment_began = base::now();
  }
  if (part.run() == coroutine_part::on_segment::waits) return std::nullopt;
  const coroutine_part::root_end how = part.take_end();
  if (how == coroutine_part::root_end::late) note_late(w);
  if (how != coroutine_part::root_end::returned)
    return w.load().has(force_asked) ? work_status::force_stopped : work_status::stopped;
  const std::exception_ptr thrown = w.type->exception(w.body);
  return thrown == nullptr ? work_status::succeeded : kind_of(w, thrown);
}

pool_core::on_execute pool_core::execute(work_core& w, seat* mine) noexcept {
  const presence here(w);
  if (w.extras == nullptr && w.coroutine == nullptr) {
    begin_attempt(w);
    const work_status how = attempt(w, true);
    end_attempt(w);
    return finish_run(w, how, mine);
  }
  const niceness as(threads, w);
  for (;;) {
    const bool last = w.extras == nullptr || !may_try_again(w);
    work_status how;
    if (w.coroutine != nullptr) {
      const std::optional<work_status> end = segment(w, last);
      if (!end.has_value()) return on_execute::waits;
      how = *end;
    } else {
      begin_attempt(w);
      how = attempt(w, last);
    }
    end_attempt(w);
    if (how == work_status::failed && !last) {
      const on_retry next = try_again(w, mine);
      if (next == on_retry::here) continue;
      if (next == on_retry::elsewhere) return on_execute::done;
    }
    return finish_run(w, how, mine);
  }
}

/// Counts out the works that have ended on this thread. While the thread goes from one work to the next this
/// may be late: those next works are outstanding, too, so no other thread can tell. But it must come before
/// user code that belongs to no work, since such code may wait until the pool is idle. Not while the seat
/// names a work: see loses().
void pool_core::settle(seat& here) noexcept {
  auto* const own = static_cast<desk*>(here.own);
  if (own == nullptr) return;
  // relaxed, both: this thread's own count.
  const std::uint64_t ends = own->ended.load(base::order::relaxed);
  if (ends == 0) return;
  own->ended.store(0, base::order::relaxed);
  count_out(ends);
}

/// Ends a succeeded work that has no waiter, callback or observer in one step. If it ran in a seat, the same
/// step drops the travelling reference. Returns nothing if the work must end by finish().
std::optional<pool_core::on_execute> pool_core::end_at_once(work_core& w, seat* mine) noexcept {
  if (w.extras != nullptr || w.coroutine != nullptr || events.any() || options.default_callback)
    return std::nullopt;
  w.type->destroy_function(w.body);
  w.function_gone = true;
  word seen = w.load();
  if (!rule::end_at_once(seen, work_status::succeeded, 0).applies) return std::nullopt;
  desk* const own = own_desk();
  count_at(own, ends_as(work_status::succeeded));
  // relaxed: comes before the last step, after which the slot may hold another work. A thread that gives the
  // work up in between finds no seat, and does not lose this thread, which goes on.
  if (mine != nullptr) mine->job.store(nullptr, base::order::relaxed);
  const std::uint64_t owned = mine == nullptr ? 0 : 1;
  if (!w.apply<rule::end_at_once>(seen, work_status::succeeded, owned)) {
    count_at(own, ends_as(work_status::succeeded), ~std::uint64_t{0});
    // release: same reason as in run(). The seat names the work again, in case it must be given up.
    if (mine != nullptr) mine->job.store(&w, base::order::release);
    return std::nullopt;
  }
  if (mine == nullptr || own == nullptr) {
    count_out();
  } else {
    // relaxed, both: this thread's own count, unless it is given up. To be given up it must run a work.
    own->ended.store(own->ended.load(base::order::relaxed) + 1, base::order::relaxed);
  }
  if (mine == nullptr) return on_execute::done;
  return seen.refs() == owned ? on_execute::last : on_execute::gone;
}

/// Ends a work with the status that the runner has found, unless the work was abandoned meanwhile.
pool_core::on_execute pool_core::finish_run(work_core& w, work_status how, seat* mine) noexcept {
  if (how == work_status::succeeded) {
    if (const std::optional<on_execute> at_once = end_at_once(w, mine)) return *at_once;
  }
  word seen{};
  if (w.apply<rule::end>(seen, how)) {
    finish(w);
    return on_execute::done;
  }
  // Abandoned: the thread that abandoned it has done everything for its end. The function and the outcome
  // belong to this thread.
  if (!w.function_gone) drop_function(w, work_status::abandoned);
  w.type->destroy_result(w.body);
  w.body_gone = true;
  if (w.apply<rule::come_back>(seen) && seen.has(slept_on)) base::futex_wake_upper(&w.state, 1 << 20);
  return on_execute::given_up;
}

/// Decides whether the work is timed. Called before it is in a queue. A work that had an attempt before is
/// not timed again.
void pool_core::note_queued(work_core& w) noexcept {
  w.timed_at = {};
  if (options.time_one_in == 0) return;
  const std::uint64_t turn = (w.id >> slots::index_bits) + w.index;
  if ((is_time_masked_ ? turn & (options.time_one_in - 1) : turn % options.time_one_in) != 0) return;
  if (!w.load().has(begun)) w.timed_at = base::now();
}

void pool_core::begin_attempt(work_core& w) noexcept {
  if (w.timed_at != base::time_point{}) {
    const base::time_point now = base::now();
    queue_times_.add(now - w.timed_at);
    w.timed_at = w.coroutine == nullptr ? now : base::time_point{};
  }
  count_one(total::attempts);
  work_extras* const e = w.extras;
  if (e != nullptr) {
    w.began_at = e->segment_began = base::now();
    if (e->attempt == 0 && e->options.timeout.from == timeout_from::start) arm_timeout(w, w.began_at);
  }
  events.tell(error_from::work_started, {w.id}, [&](observer& each) { each.work_started({w.id}); });
}

void pool_core::end_attempt(work_core& w) noexcept {
  if (w.timed_at != base::time_point{})
    run_times_.add(base::now() - std::exchange(w.timed_at, base::time_point{}));
  work_extras* const e = w.extras;
  if (e == nullptr) return;
  e->run_time += base::now() - e->segment_began;
}

}  // namespace rota::pool::detail
