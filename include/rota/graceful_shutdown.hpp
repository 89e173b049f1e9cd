// The orderly end of a program: announce it, refuse new work, and give running work time to end.
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

/// A counted reference to the state that a shutdown, its guards, and the listening task share.
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

/// Waits for SIGINT and SIGTERM, ends all waits for them, refuses new work from then on, and waits for the
/// work that has begun.
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
/// The first signal begins the end. From then on the signals have their former effect, so that a second
/// Ctrl-C kills.
///
/// Threads       Any; open() in a task. trigger() in a thread without a runtime, too.
/// Ownership     Must outlive the tasks that wait for it; guards may outlive it. The signal subscription ends
///               with the listening task: at the first signal, or a moment after this object was destroyed.
/// Ordering      What was done before trigger() happens before the return of each wait(). What was done under
///               a guard happens before the return of drain(). begin_work() either gives a guard before the
///               trigger, and drain() waits for it; or it refuses.
/// Failure       open(): as unix_signal::open(). A cancelled wait changes nothing. Calling a member of a
///               moved-from object ends the program with a sentence.
/// Cost          A detached task that waits for the signals, and one allocation. begin_work() and the end of
///               its guard: one read-modify-write each of a common word, and two of a count of references.
/// Example       examples/run/main.cpp
class ROTA_API graceful_shutdown {
 public:
  /// Opens a shutdown that these signals trigger. Without a number only trigger() does.
  [[nodiscard]] static io::result<graceful_shutdown> open(std::initializer_list<int> numbers) noexcept;
  /// The same for SIGINT and SIGTERM.
  [[nodiscard]] static io::result<graceful_shutdown> open() noexcept;

  graceful_shutdown(graceful_shutdown&& other) noexcept = default;
  graceful_shutdown& operator=(graceful_shutdown&& other) noexcept {
    std::swap(state_, other.state_);
    return *this;
  }
  ~graceful_shutdown();

  /// Begins the end: all waits return. Calling it again does nothing.
  void trigger() noexcept;
  [[nodiscard]] bool is_triggered() const noexcept;
  /// co_await it: waits until the shutdown is triggered. A case of a select.
  core::plain_wait<sync::event> wait() noexcept;
  /// Returns the signal that triggered it. Returns 0 if none has, or if trigger() did.
  [[nodiscard]] int signal() const noexcept;

  class work_guard;
  /// Begins work: drain() waits for it until the guard is destroyed. Returns nothing if the shutdown is
  /// triggered.
  [[nodiscard]] std::optional<work_guard> begin_work() noexcept;
  /// Returns how many guards there are. A guess, unless no other thread uses the shutdown.
  [[nodiscard]] std::size_t pending() const noexcept;

  /// co_await it: triggers the shutdown, and waits until no guard is left. Yields errc::timed_out if that
  /// takes longer than `limit`.
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
