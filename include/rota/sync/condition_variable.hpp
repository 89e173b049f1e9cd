// A wait for tasks and threads that hold a mutex: until the data that it guards meets a condition.
#pragma once

#include <concepts>
#include <cstdint>
#include <exception>
#include <expected>
#include <type_traits>
#include <utility>

#include <rota/detail/limited.hpp>
#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_list.hpp>
#include <rota/sync/mutex.hpp>

namespace rota::sync {

// PROTOCOL: condition variable
//   somebody_            not 0 if the list has waiters; changed under the list's lock
//   place of a node      here · moved by notify_one · moved (by notify_all or its owner); under the list's
//                        lock
//
//   wait     with the mutex: the caller joins the list with the place `here`, and then unlocks the mutex.
//   notify   under the list's lock the first, or all, leave the list and are marked as moved. After that,
//            under the lock of the mutex's list, they join the list of the *mutex*. So no waiter is woken
//            that could not have the mutex. The mutex then calls one after the other, as all its waiters.
//   give up  under the list's lock. `here`: the waiter leaves the list and locks the mutex anew. Moved: it
//            already waits for the mutex; if notify_one moved it, it passes the notification to the next
//            waiter. Either way the wait ends with the mutex.
//
//   V1  A node is in this list exactly while it is `waiting` and its place is `here`. A moved node is on its
//       way to the mutex's list, or in it, or has left it: only the mutex's protocol remains. Only its owner
//       can link it here again.
//   V2  Between the two lists a node belongs to the notifier. Its owner cannot be gone meanwhile: in each
//       case the owner waits for the mutex.
//   V3  After the list's lock the notifier touches nothing of this object: a moved waiter may be the last,
//       and may destroy it.
//   V4  Either the notifier has held the mutex after the waiters unlocked it, or the waiters' check has seen
//       what the notifier changed. So a plain read of somebody_ is enough.

/// A task or a thread with a guard of a sync::mutex waits until others change what the mutex guards.
///
///   auto held = co_await m.lock();
///   co_await ready.wait(held, [&] { return !queue.empty(); });   // a task; the mutex is free meanwhile
///   ready.blocking_wait(held, [&] { return !queue.empty(); });   // a thread, or a work of a pool
///   ...
///   held.unlock();
///
///   { auto held = m.blocking_lock(); queue.push(x); }            // elsewhere
///   ready.notify_one();                                          // with or without the mutex
///
/// Threads       Any. The waiters may use different mutexes.
/// Ownership     Refers to the guard, which must stay where it is and must not be used during the wait.
///               Destroying a condition variable that has waiters ends the program with a sentence; all waits
///               have returned before.
/// Ordering      However a wait ends, it has the mutex: after a notification, when its time is over, when the
///               predicate throws, **and when its task is cancelled or its work force-stopped**. The locals
///               of the frames that unwind are destroyed with the mutex held, and the guard unlocks it.
///               Waiters are notified in the order in which they came. The waiting task or thread itself
///               calls the predicate, with the mutex.
/// Failure       Without a predicate a spurious wakeup is possible, but only where a notification came to a
///               waiter that gave up, and was passed on. The wait throws what a predicate throws. A cancelled
///               wait keeps no notification: that of notify_one goes to the next in line. A guard without a
///               lock ends the program with a sentence. Deadlock: a task that holds the mutex must not wait
///               for the end of a cancelled task that waits here.
/// Cost          No allocation. notify without waiters: one load. notify_all wakes one at most, and the
///               others one by one, as the mutex becomes free. A wait: the list's lock once, the mutex's as
///               for lock(); a predicate that is not met costs the same again.
/// Example       examples/condition_variable.cpp
class ROTA_API condition_variable {
  class wait_base;
  template <class Predicate>
  class predicate_wait;

 public:
  class plain_wait;

  condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;
  ~condition_variable() {
    list_.end("a sync::condition_variable was destroyed while a task or a thread waits in it");
  }

  /// Lets the waiter that has waited longest check again. Does nothing if there is no waiter.
  void notify_one() noexcept {
    if (has_somebody()) move_one();
  }
  /// Lets all present waiters check again.
  void notify_all() noexcept {
    if (has_somebody()) move_all();
  }

  /// Returns an awaitable that waits until it is notified.
  plain_wait wait(mutex::guard& held) noexcept;
  /// Returns an awaitable that waits until `is_met()` returns true. It is called at once and after each
  /// notification.
  template <std::predicate Predicate>
  predicate_wait<Predicate> wait(mutex::guard& held, Predicate is_met);
  /// The same with a limit. They yield a std::expected<void, timed_out>. With a predicate: timed_out only if
  /// it is not met when the mutex is locked again.
  template <core::span_of_time Span>
  core::limited<plain_wait> wait_for(mutex::guard& held, Span span) noexcept;
  template <class Duration>
  core::limited<plain_wait> wait_until(
      mutex::guard& held, std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept;
  template <core::span_of_time Span, std::predicate Predicate>
  core::limited<predicate_wait<Predicate>> wait_for(mutex::guard& held, Span span, Predicate is_met);
  template <class Duration, std::predicate Predicate>
  core::limited<predicate_wait<Predicate>> wait_until(
      mutex::guard& held,
      std::chrono::time_point<std::chrono::steady_clock, Duration> time,
      Predicate is_met);

  /// Block the thread. Meanwhile a worker lends its role, and a thread of a pool counts as absent. A force
  /// stop of the work that runs here ends the wait: throws pool::force_stopped, with the mutex.
  void blocking_wait(mutex::guard& held) { static_cast<void>(block(held, time_point::max())); }
  template <std::predicate Predicate>
  void blocking_wait(mutex::guard& held, Predicate is_met) {
    static_cast<void>(block_until_met(held, time_point::max(), is_met));
  }
  template <core::span_of_time Span>
  std::expected<void, timed_out> blocking_wait_for(mutex::guard& held, Span span) {
    return block(held, core::deadline_in(detail::saturating_span(span)));
  }
  template <class Duration>
  std::expected<void, timed_out> blocking_wait_until(
      mutex::guard& held, std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    return block(held, detail::saturating_deadline(time));
  }
  template <core::span_of_time Span, std::predicate Predicate>
  std::expected<void, timed_out> blocking_wait_for(mutex::guard& held, Span span, Predicate is_met) {
    return block_until_met(held, core::deadline_in(detail::saturating_span(span)), is_met);
  }
  template <class Duration, std::predicate Predicate>
  std::expected<void, timed_out> blocking_wait_until(
      mutex::guard& held,
      std::chrono::time_point<std::chrono::steady_clock, Duration> time,
      Predicate is_met) {
    return block_until_met(held, detail::saturating_deadline(time), is_met);
  }

 private:
  using time_point = std::chrono::steady_clock::time_point;
  enum class place : unsigned char { here, moved_by_one, moved };  // `kind` of a node
  struct node : core::wait_node {
    mutex* of = nullptr;
  };

  [[nodiscard]] bool has_somebody() const noexcept {
    // relaxed: the mutex orders it. See V4.
    return somebody_.load(base::order::relaxed) != 0;
  }
  static place place_of(const node& me) noexcept { return static_cast<place>(me.kind); }
  static node& take_first(core::wait_section& section, place to) noexcept;
  void settle(const core::wait_section& section) noexcept;
  void move_one() noexcept;
  void move_all() noexcept;
  void join(node& me) noexcept;
  bool leave(node& me) noexcept;
  void pass_on(node& me) noexcept;
  std::expected<void, timed_out> block(const mutex::guard& held, time_point deadline);
  template <class Predicate>
  std::expected<void, timed_out> block_until_met(const mutex::guard& held,
                                                 time_point deadline,
                                                 Predicate& is_met) {
    core::demand_unguarded();
    while (!is_met()) {
      if (!block(held, deadline).has_value() && !is_met()) return std::unexpected(timed_out{});
    }
    return {};
  }
  // This class is a friend of the mutex. Its nested classes reach the mutex through these functions.
  static mutex& mutex_of(const mutex::guard& held) noexcept;
  static void unlock(const node& me) noexcept;
  static bool relock(node& me, waker mine) noexcept;
  static bool rejoin(node& me, waker mine) noexcept;

  base::atomic<std::uint32_t> somebody_{0};
  core::wait_list list_;
};

/// The base of a task's wait.
class ROTA_API condition_variable::wait_base : public leaf {
 public:
  [[nodiscard]] bool is_ready() noexcept final;
  cancel_progress try_cancel(cancel_reason reason) noexcept final;
  [[nodiscard]] bool cancel_ended() noexcept final { return has_mutex(); }
  /// The notification goes to the next waiter. An exception of the predicate would be lost.
  [[nodiscard]] bool is_discardable() noexcept final { return thrown_ == nullptr; }
  [[nodiscard]] const char* what() const noexcept final { return "condition_variable wait"; }

 protected:
  wait_base(condition_variable& in, const mutex::guard& held) noexcept : in_(&in) {
    me_.of = &mutex_of(held);
  }
  ~wait_base() = default;

  bool start() final;
  /// Called with the mutex.
  virtual bool is_met() = 0;
  /// For await_resume().
  void rethrow() const {
    if (thrown_) std::rethrow_exception(thrown_);
  }
  bool has_waited_ = false;

 private:
  bool look() noexcept;
  void join() noexcept;
  bool has_mutex() noexcept;

  condition_variable* in_;
  std::exception_ptr thrown_;
  bool untried_ = false;
  bool done_ = false;
  node me_;
};

class ROTA_DETAIL_AWAIT_IT ROTA_API condition_variable::plain_wait final : public wait_base {
 public:
  plain_wait(condition_variable& in, const mutex::guard& held) noexcept : wait_base(in, held) {}
  static void await_resume() noexcept {}

 private:
  bool is_met() noexcept override { return std::exchange(has_waited_, true); }
};

template <class Predicate>
class ROTA_DETAIL_AWAIT_IT condition_variable::predicate_wait final : public wait_base {
 public:
  predicate_wait(condition_variable& in, const mutex::guard& held, Predicate is_met)
      : wait_base(in, held), is_met_(std::move(is_met)) {}
  void await_resume() const { rethrow(); }
  /// For core::limited. The wait is late, and has the mutex.
  [[nodiscard]] bool has_passed() { return is_met(); }

 private:
  bool is_met() override {
    core::demand_unguarded();
    return static_cast<bool>(is_met_());
  }
  Predicate is_met_;
};

inline condition_variable::plain_wait condition_variable::wait(mutex::guard& held) noexcept {
  return plain_wait(*this, held);
}
template <std::predicate Predicate>
condition_variable::predicate_wait<Predicate> condition_variable::wait(mutex::guard& held, Predicate is_met) {
  return predicate_wait<Predicate>(*this, held, std::move(is_met));
}
template <core::span_of_time Span>
core::limited<condition_variable::plain_wait> condition_variable::wait_for(mutex::guard& held,
                                                                           Span span) noexcept {
  return core::limited<plain_wait>(detail::saturating_span(span), *this, held);
}
template <class Duration>
core::limited<condition_variable::plain_wait> condition_variable::wait_until(
    mutex::guard& held, std::chrono::time_point<std::chrono::steady_clock, Duration> time) noexcept {
  return core::limited<plain_wait>(detail::saturating_deadline(time), *this, held);
}
template <core::span_of_time Span, std::predicate Predicate>
core::limited<condition_variable::predicate_wait<Predicate>> condition_variable::wait_for(mutex::guard& held,
                                                                                          Span span,
                                                                                          Predicate is_met) {
  return core::limited<predicate_wait<Predicate>>(
      detail::saturating_span(span), *this, held, std::move(is_met));
}
template <class Duration, std::predicate Predicate>
core::limited<condition_variable::predicate_wait<Predicate>> condition_variable::wait_until(
    mutex::guard& held, std::chrono::time_point<std::chrono::steady_clock, Duration> time, Predicate is_met) {
  return core::limited<predicate_wait<Predicate>>(
      detail::saturating_deadline(time), *this, held, std::move(is_met));
}

}  // namespace rota::sync
