// The pool's one thread of its own: it looks at the clock.
#pragma once

#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "time/shard.hpp"

namespace rota::pool::detail {

// PROTOCOL: keeper
//   The thread is started with the first timer, and ends with the pool. It announces by exchanging word_ to the moment until which
//   it means to sleep, and then reads the shard's earliest deadline; arm() arms, and then adds to word_: of the two one comes
//   second, and sees the other. word_ is a count that only grows; the sleeper compares.
class keeper {
 public:
  keeper() noexcept : shard_(base::now()) {}
  keeper(const keeper&) = delete;
  keeper& operator=(const keeper&) = delete;
  ~keeper() = default;

  /// `wake` is woken by the keeper's thread, or dropped by cancel(). If the system gives no thread it is late: see retry().
  void arm(timing::timer_node& node, base::time_point deadline, waker wake) noexcept;
  static void cancel(timing::timer_node& node) noexcept { static_cast<void>(timing::shard::cancel(node)); }
  /// For coroutines: the shard itself, with the thread behind it.
  [[nodiscard]] timing::shard& shard() noexcept;
  void moved() noexcept;
  /// The system may give the thread by now that it did not when a timer was armed. Asked by whoever has nothing to do, and the system
  /// at most once in a millisecond.
  void retry() noexcept {
    // relaxed. A hint.
    if (lacks_thread_.load(base::order::relaxed)) [[unlikely]]
      try_again();
  }
  /// The system has refused the thread: what is armed is late. Once there it stays.
  [[nodiscard]] bool lacks_thread() const noexcept {
    // acquire. Pairs with ensure_thread(): who was told of that, by a word that was turned later, sees it.
    return lacks_thread_.load(base::order::acquire);
  }
  /// Is this thread the keeper's?
  [[nodiscard]] bool is_here() const noexcept {
    // relaxed. Only that thread finds its own number.
    return id_.load(base::order::relaxed) == base::this_thread_id();
  }
  /// Afterwards nobody arms any more.
  void stop() noexcept;

 private:
  static void thread_main(void* self) noexcept;
  void serve() noexcept;
  void ensure_thread() noexcept;
  void try_again() noexcept;

  timing::shard shard_;
  base::atomic<std::uint32_t> word_{0};
  base::mutex lock_;
  base::thread thread_;
  bool stopping_ = false;
  base::time_point next_try_{};
  base::atomic<bool> has_thread_{false};
  base::atomic<bool> lacks_thread_{false};
  base::atomic<std::uint64_t> id_{0};
};

}  // namespace rota::pool::detail
