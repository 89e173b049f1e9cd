// A clock for tests: it stands still while any task can run.
#pragma once

#include <cstdint>

#include <rota/detail/base.hpp>
#include <rota/detail/base_mutex.hpp>
#include <rota/detail/chrono.hpp>
#include <rota/detail/clock_source.hpp>
#include <rota/detail/deadline.hpp>

namespace rota::testing {

/// What advances a virtual clock.
enum class clock_mode : unsigned char {
  automatic,  // it jumps to the next timer as soon as every task is blocked
  manual,     // only advance() and advance_to() move it
};

// PROTOCOL: virtual clock
//   now_       nanoseconds; only grows, by compare-exchange.
//              A thread that reads a time observes everything that happened before the clock reached it.
//   telling_   Guards listener_, and is held while the listener is called: when listen() has returned, no
//              thread calls the old listener. So a runtime may be destroyed while another thread still moves
//              the clock.

/// Time that advances only when every task is blocked. A test of sleeps and timeouts takes no time and is
/// exact.
///
/// Threads       Any thread.
/// Ownership     Must outlive the runtime that it is given to; one runtime at a time.
/// Ordering      Automatic: the clock jumps from one timer to the next, and only after everything that became
///               runnable has run and is blocked again. Ready sockets are served first; bytes that the kernel
///               has not delivered yet do not count.
/// Failure       Never. It never goes back; at time_point::max() it stays. A blocked thread (block_in_place,
///               a blocking join, a closure of spawn_blocking) counts as running: time stands still
///               meanwhile, so such a wait for a timer waits for ever. Await instead.
/// Cost          An atomic word.
/// Example       examples/virtual_clock.cpp
class virtual_clock final : public core::clock_source {
 public:
  static constexpr time_point beginning{std::chrono::hours(1)};

  explicit virtual_clock(clock_mode mode = clock_mode::automatic, time_point start = beginning) noexcept
      : now_(start.time_since_epoch().count()), mode_(mode) {}

  [[nodiscard]] time_point now() noexcept override {
    // acquire: pairs with the release in move_to().
    return time_point(std::chrono::nanoseconds(now_.load(base::order::acquire)));
  }

  /// Advances by `span`. A span of zero or less has no effect.
  template <core::span_of_time Span>
  void advance(Span span) noexcept {
    advance_to(rota::detail::saturating_deadline(now(), span));
  }
  /// Advances to `time`. A time in the past has no effect. Timers up to `time` fire soon, all of them at this
  /// time.
  void advance_to(time_point time) noexcept {
    if (!move_to(time)) return;
    telling_.lock();
    const listener told = listener_.get();
    if (told.moved != nullptr) told.moved(told.self);
    telling_.unlock();
  }

  [[nodiscard]] bool all_blocked(time_point earliest) noexcept override {
    if (mode_ == clock_mode::manual || earliest == time_point::max()) return false;
    static_cast<void>(move_to(earliest));
    return true;
  }
  void listen(const listener& to) noexcept override {
    telling_.lock();
    listener_.set(to);
    telling_.unlock();
  }

 private:
  bool move_to(time_point time) noexcept {
    const std::int64_t goal = time.time_since_epoch().count();
    // relaxed: a guess; the compare-exchange below validates it.
    std::int64_t seen = now_.load(base::order::relaxed);
    while (seen < goal) {
      // acq_rel: release: what this thread did before is visible at the new time; acquire: so is what other
      // threads did before the old time. failure: relaxed: the reloaded time is again only a guess. Each
      // failure means that time advanced.
      if (now_.compare_exchange_weak(seen, goal, base::order::acq_rel, base::order::relaxed)) return true;
    }
    return false;
  }

  base::atomic<std::int64_t> now_;
  base::mutex telling_;
  base::cell<listener> listener_;
  clock_mode mode_;
};

}  // namespace rota::testing
