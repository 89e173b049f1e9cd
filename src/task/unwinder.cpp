#include "task/unwinder.hpp"
#include "task/unreported.hpp"

#include <rota/detail/timed_region.hpp>

#include <utility>

namespace rota::core {

verdict unwinder::look_closely(header& task, leaf* waiting) noexcept {
  if (task.word.load().has(unwinding)) {
    return waiting == nullptr || waiting->cancel_ended() ? advance(task) : verdict::wait;
  }
  if (task.regions != nullptr) note_limits(task);
  if (task.word.load().cancel_due()) {
    if (waiting == nullptr && must_begin(task)) return verdict::resume;
    return begin_cancelled(task);
  }
  if (waiting == nullptr) return verdict::resume;
  if (!waiting->is_ready()) return task.regions == nullptr ? verdict::wait : before_wait(task);
  if (waiting->is_discardable()) {
    // It may have ended for a cause that holds for this task too.
    if (const std::optional<verdict> reached = stop_if_reached(task, *waiting)) return *reached;
  }
  return verdict::resume;
}

verdict unwinder::begin_cancelled(header& task) noexcept {
  // relaxed: written before the word's transition that this thread has just read.
  return begin(task, nullptr, task.reason.load(base::order::relaxed));
}

/// Called after the task has seen an end. Returns nothing if no cause that holds for the task has happened.
std::optional<verdict> unwinder::stop_if_reached(header& task, const leaf& seen) noexcept {
  catch_up(task);
  switch (standing_of(task)) {
    case standing::due: return begin_cancelled(task);
    case standing::announced: return verdict::wait;
    case standing::free: break;
  }
  if (region* const over = region_that_is_over(task, seen)) return give_up(task, *over);
  return std::nullopt;
}

bool unwinder::is_reached(header& task, const leaf& seen) noexcept {
  catch_up(task);
  return standing_of(task) != standing::free || region_that_is_over(task, seen) != nullptr;
}

/// Delivers a cause that holds for this task and has happened, but has not reached it yet: its own timer is
/// late, or a shutdown has not found it.
void unwinder::catch_up(header& task) noexcept {
  const scheduler& by = *task.owner;
  if (by.passed->include(task.deadline.get()) && !is_held_off_for_good(task) &&
      by.passed->include(inherited_deadline(task)) && !is_held_off_by_parent(task))
    static_cast<void>(cancel(task, cancel_reason::timeout));
  if (!by.ops->is_open(by)) {
    // A task in the registry will be cancelled, after all tasks there were told.
    if (task.shard != header::not_enrolled) {
      announce_cancel(task);
    } else {
      static_cast<void>(cancel(task, cancel_reason::shutdown));
    }
  }
  if (task.regions != nullptr) note_limits(task);
}

cancel_reason unwinder::reason_now(header& task) noexcept {
  if (task.deadline.get() != base::never) task.owner->passed->note(timing::now_for(task));
  catch_up(task);
  if (standing_of(task) == standing::free) return cancel_reason::none;
  // relaxed: written before the word's transition.
  const cancel_reason why = task.reason.load(base::order::relaxed);
  // Without a reason it was only announced: by a shutdown, or by a task that is being unwound. An
  // announcement carries no reason.
  return why == cancel_reason::none ? cancel_reason::shutdown : why;
}

/// Returns true if a shield of a task around this one holds the deadline off from all inside it, until the
/// shield's limit has passed. A child ends with its parent, and that task with its own parent. But a deadline
/// that the parent itself has set around its children comes from no task further out, and no shield there
/// holds it off.
bool unwinder::is_held_off_by_parent(const header& task) noexcept {
  const passed_deadlines& passed = *task.owner->passed;
  for (const header* at = &task;;) {
    // relaxed: set before the child first ran, and not changed: the child has not ended, so neither has its
    // parent.
    const family* const around = at->bond.load(base::order::relaxed);
    at = around == nullptr ? nullptr : around->parent();
    if (at == nullptr) return false;
    if (!at->word.load().exposed() && !passed.include(at->deadline.get())) return true;
    if (passed.include(around->own_deadline_of_parent())) return false;
  }
}

base::time_point unwinder::inherited_deadline(const header& task) noexcept {
  base::time_point found = task.deadline.get();
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (const timed_region* const timed = r->as_timed()) found = timed->deadline_outside();
  }
  return found;
}

unwinder::standing unwinder::standing_of(const header& task) noexcept {
  // relaxed: the end that this thread has seen orders it.
  const bool announced = task.announced.load(base::order::relaxed);
  const snapshot now = task.word.load();
  if (now.cancel_due()) return standing::due;
  return announced && !now.has(cancelled) && now.exposed() ? standing::announced : standing::free;
}

/// Returns the outermost region that is over, of those that no shield inside of them holds off: a deadline
/// that another thread has acted upon, or a scope that has failed. The region around the innermost frame does
/// not count: its operation is done, and wins. It counts if its operation has started tasks, which have
/// inherited it.
region* unwinder::region_that_is_over(header& task, const leaf& seen) noexcept {
  const passed_deadlines& passed = *task.owner->passed;
  region* found = nullptr;
  const bool all = task.word.load().has(overridden);
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (!all && r->is_shielding() && !r->overridden_) break;
    if (!r->may_give_up()) continue;
    const timed_region* const timed = r->as_timed();
    if (timed != nullptr ? passed.include(timed->at()) : r->passed()) found = r;
  }
  const bool is_its_own = found != nullptr && found->frame_ == task.innermost.get() && !seen.starts_tasks();
  return is_its_own ? nullptr : found;
}

/// Returns true if the task must begin although it is cancelled. It awaits one leaf and ends, so it does not
/// come here again without a leaf.
bool unwinder::must_begin(header& task) noexcept { return tag_of(task.frame_address()).must_begin != 0; }

verdict unwinder::before_wait(header& task) noexcept {
  note_limits(task);
  // A cancellation that is due now is not checked here: the word does not let such a task become idle.
  if (region* const passed = passed_deadline(task)) return give_up(task, *passed);
  const bool all = task.word.load().has(overridden);
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (!all && has_no_limit(*r)) break;  // regions further out do not end this wait
    if (r->kind_ == region::kind::deadline) r->watch();
  }
  return verdict::wait;
}

verdict unwinder::before_yield(header& task) noexcept {
  note_limits(task);
  region* const deadline = passed_deadline(task);
  // The operation under the deadline is done, and only gives up its turn: its value wins.
  if (deadline == nullptr || deadline->frame_ == task.innermost.get()) return verdict::wait;
  return give_up(task, *deadline);
}

/// Gives up the work inside of a region: its deadline has passed, or its scope has failed. A cause further
/// out may have happened too, and not be delivered yet: a deadline that the task has inherited, or a
/// shutdown. Then that cause is reported.
verdict unwinder::give_up(header& task, region& at) noexcept {
  if (task.deadline.get() != base::never) task.owner->passed->note(timing::now_for(task));
  catch_up(task);
  switch (standing_of(task)) {
    case standing::due: return begin_cancelled(task);
    case standing::announced: return verdict::wait;
    case standing::free: break;
  }
  return begin(
      task, &at, at.kind_ == region::kind::scope ? cancel_reason::sibling_failed : cancel_reason::timeout);
}

/// Returns true for a shield without a limit, as around a clean-up: only a forced end overrides it.
bool unwinder::has_no_limit(region& shield) noexcept {
  return shield.kind_ == region::kind::shield && !shield.overridden_ &&
         shield.as_timed()->at() == base::never;
}

/// Returns true if the innermost shield that counts has no limit. The regions further out are not read.
bool unwinder::is_held_off_for_good(const header& task) noexcept {
  region* r = task.regions;
  while (r != nullptr && (r->kind_ != region::kind::shield || r->overridden_)) r = r->outer_;
  return r != nullptr && has_no_limit(*r);
}

/// Notes the shields of which the limit has passed while a cancellation or a deadline from outside of them
/// waits for them. A shield further out that still holds that off is watched instead.
void unwinder::note_limits(header& task) noexcept {
  // relaxed: an announcement that is seen too late arrives as a cancellation.
  const bool announced = task.announced.load(base::order::relaxed);
  const snapshot now = task.word.load();
  if (now.shields() == 0 || now.has(overridden) || is_held_off_for_good(task)) return;
  const bool for_all = announced || now.has(cancelled);
  // The shields further out than this region hold nothing off.
  const region* const last = for_all ? nullptr : outermost_passed(task.regions, nullptr);
  if (!for_all && last == nullptr) return;
  region* from = task.regions;
  bool any = false;
  for (region* r = from; r != last; r = r->outer_) {
    if (r->kind_ == region::kind::shield) {
      any = true;
      if (!r->overridden_ && !r->passed()) return r->watch();
    } else if (r->may_give_up() && r->passed()) {
      override_shields(task, std::exchange(from, r), r);
    }
  }
  override_shields(task, from, last);
  // The owner is running, so this only sets flags, and wakes no task.
  if (for_all && any) static_cast<void>(task.word.override_shield());
}

/// Notes as overridden the shields from `from` up to, but not including, `to`. Their limits have passed.
void unwinder::override_shields(header& task, region* from, const region* to) noexcept {
  for (region* r = from; r != to; r = r->outer_) {
    if (r->kind_ != region::kind::shield || std::exchange(r->overridden_, true)) continue;
    task.owner->ops->shield_overridden(*task.owner, task);
  }
}

/// Returns the outermost deadline that has passed and that no shield inside of it holds off.
region* unwinder::passed_deadline(header& task) noexcept {
  if (task.word.load().has(overridden)) return outermost_passed(task.regions, nullptr);
  const region* held_off = task.regions;
  while (held_off != nullptr && (!held_off->is_shielding() || held_off->overridden_))
    held_off = held_off->outer_;
  return outermost_passed(task.regions, held_off);
}

region* unwinder::outermost_passed(region* from, const region* to) noexcept {
  region* found = nullptr;
  for (region* r = from; r != to; r = r->outer_) {
    if (r->may_give_up() && r->passed()) found = r;
  }
  return found;
}

bool unwinder::is_due(header& task) noexcept {
  if (task.regions != nullptr) note_limits(task);
  return task.word.load().cancel_due() || passed_deadline(task) != nullptr;
}

bool unwinder::has_passed_deadline(const header& task) noexcept {
  return outermost_passed(task.regions, nullptr) != nullptr;
}

verdict unwinder::begin(header& task, region* target, cancel_reason reason) noexcept {
  static_cast<void>(task.word.begin_unwind());
  set_target(task, target);
  leaf* const waiting = task.waiting.get();
  // The tasks that this cancels may see each other's ends, so all are told first.
  for (region* r = task.regions; r != target; r = r->outer_) r->announce_unwind();
  if (waiting != nullptr) waiting->announce_cancel();
  for (region* r = task.regions; r != target; r = r->outer_) {
    r->reason_ = reason;
    r->on_unwind(reason);
  }
  if (waiting != nullptr && waiting->try_cancel(reason) == cancel_progress::pending &&
      !waiting->cancel_ended()) {
    return verdict::wait;
  }
  return advance(task);
}

/// Returns true if the frames may be destroyed up to the next stop, since a clean-up there comes first.
/// Nothing of a scope is destroyed before its children have ended: they may use every variable that its body
/// can name.
bool unwinder::may_unwind(header& task) noexcept {
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (!r->may_unwind()) return false;
    if (r->is_target_ || r->kind_ == region::kind::catcher) break;
  }
  return true;
}

namespace {

void destroy_unreported(promise_base& frame) noexcept {
  const unreported dropped;
  frame.handle().destroy();
}

}  // namespace

verdict unwinder::advance(header& task) noexcept {
  // The leaf has ended: from here on only children can keep the frames alive.
  task.waiting.set(nullptr);
  if (!may_unwind(task)) return verdict::wait;
  for (;;) {
    promise_base* const frame = task.innermost.get();
    if (region* const here = stop_at(task, *frame)) return stop(task, *here);
    promise_base* const outer = frame->parent;
    if (outer != nullptr) *frame->owner = nullptr;
    task.innermost.set(outer);
    destroy_unreported(*frame);
    if (outer == nullptr) return verdict::finished;
  }
}

region* unwinder::stop_at(header& task, const promise_base& frame) noexcept {
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    // Shields belong to no frame, and stop nothing. The other regions are nested as their frames are.
    if (r->frame_ == nullptr) continue;
    if (r->frame_ != &frame) return nullptr;
    if (r->is_target_ || r->kind_ == region::kind::catcher) return r;
  }
  return nullptr;
}

// Goes no further than the next stop: all regions up to there are gone when the next call begins. So a task
// that unwinds through n nested clean-ups visits each region once, and not all n of them for each clean-up.
void unwinder::set_target(header& task, region* target) noexcept {
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (r == target) {
      r->is_target_ = true;
      return;
    }
    if (r->kind_ == region::kind::catcher) {
      r->saved_target_ = target;
      return;
    }
  }
}

verdict unwinder::stop(header& task, region& here) noexcept {
  here.stopped_here_ = true;
  if (std::exchange(here.is_target_, false)) {
    static_cast<void>(task.word.end_unwind());
    return verdict::resume;
  }
  enroll_once(task);
  task.owner->ops->pass_end_on(*task.owner, task);
  here.holds_shield_ = pause_unwind(task);
  return verdict::resume;
}

verdict unwinder::go_on(header& task) noexcept {
  static_cast<void>(task.word.begin_unwind());
  return advance(task);
}

/// The word forgets that the older shields do not count when a new one is raised. Their regions remember it.
void unwinder::keep_overridden(header& task) noexcept {
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (r->is_shielding()) r->overridden_ = true;
  }
}

void unwinder::destroy_unstarted(header& task) noexcept {
  static_cast<void>(task.word.begin_unwind());
  promise_base* const frame = task.innermost.get();
  task.innermost.set(nullptr);
  destroy_unreported(*frame);
}

namespace {

bool is_up(header& task, on_shield how) noexcept {
  if (how == on_shield::older_overridden) unwinder::keep_overridden(task);
  return how != on_shield::overflow;
}

}  // namespace

bool raise_shield(header& task) noexcept { return is_up(task, task.word.shield_up()); }
bool pause_unwind(header& task) noexcept { return is_up(task, task.word.pause_unwind()); }

region::region(kind k, activation& task, promise_base* frame) noexcept : kind_(k) { link(task, frame); }

void region::link(activation& task, promise_base* frame) noexcept {
  forget_past();
  task_ = &task;
  frame_ = frame;
  // not null in a region that is linked again and was left before the one inside it
  inner_ = nullptr;
  outer_ = task.regions;
  own_deadline_ = core::own_deadline(task);
  if (outer_ != nullptr) outer_->inner_ = this;
  task.regions = this;
  task.watched = true;
  linked_ = true;
}

region::~region() {
  if (holds_shield_) static_cast<void>(header_of(*task_).word.shield_down());
  if (is_linked()) unlink();
}

void region::unlink() noexcept {
  (inner_ == nullptr ? task_->regions : inner_->outer_) = outer_;
  if (outer_ != nullptr) outer_->inner_ = inner_;
  linked_ = false;
  note_watched(header_of(*task_));
}

void region::relink(region& from) noexcept {
  task_ = from.task_;
  outer_ = from.outer_;
  inner_ = from.inner_;
  overridden_ = from.overridden_;
  own_deadline_ = from.own_deadline_;
  (inner_ == nullptr ? task_->regions : inner_->outer_) = this;
  if (outer_ != nullptr) outer_->inner_ = this;
  linked_ = true;
  from.linked_ = false;
}

region* region::release_catch() noexcept {
  if (holds_shield_) static_cast<void>(header_of(*task_).word.shield_down());
  holds_shield_ = false;
  if (is_linked()) unlink();
  return saved_target_;
}

}  // namespace rota::core
