#include "task/unwinder.hpp"

#include <utility>

namespace rota::core {

verdict unwinder::look_closely(header& task, leaf* waiting) noexcept {
  if (task.word.load().has(unwinding)) {
    return waiting == nullptr || waiting->cancel_ended() ? advance(task) : verdict::wait;
  }
  if (task.regions != nullptr) note_limits(task);
  if (task.word.load().cancel_due()) {
    if (waiting == nullptr && must_begin(task)) return verdict::resume;
    // relaxed. Written before the word's transition that this thread has just read.
    return begin(task, nullptr, task.reason.load(base::order::relaxed));
  }
  if (waiting == nullptr || waiting->is_ready()) return verdict::resume;
  return task.regions == nullptr ? verdict::wait : before_wait(task);
}

/// It has not begun, and awaits one leaf and ends. So it does not come here again without one.
bool unwinder::must_begin(header& task) noexcept { return tag_of(task.frame_address()).must_begin != 0; }

verdict unwinder::before_wait(header& task) noexcept {
  note_limits(task);
  // A cancellation that is due now is not asked for here: the word does not let such a task become idle.
  if (region* const passed = passed_deadline(task)) return give_up(task, *passed);
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (r->kind_ == region::kind::deadline) r->watch();
  }
  return verdict::wait;
}

verdict unwinder::before_yield(header& task) noexcept {
  note_limits(task);
  region* const deadline = passed_deadline(task);
  // What the deadline was set for is done, and only gives up its turn: the value wins.
  if (deadline == nullptr || deadline->frame_ == task.innermost.get()) return verdict::wait;
  return give_up(task, *deadline);
}

/// The work inside of a region is over: its deadline has passed, or its scope has failed.
verdict unwinder::give_up(header& task, region& at) noexcept {
  return begin(
      task, &at, at.kind_ == region::kind::scope ? cancel_reason::sibling_failed : cancel_reason::timeout);
}

/// Shields whose limit has passed while something waits behind them: when it has for all of them, they no longer count.
void unwinder::note_limits(header& task) noexcept {
  const snapshot now = task.word.load();
  if (now.shields() == 0 || now.has(overridden)) return;
  if (!now.has(cancelled) && !has_passed_deadline(task)) return;
  bool any = false;
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (r->kind_ != region::kind::shield) continue;
    any = true;
    if (r->overridden_) continue;
    if (!r->passed()) return r->watch();
    r->overridden_ = true;
    task.owner->ops->shield_overridden(*task.owner, task);
  }
  // The owner is running, so this only sets flags: nobody has to be told.
  if (any) static_cast<void>(task.word.override_shield());
}

/// The outermost deadline that has passed and that no shield inside of it holds off.
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
  set_target(target);
  for (region* r = task.regions; r != target; r = r->outer_) {
    r->reason_ = reason;
    r->on_unwind(reason);
  }
  leaf* const waiting = task.waiting.get();
  if (waiting != nullptr && waiting->try_cancel(reason) == cancel_progress::pending &&
      !waiting->cancel_ended()) {
    return verdict::wait;
  }
  return advance(task);
}

/// Nothing of a scope is destroyed before its children have ended: they may use whatever its body can name. Asked for the
/// stretch up to the next stop, since a clean-up there comes first.
bool unwinder::may_unwind(header& task) noexcept {
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    if (!r->may_unwind()) return false;
    if (r->is_target_ || r->kind_ == region::kind::catcher) break;
  }
  return true;
}

verdict unwinder::advance(header& task) noexcept {
  // The leaf is out of play: from here on only children can keep the frames.
  task.waiting.set(nullptr);
  if (!may_unwind(task)) return verdict::wait;
  for (;;) {
    promise_base* const frame = task.innermost.get();
    if (region* const here = stop_at(task, *frame)) return stop(task, *here);
    promise_base* const outer = frame->parent;
    if (outer != nullptr) *frame->owner = nullptr;
    task.innermost.set(outer);
    frame->handle().destroy();
    if (outer == nullptr) return verdict::finished;
  }
}

region* unwinder::stop_at(header& task, const promise_base& frame) noexcept {
  for (region* r = task.regions; r != nullptr; r = r->outer_) {
    // Shields belong to no frame, and stop nothing. The others are nested as their frames are.
    if (r->frame_ == nullptr) continue;
    if (r->frame_ != &frame) return nullptr;
    if (r->is_target_ || r->kind_ == region::kind::catcher) return r;
  }
  return nullptr;
}

/// Null: the whole task unwinds.
region* unwinder::take_target(header& task) noexcept {
  region* r = task.regions;
  while (r != nullptr && !r->is_target_) r = r->outer_;
  if (r != nullptr) r->is_target_ = false;
  return r;
}

void unwinder::set_target(region* target) noexcept {
  if (target != nullptr) target->is_target_ = true;
}

verdict unwinder::stop(header& task, region& here) noexcept {
  here.stopped_here_ = true;
  if (std::exchange(here.is_target_, false)) {
    static_cast<void>(task.word.end_unwind());
    return verdict::resume;
  }
  here.saved_target_ = take_target(task);
  enroll_once(task);
  here.holds_shield_ = task.word.pause_unwind() == on_shield::done;
  return verdict::resume;
}

verdict unwinder::go_on(header& task) noexcept {
  static_cast<void>(task.word.begin_unwind());
  return advance(task);
}

void unwinder::destroy_unstarted(header& task) noexcept {
  static_cast<void>(task.word.begin_unwind());
  promise_base* const frame = task.innermost.get();
  task.innermost.set(nullptr);
  frame->handle().destroy();
}

region::region(kind k, activation& task, promise_base* frame) noexcept : kind_(k) { link(task, frame); }

void region::link(activation& task, promise_base* frame) noexcept {
  forget_past();
  task_ = &task;
  frame_ = frame;
  outer_ = task.regions;
  if (outer_ != nullptr) outer_->inner_ = this;
  task.regions = this;
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
}

void region::relink(region& from) noexcept {
  task_ = from.task_;
  outer_ = from.outer_;
  inner_ = from.inner_;
  overridden_ = from.overridden_;
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
