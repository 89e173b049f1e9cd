// The events of a pool, and the observers that receive them.
#pragma once

#include <exception>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/config.hpp>
#include <rota/pool/pool_options.hpp>
#include <rota/pool/work_end.hpp>

namespace rota::pool {

/// The place at which an exception was thrown that no other code receives.
enum class error_from : unsigned char {
  work,
  callback,
  default_callback,
  pool_started,
  pool_idle,
  running_changed,
  work_started,
  work_ended,
  work_stopped,
  work_cancelled,
  work_timed_out,
  pool_timed_out,
  work_rejected,
  work_discarded,
  work_abandoned,
  running_timer,
  thread_hook,
  rejection_choice,
  retry_filter,
};

[[nodiscard]] constexpr const char* to_string(error_from source) noexcept {
  switch (source) {
    case error_from::work: return "work";
    case error_from::callback: return "callback";
    case error_from::default_callback: return "default callback";
    case error_from::pool_started: return "pool started";
    case error_from::pool_idle: return "pool idle";
    case error_from::running_changed: return "running changed";
    case error_from::work_started: return "work started";
    case error_from::work_ended: return "work ended";
    case error_from::work_stopped: return "work stopped";
    case error_from::work_cancelled: return "work cancelled";
    case error_from::work_timed_out: return "work timed out";
    case error_from::pool_timed_out: return "pool timed out";
    case error_from::work_rejected: return "work rejected";
    case error_from::work_discarded: return "work discarded";
    case error_from::work_abandoned: return "work abandoned";
    case error_from::running_timer: return "running timer";
    case error_from::thread_hook: return "thread hook";
    case error_from::rejection_choice: return "rejection choice";
    case error_from::retry_filter: return "retry filter";
  }
  return "unknown";
}

struct pool_error {
  error_from from;
  work_id id;  // empty if the exception belongs to no work
  std::exception_ptr exception;
};

/// The time from the first work to the end of the last.
struct pool_span {
  std::chrono::steady_clock::time_point started, ended;
};

/// Receives the events of a pool. Derive from it, override what you need, and pass it to
/// thread_pool::subscribe().
///
/// Threads       A handler runs on the thread on which the event happened: a thread of the pool, the pool's
///               timer thread, or the thread that submits or cancels. Several handlers may run at once.
/// Ownership     The observer must outlive its subscription.
/// Ordering      For one work: started; then ended, for each attempt; then its callback; then the waiters go
///               on. Started and idle of the pool alternate.
/// Failure       An exception of a handler goes to error() of every observer, and the pool goes on. An
///               exception of error() is counted, and goes to pool_options::on_unhandled.
/// Cost          Without observers: one load for each event.
/// Example       examples/pool_events.cpp
class ROTA_API observer {
 public:
  observer() = default;
  observer(const observer&) = delete;
  observer& operator=(const observer&) = delete;
  virtual ~observer();

  virtual void pool_started() {}
  virtual void pool_idle(const pool_span& /*span*/) {}
  /// Reports the number of threads that run works, before and after a change. Called by a thread that begins
  /// to run works; by a thread that finds no other work, perhaps after pool_idle; and by a thread of no pool
  /// that runs a work. A thread that was running a work when the first observer subscribed is counted from
  /// its next work on.
  virtual void running_changed(unsigned /*before*/, unsigned /*now*/) {}
  virtual void work_started(work_id /*id*/) {}
  /// The work succeeded or failed. Also called for each attempt that failed.
  virtual void work_ended(const work_end& /*end*/) {}
  /// The work was stopped or force stopped.
  virtual void work_stopped(const work_end& /*end*/) {}
  virtual void work_cancelled(const work_end& /*end*/) {}
  /// The time of the work is over. Called before the on_timeout action. If the work ends at its deadline, the
  /// call may come after the end event, once. With a limit so short that it passes while the work begins, the
  /// call may come before work_started.
  virtual void work_timed_out(work_id /*id*/) {}
  virtual void pool_timed_out() {}
  /// The work found no place. Called before the policy is applied.
  virtual void work_rejected(work_id /*id*/, rejection /*policy*/) {}
  virtual void work_discarded(const work_end& /*end*/) {}
  virtual void work_abandoned(const work_end& /*end*/) {}
  virtual void error(const pool_error& /*what*/) {}
};

namespace detail {
class pool_core;
struct listener;
ROTA_API void unsubscribe(listener& whom) noexcept;
}  // namespace detail

/// A subscription of an observer. As long as it exists, the observer receives events. Its destructor waits
/// until no handler of the observer runs, except a handler that itself runs the destructor.
class [[nodiscard]] subscription {
 public:
  subscription() noexcept = default;
  explicit subscription(detail::listener& to) noexcept : to_(&to) {}
  subscription(subscription&& other) noexcept : to_(std::exchange(other.to_, nullptr)) {}
  subscription& operator=(subscription&& other) noexcept {
    subscription old(std::move(*this));
    to_ = std::exchange(other.to_, nullptr);
    return *this;
  }
  subscription(const subscription&) = delete;
  subscription& operator=(const subscription&) = delete;
  ~subscription() {
    if (to_ != nullptr) detail::unsubscribe(*to_);
  }

 private:
  detail::listener* to_ = nullptr;
};

}  // namespace rota::pool
