// A lock for tasks and threads. A waiting task does not block its thread.
#pragma once

#include <cstddef>
#include <expected>
#include <optional>
#include <utility>

#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/time.hpp>

namespace rota::sync {

class condition_variable;

// PROTOCOL: mutex
//   word_                  0 free · locked · locked | waiting: the unlock must check the list. Never
//                          `waiting` alone.
//   called_, starving_     under the list's lock, as the waiting bit
//
//   lock     free -> locked, by compare-exchange. Otherwise, under the list's lock: fetch_or(locked |
//            waiting). Either the word was free and the caller has the lock, or the caller joins the list.
//   unlock   locked -> free, by compare-exchange. Otherwise, under the list's lock: the first in line is
//            *called*, and the word becomes free. The called waiter tries again, in competition with arriving
//            callers (barging: the lock is not idle during the wake). Until it has tried, called_ is set and
//            the waiting bit is clear: no other waiter is called, and unlocks take the fast path.
//   bound    A waiter that was called and came too late goes to the front. After `most_losses` of these the
//            lock is starving_: the next unlock grants it to the first in line directly, and the word stays
//            locked throughout.
//
//   X1  The word is locked exactly while a task or thread has the lock, or is granted it.
//   X2  If the list has waiters, the word is locked | waiting, or called_ is set.
//   X3  With waiters the word is made free only under the list's lock. So a caller that then gets the lock
//       cannot destroy the mutex before the unlock has taken the list's lock: see W5 of the wait list.
//   X4  A called waiter that gives up calls the next one if the lock is free. Otherwise it sets the waiting
//       bit for the owner of the lock.
//   X5  A waiter of a condition variable that is notified goes to the back of the list. It is called at once
//       if the lock is free and no other waiter is called. So of any number that come, at most one is woken.

/// Mutual exclusion for tasks and threads of any runtime, pool or none.
///
///   rota::sync::mutex m;
///   auto held = co_await m.lock();        // in a task
///   auto held = m.blocking_lock();        // in a thread, or a work of a pool
///   if (auto held = m.try_lock()) ...
///
/// Threads       Any. A guard may be destroyed by another thread, or task, than the one that took the lock.
/// Ownership     The guard refers to the mutex. Destroying a mutex that is locked, or that has waiters, ends
///               the program with a sentence. The last owner of the lock may unlock and destroy the mutex.
/// Ordering      What was done under the lock happens before the next owner takes it. Waiters are served
///               first come, first served. But an arriving caller, or try_lock, may take the lock while the
///               first in line is being woken. A waiter that has lost in this way four times gets the lock
///               from the next unlock directly. So a waiter with n before it is served after at most 5(n + 1)
///               wakes.
/// Failure       None, except for the timed forms. Locking twice in one task deadlocks. A cancelled wait
///               takes nothing; if the lock had been granted already, the next in line gets it.
/// Cost          Uncontended, lock and unlock: one read-modify-write each. No allocation. A wait: one wake,
///               and the list's lock twice.
/// Example       examples/mutex.cpp
class ROTA_API mutex {
 public:
  class guard;
  class lock_leaf;

  mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() {
    list_.end("a sync::mutex was destroyed while a task or a thread waits for it");
    // relaxed: the destroying thread has made sure that all others are done.
    if (word_.load(base::order::relaxed) != 0 || called_) [[unlikely]]
      end_in_use();
  }

  /// Returns an awaitable that yields a guard.
  lock_leaf lock() noexcept;
  /// Takes the lock if it is free. Returns nothing if it is locked.
  [[nodiscard]] std::optional<guard> try_lock() noexcept;
  /// The same with a limit. They yield a guard, or timed_out.
  template <core::span_of_time Span>
  core::limited<lock_leaf> lock_for(Span span) noexcept;
  template <class Duration>
  core::limited<lock_leaf> lock_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept;

  /// Blocks the thread. Meanwhile a worker lends its role, and a thread of a pool counts as absent. A force
  /// stop of the work that runs here ends the wait: throws pool::force_stopped.
  [[nodiscard]] guard blocking_lock();
  template <core::span_of_time Span>
  [[nodiscard]] std::expected<guard, timed_out> blocking_lock_for(Span span);
  template <class Duration>
  [[nodiscard]] std::expected<guard, timed_out> blocking_lock_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time);

  /// A guess, unless the caller itself has the lock.
  [[nodiscard]] bool is_locked() const noexcept {
    // relaxed: a guess.
    return word_.load(base::order::relaxed) != 0;
  }
  /// Returns how many tasks and threads are in line. A snapshot for reports: it may have changed when this
  /// returns. A waiter that was granted or called and has not run yet is not counted. Takes the lock of the
  /// line for a moment, however long the line is.
  [[nodiscard]] std::size_t waiters() const noexcept { return list_.size(); }

 private:
  friend class condition_variable;

  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t waiting = 2;
  /// Fewer in the model, so that its executions reach this case.
  static constexpr unsigned most_losses = ROTA_MODEL && !ROTA_SIMULATED ? 1 : 4;
  static const core::wait_rules rules;

  [[nodiscard]] bool take() noexcept {
    std::uint32_t seen = 0;
    // acquire: pairs with the release in unlock(). failure: relaxed: without the lock nothing guarded is
    // read.
    return word_.compare_exchange_strong(seen, locked, base::order::acquire, base::order::relaxed);
  }
  void unlock() noexcept {
    std::uint32_t seen = locked;
    // release: pairs with the acquire in take() and join(). failure: relaxed: unlock_slowly() decides under
    // the list's lock.
    if (!word_.compare_exchange_strong(seen, 0, base::order::release, base::order::relaxed)) [[unlikely]]
      unlock_slowly();
  }
  void unlock_slowly() noexcept;
  void free_and_call(core::wait_section& section) noexcept;
  void take_over(core::wait_section& section, core::wait_node& waiting_one) noexcept;
  core::on_join join(core::wait_section& section, core::wait_node& me) noexcept;
  void leave(core::wait_section& section, const core::wait_node& me) noexcept;
  [[noreturn]] void end_in_use() noexcept;
  [[nodiscard]] core::wait_target target() noexcept { return {&list_, this, &rules}; }

  base::atomic<std::uint32_t> word_{0};
  bool called_ = false;
  bool starving_ = false;
  mutable core::wait_list list_;
};

/// Holds the lock until it is destroyed or unlock() is called. Empty after a move.
class [[nodiscard]] mutex::guard {
 public:
  guard(guard&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  guard& operator=(guard&& other) noexcept {
    const guard old(std::exchange(of_, std::exchange(other.of_, nullptr)));
    return *this;
  }
  guard(const guard&) = delete;
  guard& operator=(const guard&) = delete;
  ~guard() {
    if (of_ != nullptr) of_->unlock();
  }

  /// Unlocks before the guard is destroyed. Calling it twice ends the program with a sentence.
  void unlock() noexcept {
    if (of_ == nullptr) [[unlikely]]
      ROTA_FATAL("a guard of a sync::mutex that has no lock was unlocked", 0);
    std::exchange(of_, nullptr)->unlock();
  }
  [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }

 private:
  friend class mutex;
  friend class condition_variable;
  explicit guard(mutex* of) noexcept : of_(of) {}
  mutex* of_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API mutex::lock_leaf final : public core::wait_leaf {
 public:
  explicit lock_leaf(mutex& of) noexcept : wait_leaf(of.target()), of_(&of) {}
  bool await_ready() noexcept {
    return try_here([this]() noexcept { return of_->take(); });
  }
  [[nodiscard]] guard await_resume() noexcept { return guard(of_); }

 private:
  mutex* of_;
};

inline mutex::lock_leaf mutex::lock() noexcept { return lock_leaf(*this); }

inline std::optional<mutex::guard> mutex::try_lock() noexcept {
  if (take()) return guard(this);
  return std::nullopt;
}

template <core::span_of_time Span>
core::limited<mutex::lock_leaf> mutex::lock_for(Span span) noexcept {
  return core::limited<lock_leaf>(detail::saturating_span(span), *this);
}
template <class Duration>
core::limited<mutex::lock_leaf> mutex::lock_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
  return core::limited<lock_leaf>(detail::saturating_deadline(time), *this);
}

inline mutex::guard mutex::blocking_lock() {
  if (!take()) {
    core::wait_node me;
    static_cast<void>(core::block(target(), me));
  }
  return guard(this);
}

template <core::span_of_time Span>
std::expected<mutex::guard, timed_out> mutex::blocking_lock_for(Span span) {
  core::wait_node me;
  if (core::block_for(target(), me, detail::saturating_span(span)) == core::wait_end::granted)
    return guard(this);
  return std::unexpected(timed_out{});
}
template <class Duration>
std::expected<mutex::guard, timed_out> mutex::blocking_lock_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
  core::wait_node me;
  if (core::block_until(target(), me, detail::saturating_deadline(time)) == core::wait_end::granted)
    return guard(this);
  return std::unexpected(timed_out{});
}

}  // namespace rota::sync
