// The children of a scope, and their outcomes.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"
#include "base/mutex.hpp"
#include "flow/sibling_ring.hpp"

#include <rota/detail/family.hpp>
#include <rota/waker.hpp>

#include <cstdint>
#include <exception>
#include <source_location>

namespace rota::core {

// PROTOCOL: the children of a scope
//
//   field        access
//   fresh_       children that were not cancelled yet. Under mutex_
//   asked_       the other children, and those that have ended with a kept failure (it is still in a handle).
//                Under mutex_
//   live_        number of children that have not ended: written under mutex_, read by any thread
//   state_ awaited_ used_ first_ reason_   under mutex_
//   broken_      written once, under mutex_, when a failure is noted; read by the task that the scope belongs
//                to
//   waiter_      wakes the task that waits for the end: set before the first child, or under mutex_
//   on_behalf_of_ deadline_ own_deadline_   constant
//
//   state_  open --stop()--> stopped --try_close()--> closed     open --try_close()--> closed
//   A child is taken in only while the scope is open. Stopped: all children were asked to stop. Closed: none
//   is left, and none will come.
//
// A child is linked and counted in one step under the lock, before it is scheduled. Its end takes it out in
// one step, which is also the last access of its thread to this object. Exception: a failure that is still in
// a handle stays linked after the child's end, uncounted. Its owner takes it, or drops the handle; only in
// the second case it becomes a failure of this scope. The result does not depend on the order of these
// events. When nothing else is left, try_close() breaks the bond of such children (family.hpp): from then on
// the failure belongs to the handle alone.
//
// B1  No task is cancelled, woken, run or freed under mutex_.
// B2  live_ counts the linked children that have not ended.
// B3  A child of which the failure is being noted is still linked or counted. So this object exists until the
//     noting thread has cancelled the others.
// B4  Children are asked to stop as header.hpp says (one cancellation of several tasks): the announcement is
//     under mutex_.
// mutex_ orders all of it.
class brood final : public family {
 public:
  /// `on_behalf_of`: the task that waits for the children; null if it is not known yet.
  explicit brood(header* on_behalf_of) noexcept;
  ~brood();

  /// Starts a child. Any thread. If the scope takes no more, the returned task has ended without having run.
  /// If the runtime refuses it because of a shutdown, it counts as a child that was cancelled.
  header& launch(promise_base& root, const result_vtable& type, std::source_location site);
  /// Cancels all children, and takes no more.
  void stop(cancel_reason reason) noexcept;
  /// Announces the cancellation to the children. stop() follows, after others were told as well.
  void announce_stop() noexcept;
  [[nodiscard]] std::size_t size() const noexcept {
    // relaxed: a number for reports; it orders nothing.
    return live_.load(base::order::relaxed);
  }

  void ended(header& child, const ending& how, bool unseen) noexcept override;
  void dropped(header& child, const ending& how) noexcept override;
  [[nodiscard]] header* parent() const noexcept override { return on_behalf_of_; }
  [[nodiscard]] base::time_point own_deadline_of_parent() const noexcept override { return own_deadline_; }

  /// Notes a failure of the body, which counts like one of a child. `by` counts it if it is not the first.
  void note_failure(const ending& how, scheduler& by) noexcept;

  /// Lets the waiter be woken when no child is left.
  void expect_end() noexcept;
  /// The same, for a scope without a known waiter. Throws `errc::already_joined` if there is one.
  void expect_end(waker w);
  /// Removes the waiter of expect_end(waker).
  void forget_waiter() noexcept;
  [[nodiscard]] bool all_ended() noexcept;
  /// Closes the scope if it can. Returns true if no child is left, and none will come.
  [[nodiscard]] bool try_close() noexcept;
  /// Returns true if a child was ever taken in.
  [[nodiscard]] bool was_used() noexcept;

  [[nodiscard]] bool has_failed() const noexcept {
    // relaxed: a hint where to check; what is found there is read under the lock.
    return broken_.load(base::order::relaxed);
  }
  /// Returns true if the failure is a child that was cancelled, and not by the scope.
  [[nodiscard]] bool was_cancelled_from_outside() noexcept;
  /// Returns the first failure, for the caller that closed the scope. Afterwards it counts as seen.
  [[nodiscard]] ending take_failure() noexcept;

 private:
  enum class state : unsigned char { open, stopped, closed };

  [[nodiscard]] cancel_reason reason() noexcept;
  [[nodiscard]] header* take_in(promise_base& root,
                                scheduler& by,
                                const result_vtable& type,
                                snapshot initial) noexcept;
  void cancel_all(cancel_reason reason) noexcept;
  unsigned pick(header** into, unsigned most) noexcept;
  void let_kept_go() noexcept;
  [[nodiscard]] waker waker_if_done() const noexcept;

  base::mutex mutex_;
  base::atomic<bool> broken_{false};
  base::cell<state> state_{state::open};
  base::cell<bool> awaited_{false};
  base::cell<bool> used_{false};
  base::cell<cancel_reason> reason_{cancel_reason::none};
  base::atomic<std::uint64_t> live_{0};
  sibling_ring fresh_;
  sibling_ring asked_;
  waker waiter_;
  ending first_;
  header* const on_behalf_of_;
  const base::time_point deadline_;
  const base::time_point own_deadline_;
};

}  // namespace rota::core
