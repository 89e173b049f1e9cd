#include <rota/join_handle.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "base/tls_slot.hpp"
#include "task/harness.hpp"
#include "task/outside_helper.hpp"
#include "task/outside_polls.hpp"
#include "task/scheduler_here.hpp"
#include "task/thread_ports.hpp"

#include <cstdio>

namespace rota::core {

namespace {

/// The tasks on this thread that await one another form a chain. A self-join is looked for among so many of
/// them.
constexpr int ancestors_checked = 16;

// NOT IN A MODEL: sixteen of them; a self-join that is found throws
bool waits_for_me(const header& me, const header& target) noexcept {
  const header* above = &me;
  for (int i = 0; i < ancestors_checked && above != nullptr; ++i, above = above->awaited_by) {
    if (above == &target) return true;
  }
  return false;
}

/// Takes a task that no thread has started, from any queue, to run it on this thread. Returns true if it got
/// the task; its word is `running` then.
bool take_over(header& target) noexcept {
  switch (target.owner->ops->take_entry(target)) {  // NOT IN A MODEL: a fourth answer
    case on_take::not_here: return false;
    case on_take::no_entry: return target.word.claim() == on_claim::run;
    case on_take::entry: break;
  }
  const on_pop duty = target.word.pop();
  ROTA_ASSERT(duty != on_pop::free);  // the handle holds a reference
  return duty == on_pop::run;
}

// PROTOCOL: a thread that waits for a task
//   The word is 0 (waiting) or 1 (woken). The waiter sleeps while it is 0. The completer sets it to 1 and
//   wakes the address. After the store the completer reads nothing of the object, since the waiter's stack
//   frame may be gone.
struct blocked_thread {
  base::atomic<std::uint32_t> woken{0};

  static void wake(void* data) noexcept {
    auto& word = static_cast<blocked_thread*>(data)->woken;
    // release: pairs with the acquire in wait(): the woken thread sees the completer's work.
    word.store(1, base::order::release);
    base::futex_wake(&word, 1);
  }
  static void* same(void* data) noexcept { return data; }
  static void nothing(void* /*data*/) noexcept {}
  static constexpr waker_vtable vtable{wake, wake, same, nothing};

  bool wait(base::time_point deadline) noexcept {
    // acquire: pairs with the release in wake().
    while (woken.load(base::order::acquire) == 0) {
      if (base::this_thread_locals().waits.wait(woken, 0, deadline) == base::wait_result::timed_out) {
        // acquire: pairs with the release in wake().
        return woken.load(base::order::acquire) != 0;
      }
    }
    return true;
  }
};

on_register register_waker(header& target, waker w) noexcept {
  base::note_write(&target.join_slot);
  target.join_slot = std::move(w);
  const on_register duty = target.word.join_register();
  // Complete: only this thread uses the slot from now on.
  if (duty == on_register::complete) target.join_slot = waker();
  return duty;
}

/// Takes the waker out of the slot. Returns false if the completer owns the slot, and will wake the waker in
/// it.
bool take_back_slot(header& target) noexcept {
  if (target.word.join_leave() == on_leave::complete) return false;
  base::note_write(&target.join_slot);
  target.join_slot = waker();
  return true;
}

bool block_until_complete(header& target, base::time_point deadline) noexcept {
  const thread_ports& ports = current_thread_ports();
  void* const lent = ports.before_block();
  blocked_thread self;
  bool done = register_waker(target, waker(&self, &blocked_thread::vtable)) == on_register::complete;
  if (!done) done = self.wait(deadline);
  if (!done && !take_back_slot(target)) done = self.wait(base::never);
  ports.after_block(lent);
  return done;
}

/// Returns true if this thread plays no role and belongs to no pool: it may run any task that waits for a
/// worker of the target's runtime.
bool can_help_from_outside(const header& target) noexcept {
  return &current_thread_ports() == &plain_thread &&
         scheduler_for_children(target).ops->help_until_end != nullptr;
}

/// Runs other tasks until the target has ended. The waker for the target's end is registered first: that end
/// is the one event that ends the loop, and it wakes a helper that sleeps.
void help_from_outside(header& target) noexcept {
  base::watch_for_exit();
  scheduler& home = scheduler_for_children(target);
  outside_helper me;
  if (register_waker(target, me.waker_of_end()) == on_register::complete) return;
  rest_outside_run();
  home.ops->help_until_end(home, me);
  resume_outside_run();
}

/// The greatest number of tasks that run on this thread's stack, one inside the other, by blocking joins.
constexpr unsigned max_nesting = 64;

bool run_here(header& target) noexcept {
  base::thread_locals& locals = base::this_thread_locals();
  if (locals.nesting >= max_nesting || !take_over(target)) return false;  // NOT IN A MODEL: 64 of them
  ++locals.nesting;
  run(target);
  --base::this_thread_locals().nesting;
  return true;
}

// PROTOCOL: joins of tasks that unwind
//   A task that unwinds out of a join waits for the end of the task that it joined. Two tasks that join each
//   other, or a child that joins its own parent, would deadlock. So each task notes that it waits for its
//   join_target. Before that it follows the notes that exist. If they lead back to it, or to a task that
//   cannot end before it has ended, it stops waiting instead. Of the tasks of a circle, the last one finds
//   the notes of the others.
//
//   waits_out  The task that runs writes it, under the lock, and takes it back before its handle of the noted
//   task is released. So the holder of the lock may follow the notes.
base::mutex notes_lock;

bool cannot_end_before(const header& other, const header& me) noexcept {
  const header* child = &me;
  while (child != nullptr && child != &other) {
    // relaxed: set before the child first ran, and not changed: `me` has not ended, nor has a task that waits
    // for it.
    const family* const around = child->bond.load(base::order::relaxed);
    child = around == nullptr ? nullptr : around->parent();
  }
  return child == &other;
}

/// Returns the task that `task` waits for; null if it has no note. The caller holds the lock.
const header* waited_out_by(const header& task) noexcept {
  // relaxed: its owner wrote it before it took the lock for the note, and does not change it while the note
  // stands.
  return task.waits_out.get() ? task.join_target.load(base::order::relaxed) : nullptr;
}

/// Notes that `me` waits for `target`. Returns false if it must not wait.
bool note_wait(header& me, header& target) noexcept {
  const base::lock_guard lock(notes_lock);
  for (const header* at = &target; at != nullptr; at = waited_out_by(*at)) {
    if (cannot_end_before(*at, me)) return false;
  }
  // relaxed: this thread wrote it.
  ROTA_ASSERT(me.join_target.load(base::order::relaxed) == &target);
  me.waits_out.set(true);
  return true;
}

void take_note_back(header& me) noexcept {
  const base::lock_guard lock(notes_lock);
  me.waits_out.set(false);
}

void note_target(activation& task, header& target) noexcept {
  // relaxed: only for this thread and for reports.
  header_of(task).join_target.store(&target, base::order::relaxed);
}

[[noreturn, gnu::cold]] void throw_joined(const header& task) {
  char words[64];
  std::snprintf(
      words, sizeof words, "task %llu is awaited already", static_cast<unsigned long long>(task.id));
  throw error(errc::already_joined, words);
}

[[noreturn, gnu::cold]] void throw_circle(const header& me, const header& task) {
  if (&me == &task) throw error(errc::would_deadlock);
  char words[64];
  std::snprintf(
      words, sizeof words, "task %llu waits for this one", static_cast<unsigned long long>(task.id));
  throw error(errc::would_deadlock, words);
}

void demand(header* task) {
  if (task == nullptr) throw error(errc::already_joined);
  const header* const me = current_task();
  if (me != nullptr && waits_for_me(*me, *task)) throw_circle(*me, *task);
  // A second waker in the slot would overwrite the first joiner's: a lost wakeup.
  const snapshot now = task->word.load();
  if (now.has(join_interest) && !now.is(lifecycle::complete)) throw_joined(*task);
}

}  // namespace

bool join_leaf::start() {
  demand(target_);
  registered_ = false;  // set by an earlier co_await of this object
  if (is_complete(*target_)) return true;
  // A child of fork() runs no task of its parent process, not in place of a wait either.
  demand_own_process(*target_->owner);
  if (claim()) return false;
  return register_here();
}

/// Never claims the target: other leaves are awaited beside it.
bool join_leaf::start_beside() {
  demand(target_);
  registered_ = false;
  if (is_complete(*target_)) return true;
  demand_own_process(*target_->owner);
  return register_here();
}

/// A task has a slot for the waker of one joiner only.
const void* join_leaf::check_beside() {
  demand(target_);
  return target_;
}

/// If the waker cannot be taken back in time, the task gets one spurious wakeup.
void join_leaf::lose() noexcept {
  if (std::exchange(registered_, false)) take_back_slot(*target_);
}

bool join_leaf::must_be_cancelled() const noexcept {
  return kind_ != join_kind::detached && target_ != nullptr && !is_complete(*target_);
}

void join_leaf::announce_cancel() noexcept {
  if (must_be_cancelled()) core::announce_cancel(*target_);
}

bool join_leaf::begin_cancel(cancel_reason reason) noexcept {
  if (!must_be_cancelled()) return false;
  cancel_task(*target_, reason);
  return true;
}

/// Runs the awaited task on this thread, as a continuation of the awaiting one: no queue, no wake.
bool join_leaf::claim() noexcept {
  if (target_->owner != header_of(task()).owner || task().budget <= 1) return false;
  if (!take_over(*target_)) return false;
  --task().budget;
  note_target(task(), *target_);
  task().why = stop_reason::join;
  return true;
}

/// Registers the waker. Returns true if the target is complete and no wake will follow.
bool join_leaf::register_here() noexcept {
  if (registered_) return is_complete(*target_);
  registered_ = true;
  note_target(task(), *target_);
  return register_waker(*target_, make_waker()) == on_register::complete;
}

bool join_leaf::is_ready() noexcept {
  if (target_ == nullptr) return false;  // NOT IN A MODEL: what start() throws at
  if (is_complete(*target_)) return true;
  // The first call after the task that ran here has suspended: from now on that task has to wake this one.
  // NOT IN A MODEL: a leaf around this one
  return task().waiting.get() == this && register_here();
}

cancel_progress join_leaf::try_cancel(cancel_reason reason) noexcept {
  if (kind_ == join_kind::detached) {
    join_leaf::lose();
    return cancel_progress::ended;
  }
  if (is_complete(*target_) || register_here()) return cancel_progress::ended;
  cancel_task(*target_, reason);
  // Of several targets that are awaited at once, this is the one that the task waits for now.
  note_target(task(), *target_);
  if (note_wait(header_of(task()), *target_)) return cancel_progress::pending;
  registered_ = false;
  take_back_slot(*target_);
  return cancel_progress::ended;
}

/// Only a cancelled outcome is discardable, if the same cause has reached the joiner. A value and an
/// exception are delivered.
bool join_leaf::is_discardable() noexcept {
  return target_->result().cancelled(target_) != cancel_reason::none;
}

/// Called after `pending`. Until it returns true, the note of the wait stands.
bool join_leaf::cancel_ended() noexcept {
  if (!is_complete(*target_)) return false;
  take_note_back(header_of(task()));
  return true;
}

void drop(header* task) noexcept { drop_handle(*task); }

void retain_task(header& task) noexcept { task.word.retain(); }
void release_task(header& task) noexcept { release(task); }

bool is_complete(const header& task) noexcept { return task.word.load().is(lifecycle::complete); }

std::uint64_t id_of(const header& task) noexcept { return task.id; }

/// Replaces `none`: a cancellation without a reason could not be told from no cancellation.
bool cancel_task(header& task, cancel_reason reason) noexcept {
  return cancel(task,
                reason == cancel_reason::none ? cancel_reason::user : reason);  // NOT IN A MODEL: misuse
}

std::chrono::steady_clock::time_point clock_now() noexcept { return base::now(); }

bool wait_blocking(header* task, std::chrono::steady_clock::time_point deadline) {
  demand(task);
  if (is_complete(*task)) return true;
  // A child of fork() has none of the threads that would end the task.
  demand_own_process(scheduler_for_children(*task));
  // A wait with a limit must not be held up by running the task here.
  if (deadline == base::never && run_here(*task) && is_complete(*task)) return true;
  return block_until_complete(*task, deadline);
}

void wait_helping(header* task) {
  constexpr unsigned max_helps = 16;
  demand(task);
  if (is_complete(*task)) return;
  const bool is_outside = can_help_from_outside(*task);
  // A child of fork() has the queues, but none of the threads: the tasks in them belong to its parent
  // process.
  demand_own_process(scheduler_for_children(*task));
  base::thread_locals& locals = base::this_thread_locals();
  if (locals.helps >= max_helps) {  // NOT IN A MODEL: sixteen of them
    wait_blocking(task, base::never);
    return;
  }
  ++locals.helps;
  if (is_outside) help_from_outside(*task);
  while (!is_complete(*task)) {
    const thread_ports& ports = current_thread_ports();
    // There is nothing else to run: another thread runs the task, and needs no help. The role goes to another
    // thread meanwhile.
    if (ports.help_once == nullptr || !ports.help_once()) block_until_complete(*task, base::never);
  }
  --base::this_thread_locals().helps;
}

}  // namespace rota::core
