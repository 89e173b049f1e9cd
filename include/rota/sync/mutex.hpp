// A lock that tasks wait for without blocking their thread, and threads too.
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
//   word_                  0 free · locked · locked | waiting: who unlocks must look into the list. Never waiting alone.
//   called_, starving_     under the list's lock, as the waiting bit
//
//   lock     free -> locked, by compare-exchange; else under the lock of the list: fetch_or(locked | waiting), and the caller joins the
//            list, or finds that it was free and has it.
//   unlock   locked -> free, by compare-exchange; else under the lock of the list: the first is *called*, and the word becomes free: it
//            tries again, against whoever comes by (barging: no lock is idle for as long as a wake takes). Until it has come, called_
//            is set and the waiting bit is not: nobody else is called, and unlocks are short.
//   bound    Who was called and came too late goes to the front; after `most_losses` of these the lock is starving_: the next unlock
//            grants it to the first in line directly, and the word stays locked throughout.
//
//   X1  The word is locked exactly while somebody has it, or is granted it.
//   X2  Somebody is in the list: the word is locked | waiting, or called_ is set.
//   X3  With waiters the word is made free only under the list's lock, so nobody who gets it then can have destroyed the mutex before
//       the unlock has taken that lock: see W5 of the wait list.
//   X4  Who was called and gives up calls the next, or leaves the waiting bit to who has the lock.
//   X5  Who waited in a condition variable and is notified comes to the back of the list, and is called at once if it is free and
//       nobody else is: at most one of any number that come.

/// Mutual exclusion for tasks and threads of any runtime, pool or none.
///
///   rota::sync::mutex m;
///   auto held = co_await m.lock();        // in a task
///   auto held = m.blocking_lock();        // in a thread, or a work of a pool
///   if (auto held = m.try_lock()) ...
///
/// Threads       Any. A guard may be destroyed by another thread, or task, than the one that took the lock.
/// Ownership     The guard refers to the mutex. Destroying a mutex that is locked, or waited for, ends the program with a sentence; who
///               has the lock last may unlock and destroy it.
/// Ordering      What was done under the lock happens before the next one takes it. First come, first served among those who wait;
///               but whoever comes by while the first in line is being woken may take the lock before it, and so may try_lock. Who has
///               lost so four times gets it from the next unlock directly. So with n before it a waiter is served after at most 5(n + 1)
///               wakes.
/// Failure       Never, but for the timed forms. Locking twice in one task waits for ever. A cancelled wait takes nothing; if the lock
///               had been granted already, the next in line gets it.
/// Cost          Uncontended, lock and unlock: one read-modify-write each. No allocation. A wait: one wake, and the list's lock twice.
/// Example       examples/mutex.cpp
class ROTA_API mutex {
 public:
  class guard;
  class lock_leaf;

  mutex() noexcept = default;
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() {
    list_.end("a sync::mutex was destroyed while somebody waits for it");
    // relaxed. Who destroys it has seen to it that all others are done.
    if (word_.load(base::order::relaxed) != 0 || called_) [[unlikely]]
      end_in_use();
  }

  /// co_await it: a guard.
  lock_leaf lock() noexcept;
  /// Nothing: somebody has it.
  [[nodiscard]] std::optional<guard> try_lock() noexcept;
  /// co_await them: a guard, or timed_out.
  template <core::span_of_time Span>
  core::limited<lock_leaf> lock_for(Span span) noexcept;
  template <class Duration>
  core::limited<lock_leaf> lock_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept;

  /// Blocks the thread; a worker lends its role meanwhile, a thread of a pool counts as absent. A force stop of the work that runs
  /// here ends the wait: throws pool::force_stopped.
  [[nodiscard]] guard blocking_lock();
  template <core::span_of_time Span>
  [[nodiscard]] std::expected<guard, timed_out> blocking_lock_for(Span span);
  template <class Duration>
  [[nodiscard]] std::expected<guard, timed_out> blocking_lock_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time);

  /// A guess, unless the caller knows more.
  [[nodiscard]] bool is_locked() const noexcept {
    // relaxed. A guess.
    return word_.load(base::order::relaxed) != 0;
  }
  /// How many tasks and threads are in line. A snapshot for reports: it may have changed when this returns. A waiter that has been let pass
  /// and has not run yet is not counted. Takes the lock of the line, for a moment, however long the line is.
  [[nodiscard]] std::size_t waiters() const noexcept { return list_.size(); }

 private:
  friend class condition_variable;

  static constexpr std::uint32_t locked = 1;
  static constexpr std::uint32_t waiting = 2;
  /// In the model fewer, so that it comes to that.
  static constexpr unsigned most_losses = ROTA_MODEL && !ROTA_SIMULATED ? 1 : 4;
  static const core::wait_rules rules;

  [[nodiscard]] bool take() noexcept {
    std::uint32_t seen = 0;
    // acquire. Pairs with the release in unlock(). failure: relaxed. Nothing is read under a lock that was not taken.
    return word_.compare_exchange_strong(seen, locked, base::order::acquire, base::order::relaxed);
  }
  void unlock() noexcept {
    std::uint32_t seen = locked;
    // release. Pairs with take() and join(). failure: relaxed. unlock_slowly() decides under the list's lock.
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

/// Has the lock, until it is destroyed or unlock() is called. Empty after a move.
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

  /// Gives it back before the end. Twice ends the program with a sentence.
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
