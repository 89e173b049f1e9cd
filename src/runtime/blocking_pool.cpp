#include "runtime/blocking_pool.hpp"

#include "base/thread.hpp"
#include "task/harness.hpp"
#include "task/unhandled.hpp"
#include "task/unwinder.hpp"

#include <rota/spawn.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <utility>

namespace rota::detail {

using core::header;
using pool::rejection;
using pool::detail::crew_client;
using pool::detail::seat;

namespace {

blocking_pool& pool_of(header& task) noexcept { return static_cast<blocking_pool&>(*task.owner); }

}  // namespace

// The scheduler of the runtime lists, counts and reports the task of a closure; only its queue is here.
const core::scheduler_ops blocking_pool::ops_table{
    .admit =
        [](core::scheduler& s) noexcept {
          of(s).tasks_.note_made();
          return of(s).tasks_.takes_tasks();
        },
    .schedule = [](header& task) noexcept { pool_of(task).submit(task); },
    .reschedule = [](header& task) noexcept { pool_of(task).submit(task); },
    .take_entry = [](header&) noexcept { return core::on_take::not_here; },
    .enroll =
        [](core::scheduler& s, header& task) noexcept {
          sched::scheduler& tasks = of(s).tasks_;
          tasks.tasks().enroll(task, static_cast<unsigned>(task.id % tasks.workers()));
        },
    .withdraw = [](core::scheduler& s, header& task) noexcept { of(s).tasks_.tasks().withdraw(task); },
    .rename = [](core::scheduler& s,
                 header& task,
                 void* name) noexcept { of(s).tasks_.tasks().rename(task, name); },
    // If the tried births are taken the task is not noted: enter() tells by the registry whether it is new.
    .born =
        [](core::scheduler& s, header& task) noexcept {
          task.birth = of(s).tasks_.newborn().note_foreign(task.id, task.label.site());
        },
    .ended =
        [](core::scheduler&, header& task, bool cancelled) noexcept {
          if (!cancelled) end_for_its_cause(task);
          note_over(task);
        },
    .unhandled =
        [](core::scheduler& s, header& task, std::exception_ptr what) noexcept {
          const sched::surroundings& around = of(s).tasks_.around;
          around.unhandled(around.policy, task, std::move(what));
        },
    .children = [](core::scheduler& s) noexcept -> core::scheduler& { return of(s).tasks_; },
    .now =
        [](const core::scheduler& s) noexcept { return static_cast<const blocking_pool&>(s).tasks_.now(); },
    .timer_shard = [](core::scheduler& s) noexcept -> timing::shard& {
      return of(s).tasks_.ops->timer_shard(of(s).tasks_);
    },
    .deadline_moved =
        [](core::scheduler& s, base::time_point earliest) noexcept {
          of(s).tasks_.ops->deadline_moved(of(s).tasks_, earliest);
        },
    .io = [](core::scheduler& s) noexcept { return of(s).tasks_.around.io; },
    .freed = [](core::scheduler& s) noexcept { of(s).tasks_.note_freed(); },
};

// The threads sleep at once: polling for work would take processor time from the workers. There are no
// blocking regions: a task that blocks on these threads lends its role, and a closure may block.
blocking_pool::blocking_pool(sched::scheduler& tasks, const pool::pool_options& options)
    : core::scheduler{&ops_table},
      tasks_(tasks),
      options_(options),
      threads_(
          *this,
          "rota-thread",
          {options.min_threads + tasks.workers(), options.max_threads + tasks.workers(), options.keep_alive},
          {.spins = false, .has_regions = false}) {
  births = tasks.births;
  process = tasks.process;
}

// ---- watchers ---------------------------------------------------------------------------------------------

/// Records that something has ended. The lock is held. Returns true if the caller must call tell()
/// afterwards.
bool blocking_pool::note_change() noexcept {
  if (watchers_ == 0) return false;
  // relaxed: the lock orders it; the sleeper only compares.
  changed_.fetch_add(1, base::order::relaxed);
  return true;
}

void blocking_pool::tell(bool watched) noexcept {
  if (watched) base::futex_wake(&changed_, std::numeric_limits<int>::max());
}

/// Blocks until `done()`, which is called under the lock, returns true, or the deadline has passed.
template <class Done>
void blocking_pool::watch(base::time_point deadline, Done done) noexcept {
  bool counted = false;
  for (bool timed_out = false;;) {
    std::uint32_t seen;
    {
      const base::lock_guard lock(mutex_);
      if (timed_out || done()) {
        if (counted) --watchers_;
        return;
      }
      if (!std::exchange(counted, true)) ++watchers_;
      // relaxed: raised under the same lock.
      seen = changed_.load(base::order::relaxed);
    }
    timed_out = base::futex_wait(changed_, seen, deadline) == base::wait_result::timed_out;
  }
}

// ---- roles ------------------------------------------------------------------------------------------------

bool blocking_pool::start_role(sched::worker& role) noexcept {
  {
    const base::lock_guard lock(mutex_);
    ++playing_;
  }
  if (threads_.hand_over(&role)) return true;
  bool watched;
  {
    const base::lock_guard lock(mutex_);
    --playing_;
    watched = note_change();
  }
  tell(watched);
  return false;
}

/// Publishes the role as a closure is published, so the protocol of the crew makes the next free thread take
/// it.
void blocking_pool::offer_role(sched::worker& role) noexcept {
  {
    const base::lock_guard lock(mutex_);
    role.offer() = {.by = &base::this_thread_locals(), .after = accepted_};
    sched::worker** place = &offered_;
    while (*place != nullptr) place = &(*place)->offer().next;
    *place = &role;
  }
  threads_.attract();
}

/// Returns the role that has waited longest. The lock is held. Returns null if there is none, or if a closure
/// that was queued before it still waits.
sched::worker* blocking_pool::take_offered() noexcept {
  sched::worker* const role = offered_;
  if (role == nullptr || accepted_ - queued_ < role->offer().after) return nullptr;
  offered_ = role->offer().next;
  role->offer() = {};
  ++playing_;
  return role;
}

/// A taken role may have been offered again meanwhile, by the thread that plays it: then the calling thread
/// must not take it.
bool blocking_pool::take_role_back(sched::worker& role) noexcept {
  const base::lock_guard lock(mutex_);
  if (role.offer().by != &base::this_thread_locals()) return false;
  sched::worker** place = &offered_;
  while (*place != &role) place = &(*place)->offer().next;
  *place = role.offer().next;
  role.offer() = {};
  return true;
}

void blocking_pool::play(sched::worker& role) noexcept {
  const bool stopped = role.play() == sched::worker::on_play::stopped;
  bool watched;
  {
    const base::lock_guard lock(mutex_);
    --playing_;
    watched = note_change();
  }
  tell(watched);
  if (!stopped) {
    tasks_.note_outside(-1);  // begun when the task lent the role
    return;
  }
  // release: pairs with wait_for_roles().
  roles_ended_.fetch_add(1, base::order::release);
  base::futex_wake(&roles_ended_, 1);
}

void blocking_pool::wait_for_roles(unsigned roles) noexcept {
  for (;;) {
    // acquire: pairs with play(): observes everything that the roles did.
    const std::uint32_t ended = roles_ended_.load(base::order::acquire);
    if (ended >= roles) return;
    static_cast<void>(base::futex_wait(roles_ended_, ended, base::never));
  }
}

/// The lock is held. At the start, and at the end, there are fewer roles than workers.
unsigned blocking_pool::lent() const noexcept { return playing_ - std::min(playing_, tasks_.workers()); }

// ---- submission -------------------------------------------------------------------------------------------

void blocking_pool::submit(header& task) noexcept {
  tasks_.note_outside(+1);
  std::uint64_t number = 0;
  switch (enter(task, number)) {
    case on_enter::queued: threads_.attract(); break;
    case on_enter::queued_in_excess:
      threads_.attract();
      wait_for_place(number);
      break;
    case on_enter::refused: end_cancelled(task, cancel_reason::queue_full); break;
    case on_enter::run_here: run_by_caller(task); break;
    // Admitted just before the shutdown began: the threads may have gone already.
    case on_enter::too_late: end_cancelled(task, cancel_reason::shutdown); break;
  }
}

blocking_pool::on_enter blocking_pool::enter(header& task, std::uint64_t& number) noexcept {
  // A task that has begun and returns has had its place.
  const bool is_new = task.shard == header::not_enrolled;
  const on_enter otherwise = is_new && options_.queue_limit != 0 ? when_full() : on_enter::queued;
  const base::lock_guard lock(mutex_);
  if (cancelling_) return on_enter::too_late;
  const on_enter how = has_place(accepted_ + 1) ? on_enter::queued : otherwise;
  if (how == on_enter::refused || how == on_enter::run_here) return how;
  task.next.set(nullptr);
  last_ == nullptr ? static_cast<void>(first_ = &task) : last_->next.set(&task);
  last_ = &task;
  ++queued_;
  number = ++accepted_;
  return how;
}

/// Called on the submitting thread. Neither a task nor a thread of a worker may wait in a plain call.
blocking_pool::on_enter blocking_pool::when_full() const noexcept {
  if (options_.on_full == rejection::caller_runs) return on_enter::run_here;
  const bool is_plain = sched::worker::current() == nullptr && core::task_in_sight() == nullptr;
  return options_.on_full == rejection::block && is_plain ? on_enter::queued_in_excess : on_enter::refused;
}

/// Returns true if the closure that was, or will be, queued as the n-th finds a thread, or a place within the
/// limit. The lock is held.
bool blocking_pool::has_place(std::uint64_t number) const noexcept {
  if (options_.queue_limit == 0) return true;
  const std::uint64_t outstanding = number - std::min(number, over_);
  const std::uint64_t threads = options_.max_threads - std::min(options_.max_threads, lent());
  return outstanding <= threads || outstanding - threads <= options_.queue_limit;
}

void blocking_pool::wait_for_place(std::uint64_t number) noexcept {
  watch(base::never, [this, number] { return cancelling_ || has_place(number); });
}

/// The submitting thread may be that of a worker: then another thread plays the role meanwhile, if there is
/// one.
void blocking_pool::run_by_caller(header& task) noexcept {
  const core::blocking_section section;
  call(task);
}

/// Ends a closure that has not begun.
void blocking_pool::end_cancelled(header& task, cancel_reason why) noexcept {
  core::cancel(task, why);
  core::run_entry(task);
  tasks_.note_outside(-1);
}

// ---- a thread ---------------------------------------------------------------------------------------------

/// A hook that throws ends the program: there is no task that could have failed.
void blocking_pool::begins(seat& here) noexcept {
  if (options_.nice != 0) base::set_niceness(options_.nice);
  if (options_.on_thread_start) options_.on_thread_start(here.index);
}

void blocking_pool::ends(seat& here) noexcept {
  if (options_.on_thread_end) options_.on_thread_end(here.index);
}

bool blocking_pool::has_work() noexcept {
  const base::lock_guard lock(mutex_);
  return first_ != nullptr || offered_ != nullptr;
}

std::size_t blocking_pool::waiting() noexcept {
  const base::lock_guard lock(mutex_);
  std::size_t found = queued_;
  for (sched::worker* role = offered_; role != nullptr; role = role->offer().next) ++found;
  return found;
}

void* blocking_pool::take(seat& here) noexcept {
  const base::lock_guard lock(mutex_);
  if (sched::worker* const role = take_offered()) return role;
  header* const task = first_;
  if (task == nullptr) return nullptr;
  first_ = task->next.get();
  if (first_ == nullptr) last_ = nullptr;
  --queued_;
  ++running_;
  // relaxed: under the lock.
  here.job.store(task, base::order::relaxed);
  return task;
}

crew_client::on_run blocking_pool::run(seat& here, void* job) noexcept {
  // relaxed: this thread's own. It holds a closure; it is null for a role.
  if (here.job.load(base::order::relaxed) != nullptr) return run_closure(here, *static_cast<header*>(job));
  play(*static_cast<sched::worker*>(job));
  return on_run::done;
}

crew_client::on_run blocking_pool::run_closure(seat& here, header& task) noexcept {
  turn now{.of = *this, .here = here, .task = &task};
  base::this_thread_locals().closure = &now;
  call(task);
  // It may have suspended all the same, and then goes on in another turn.
  if (now.task != nullptr) end(now);
  base::this_thread_locals().closure = nullptr;
  return now.is_left_behind ? on_run::given_up : on_run::done;
}

blocking_pool::turn* blocking_pool::turn_here() noexcept {
  return static_cast<turn*>(base::this_thread_locals().closure);
}

/// A closure cannot suspend. So a blocking join in it throws `cancelled_error` if the joined task was
/// cancelled. If the cause of that cancellation applies to the closure, too, the closure ends as cancelled
/// and has not failed.
void blocking_pool::end_for_its_cause(header& task) noexcept {
  const std::exception_ptr thrown = task.result().exception(&task);
  if (thrown == nullptr || !core::is_cancellation(thrown)) return;
  const cancel_reason why = core::unwinder::reason_now(task);
  if (why != cancel_reason::none) task.result().set_cancelled(&task, why);
}

/// Called on the thread that has run the closure, before its end can be observed. A closure that was
/// cancelled before it began, or that its caller runs, has no turn here. A closure without a handle is over
/// later: the destructor of its result or exception is user code on this thread, and may wait.
void blocking_pool::note_over(const header& task) noexcept {
  turn* const now = turn_here();
  if (now == nullptr || now->task != &task) return;
  if (!task.word.load().has(core::detached)) now->of.end(*now);
}

/// The task may be destroyed at once.
void blocking_pool::end(turn& now) noexcept {
  now.task = nullptr;
  bool watched;
  {
    const base::lock_guard lock(mutex_);
    --running_;
    ++over_;
    watched = note_change();
    // relaxed, both: under the lock.
    now.is_left_behind = now.here.job.load(base::order::relaxed) == this;
    now.here.job.store(nullptr, base::order::relaxed);
  }
  tell(watched);
}

void blocking_pool::call(header& task) noexcept {
  // A closure never suspends, yet a report must name it. It enrols before the phase is read: if it does not
  // read the phase of a shutdown, the shutdown finds it in the registry.
  core::enroll_once(task);
  tasks_.pass_end_on(task);
  core::run_entry(task);
  tasks_.note_outside(-1);
}

// ---- failed thread starts ---------------------------------------------------------------------------------

/// The pool goes on with fewer threads. Threads that play roles never come back for closures, so the start
/// must be retried.
void blocking_pool::missing() noexcept {
  bool first;
  {
    const base::lock_guard lock(mutex_);
    first = first_ != nullptr && !std::exchange(said_so_, true);
  }
  if (first) std::fputs("rota: no thread can be started for blocking work: it waits for one\n", stderr);
  // seq_cst: before the watchdog's word is exchanged: of {missing, watchdog asleep} one side observes the
  // other.
  missing_.exchange(1, base::order::seq_cst);
  tasks_.around.first_awake(tasks_.around.watchdog);
}

bool blocking_pool::start_missing() noexcept {
  // seq_cst: after the watchdog's announcement that it sleeps; see missing().
  if (missing_.load(base::order::seq_cst) == 0) return false;
  // acq_rel: before the check of the queue: it finds what was queued before a failure, and a later failure
  // sets the word again.
  missing_.exchange(0, base::order::acq_rel);
  if (!has_work()) return false;
  // At the thread limit, entries wait for a thread that comes back. If a thread searches, it will find them.
  threads_.attract();
  // seq_cst: same reason as above.
  return missing_.load(base::order::seq_cst) != 0;
}

// ---- the end ----------------------------------------------------------------------------------------------

void blocking_pool::cancel_queued() noexcept {
  header* queued;
  bool watched;
  {
    const base::lock_guard lock(mutex_);
    cancelling_ = true;
    queued = std::exchange(first_, nullptr);
    last_ = nullptr;
    over_ += std::exchange(queued_, 0);
    watched = note_change();
  }
  tell(watched);
  while (queued != nullptr) {
    header* const next = queued->next.get();
    end_cancelled(*queued, cancel_reason::shutdown);
    queued = next;
  }
}

void blocking_pool::wait_for_closures(base::time_point deadline) noexcept {
  watch(deadline, [this] { return running_ == 0; });
}

/// Called under the lock of the crew. A thread inside a blocked task comes back: that task has ended, or is
/// about to. The thread that stops the crew may be one of its own: if the handle of its closure is dropped
/// just after the check in note_over(), the destructor of the result runs there, and may end the runtime. A
/// thread cannot wait for itself, so it is left behind.
bool blocking_pool::leaves_behind(seat& here) noexcept {
  turn* const mine = turn_here();
  const base::lock_guard lock(mutex_);
  // relaxed: under the lock.
  if (here.job.load(base::order::relaxed) != nullptr) {
    // relaxed: under the lock.
    here.job.store(this, base::order::relaxed);
  } else if (mine != nullptr && &mine->here == &here) {
    mine->is_left_behind = true;
  } else {
    return false;
  }
  tasks_.books().made();
  return true;
}

/// The last access: with the last reference the pool is freed, too.
void blocking_pool::gone(void* /*job*/) noexcept { tasks_.note_freed(); }

blocking_pool::counts blocking_pool::count() noexcept {
  const unsigned threads = threads_.count().threads;
  const base::lock_guard lock(mutex_);
  return {threads, running_, lent(), queued_};
}

}  // namespace rota::detail
