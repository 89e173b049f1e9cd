// The observers of a pool.
#pragma once

#include "base/atomic.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "pool/lost_exceptions.hpp"

#include <rota/pool/events.hpp>

#include <cstdint>
#include <exception>
#include <vector>

namespace rota::pool::detail {

class listeners;

/// As long as it exists, a coroutine job that this thread submits inherits nothing from the task that runs on
/// this thread: code that runs inside of a foreign_call is no part of that task. See
/// coroutine_part::inherit().
class foreign_call {
 public:
  foreign_call() noexcept;
  foreign_call(const foreign_call&) = delete;
  foreign_call& operator=(const foreign_call&) = delete;
  ~foreign_call();

 private:
  void* const before_;
};

/// A running call of a handler. It lies on the stack of the thread that makes the call.
struct handler_call {
  std::uint64_t thread;
  handler_call* next = nullptr;
};

/// One subscription. It is freed by the thread that ends the subscription, or by the last call that goes on
/// after that.
struct listener {
  listeners* of;
  observer* whom;
  handler_call* calls = nullptr;  // under the lock, like all fields below
  bool gone = false;
  bool unowned = false;
  base::atomic<std::uint32_t> left{0};
};

// PROTOCOL: listeners
//   A thread that tells an event visits one listener after the other. Under the lock it adds itself to the
//   list of calls, and removes itself again. The handler runs without the lock. The thread that unsubscribes
//   marks the listener as gone, and waits until no other thread calls it. If this thread itself is inside of
//   a handler of the listener, the last call that returns frees the listener.
class listeners {
 public:
  explicit listeners(lost_exceptions& lost) noexcept : lost_(&lost) {}
  listeners(const listeners&) = delete;
  listeners& operator=(const listeners&) = delete;
  ~listeners();

  /// Throws std::bad_alloc.
  [[nodiscard]] listener& add(observer& whom);
  static void remove(listener& which) noexcept;
  [[nodiscard]] bool any() const noexcept {
    // acquire: pairs with the release in add(). An event is told to each subscription that returned before.
    return count_.load(base::order::acquire) != 0;
  }

  /// Calls `f(observer&)` for each observer. An exception is reported as an error with that place.
  template <class F>
  void tell(error_from place, work_id id, F f) noexcept {
    if (!any()) return;
    for_each([&](observer& each) {
      try {
        f(each);
      } catch (...) {
        report(place, id, std::current_exception());
      }
    });
  }
  /// Tells every observer of an exception that no other code receives. If there is no observer, the exception
  /// goes to the pool's unhandled_policy, except the failure of a job, which may still be fetched. Returns
  /// true if an observer was told.
  bool report(error_from place, work_id id, std::exception_ptr what) noexcept;
  [[nodiscard]] std::uint64_t failures() const noexcept {
    // relaxed: a report.
    return failures_.load(base::order::relaxed);
  }

 private:
  template <class F>
  void for_each(F f) noexcept {
    const foreign_call around;
    handler_call mine{base::this_thread_id()};
    for (std::size_t i = 0;; ++i) {
      listener* const each = enter(i, mine);
      if (each == nullptr) return;
      f(*each->whom);
      leave(*each, mine);
    }
  }
  /// Returns the first listener from this position on, and registers the call. Returns null if there is none.
  [[nodiscard]] listener* enter(std::size_t& position, handler_call& mine) noexcept;
  void leave(listener& which, handler_call& mine) noexcept;

  lost_exceptions* const lost_;
  const std::uint64_t process_ = base::this_process_id();
  base::mutex lock_;
  std::vector<listener*> all_;  // null: the listener is gone
  base::atomic<std::uint32_t> count_{0};
  base::atomic<std::uint64_t> failures_{0};
};

}  // namespace rota::pool::detail
