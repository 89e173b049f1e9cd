#include "pool/coroutine_part.hpp"

#include "base/tls_slot.hpp"
#include "pool/pool_core.hpp"
#include "task/harness.hpp"
#include "task/unhandled.hpp"

#include <rota/join_handle.hpp>

#include <utility>

namespace rota::pool::detail {

const core::scheduler_ops coroutine_part::ops_table{
    .admit =
        [](core::scheduler& s) noexcept {
          coroutine_part& self = of(s);
          self.work_.retain();
          const base::lock_guard guard(self.lock_);
          ++self.alive_;
          return true;
        },
    .schedule = [](core::header& task) noexcept { of(*task.owner).push(task); },
    .reschedule = [](core::header& task) noexcept { of(*task.owner).push(task); },
    .take_entry = [](core::header&) noexcept { return core::on_take::not_here; },
    .enroll = [](core::scheduler& s,
                 core::header& task) noexcept { of(s).work_.pool->tasks.enroll(task, 0); },
    .withdraw = [](core::scheduler& s,
                   core::header& task) noexcept { of(s).work_.pool->tasks.withdraw(task); },
    .rename = [](core::scheduler& s,
                 core::header& task,
                 void* name) noexcept { of(s).work_.pool->tasks.rename(task, name); },
    .ended =
        [](core::scheduler& s, core::header& task, bool was_cancelled) noexcept {
          coroutine_part& self = of(s);
          const base::lock_guard guard(self.lock_);
          --self.alive_;
          if (&task == self.root_) self.root_cancelled_ = was_cancelled;
        },
    .unhandled =
        [](core::scheduler& s, core::header& task, std::exception_ptr what) noexcept {
          const work_core& w = of(s).work_;
          if (!w.pool->events.report(error_from::work, {w.id}, what))
            w.pool->note_lost(core::about_task(task), what);
        },
    .children = [](core::scheduler& s) noexcept -> core::scheduler& { return s; },
    .now = [](const core::scheduler&) noexcept { return base::now(); },
    .timer_shard = [](core::scheduler& s) noexcept -> timing::shard& {
      return of(s).work_.pool->clock.shard();
    },
    .deadline_moved = [](core::scheduler& s, base::time_point) noexcept { of(s).work_.pool->clock.moved(); },
    .freed = [](core::scheduler& s) noexcept { of(s).work_.pool->drop(of(s).work_); },
};

coroutine_part::coroutine_part(work_core& work) noexcept
    : core::scheduler{&ops_table, &work.pool->passed, work.pool->process()}, work_(work) {}
coroutine_part::~coroutine_part() { core::unshare(locals_); }

foreign_call::foreign_call() noexcept
    : before_(std::exchange(base::this_thread_locals().helping, core::task_in_sight())) {}
foreign_call::~foreign_call() { base::this_thread_locals().helping = before_; }

/// Inherits as spawn() does. A deadline of another clock than the pool's is ignored.
void coroutine_part::inherit() noexcept {
  const core::header* const around = core::task_in_sight();
  if (around == nullptr || around == base::this_thread_locals().helping) return;
  if (around->owner->passed == passed) deadline_ = around->deadline.get();
  if (const core::header* const submitter = core::current_task()) locals_ = core::share(submitter->locals);
}

bool coroutine_part::is_late() noexcept {
  if (deadline_ == base::never) return false;
  const base::time_point now = base::now();
  if (now < deadline_) return false;
  passed->note(now);
  return true;
}

void coroutine_part::push(core::header& task) noexcept {
  bool queues;
  {
    const base::lock_guard guard(lock_);
    task.next.set(nullptr);
    last_ == nullptr ? static_cast<void>(first_ = &task) : last_->next.set(&task);
    last_ = &task;
    queues = !queued_ && !running_ && !paused_;
    if (queues) queued_ = true;
  }
  if (queues) work_.pool->push_segment(work_);
}

/// Under the lock.
core::header* coroutine_part::take_first() noexcept {
  core::header* const task = first_;
  if (task == nullptr) return nullptr;
  first_ = task->next.get();
  if (first_ == nullptr) last_ = nullptr;
  return task;
}

bool coroutine_part::has_begun() noexcept {
  const base::lock_guard guard(lock_);
  queued_ = false;
  running_ = true;
  return root_ != nullptr;
}

void coroutine_part::begin(task<void> root) noexcept {
  core::header& made = core::launch(*root.release(), *this, core::result_vtable_of<void>, {});
  // Drops what the root inherited from a task for which this thread may be helping. That task is unrelated.
  core::disinherit(made);
  made.locals = core::share(locals_);
  made.deadline.set(deadline_);
  core::note_watched(made);
  {
    const base::lock_guard guard(lock_);
    root_ = &made;
  }
  // stop() is called after stop_asked was set, and reads root_. This thread has set root_, and reads
  // stop_asked. So one of the two cancels the root.
  if (work_.load().has(stop_asked)) stop();
}

coroutine_part::on_segment coroutine_part::run() noexcept {
  pool_core& pool = *work_.pool;
  constexpr unsigned turns = 64;  // then other jobs have a turn
  for (unsigned turn = 0;; ++turn) {
    const bool pauses = pool.is_paused(work_) && !work_.load().has(stop_asked);
    core::header* next = nullptr;
    bool yields = false;
    {
      const base::lock_guard guard(lock_);
      if (alive_ == 0) return on_segment::ended;
      yields = !pauses && first_ != nullptr && turn >= turns;
      if (pauses) {
        paused_ = true;
        word seen{};
        static_cast<void>(work_.apply<rule::pause_here>(seen));
      }
      if (!pauses && !yields) next = take_first();
      if (next == nullptr) {
        // Before another thread may run it.
        if (work_extras* const e = work_.extras; e != nullptr) e->run_time += base::now() - e->segment_began;
        pool_core::leave_seat(work_);
        running_ = false;
        queued_ = yields;
      }
    }
    if (next != nullptr) {
      core::run_entry(*next);
      continue;
    }
    // After the critical section that set paused_: a resume before it is seen here, and a later one finds
    // paused_.
    if (pauses && (!pool.is_paused(work_) || work_.load().has(stop_asked))) go_on();
    if (yields) pool.push_segment(work_);
    return on_segment::waits;
  }
}

coroutine_part::root_end coroutine_part::take_end() noexcept {
  core::header* root = nullptr;
  bool was_cancelled;
  {
    const base::lock_guard guard(lock_);
    root = std::exchange(root_, nullptr);
    was_cancelled = std::exchange(root_cancelled_, false);
    running_ = false;
    queued_ = true;  // for another attempt
  }
  root_end how = was_cancelled ? root_end::cancelled : root_end::returned;
  // relaxed: written before the root was unwound, which this thread has seen.
  if (was_cancelled && deadline_ != base::never && was_late() &&
      root->reason.load(base::order::relaxed) == cancel_reason::timeout)
    how = root_end::late;
  if (root != nullptr) core::drop(root);
  return how;
}

void coroutine_part::stop() noexcept {
  core::header* root = nullptr;
  {
    const base::lock_guard guard(lock_);
    root = root_;
    if (root != nullptr) root->word.retain();
  }
  if (root != nullptr) {
    core::cancel(*root, reason_of(work_));
    core::release(*root);
  }
  go_on();
}

void coroutine_part::go_on() noexcept {
  bool queues;
  {
    const base::lock_guard guard(lock_);
    if (!paused_) return;
    paused_ = false;
    queues = !queued_ && !running_ && first_ != nullptr;
    if (queues) queued_ = true;
    word seen{};
    static_cast<void>(work_.apply<rule::go_on>(seen));
  }
  if (queues) work_.pool->push_segment(work_);
}

void end_coroutine(coroutine_part* part) noexcept { delete part; }

}  // namespace rota::pool::detail
