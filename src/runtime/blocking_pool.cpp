#include "runtime/blocking_pool.hpp"

#include "task/harness.hpp"

#include <rota/detail/deadline.hpp>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace rota::detail {

using core::header;

namespace {

blocking_pool& pool_of(header& task) noexcept { return static_cast<blocking_pool&>(*task.owner); }

}  // namespace

// A closure's task is listed, counted and reported by the scheduler of the runtime; only its queue is here.
const core::scheduler_ops blocking_pool::ops_table{
    .admit =
        [](core::scheduler& s) noexcept {
          of(s).tasks_.note_made();
          return of(s).tasks_.current_phase() == sched::phase::open;
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
                 char* name) noexcept { of(s).tasks_.tasks().rename(task, name); },
    .ended = [](core::scheduler&, header&, bool) noexcept {},
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

blocking_pool::blocking_pool(sched::scheduler& tasks, const pool::pool_options& options)
    : core::scheduler{&ops_table},
      tasks_(tasks),
      options_(options),
      limit_(options.max_threads + tasks.workers()) {
  // Room for all: nothing is allocated under the lock.
  roles_.reserve(tasks.workers());
  seats_.reserve(limit_);
}

blocking_pool::~blocking_pool() = default;

/// Under the lock, after work was added.
blocking_pool::on_add blocking_pool::provide_thread() noexcept {
  if (waiting() <= idle_) {
    // relaxed. The lock orders it; the sleeper only compares.
    signal_.fetch_add(1, base::order::relaxed);
    return on_add::wake;
  }
  return threads_ < limit_ ? on_add::start : on_add::nothing;
}

bool blocking_pool::start_role(sched::worker& role) noexcept {
  on_add duty;
  {
    const base::lock_guard lock(mutex_);
    roles_.push_back(&role);
    duty = provide_thread();
    if (duty == on_add::nothing) {
      roles_.pop_back();
      return false;
    }
    if (duty == on_add::start) ++threads_;
  }
  if (duty == on_add::wake) {
    base::futex_wake(&signal_, 1);
    return true;
  }
  if (start_thread()) return true;
  {
    const base::lock_guard lock(mutex_);
    if (std::erase(roles_, &role) != 0) {
      --threads_;
      return false;
    }
  }
  // A thread that was to serve something else has taken the role: that waits now.
  note_missing();
  return true;
}

void blocking_pool::start_minimum() noexcept {
  for (unsigned i = 0; i < options_.min_threads; ++i) {
    {
      const base::lock_guard lock(mutex_);
      ROTA_ASSERT(threads_ < limit_);  // no work has come yet
      ++threads_;
    }
    if (start_thread()) continue;
    const base::lock_guard lock(mutex_);
    --threads_;
    return;
  }
}

void blocking_pool::submit(header& task) noexcept {
  tasks_.note_outside(+1);
  on_add duty = on_add::nothing;
  bool too_late;
  {
    const base::lock_guard lock(mutex_);
    too_late = cancelling_;
    if (!too_late) {
      duty = append(task);
      if (duty == on_add::start) ++threads_;
    }
  }
  if (too_late) {
    // Admitted just before the shutdown began: threads may have gone already.
    end_cancelled(task);
    return;
  }
  if (duty == on_add::wake) base::futex_wake(&signal_, 1);
  if (duty == on_add::start && !start_thread()) note_missing();
}

/// The pool goes on with fewer threads. Those that play roles never come back for this work, so others must be tried for.
void blocking_pool::note_missing() noexcept {
  bool first;
  {
    const base::lock_guard lock(mutex_);
    --threads_;
    // What comes while the runtime ends has been cancelled already.
    first = !cancelling_ && !std::exchange(said_so_, true);
    // seq_cst. Before the watchdog's word is exchanged: of {missing, watchdog asleep} one side sees the other.
    missing_.fetch_add(1, base::order::seq_cst);
  }
  if (first) std::fputs("rota: no thread can be started for blocking work: it waits for one\n", stderr);
  tasks_.around.first_awake(tasks_.around.watchdog);
}

bool blocking_pool::start_missing() noexcept {
  // seq_cst. After the watchdog's announcement that it sleeps; see note_missing().
  if (missing_.load(base::order::seq_cst) == 0) return false;
  {
    const base::lock_guard lock(mutex_);
    if (waiting() == 0 || threads_ >= limit_) {
      // relaxed. Under the lock. Those at the limit wait for a thread that comes back.
      missing_.store(0, base::order::relaxed);
      return false;
    }
    ++threads_;
  }
  const bool started = start_thread();
  const base::lock_guard lock(mutex_);
  if (!started) {
    --threads_;
    return true;
  }
  // relaxed. Under the lock; nobody else lowers it.
  return missing_.fetch_sub(1, base::order::relaxed) > 1;
}

/// Under the lock.
blocking_pool::on_add blocking_pool::append(header& task) noexcept {
  task.next.set(nullptr);
  last_ == nullptr ? static_cast<void>(first_ = &task) : last_->next.set(&task);
  last_ = &task;
  ++queued_;
  return provide_thread();
}

/// It has not begun, and never will.
void blocking_pool::end_cancelled(header& task) noexcept {
  core::cancel(task, cancel_reason::shutdown);
  core::run_entry(task);
  tasks_.note_outside(-1);
}

/// The caller has counted it already.
bool blocking_pool::start_thread() noexcept {
  reap();
  std::unique_ptr<seat> made(new (std::nothrow) seat);
  if (made == nullptr) return false;  // NOT IN A MODEL: tests/unit/faults has it
  made->pool = this;
  seat& here = *made;
  tasks_.books().made();
  const base::lock_guard lock(mutex_);
  // Who is counted has a seat, or is about to take one; who is not, has been reaped above.
  ROTA_ASSERT(seats_.size() < seats_.capacity());
  if (stopping_) {
    tasks_.note_freed();
    return false;
  }
  // Under the lock, so that the thread finds its own handle in its seat when it ends.
  auto started = base::thread::start("rota-thread", thread_main, &here);
  if (!started.has_value()) {
    tasks_.note_freed();
    return false;
  }
  here.thread = std::move(*started);
  seats_.push_back(std::move(made));
  return true;
}

/// Joins threads that have ended.
void blocking_pool::reap() noexcept {
  for (;;) {
    std::unique_ptr<seat> done;
    {
      const base::lock_guard lock(mutex_);
      const auto found = std::find_if(seats_.begin(), seats_.end(), [](const auto& s) { return s->ended; });
      if (found == seats_.end()) return;
      done = std::move(*found);
      seats_.erase(found);
    }
    done->thread.join();
  }
}

void blocking_pool::thread_main(void* seat_address) noexcept {
  seat& mine = *static_cast<seat*>(seat_address);
  blocking_pool& pool = *mine.pool;
  sched::scheduler& tasks = pool.tasks_;
  pool.serve(mine);
  // The last touch: with the last reference the pool goes, too.
  tasks.note_freed();
}

void blocking_pool::serve(seat& mine) noexcept {
  for (;;) {
    sched::worker* role = nullptr;
    header* task = nullptr;
    {
      const base::lock_guard lock(mutex_);
      if (!roles_.empty()) {
        // The oldest: what a thread was started for is not left to one that could not be.
        role = roles_.front();
        roles_.erase(roles_.begin());
        ++busy_;
      } else if ((task = take_task()) != nullptr) {
        ++busy_;
        ++running_;
      }
    }
    if (role != nullptr) {
      play(*role);
    } else if (task != nullptr) {
      run(*task);
    } else if (wait_for_work(mine) == on_wait::leave) {
      return;
    }
  }
}

void blocking_pool::play(sched::worker& role) noexcept {
  const bool stopped = role.play() == sched::worker::on_play::stopped;
  {
    const base::lock_guard lock(mutex_);
    --busy_;
  }
  if (!stopped) {
    tasks_.note_outside(-1);  // begun when the task lent the role
    return;
  }
  // release. Pairs with wait_for_roles().
  roles_ended_.fetch_add(1, base::order::release);
  base::futex_wake(&roles_ended_, 1);
}

header* blocking_pool::take_task() noexcept {
  header* const task = first_;
  if (task == nullptr) return nullptr;
  first_ = task->next.get();
  if (first_ == nullptr) last_ = nullptr;
  --queued_;
  return task;
}

void blocking_pool::run(header& task) noexcept {
  // A closure never suspends, yet a report must name it. Enrolled first: a shutdown that is not seen below finds it there.
  core::enroll_once(task);
  bool cancelling;
  {
    const base::lock_guard lock(mutex_);
    cancelling = cancelling_;
  }
  if (cancelling) core::cancel(task, cancel_reason::shutdown);
  core::run_entry(task);
  tasks_.note_outside(-1);
  {
    const base::lock_guard lock(mutex_);
    --running_;
    --busy_;
    if (!cancelling_) return;
    // relaxed. The lock orders it; the sleeper only compares.
    closures_ended_.fetch_add(1, base::order::relaxed);
  }
  base::futex_wake(&closures_ended_, 1);
}

void blocking_pool::wait_for_closures(base::time_point deadline) noexcept {
  for (;;) {
    std::uint32_t seen;
    {
      const base::lock_guard lock(mutex_);
      if (running_ == 0) return;
      // relaxed. Raised under the same lock.
      seen = closures_ended_.load(base::order::relaxed);
    }
    if (base::futex_wait(closures_ended_, seen, deadline) == base::wait_result::timed_out) return;
  }
}

/// Under the lock under which it was found that nothing waits and that a thread can be spared: whoever adds work, or leaves,
/// comes before or sees one less.
blocking_pool::on_wait blocking_pool::leave(seat& mine) noexcept {
  --threads_;
  mine.ended = true;
  return on_wait::leave;
}

blocking_pool::on_wait blocking_pool::wait_for_work(seat& mine) noexcept {
  std::uint32_t seen;
  bool stay;
  {
    const base::lock_guard lock(mutex_);
    if (waiting() != 0) return on_wait::look_again;
    if (stopping_) return leave(mine);
    ++idle_;
    stay = threads_ <= threads_kept();
    // relaxed. Raised under the same lock.
    seen = signal_.load(base::order::relaxed);
  }
  const base::time_point leave_at =
      stay ? base::never : saturating_deadline(base::now(), options_.keep_alive);
  const bool timed_out = base::futex_wait(signal_, seen, leave_at) == base::wait_result::timed_out;
  const base::lock_guard lock(mutex_);
  --idle_;
  if (waiting() != 0) return on_wait::look_again;
  // Several may have timed out together: those that are to be kept stay.
  const bool may_leave = timed_out && threads_ > threads_kept();
  return stopping_ || may_leave ? leave(mine) : on_wait::look_again;
}

void blocking_pool::cancel_queued() noexcept {
  header* queued;
  {
    const base::lock_guard lock(mutex_);
    cancelling_ = true;
    queued = std::exchange(first_, nullptr);
    last_ = nullptr;
    queued_ = 0;
  }
  while (queued != nullptr) {
    header* const next = queued->next.get();
    end_cancelled(*queued);
    queued = next;
  }
}

void blocking_pool::wait_for_roles(unsigned roles) noexcept {
  for (;;) {
    // acquire. Pairs with serve(): whatever the roles did is seen.
    const std::uint32_t ended = roles_ended_.load(base::order::acquire);
    if (ended >= roles) return;
    static_cast<void>(base::futex_wait(roles_ended_, ended, base::never));
  }
}

void blocking_pool::stop() noexcept {
  {
    const base::lock_guard lock(mutex_);
    stopping_ = true;
    // relaxed. The lock orders it.
    signal_.fetch_add(1, base::order::relaxed);
  }
  base::futex_wake(&signal_, 1 << 20);
  for (;;) {
    std::unique_ptr<seat> one;
    {
      const base::lock_guard lock(mutex_);
      // Those inside a closure may never come back. One whose task blocked does: that task has ended, or is about to.
      if (threads_ <= running_) break;
      const auto found = std::find_if(seats_.begin(), seats_.end(), [](const auto& s) { return s->ended; });
      if (found != seats_.end()) {
        one = std::move(*found);
        seats_.erase(found);
      }
    }
    one != nullptr ? one->thread.join() : base::yield_thread();
  }
  reap();
  const base::lock_guard lock(mutex_);
  for (const auto& s : seats_) {
    s->thread.detach();
  }
}

blocking_pool::counts blocking_pool::count() noexcept {
  const base::lock_guard lock(mutex_);
  const auto roles = static_cast<unsigned>(tasks_.workers() - roles_.size());
  return {threads_, running_, busy_ - std::min(busy_, running_ + roles), queued_};
}

}  // namespace rota::detail
