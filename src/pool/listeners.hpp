// Those who listen to a pool.
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

/// As long as it exists, a coroutine job that this thread submits inherits nothing of the task that this thread runs here: what runs inside of
/// it is no part of that task. See coroutine_part::inherit().
class foreign_call {
 public:
  foreign_call() noexcept;
  foreign_call(const foreign_call&) = delete;
  foreign_call& operator=(const foreign_call&) = delete;
  ~foreign_call();

 private:
  void* const before_;
};

/// A call of a handler, on the stack of the thread that makes it.
struct handler_call {
  std::uint64_t thread;
  handler_call* next = nullptr;
};

/// One subscription. Freed by whoever ends it, or by the last call that goes on inside of that.
struct listener {
  listeners* of;
  observer* whom;
  handler_call* calls = nullptr;  // under the lock, as all that follows
  bool gone = false;
  bool unowned = false;
  base::atomic<std::uint32_t> left{0};
};

// PROTOCOL: listeners
//   Who tells goes from one to the next; under the lock it puts itself into the list of calls, and takes itself out again; the
//   handler runs without the lock. Who unsubscribes marks the listener gone, and waits until nobody calls it but this thread;
//   if this thread does, the call that is the last to return frees it.
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
    // acquire. Pairs with add(): a subscription that returned before is heard.
    return count_.load(base::order::acquire) != 0;
  }

  /// Calls `f(observer&)` for each. What it throws is told as an error from there.
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
  /// Tells every observer of an exception that no other code sees. Where there is no observer, it goes to the pool's unhandled_policy; not the
  /// failure of a job: that one may still be fetched. Returns true if an observer was told.
  bool report(error_from place, work_id id, std::exception_ptr what) noexcept;
  [[nodiscard]] std::uint64_t failures() const noexcept {
    // relaxed. A report.
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
  /// The first one from this position on; null: there is none.
  [[nodiscard]] listener* enter(std::size_t& position, handler_call& mine) noexcept;
  void leave(listener& which, handler_call& mine) noexcept;

  lost_exceptions* const lost_;
  const std::uint64_t process_ = base::this_process_id();
  base::mutex lock_;
  std::vector<listener*> all_;  // null: has gone
  base::atomic<std::uint32_t> count_{0};
  base::atomic<std::uint64_t> failures_{0};
};

}  // namespace rota::pool::detail
