// A group of which the children are tasks from the start, and the end of every group. Children in place:
// fork_in_place.cpp.
#include <rota/detail/fork_group.hpp>

#include "task/ending.hpp"
#include "task/harness.hpp"
#include "task/scheduler_here.hpp"
#include "task/unreported.hpp"

#include <stdexcept>
#include <utility>

namespace rota::core {

void fork_group::refuse(std::size_t count) noexcept {
  ROTA_FATAL("a when_* of more than 4294967294 children", count);
}

// ---- as tasks from the start -----------------------------------------------------------------------------

bool fork_group::start() {
  header& me = header_of(task());
  scheduler& by = scheduler_for_children_of(me);
  frame_ = me.innermost.get();
  note_mixed();
  // relaxed: the words of the children publish it.
  remaining_.store(static_cast<std::int32_t>(count_), base::order::relaxed);
  keep_waker();
  for (std::uint32_t i = 0; i < count_; ++i) demand_work(members_[i] != nullptr);
  for (std::uint32_t i = 0; i < count_; ++i) {
    promise_base& child = *members_[i];
    const bool taken = by.ops->admit(by);
    const bool begins = taken || must_begin(child);
    child.group = this;
    header& made = make_task_of(child, by, begins ? spawned_word : entered_word, me);
    if (begins && !taken) static_cast<void>(cancel(made, cancel_reason::shutdown));
  }
  // All children have headers before the first one can end and ask the others to stop.
  for (std::uint32_t i = 0; i < count_; ++i) {
    header& child = header_at(*members_[i]);
    if (child.word.load().is(lifecycle::running)) {
      abandon(child, cancel_reason::shutdown);
    } else {
      by.ops->schedule(child);
    }
  }
  return is_ready();
}

// ---- the end ---------------------------------------------------------------------------------------------

bool fork_group::is_ready() noexcept { return cancel_ended() && !waits_for_own_cancellation(); }

bool fork_group::cancel_ended() noexcept {
  // acquire: pairs with the release in ended(): everything that the children did is seen.
  return count_ == 0 || done_.load(base::order::acquire);
}

cancel_progress fork_group::try_cancel(cancel_reason reason) noexcept {
  // relaxed: decider_ publishes it.
  reason_.store(reason, base::order::relaxed);
  std::uint32_t nobody = 0;
  // seq_cst: see make_task_of(). No child decides from now on. failure: relaxed: a child has decided.
  decider_.compare_exchange_strong(nobody, parents, base::order::seq_cst, base::order::relaxed);
  cancel_others(nullptr, reason);
  call_who_is_in_place();
  return cancel_ended() ? cancel_progress::ended : cancel_progress::pending;
}

bool fork_group::decides(const ending& how) const noexcept {
  switch (rule_) {
    case group_rule::all: return how.failed();
    case group_rule::settled: return false;
    case group_rule::any: return true;
    case group_rule::any_success: return !how.failed();
  }
  return false;
}

bool fork_group::is_discardable() noexcept {
  // relaxed, both loads: the group has ended, and done_ has ordered them.
  const std::uint32_t failed = failed_.load(base::order::relaxed);
  if (failed == 0) return false;
  if (rule_ != group_rule::settled) {
    // Only the outcome that the co_await would yield counts.
    const std::uint32_t decided = decider_.load(base::order::relaxed);
    return decided != parents &&
           ending_at((decided != 0 ? decided : failed) - 1).cancelled != cancel_reason::none;
  }
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (ending_at(i).cancelled != cancel_reason::none) return true;
  }
  return false;
}

/// Calls `visit` for each child that is a task. The other children read what was decided when they become
/// tasks.
template <class Visit>
void fork_group::for_each_task(Visit visit) const noexcept {
  for (std::uint32_t i = 0; i < count_; ++i) {
    // seq_cst: see make_task_of().
    if (header* const task = task_made_of(*members_[i], base::order::seq_cst)) visit(*task);
  }
}

/// Announces the cancel to all children that are tasks, also to those that have ended.
void fork_group::announce_to_tasks() const noexcept { for_each_task(core::announce_cancel); }

void fork_group::cancel_others(const header* but, cancel_reason reason) noexcept {
  announce_to_tasks();
  for_each_task([but, reason](header& task) noexcept {
    if (&task != but) static_cast<void>(cancel(task, reason));
  });
}

/// Calls the deque: a child in place sees the call when it forks.
void fork_group::call_who_is_in_place() noexcept {
  if (here_ != nullptr) here_->waiting.call();
}

/// Reports the end of a child. The child's memory lives until remaining_ has counted it out.
void fork_group::report(std::uint32_t position, const ending& how) noexcept {
  std::uint32_t nobody = 0;
  // relaxed, failure: relaxed: it only says which child was first; remaining_ orders the rest.
  if (how.failed())
    failed_.compare_exchange_strong(nobody, position + 1, base::order::relaxed, base::order::relaxed);
  if (!decides(how)) return;
  nobody = 0;
  // seq_cst: see make_task_of(). failure: relaxed: another child has decided.
  if (decider_.compare_exchange_strong(nobody, position + 1, base::order::seq_cst, base::order::relaxed)) {
    // relaxed: this thread wrote it, or got the child after it was written.
    const header* const reporter = task_made_of(*members_[position], base::order::relaxed);
    cancel_others(reporter, cancel_reason::sibling_failed);
    // If the reporter is in place itself, no other child is.
    if (reporter != nullptr) call_who_is_in_place();
  }
}

void fork_group::ended(header& child, const ending& how, bool /*unseen*/) noexcept {
  if (may_be_first(how)) report(position_of(child), how);
  // acq_rel: release: what this thread did happens before the end. acquire: the last child passes on what all
  // the others did.
  if (remaining_.fetch_sub(1, base::order::acq_rel) != 1) return;
  waker last = take_waker();
  // release: pairs with the acquire in cancel_ended().
  done_.store(true, base::order::release);
  last.wake();
}

/// The awaiting task gives up its handles: what is left in them is not taken. Counts a lost exception.
void fork_group::dropped(header& child, const ending& how) noexcept {
  if (how.thrown == nullptr || (rethrown_ != 0 && members_[rethrown_ - 1]->room() == &child)) return;
  scheduler& by = scheduler_for_children(base_task());
  by.ops->suppressed(by);
}

/// Returns false if the report of such an end would change nothing. This saves a search among all children
/// for each end.
bool fork_group::may_be_first(const ending& how) const noexcept {
  // relaxed, both loads: a hint; report() decides.
  return (how.failed() && failed_.load(base::order::relaxed) == 0) ||
         (decides(how) && decider_.load(base::order::relaxed) == 0);
}

std::uint32_t fork_group::position_of(const header& task) const noexcept {
  std::uint32_t i = 0;
  while (members_[i]->room() != &task) ++i;
  return i;
}

ending fork_group::ending_at(std::uint32_t position) const noexcept {
  const result_vtable& type = type_of(*members_[position]);
  void* const room = members_[position]->room();
  return {type.exception(room), type.cancelled(room)};
}

std::size_t fork_group::decider() const noexcept {
  // relaxed: the group has ended, and done_ has ordered it.
  return decider_.load(base::order::relaxed) - 1;
}

void throw_nothing_to_wait_for() { throw std::invalid_argument("when_any: the range is empty"); }

void fork_group::rethrow_failure() {
  // relaxed, both loads: the group has ended, and done_ has ordered them.
  const std::uint32_t decided = decider_.load(base::order::relaxed);
  const std::uint32_t failed = decided != 0 ? decided : failed_.load(base::order::relaxed);
  if (failed == 0 || rule_ == group_rule::settled) return;
  ending how = ending_at(failed - 1);
  if (!how.failed()) return;
  rethrown_ = failed;
  rethrow(std::move(how));
}

void fork_group::let_go() noexcept {
  base::note_write(waker_room_);
  for (std::uint32_t i = 0; i < count_; ++i) {
    if (members_[i] == nullptr) continue;  // an empty task, in a group that was not awaited
    promise_base& child = *members_[i];
    // relaxed: all children have ended, or none has started.
    if (header* const task = task_made_of(child, base::order::relaxed)) {
      drop_handle(*task);
    } else if (i < next_) {
      const result_vtable& type = type_of(child);
      void* const room = child.room();
      if (mixed_ && i + 1 != rethrown_ && type.exception(room) != nullptr) {
        scheduler& by = scheduler_for_children(base_task());
        by.ops->suppressed(by);
      }
      type.destroy(room);
      release_block(frame_of_room(room));
    } else {
      const unreported dropped;
      child.handle().destroy();
    }
  }
  // The caller that lent the list finds only nulls in it.
  for (promise_base*& each : members()) each = nullptr;
}

}  // namespace rota::core
