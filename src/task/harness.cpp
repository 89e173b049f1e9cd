#include "task/harness.hpp"

#include "base/tls_slot.hpp"
#include "task/unwinder.hpp"

#include <rota/leaf.hpp>

#include <bit>
#include <utility>

namespace rota::core {

namespace {

/// Lets the frames run until they stop for a reason. The loop is the trampoline: its stack is the only native one.
void resume_frames(header& task) noexcept {
  task.waiting.set(nullptr);
  task.why = stop_reason::none;
  std::coroutine_handle<> next = task.innermost.get()->handle();
  while (next) {
    task.bounce = nullptr;
    task.transfers = 0;
    next.resume();
    next = task.bounce;
  }
}

void record_site(header& task) noexcept {
  // relaxed, both. For reports only; what they point to is constant.
  task.site.store(std::bit_cast<const void*>(task.where), base::order::relaxed);
  const leaf* const waiting = task.waiting.get();
  task.waits_for.store(waiting == nullptr ? "children" : waiting->what(), base::order::relaxed);
  if (task.shard == header::not_enrolled) task.owner->ops->enroll(*task.owner, task);
}

/// After this call nothing of the task may be touched.
void give_back(header& task, on_suspend duty) noexcept {
  if (duty == on_suspend::resubmit) task.owner->ops->reschedule(task);
}

/// Nobody has the handle, so nobody will look at the outcome but the family.
void destroy_unseen(header& task, const family* around) noexcept {
  if (around == nullptr) {
    if (std::exception_ptr thrown = task.result->exception(&task))
      task.owner->ops->unhandled(*task.owner, task, std::move(thrown));
  }
  task.result->destroy(&task);
}

void finish(header& task, bool was_cancelled) noexcept {
  unshare(std::exchange(task.locals, nullptr));
  // Out of the list first: who has seen that every task ended finds none there.
  if (task.shard != header::not_enrolled) task.owner->ops->withdraw(*task.owner, task);
  task.owner->ops->ended(*task.owner, task, was_cancelled);
  // relaxed. Set before the task was first scheduled, and until it is complete nobody takes it away.
  family* const around = task.bond.load(base::order::relaxed);
  // From the next transition on the outcome may be somebody else's.
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

void finish_cancelled(header& task) noexcept {
  // relaxed. Written before the transition that this thread acted upon.
  task.result->set_cancelled(&task, task.reason.load(base::order::relaxed));
  finish(task, true);
}

void finish_returned(header& task) noexcept {
  // The root frame's parameters and promise go first, on this thread; header and result lie outside of it.
  promise_base* const root = task.innermost.get();
  task.innermost.set(nullptr);
  root->handle().destroy();
  finish(task, false);
}

/// Advances one task as far as it goes. Returns the task that runs next on this thread: one that it awaits, the one that
/// awaits it here, or null. In the first case the task stays `running`; else this thread no longer owns it.
header* advance(header& task) noexcept {
  header* const above = task.awaited_by;
  for (verdict now = unwinder::look(task);;) {
    if (now == verdict::wait) {
      task.awaited_by = nullptr;
      record_site(task);
      give_back(task, task.word.suspend());
      return above;
    }
    if (now == verdict::finished) {
      task.awaited_by = nullptr;
      finish_cancelled(task);
      return above;
    }
    resume_frames(task);
    switch (task.why) {
      case stop_reason::none:
        ROTA_FATAL("a task's frame returned without a reason: was it resumed by hand?", task.id);
      case stop_reason::leaf:
        now = task.regions == nullptr ? verdict::wait : unwinder::before_wait(task);
        break;
      case stop_reason::unwind: now = unwinder::go_on(task); break;
      case stop_reason::yield:
        if (task.regions != nullptr && (now = unwinder::before_yield(task)) != verdict::wait) break;
        task.awaited_by = nullptr;
        record_site(task);
        give_back(task, task.word.yield());
        return above;
      case stop_reason::join: {
        // relaxed. This thread wrote it.
        header* const target = task.join_target.load(base::order::relaxed);
        target->awaited_by = &task;
        target->budget = task.budget;
        return target;
      }
      case stop_reason::finished:
        task.awaited_by = nullptr;
        // What the child used up is used up: a loop of spawn and await must yield too.
        if (above != nullptr) above->budget = task.budget;
        finish_returned(task);
        return above;
    }
  }
}

}  // namespace

unsigned run(header& task) noexcept {
  void* const outer_task = base::this_thread_locals().task;
  unsigned looks = 0;
  task.budget = leaf_budget;
  for (header* now = &task; now != nullptr; ++looks) {
    base::this_thread_locals().task = now;
    now = advance(*now);
  }
  base::this_thread_locals().task = outer_task;
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
  // relaxed. The first reason stands. failure: relaxed. Then somebody else's does.
  task.reason.compare_exchange_strong(none, reason, base::order::relaxed, base::order::relaxed);
  unwinder::destroy_unstarted(task);
  finish_cancelled(task);
}

}  // namespace rota::core
