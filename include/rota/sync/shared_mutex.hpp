// A lock for tasks and threads: many readers share it, or one writer has it alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <optional>
#include <utility>

#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/time.hpp>

namespace rota::sync {

// PROTOCOL: shared mutex
//   word_    63     62      61                                0
//          +------+-------+-----------------------------------+
//          |writer|waiting|              readers              |
//          +------+-------+-----------------------------------+
//
//   lock_shared    one reader more, by compare-exchange, while there is neither a writer nor a waiter.
//                  Otherwise, under the list's lock: the same once more, or the same step sets `waiting` and
//                  the caller joins the list. `kind` of its node: reader.
//   lock           0 -> writer, by compare-exchange; otherwise as lock_shared.
//   unlock_shared  one reader fewer, by compare-exchange. But the last reader beside `waiting` does it under
//                  the list's lock, and hands over.
//   unlock         writer -> 0, by compare-exchange. Otherwise it hands over under the list's lock.
//   hand over      The lock is free and has waiters. The first in line is granted it: a writer alone, a
//                  reader together with all readers that follow it directly. An arriving caller finds
//                  `waiting` and joins behind them.
//   downgrade      writer -> one reader, by compare-exchange. Otherwise, under the list's lock: the readers
//                  at the front are granted the lock, too.
//
//   H1  While a writer has the lock there are no readers. The word counts guards + grants.
//   H2  With the list's lock free: the list has waiters exactly while `waiting` is set, and then the lock is
//       held, too. While `waiting` is set, only the holder of the list's lock changes the bit, or adds a
//       reader or a writer.
//   H3  With the list's lock free: the first in line is a reader only while a writer has the lock. So if
//       readers have the lock, a writer that gives up in front of other readers lets these in.
//   H4  With waiters the last owner gives the lock up only under the list's lock: see W5 of the wait list.

/// One writer or any number of readers: tasks and threads of any runtime, pool or none. First come, first
/// served: a reader that comes after a waiting writer waits behind it, so neither starves.
///
///   rota::sync::shared_mutex m;
///   const auto reading = co_await m.lock_shared();
///   auto writing = co_await m.lock();
///   const auto still_reading = rota::sync::shared_mutex::downgrade(std::move(writing));  // without a gap
///
/// Threads       Any. A guard may be destroyed by another thread, or task, than the one that took the lock.
/// Ownership     A guard refers to the lock. Destroying a lock that is held or has waiters ends the program
///               with a sentence. The last owner may unlock and destroy it.
/// Ordering      What a writer did happens before all later owners have the lock. What readers did happens
///               before the next writer. No caller overtakes a waiter, try_ forms included.
/// Failure       None, except for the timed forms. A reader that locks a second time while a writer waits, a
///               writer that locks again, and an upgrade by a reader deadlock. A cancelled wait takes
///               nothing; if the lock had been granted already, the next in line gets it. Readers behind a
///               writer that gives up are let in beside the current readers.
/// Cost          Uncontended: one read-modify-write to lock and one to unlock, for both kinds. No allocation.
///               A wait: one wake, and the list's lock twice. The lock is handed over: it is idle while the
///               next owner is woken.
/// Example       examples/shared_mutex.cpp
class ROTA_API shared_mutex {
 public:
  class guard;
  class shared_guard;
  class lock_leaf;
  class shared_leaf;

  shared_mutex() noexcept = default;
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;
  ~shared_mutex() {
    list_.end("a sync::shared_mutex was destroyed while a task or a thread waits for it");
    // relaxed: the destroying thread has made sure that all others are done.
    if (word_.load(base::order::relaxed) != 0) [[unlikely]]
      end_in_use();
  }

  /// Returns an awaitable that yields a guard.
  lock_leaf lock() noexcept;
  /// Takes the lock alone if it is free. Returns nothing otherwise.
  [[nodiscard]] std::optional<guard> try_lock() noexcept;
  /// The same with a limit. They yield a guard, or timed_out.
  template <core::span_of_time Span>
  core::limited<lock_leaf> lock_for(Span span) noexcept;
  template <class Duration>
  core::limited<lock_leaf> lock_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept;

  /// The same for readers: a shared_guard. try_lock_shared returns nothing if a writer has the lock or a
  /// waiter exists. For a moment a try_select that tries to lock alone also counts as a waiter.
  shared_leaf lock_shared() noexcept;
  [[nodiscard]] std::optional<shared_guard> try_lock_shared() noexcept;
  template <core::span_of_time Span>
  core::limited<shared_leaf> lock_shared_for(Span span) noexcept;
  template <class Duration>
  core::limited<shared_leaf> lock_shared_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept;

  /// Block the thread. Meanwhile a worker lends its role, and a thread of a pool counts as absent. A force
  /// stop of the work that runs here ends the wait: throws pool::force_stopped.
  [[nodiscard]] guard blocking_lock();
  template <core::span_of_time Span>
  [[nodiscard]] std::expected<guard, timed_out> blocking_lock_for(Span span);
  template <class Duration>
  [[nodiscard]] std::expected<guard, timed_out> blocking_lock_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time);
  [[nodiscard]] shared_guard blocking_lock_shared();
  template <core::span_of_time Span>
  [[nodiscard]] std::expected<shared_guard, timed_out> blocking_lock_shared_for(Span span);
  template <class Duration>
  [[nodiscard]] std::expected<shared_guard, timed_out> blocking_lock_shared_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time);

  /// Turns a writer into a reader. No other writer can have the lock in between. Readers that wait in front
  /// of the next writer come in with it. A guard without a lock ends the program with a sentence.
  static shared_guard downgrade(guard&& held) noexcept;

  /// Guesses, unless the caller itself has the lock.
  [[nodiscard]] bool is_locked() const noexcept { return (guess() & writer) != 0; }
  [[nodiscard]] std::uint64_t readers() const noexcept { return guess() & readers_mask; }
  /// Returns how many tasks and threads are in line. A snapshot for reports: it may have changed when this
  /// returns. A waiter that was granted the lock and has not run yet is not counted. Takes the lock of the
  /// line for a moment, however long the line is.
  [[nodiscard]] std::size_t waiters() const noexcept { return list_.size(); }

 private:
  static constexpr std::uint64_t writer = std::uint64_t{1} << 63U;
  static constexpr std::uint64_t waiting = std::uint64_t{1} << 62U;
  static constexpr std::uint64_t readers_mask =
      waiting - 1;                                    // each has a guard in memory: they cannot be too many
  enum class who : unsigned char { reader, writer };  // `kind` of a node
  static const core::wait_rules lock_rules;
  static const core::wait_rules shared_rules;

  [[nodiscard]] std::uint64_t guess() const noexcept {
    // relaxed: a guess.
    return word_.load(base::order::relaxed);
  }
  [[nodiscard]] bool take() noexcept {
    std::uint64_t seen = 0;
    // acquire: pairs with the release in unlock() and unlock_shared(). failure: relaxed: without the lock
    // nothing guarded is read.
    return word_.compare_exchange_strong(seen, writer, base::order::acquire, base::order::relaxed);
  }
  [[nodiscard]] bool take_shared() noexcept {
    // First guess: no reader and no waiter, the most frequent word of a lock without waiters. The exchange
    // decides.
    std::uint64_t seen = 0;
    do {
      // acquire: pairs with the release in unlock(). failure: relaxed: again a guess.
      if (word_.compare_exchange_weak(seen, seen + 1, base::order::acquire, base::order::relaxed))
        return true;
    } while ((seen & (writer | waiting)) == 0);
    return false;
  }
  void unlock() noexcept {
    std::uint64_t seen = writer;
    // release: pairs with take(), take_shared() and join(). failure: relaxed: unlock_slowly() decides under
    // the list's lock.
    if (!word_.compare_exchange_strong(seen, 0, base::order::release, base::order::relaxed)) [[unlikely]]
      unlock_slowly();
  }
  void unlock_shared() noexcept {
    std::uint64_t seen = 1;
    do {
      ROTA_ASSERT((seen & readers_mask) != 0);
      // release: pairs with the acquire in take(). failure: relaxed: again a guess.
      if (word_.compare_exchange_weak(seen, seen - 1, base::order::release, base::order::relaxed)) return;
    } while (seen != (waiting | 1));
    unlock_shared_slowly();
  }
  void unlock_slowly() noexcept;
  void unlock_shared_slowly() noexcept;
  void make_shared() noexcept;
  void hand_over(core::wait_section& section) noexcept;
  void let_readers_in(core::wait_section& section) noexcept;
  core::on_join join(core::wait_section& section, core::wait_node& me, who kind) noexcept;
  void leave(core::wait_section& section) noexcept;
  static bool is_reader(const core::wait_node& node) noexcept {
    return static_cast<who>(node.kind) == who::reader;
  }
  [[noreturn]] void end_in_use() noexcept;
  [[noreturn]] static void end_empty() noexcept;
  [[nodiscard]] core::wait_target target() noexcept { return {&list_, this, &lock_rules}; }
  [[nodiscard]] core::wait_target shared_target() noexcept { return {&list_, this, &shared_rules}; }

  base::atomic<std::uint64_t> word_{0};
  mutable core::wait_list list_;
};

/// Holds the lock alone until it is destroyed or unlock() is called. Empty after a move.
class [[nodiscard]] shared_mutex::guard {
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
      end_empty();
    std::exchange(of_, nullptr)->unlock();
  }
  [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }

 private:
  friend class shared_mutex;
  explicit guard(shared_mutex* of) noexcept : of_(of) {}
  shared_mutex* of_;
};

/// Holds the lock beside other readers.
class [[nodiscard]] shared_mutex::shared_guard {
 public:
  shared_guard(shared_guard&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  shared_guard& operator=(shared_guard&& other) noexcept {
    const shared_guard old(std::exchange(of_, std::exchange(other.of_, nullptr)));
    return *this;
  }
  shared_guard(const shared_guard&) = delete;
  shared_guard& operator=(const shared_guard&) = delete;
  ~shared_guard() {
    if (of_ != nullptr) of_->unlock_shared();
  }

  /// Unlocks before the guard is destroyed. Calling it twice ends the program with a sentence.
  void unlock() noexcept {
    if (of_ == nullptr) [[unlikely]]
      end_empty();
    std::exchange(of_, nullptr)->unlock_shared();
  }
  [[nodiscard]] explicit operator bool() const noexcept { return of_ != nullptr; }

 private:
  friend class shared_mutex;
  explicit shared_guard(shared_mutex* of) noexcept : of_(of) {}
  shared_mutex* of_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API shared_mutex::lock_leaf final : public core::wait_leaf {
 public:
  explicit lock_leaf(shared_mutex& of) noexcept : wait_leaf(of.target()), of_(&of) {}
  bool await_ready() noexcept {
    return try_here([this]() noexcept { return of_->take(); });
  }
  [[nodiscard]] guard await_resume() noexcept { return guard(of_); }

 private:
  shared_mutex* of_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API shared_mutex::shared_leaf final : public core::wait_leaf {
 public:
  explicit shared_leaf(shared_mutex& of) noexcept : wait_leaf(of.shared_target()), of_(&of) {}
  bool await_ready() noexcept {
    return try_here([this]() noexcept { return of_->take_shared(); });
  }
  [[nodiscard]] shared_guard await_resume() noexcept { return shared_guard(of_); }

 private:
  shared_mutex* of_;
};

inline shared_mutex::lock_leaf shared_mutex::lock() noexcept { return lock_leaf(*this); }
inline shared_mutex::shared_leaf shared_mutex::lock_shared() noexcept { return shared_leaf(*this); }

inline std::optional<shared_mutex::guard> shared_mutex::try_lock() noexcept {
  if (take()) return guard(this);
  return std::nullopt;
}
inline std::optional<shared_mutex::shared_guard> shared_mutex::try_lock_shared() noexcept {
  if (take_shared()) return shared_guard(this);
  return std::nullopt;
}

template <core::span_of_time Span>
core::limited<shared_mutex::lock_leaf> shared_mutex::lock_for(Span span) noexcept {
  return core::limited<lock_leaf>(detail::saturating_span(span), *this);
}
template <class Duration>
core::limited<shared_mutex::lock_leaf> shared_mutex::lock_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
  return core::limited<lock_leaf>(detail::saturating_deadline(time), *this);
}
template <core::span_of_time Span>
core::limited<shared_mutex::shared_leaf> shared_mutex::lock_shared_for(Span span) noexcept {
  return core::limited<shared_leaf>(detail::saturating_span(span), *this);
}
template <class Duration>
core::limited<shared_mutex::shared_leaf> shared_mutex::lock_shared_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
  return core::limited<shared_leaf>(detail::saturating_deadline(time), *this);
}

inline shared_mutex::guard shared_mutex::blocking_lock() {
  core::wait_node me;
  static_cast<void>(core::block(target(), me));
  return guard(this);
}
inline shared_mutex::shared_guard shared_mutex::blocking_lock_shared() {
  core::wait_node me;
  static_cast<void>(core::block(shared_target(), me));
  return shared_guard(this);
}

template <core::span_of_time Span>
std::expected<shared_mutex::guard, timed_out> shared_mutex::blocking_lock_for(Span span) {
  core::wait_node me;
  if (core::block_for(target(), me, detail::saturating_span(span)) == core::wait_end::granted)
    return guard(this);
  return std::unexpected(timed_out{});
}
template <class Duration>
std::expected<shared_mutex::guard, timed_out> shared_mutex::blocking_lock_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
  core::wait_node me;
  if (core::block_until(target(), me, detail::saturating_deadline(time)) == core::wait_end::granted)
    return guard(this);
  return std::unexpected(timed_out{});
}
template <core::span_of_time Span>
std::expected<shared_mutex::shared_guard, timed_out> shared_mutex::blocking_lock_shared_for(Span span) {
  core::wait_node me;
  if (core::block_for(shared_target(), me, detail::saturating_span(span)) == core::wait_end::granted)
    return shared_guard(this);
  return std::unexpected(timed_out{});
}
template <class Duration>
std::expected<shared_mutex::shared_guard, timed_out> shared_mutex::blocking_lock_shared_until(
    std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
  core::wait_node me;
  if (core::block_until(shared_target(), me, detail::saturating_deadline(time)) == core::wait_end::granted)
    return shared_guard(this);
  return std::unexpected(timed_out{});
}

inline shared_mutex::shared_guard shared_mutex::downgrade(guard&& held) noexcept {
  if (held.of_ == nullptr) [[unlikely]]
    end_empty();
  shared_mutex* const of = std::exchange(held.of_, nullptr);
  of->make_shared();
  return shared_guard(of);
}

}  // namespace rota::sync
