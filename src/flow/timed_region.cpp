#include <rota/detail/timed_region.hpp>

#include "task/header.hpp"

#include <algorithm>

namespace rota::core {

timed_region::~timed_region() {
  if (is_linked()) leave();
}

void timed_region::enter(activation& task, promise_base* frame, time_point at) noexcept {
  link(task, frame);
  armed_ = false;
  at_ = at;
  deadline_outside_ = header_of(task).deadline.get();
  header_of(task).deadline.set(inside_of(deadline_outside_));
  own_deadline_ = inside_of(own_deadline_);
}

/// The region is usually the innermost one. But a shield that was moved outward may be inside of one that
/// ends before it.
void timed_region::leave() noexcept {
  timer_.disarm();
  armed_ = false;
  time_point deadline = deadline_outside_;
  time_point own = outer() == nullptr ? base::never : outer()->own_deadline();
  for (region* r = inner(); r != nullptr; r = r->inner()) {
    if (timed_region* const timed = r->as_timed()) {
      timed->deadline_outside_ = deadline;
      deadline = timed->inside_of(deadline);
      own = timed->inside_of(own);
    }
    r->own_deadline_ = own;
  }
  header_of(task()).deadline.set(deadline);
  unlink();
}

void timed_region::take_over(timed_region& from) noexcept {
  relink(from);
  armed_ = false;
  at_ = from.at_;
  deadline_outside_ = from.deadline_outside_;
  from.timer_.disarm();
  from.armed_ = false;
}

base::time_point timed_region::inside_of(time_point outside) const noexcept {
  return what() == kind::deadline ? std::min(outside, at_) : std::max(outside, at_);
}

/// Also reads the clock: a thread that is busy with this task may be the one that should have fired the
/// timer.
bool timed_region::passed() noexcept {
  return (armed_ && timer_.has_fired()) || at_ <= timing::now_for(task());
}

void timed_region::watch() noexcept {
  // Once armed, the timer stays armed from one wait to the next.
  if (armed_ || at_ == base::never) return;
  armed_ = true;
  timer_.arm(task(), at_, make_waker(header_of(task())));
}

}  // namespace rota::core
