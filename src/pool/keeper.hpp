// The pool's own thread, which serves its timers.
#pragma once

#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "time/shard.hpp"

namespace rota::pool::detail {

// PROTOCOL: keeper
//   The thread is started with the first timer, and ends with the pool. Before it sleeps: (1) it does a
//   read-modify-write of word_; (2) it reads the shard's earliest deadline, until which it sleeps.
//   To arm a timer: (1) arm it in the shard; (2) add to word_ if the shard's earliest deadline became
//   earlier. One of the two read-modify-writes comes second. If it is the sleeper's, the sleeper reads the
//   new deadline. If it is that of arm(), word_ has changed, and the sleeper's wait returns. word_ only
//   grows; the sleeper compares it.
class keeper {
 public:
  keeper() noexcept : shard_(base::now()) {}
  keeper(const keeper&) = delete;
  keeper& operator=(const keeper&) = delete;
  ~keeper() = default;

  /// Arms the timer. The keeper's thread wakes `wake`, or cancel() drops it. If the system gives no thread,
  /// the timer is late: see retry().
  void arm(timing::timer_node& node, base::time_point deadline, waker wake) noexcept;
  static void cancel(timing::timer_node& node) noexcept { static_cast<void>(timing::shard::cancel(node)); }
  /// For coroutines: returns the shard, served by the keeper's thread.
  [[nodiscard]] timing::shard& shard() noexcept;
  void moved() noexcept;
  /// Tries again to start the thread that the system refused when a timer was armed. Called by threads that
  /// have nothing to do. Calls the system at most once in a millisecond.
  void retry() noexcept {
    // relaxed: a hint.
    if (lacks_thread_.load(base::order::relaxed)) [[unlikely]]
      try_again();
  }
  /// Returns true if the system has refused the thread. Then armed timers are late. Once started, the thread
  /// stays.
  [[nodiscard]] bool lacks_thread() const noexcept {
    // acquire: pairs with the release in ensure_thread(). A waiter that was told of a missing thread, by a
    // word that changed later, sees it.
    return lacks_thread_.load(base::order::acquire);
  }
  /// Returns true if the calling thread is the keeper's.
  [[nodiscard]] bool is_here() const noexcept {
    // relaxed: only the keeper's thread finds its own id.
    return id_.load(base::order::relaxed) == base::this_thread_id();
  }
  /// Ends the thread. No thread arms a timer afterwards.
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
