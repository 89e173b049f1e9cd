#include <rota/time_limit.hpp>

#include "base/atomic.hpp"
#include "base/clock.hpp"
#include "base/frame_allocator.hpp"
#include "base/mutex.hpp"
#include "task/header.hpp"
#include "task/unwinder.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rota::core {

// PROTOCOL: a limit that moves
//
//   field        access
//   word_        the time of the limit; base::never if there is none; negative: the complement of the time,
//                and the limit has passed, for ever. Any thread, by compare-exchange
//   references_  one for each handle and each region. The thread that takes it to 0 frees the limit
//   first_ last_ round_, and the links of the followers    under mutex_
//
//   A region belongs to one task, and only that task checks it. It is a follower from its first wait on until
//   it ends. The task arms its timer.
//   reset() to a later time only stores the time. The timer fires early; the task checks, finds the later
//   time, and arms the timer again.
//   reset() to an earlier time stores the time, and then wakes the tasks of all followers. Each checks, and
//   arms its timer earlier.
//
//   L1  One compare-exchange decides whether the limit has passed: a negative word comes from a thread that
//       has read the clock, or from a reset() to the past. A move succeeds only if it replaces a time that
//       had not come. So of a passing and a reset() one fails.
//   L2  A region becomes a follower first, and reads the time that it arms after that. The bad interleaving:
//         1. The region reads 30 s.
//         2. reset(1 s) finds no follower.
//         3. The region arms its timer for 30 s.
//       With L2, either reset() finds the follower, and its task checks again; or the lock orders the store
//       of reset() before the read.
//   L3  What a thread does because the limit has passed comes after the store of the negative word in that
//       thread. Another task that sees any of that reads the negative word, by the coherence of one variable.
//       Relaxed is enough for word_.
//   L4  No task is woken, and no waker dropped, under mutex_. A waker that was cloned under it keeps its
//       task's header.
//   L5  If the task of a region knows that the limit has passed, the region arms nothing and wakes no task:
//       behind a shield the task waits only for the end of that shield. So watch() wakes its task only after
//       it has noted that the limit has passed. Otherwise a task that waits behind a shield would check,
//       watch and be woken without an end (livelock).
//   L6  The region notes the time at which it finds the limit over (passed_deadlines.hpp). So a check that
//       goes on outward includes a deadline that is as early and further out, and that one is reported.
//
//   Other tasks know nothing of the limit. It ends its own task, and the unwinding of that task cancels the
//   tasks that it awaits and its children, as for every cause. A child has no timer for the limit: each move
//   to an earlier time would have to find all children.
class limit_state {
  using rep = base::nanoseconds::rep;

 public:
  /// `now`: time_point::min() if the caller has no clock.
  limit_state(base::time_point at, base::time_point now) noexcept : word_(goal_of(at, now)) {}
  limit_state(const limit_state&) = delete;
  limit_state& operator=(const limit_state&) = delete;

  [[nodiscard]] static void* operator new(std::size_t bytes) { return base::allocate_frame(bytes); }
  static void operator delete(void* freed, std::size_t bytes) noexcept { base::free_frame(freed, bytes); }

  void retain() noexcept {
    // relaxed: the caller has a reference.
    references_.fetch_add(1, base::order::relaxed);
  }
  void release() noexcept {
    // acq_rel: the release orders this thread's last use before the deletion. The acquire: the deleting
    // thread sees the last use of all others.
    if (references_.fetch_sub(1, base::order::acq_rel) == 1) delete this;
  }

  [[nodiscard]] base::time_point time() const noexcept {
    // relaxed: see L3.
    const rep seen = word_.load(base::order::relaxed);
    return base::time_point(base::nanoseconds(seen < 0 ? ~seen : seen));
  }
  /// Returns true if a thread has found that the limit has passed.
  [[nodiscard]] bool is_over() const noexcept {
    // relaxed: see L3.
    return word_.load(base::order::relaxed) < 0;
  }
  /// Returns true if the limit is over at `now`, or was before. Notes that it has passed.
  [[nodiscard]] bool passes(base::time_point now) noexcept {
    // relaxed: see L3.
    rep seen = word_.load(base::order::relaxed);
    while (seen >= 0) {
      if (!has_come(seen, now)) return false;
      // relaxed, failure: relaxed: see L3.
      if (word_.compare_exchange_weak(seen, ~seen, base::order::relaxed, base::order::relaxed)) return true;
    }
    return true;
  }
  /// Moves the limit. `now`: time_point::min() if the caller has no clock. Returns false if it had passed, or
  /// its time had come.
  bool move(base::time_point to, base::time_point now) noexcept {
    const rep goal = goal_of(to, now);
    // relaxed: see L3.
    rep seen = word_.load(base::order::relaxed);
    // relaxed, failure: relaxed: see L3.
    while (!word_.compare_exchange_weak(
        seen, has_come(seen, now) ? over(seen) : goal, base::order::relaxed, base::order::relaxed)) {
    }
    if (has_come(seen, now)) return false;
    if (goal < seen) tell();
    return true;
  }

  void follow(limit_follower& place, waker wake) noexcept {
    const base::lock_guard lock(mutex_);
    place.wake = std::move(wake);
    place.told = round_.get();
    append(place);
  }
  void forget(limit_follower& place) noexcept {
    waker dropped;
    const base::lock_guard lock(mutex_);
    remove(place);
    dropped = std::move(place.wake);
  }

 private:
  ~limit_state() = default;

  /// Returns true if the time `at` has come, or if the limit has passed already. False if there is no limit.
  [[nodiscard]] static bool has_come(rep at, base::time_point now) noexcept {
    return at < 0 || at <= now.time_since_epoch().count();
  }
  [[nodiscard]] static rep over(rep seen) noexcept { return seen < 0 ? seen : ~seen; }
  /// Returns the word for the time `at`. No clock shows a time before its epoch.
  [[nodiscard]] static rep goal_of(base::time_point at, base::time_point now) noexcept {
    const rep time = std::max(at.time_since_epoch().count(), rep{0});
    return now != base::time_point::min() && at <= now ? over(time) : time;
  }

  /// Wakes each present follower once, a few at a time. Called when the limit has become earlier.
  void tell() noexcept {
    constexpr unsigned most = 16;
    waker picked[most];
    const std::uint64_t round = begin_round();
    while (const unsigned n = pick(picked, most, round)) {
      for (unsigned i = 0; i < n; ++i) picked[i].wake();
    }
  }
  [[nodiscard]] std::uint64_t begin_round() noexcept {
    const base::lock_guard lock(mutex_);
    round_.set(round_.get() + 1);
    return round_.get();
  }
  /// Takes wakers for this round. The list is ordered by `told`: a picked follower is up to date with all
  /// rounds so far, and goes to the end.
  [[nodiscard]] unsigned pick(waker* into, unsigned most, std::uint64_t round) noexcept {
    const base::lock_guard lock(mutex_);
    unsigned n = 0;
    while (n < most && first_.get() != nullptr && first_.get()->told < round) {
      limit_follower& place = *first_.get();
      remove(place);
      place.told = round_.get();
      append(place);
      into[n++] = place.wake.clone();
    }
    return n;
  }

  void append(limit_follower& place) noexcept {
    place.before.set(last_.get());
    place.after.set(nullptr);
    (last_.get() == nullptr ? first_ : last_.get()->after).set(&place);
    last_.set(&place);
  }
  void remove(limit_follower& place) noexcept {
    limit_follower* const before = place.before.get();
    limit_follower* const after = place.after.get();
    (before == nullptr ? first_ : before->after).set(after);
    (after == nullptr ? last_ : after->before).set(before);
  }

  base::atomic<rep> word_;
  base::atomic<std::uint64_t> references_{1};
  base::mutex mutex_;
  base::cell<std::uint64_t> round_;
  base::cell<limit_follower*> first_;
  base::cell<limit_follower*> last_;
};

limit_region::~limit_region() {
  if (is_linked()) leave();
  limit_->release();
}

void limit_region::begin(promise_base& frame) noexcept {
  is_over_ = false;
  armed_ = false;
  is_outermost_ = !std::exchange(task_->limited, true);
  link(*task_, &frame);
}

deadline_end limit_region::end() noexcept {
  if (is_linked()) leave();
  return stopped_here() ? deadline_end::late : deadline_end::in_time;
}

void limit_region::leave() noexcept {
  timer_.disarm();
  if (std::exchange(follows_, false)) limit_->forget(follower_);
  if (is_outermost_) task_->limited = false;
  unlink();
}

base::time_point limit_region::deadline_in(activation& task) noexcept {
  region* outermost = task.regions;
  base::time_point found = header_of(task).deadline.get();
  for (region* r = outermost; r != nullptr; r = r->outer()) {
    outermost = r;
    if (const timed_region* const timed = r->as_timed()) found = timed->deadline_outside();
  }
  for (region* r = outermost; r != nullptr; r = r->inner()) {
    if (const timed_region* const timed = r->as_timed()) {
      found = r->is_shielding() ? std::max(found, timed->at()) : std::min(found, timed->at());
    } else if (r->what() == kind::deadline) {
      found = std::min(found, static_cast<const limit_region*>(r)->limit_->time());
    }
  }
  return found;
}

/// Also reads the clock: a thread that is busy with this task may be the one that should have fired the
/// timer.
bool limit_region::passed() noexcept {
  base::time_point now = timing::now_for(task());
  if (armed_ && timer_.has_fired()) now = std::max(now, armed_at_);
  is_over_ = is_over_ || limit_->passes(now);
  if (is_over_) header_of(task()).owner->passed->note(now);  // L6
  return is_over_;
}

void limit_region::watch() noexcept {
  if (is_over_) return;
  header& me = header_of(task());
  if (!std::exchange(follows_, true)) limit_->follow(follower_, make_waker(me));
  // Both reads come after the region has become a follower: L2.
  if (passed()) return wake(me);  // it has passed since the task's check: the task checks once more. L5
  const base::time_point at = limit_->time();
  if (at == base::never) return;
  if (armed_ && armed_at_ <= at && !timer_.has_fired()) return;
  armed_ = true;
  armed_at_ = at;
  timer_.arm(me, at, make_waker(me));
}

}  // namespace rota::core

namespace rota {

time_limit::time_limit(time_point at, time_point now) : state_(new core::limit_state(at, now)) {}

time_limit::time_limit(const time_limit& other) noexcept : state_(other.state_) {
  if (state_ != nullptr) state_->retain();
}

time_limit::~time_limit() {
  if (state_ != nullptr) state_->release();
}

namespace {

core::limit_state& there(core::limit_state* state) noexcept {
  if (state == nullptr) ROTA_FATAL("an empty time_limit: moved from", 0);
  return *state;
}

}  // namespace

std::chrono::steady_clock::time_point time_limit::now() noexcept {
  core::header* const me = core::task_in_sight();
  return me == nullptr ? base::now() : timing::now_for(*me);
}

bool time_limit::move(time_point to, time_point now) const noexcept { return there(state_).move(to, now); }

bool time_limit::has_passed() const noexcept {
  core::limit_state& state = there(state_);
  core::header* const me = core::task_in_sight();
  return me == nullptr ? state.is_over() : state.passes(timing::now_for(*me));
}

std::chrono::steady_clock::time_point time_limit::deadline() const noexcept { return there(state_).time(); }

core::limit_state* time_limit::share() const noexcept {
  there(state_).retain();
  return state_;
}

}  // namespace rota
