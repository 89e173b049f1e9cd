#include <rota/detail/deadline_region.hpp>
#include <rota/detail/under_deadline.hpp>

#include "task/header.hpp"

#include <rota/detail/deadline.hpp>

namespace rota::core {

namespace {

/// Returns the task of an expiry's waker. That waker cancels the task.
header& of(void* data) noexcept { return *static_cast<header*>(data); }

/// Cancels the task. Notes the time first: tasks that await this one may have the same deadline. See
/// passed_deadlines.hpp.
void expire(header& task) noexcept {
  const scheduler& by = *task.owner;
  by.passed->note(by.ops->now(by));
  static_cast<void>(cancel(task, cancel_reason::timeout));
}

constexpr waker_vtable canceller{
    [](void* data) noexcept {
      expire(of(data));
      release(of(data));
    },
    [](void* data) noexcept { expire(of(data)); },
    [](void* data) noexcept {
      of(data).word.retain();
      return data;
    },
    [](void* data) noexcept { release(of(data)); },
};

}  // namespace

void deadline_region::begin(promise_base& frame) noexcept {
  if (is_relative_) goal_ = detail::saturating_deadline(timing::now_for(awaiting()), span_);
  if (goal_ != base::never && !is_covered()) enter(awaiting(), &frame, goal_);
}

/// Returns true if a deadline as early is in force, with no shield between it and here: of two equal
/// deadlines the outer one counts. The inherited deadline of the task does not count: other tasks set it, and
/// they may hold it off with shields of their own.
bool deadline_region::is_covered() const noexcept {
  for (region* r = awaiting().regions; r != nullptr && !r->is_shielding(); r = r->outer()) {
    if (const timed_region* const timed = r->as_timed()) return timed->at() <= goal_;
  }
  return false;
}

deadline_end deadline_region::end() noexcept {
  if (is_linked()) leave();
  return stopped_here() ? deadline_end::late : deadline_end::in_time;
}

base::time_point deadline_to_inherit() noexcept {
  const header* const me = task_in_sight();
  return me == nullptr ? base::never : me->deadline.get();
}

expiry::expiry(base::time_point at) noexcept {
  header& me = *current_task();
  if (at <= timing::now_for(me)) {
    expire(me);
    return;
  }
  me.word.retain();
  timer_.arm(me, at, waker(&me, &canceller));
}

}  // namespace rota::core
