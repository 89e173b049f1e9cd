#include "task/harness.hpp"

#include "base/chance.hpp"
#include "base/tls_slot.hpp"
#include "task/unwinder.hpp"

#include <rota/detail/fork_group.hpp>

#include <utility>

namespace rota::core {

namespace {

/// Resumes the frames until they stop for a reason. The loop is the trampoline: its stack is the only native
/// one. Returns the task that ran last: a child in place may have become a task of its own, which goes on
/// here.
header& resume_frames(header& task) noexcept {
  task.waiting.set(nullptr);
  for (strand* now = &task;;) {
    now->why = stop_reason::none;
    now->transfers = 0;
    demand_unguarded();
    now->innermost.get()->handle().resume();
    // Only a bounce leaves a child in place behind. Every other reason to give the thread back has made it a
    // task.
    now = task_around();
    if (now->why != stop_reason::none) {
      if (now->why != stop_reason::bounce) return static_cast<header&>(*now);
    } else if (const fork_context* const forks = forks_of_thread();
               forks != nullptr && forks->running != nullptr) {
      now = forks->running;
    } else {
      return static_cast<header&>(*now);
    }
  }
}

void record_site(header& task) noexcept {
  const leaf* const waiting = task.waiting.get();
  // relaxed: only for reports, and what it points to is constant.
  task.waits_for.store(waiting == nullptr ? "children" : waiting->what(), base::order::relaxed);
  enroll_once(task);
}

/// Reschedules the task if `duty` says so. Afterwards nothing of the task may be touched. `above` runs next,
/// if there is one.
void give_back(header& task, const header* above, on_suspend duty) noexcept {
  if (duty != on_suspend::resubmit) return;
  task.owner->ops->reschedule(task);
  if (above != nullptr) above->owner->ops->settle(*above->owner);
}

/// Destroys an outcome that no handle can take. Only the family sees it.
void destroy_unseen(header& task, const family* around) noexcept {
  if (around == nullptr) {
    if (std::exception_ptr thrown = task.result().exception(&task))
      task.owner->ops->unhandled(*task.owner, task, std::move(thrown));
  }
  task.result().destroy(&task);
}

enum class how_ended : bool { returned, cancelled };

/// Ends a task. `above`: the task that awaits this one here, and goes on after this call; null if there is
/// none.
void finish(header& task, const header* above, how_ended end) noexcept {
  if (task.locals != nullptr) unshare(std::exchange(task.locals, nullptr));
  // Out of the list first: a thread that has seen that every task ended finds none there.
  if (task.shard != header::not_enrolled) task.owner->ops->withdraw(*task.owner, task);
  forget_birth(task);
  task.owner->ops->ended(*task.owner, task, end == how_ended::cancelled);
  // relaxed: set before the task was first scheduled, and not taken away until it is complete.
  family* const around = task.bond.load(base::order::relaxed);
  if (above != nullptr && around == nullptr) {
    // The task that awaits it runs here and has the handle: finish_in_place() checks the word for that.
    static_cast<void>(task.word.finish_in_place());
    return;
  }
  // After the next transition another thread may own the outcome.
  ending how = around == nullptr ? ending{} : ending_of(task);
  const on_finish duty = task.word.finish();
  if (duty.wake_joiner) {
    base::note_write(&task.join_slot);
    task.join_slot.wake();
  }
  if (duty.destroy_result) destroy_unseen(task, around);
  if (around != nullptr) around->ended(task, how, duty.destroy_result);
  release(task);
}

void finish_cancelled(header& task, header* above) noexcept {
  // The same cause may hold for the task that awaits it: it must ask.
  if (above != nullptr) above->watched = true;
  // relaxed: written before the transition that this thread acted upon.
  task.result().set_cancelled(&task, task.reason.load(base::order::relaxed));
  finish(task, above, how_ended::cancelled);
}

void finish_returned(header& task, const header* above) noexcept {
  // The root frame's parameters and promise are destroyed first, on this thread; header and result lie
  // outside of the frame.
  promise_base* const root = task.innermost.get();
  task.innermost.set(nullptr);
  // Null if it had ended in place, and became a task afterwards.
  if (root != nullptr) root->handle().destroy();
  finish(task, above, how_ended::returned);
}

/// Advances one task as far as it goes. Returns the task that runs next on this thread: one that it awaits,
/// the one that awaits it here, or null. In the first case the task stays `running`; otherwise this thread no
/// longer owns it.
header* advance(header& first, unsigned looks) noexcept {
  header* const above = first.awaited_by;
  header* running = &first;
  for (verdict now = unwinder::look(first);;) {
    header& task = *running;
    if (now == verdict::wait) {
      task.awaited_by = nullptr;
      record_site(task);
      give_back(task, above, task.word.suspend());
      return above;
    }
    if (now == verdict::finished) {
      task.awaited_by = nullptr;
      finish_cancelled(task, above);
      return above;
    }
    running = &resume_frames(task);
    switch (running->why) {
      case stop_reason::none:
      case stop_reason::bounce:
        ROTA_FATAL("a task's frame returned without a reason: was it resumed by hand?", running->id);
      case stop_reason::leaf:
        now = running->regions == nullptr ? verdict::wait : unwinder::before_wait(*running);
        break;
      case stop_reason::unwind: now = unwinder::go_on(*running); break;
      case stop_reason::yield:
      case stop_reason::turn:
        if (running->regions != nullptr && (now = unwinder::before_yield(*running)) != verdict::wait) break;
        // A task that awaits this one here goes first. If there is no such task, and no other task to go
        // first, this one keeps its turn.
        if (above == nullptr && running->owner->ops->keeps_turn(*running->owner, looks)) {
          running->budget = leaf_budget;
          return running;
        }
        running->awaited_by = nullptr;
        record_site(*running);
        give_back(*running, above, running->word.yield());
        return above;
      case stop_reason::join: {
        // relaxed: this thread wrote it.
        header* const target = running->join_target.load(base::order::relaxed);
        target->awaited_by = running;
        target->budget = running->budget;
        return target;
      }
      case stop_reason::finished:
        running->awaited_by = nullptr;
        // The parent gets the rest of the child's budget: a loop of spawn and await must yield too.
        if (above != nullptr) above->budget = running->budget;
        finish_returned(*running, above);
        return above;
    }
  }
}

}  // namespace

void park(header& task) noexcept {
  record_site(task);
  scheduler& by = *task.owner;
  if (task.word.suspend() != on_suspend::resubmit) return;
  by.ops->reschedule(task);
  by.ops->settle(by);
}

unsigned run(header& task) noexcept {
  // The locals of this thread, which does not change during the call.
  base::thread_locals& here = base::this_thread_locals();
  void* const outer_task = here.task;
  unsigned looks = 0;
  task.budget = base::chance() ? 1 : leaf_budget;
  for (header* now = &task; now != nullptr; ++looks) {
    here.task = now;
    now = advance(*now, looks);
  }
  here.task = outer_task;
  return looks;
}

unsigned run_entry(header& task) noexcept {
  switch (task.word.pop()) {
    case on_pop::run: return run(task);
    case on_pop::free: free_task(task); break;
    case on_pop::nothing: break;
  }
  return 0;
}

void abandon(header& task, cancel_reason reason) noexcept {
  cancel_reason none = cancel_reason::none;
  // relaxed: the first reason stands. failure: relaxed: another thread's reason stands.
  task.reason.compare_exchange_strong(none, reason, base::order::relaxed, base::order::relaxed);
  unwinder::destroy_unstarted(task);
  finish_cancelled(task, nullptr);
}

}  // namespace rota::core
