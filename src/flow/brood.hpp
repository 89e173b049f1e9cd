// The children of a scope, and what became of them.
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
//   field        who touches it
//   fresh_       children that were not asked to stop. Under mutex_
//   asked_       the others, and those that have ended with a failure that lies in a handle still. Under mutex_
//   live_        children that have not ended: written under mutex_, read by anyone
//   state_ awaited_ used_ first_ reason_   under mutex_
//   broken_      written once, under mutex_, when a failure is noted; read by the task that the scope belongs to
//   waiter_      wakes who waits for the end: set before the first child, or under mutex_
//   on_behalf_of_ deadline_   constant
//
//   state_  open --stop()--> stopped --try_close()--> closed     open --try_close()--> closed
//   A child is taken in only while open. Stopped: they were asked to stop. Closed: none is left, none will come.
//
// A child goes in (linked, counted) in one step under the lock, before it is scheduled; and out in one step, by its end,
// which is also the last that its thread touches here. Only a failure whose handle is still in somebody's hands stays
// linked after its end, uncounted: its owner takes it, or drops the handle, and then it is a failure of ours, and only
// then known as one; whatever order these come in, the result is the same. When nothing else is left, try_close() breaks
// the bond of such children (family.hpp): from then on the failure is their handle's alone.
//
// B1  No task is cancelled, woken, run or freed under mutex_.          B2  live_ counts those linked that have not ended.
// B4  Children are asked to stop as header.hpp says (one cancellation of several tasks): the announcement is under mutex_.
// B3  Whoever notes a failure is still linked or counted: this object is there until it has asked the others to stop.
// mutex_ orders all of it.
class brood final : public family {
 public:
  /// `on_behalf_of`: the task that waits for the children; null: it is not known yet.
  explicit brood(header* on_behalf_of) noexcept;
  ~brood();

  /// Any thread. If no more are taken, the task has ended, without having run. If that is because of a shutdown, it is a child that
  /// was cancelled.
  header& launch(promise_base& root, const result_vtable& type, std::source_location site);
  void stop(cancel_reason reason) noexcept;
  /// stop() follows, after others were told as well.
  void announce_stop() noexcept;
  [[nodiscard]] std::size_t size() const noexcept {
    // relaxed. A number to look at.
    return live_.load(base::order::relaxed);
  }

  void ended(header& child, const ending& how, bool unseen) noexcept override;
  void dropped(header& child, const ending& how) noexcept override;
  [[nodiscard]] header* parent() const noexcept override { return on_behalf_of_; }

  /// A failure of the body counts like one of a child. `by`: who counts it, if it is not the first.
  void note_failure(const ending& how, scheduler& by) noexcept;

  /// From now on whoever waits is woken when no child is left.
  void expect_end() noexcept;
  /// The same, where it is not known yet who that is. Throws `errc::already_joined` if it is.
  void expect_end(waker w);
  /// Nobody waits any more.
  void forget_waiter() noexcept;
  [[nodiscard]] bool all_ended() noexcept;
  /// True: no child is left, and none will come.
  [[nodiscard]] bool try_close() noexcept;
  /// A child was taken in.
  [[nodiscard]] bool was_used() noexcept;

  [[nodiscard]] bool has_failed() const noexcept {
    // relaxed. Says where to look; what is found there is under the lock.
    return broken_.load(base::order::relaxed);
  }
  /// The failure is a child that was cancelled, and not by the scope.
  [[nodiscard]] bool was_cancelled_from_outside() noexcept;
  /// The first failure, for whoever closed: afterwards it was seen.
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
};

}  // namespace rota::core
