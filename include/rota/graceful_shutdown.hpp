// The orderly end of a program: word that it is near, nothing new from then on, and time for what has begun.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/plain_waits.hpp>
#include <rota/io/result.hpp>
#include <rota/sync/event.hpp>
#include <rota/task.hpp>

namespace rota {

namespace detail {

class shutdown_state;

/// Shares it between a shutdown, its guards, and the task that listens.
class ROTA_API shutdown_ref {
 public:
  shutdown_ref() noexcept = default;
  explicit shutdown_ref(shutdown_state* s) noexcept : state_(s) {}  // takes over a reference
  shutdown_ref(const shutdown_ref& other) noexcept;
  shutdown_ref(shutdown_ref&& other) noexcept : state_(std::exchange(other.state_, nullptr)) {}
  shutdown_ref& operator=(shutdown_ref other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~shutdown_ref();
  [[nodiscard]] shutdown_state* operator->() const noexcept { return &**this; }
  [[nodiscard]] shutdown_state& operator*() const noexcept;
  [[nodiscard]] explicit operator bool() const noexcept { return state_ != nullptr; }

 private:
  shutdown_state* state_ = nullptr;
};

}  // namespace detail

/// Hears of SIGINT and SIGTERM, tells it to all who wait, lets no work begin from then on, and waits for what has begun.
///
///   auto opened = rota::graceful_shutdown::open();          // in a task
///   rota::graceful_shutdown& end = *opened;
///   ... in each task of the server:
///   auto next = co_await channel::select(listener.accept(), end.wait());
///   if (next.index() == 1) co_return;
///   auto work = end.begin_work();                           // nothing: too late
///   ... and in the end:
///   co_await end.wait();
///   const auto all_done = co_await end.drain(10s);          // errc::timed_out: some are left
///
/// The first signal begins the end; from then on the signals do again what they did before, so that a second Ctrl-C kills.
///
/// Threads       Any; open() in a task. trigger() in a thread without a runtime, too.
/// Ownership     Must outlive those who wait for it; guards may outlive it. What it was told by signals it hears of until it goes: the
///               subscription ends with the task that listens, a moment after it.
/// Ordering      What was done before trigger() happens before the return of each wait(); what was done under a guard, before that of drain().
///               A guard was given before the trigger, and is waited for, or is refused.
/// Failure       open(): as unix_signal::open(). A cancelled wait changes nothing. To call a member of one that was moved from ends the
///               program with a sentence.
/// Cost          A detached task that waits for the signals, and one allocation. begin_work() and the end of its guard: one read-modify-write each of a
///               common word, and two of a count of references.
/// Example       examples/run/main.cpp
class ROTA_API graceful_shutdown {
 public:
  /// Without a number: by trigger() alone.
  [[nodiscard]] static io::result<graceful_shutdown> open(std::initializer_list<int> numbers) noexcept;
  /// SIGINT and SIGTERM.
  [[nodiscard]] static io::result<graceful_shutdown> open() noexcept;

  graceful_shutdown(graceful_shutdown&& other) noexcept = default;
  graceful_shutdown& operator=(graceful_shutdown&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~graceful_shutdown();

  /// The end begins now, for all who wait. Again: nothing.
  void trigger() noexcept;
  [[nodiscard]] bool is_triggered() const noexcept;
  /// co_await it: until it is triggered. A case of a select.
  core::plain_wait<sync::event> wait() noexcept;
  /// The signal that triggered it. 0: none has, or trigger() did.
  [[nodiscard]] int signal() const noexcept;

  class work_guard;
  /// Work that drain() waits for, until the guard goes. Nothing: it is triggered.
  [[nodiscard]] std::optional<work_guard> begin_work() noexcept;
  /// How many guards there are: a guess, unless nothing moves.
  [[nodiscard]] std::size_t pending() const noexcept;

  /// Triggers it, and waits until no guard is left, but no longer than `limit`: errc::timed_out then.
  template <core::span_of_time Span>
  ROTA_DETAIL_WRAPPER task<io::result<void>> drain(Span limit) {
    return drain_within(state_, detail::saturating_span(limit));
  }

 private:
  explicit graceful_shutdown(detail::shutdown_ref state) noexcept : state_(std::move(state)) {}
  static task<io::result<void>> drain_within(detail::shutdown_ref state, std::chrono::nanoseconds limit);
  detail::shutdown_ref state_;
};

/// A piece of work that a shutdown waits for.
class ROTA_API [[nodiscard]] graceful_shutdown::work_guard {
 public:
  work_guard(work_guard&& other) noexcept = default;
  work_guard& operator=(work_guard&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~work_guard();

 private:
  friend class graceful_shutdown;
  explicit work_guard(detail::shutdown_ref state) noexcept : state_(std::move(state)) {}
  detail::shutdown_ref state_;
};

}  // namespace rota
