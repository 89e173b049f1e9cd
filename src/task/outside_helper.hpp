// A thread in join(help) that plays no worker's role: how it is woken.
#pragma once

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "base/tls_slot.hpp"

#include <rota/waker.hpp>

#include <cstdint>

namespace rota::core {

// PROTOCOL: the word of a helper
//
//   bit     means                                           set by                          cleared by
//   ended   the task that the helper waits for has ended    the completing thread, once     never
//   called  a task was put where the helper may take it     a thread that calls a helper    take_call()
//
//   The helper sleeps while the word is 0. A thread that sets a bit then wakes the address. The completing
//   thread reads nothing of the helper after it has set `ended`: the helper's stack frame may be gone.
//
//   `before`, `after` and `is_listed` belong to the list of helpers, under its lock. So does the step that
//   sets `called`: no caller touches a helper that has left the list.
class outside_helper {
 public:
  outside_helper() = default;
  outside_helper(const outside_helper&) = delete;
  outside_helper& operator=(const outside_helper&) = delete;
  ~outside_helper() = default;

  /// Returns the waker for the task that the helper waits for. The waker owns nothing.
  [[nodiscard]] waker waker_of_end() noexcept { return {this, &vtable}; }

  [[nodiscard]] bool has_ended() const noexcept {
    // acquire: pairs with the release in wake(): the outcome of the task is seen.
    return (word_.load(base::order::acquire) & ended) != 0;
  }

  /// Calls the helper. The caller holds the lock of the list, and has put a task where helpers may take it.
  void call() noexcept {
    // relaxed: the helper takes the lock of the list after it has seen the bit, and so finds the task.
    word_.fetch_or(called, base::order::relaxed);
    base::futex_wake(&word_, 1);
  }
  /// Clears the call. Called by the helper before it searches for tasks.
  void take_call() noexcept {
    // relaxed: the locks of the list and of the queue order the task that the call was for.
    word_.fetch_and(~called, base::order::relaxed);
  }
  /// Sleeps until a bit is set. Called by the helper.
  void sleep() noexcept {
    // No deadline: a lost wakeup is a bug, and must show as a hang. relaxed: the helper reads the word again
    // by has_ended().
    while (word_.load(base::order::relaxed) == 0)
      static_cast<void>(base::this_thread_locals().waits.wait(word_, 0, base::never));
  }

  outside_helper* before = nullptr;
  outside_helper* after = nullptr;
  bool is_listed = false;

 private:
  static constexpr std::uint32_t ended = 1;
  static constexpr std::uint32_t called = 2;

  static void wake(void* data) noexcept {
    auto& word = static_cast<outside_helper*>(data)->word_;
    // release: pairs with the acquire in has_ended(): the helper sees what the task has done.
    word.fetch_or(ended, base::order::release);
    base::futex_wake(&word, 1);
  }
  static constexpr waker_vtable vtable{
      wake,
      wake,
      [](void* data) noexcept { return data; },
      [](void* /*data*/) noexcept {},
  };

  base::atomic<std::uint32_t> word_{0};
};

}  // namespace rota::core
