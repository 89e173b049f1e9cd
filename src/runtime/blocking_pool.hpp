// Threads that may block: they run closures, and play the role of a worker whose thread is blocked.
#pragma once

#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "sched/scheduler.hpp"

#include <rota/pool/pool_options.hpp>

#include <cstdint>
#include <memory>
#include <vector>

namespace rota::detail {

// PROTOCOL: pool of threads
//   mutex_ guards every plain member. `waiting` = roles + tasks in the queues; `idle` = threads that look at signal_, those
//   among them that were told to come counted until they have the lock.
//   Whoever adds work: waiting > idle and room for a thread: starts one; otherwise raises signal_ under the lock and wakes
//   one. An idle thread reads signal_ under the lock before it waits for it to change: so a raise is never missed.
//   A thread that leaves is no longer counted when the lock is given back under which it decided so: else a closure might be
//   left to it that finds the limit reached, and of several that time out together more might leave than may.
//   A closure that was added when no thread could be started is counted in missing_, and the watchdog gets up: it tries
//   again at each of its looks, and does not sleep before the queue is empty or a thread was started for each.
//   Who waits for the closures that run reads closures_ended_ under the lock under which it sees that one runs; whoever ends one
//   after cancel_queued() raises it under the lock.
//   A role is only taken on when a thread for it is certain: a role that waits would stall its queues.
class blocking_pool : public core::scheduler {
 public:
  /// Throws std::bad_alloc.
  blocking_pool(sched::scheduler& tasks, const pool::pool_options& options);
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  ~blocking_pool();

  /// Finds a thread that plays `role`. False: none is idle and none can be had.
  [[nodiscard]] bool start_role(sched::worker& role) noexcept;
  /// Starts `min_threads` threads, as far as the system gives them.
  void start_minimum() noexcept;

  /// For the watchdog: closures wait because no thread could be started for them; tries again. False: none does.
  [[nodiscard]] bool start_missing() noexcept;

  /// No more closures are begun: queued ones end as cancelled.
  void cancel_queued() noexcept;
  /// After cancel_queued(). Blocks until no closure runs, or until the deadline.
  void wait_for_closures(base::time_point deadline) noexcept;
  /// After all roles have ended. Idle threads leave and are joined; those inside a closure are left to themselves.
  void stop() noexcept;
  /// Blocks until every role has ended.
  void wait_for_roles(unsigned roles) noexcept;

  struct counts {
    unsigned threads;
    unsigned running;  // closures
    unsigned lent;     // inside a task whose role another thread plays
    std::size_t queued;
  };
  [[nodiscard]] counts count() noexcept;

 private:
  struct seat {
    base::thread thread;
    blocking_pool* pool = nullptr;
    bool ended = false;  // it will not touch the pool again: join it
  };

  static const core::scheduler_ops ops_table;
  static blocking_pool& of(core::scheduler& self) noexcept { return static_cast<blocking_pool&>(self); }
  static void thread_main(void* seat_address) noexcept;

  void serve(seat& mine) noexcept;
  void submit(core::header& task) noexcept;
  void end_cancelled(core::header& task) noexcept;
  enum class [[nodiscard]] on_wait : std::uint8_t { look_again, leave };
  on_wait wait_for_work(seat& mine) noexcept;
  on_wait leave(seat& mine) noexcept;
  /// What must follow the lock under which work was added.
  enum class [[nodiscard]] on_add : std::uint8_t { nothing, wake, start };
  on_add provide_thread() noexcept;
  on_add append(core::header& task) noexcept;
  void note_missing() noexcept;
  [[nodiscard]] bool start_thread() noexcept;
  void reap() noexcept;
  void run(core::header& task) noexcept;
  void play(sched::worker& role) noexcept;
  core::header* take_task() noexcept;
  [[nodiscard]] unsigned threads_kept() const noexcept { return options_.min_threads + tasks_.workers(); }
  [[nodiscard]] std::size_t waiting() const noexcept { return roles_.size() + queued_; }

  sched::scheduler& tasks_;
  const pool::pool_options options_;
  const unsigned limit_;

  base::mutex mutex_;
  base::atomic<std::uint32_t> signal_{0};
  base::atomic<std::uint32_t> roles_ended_{0};
  base::atomic<std::uint32_t> closures_ended_{0};  // counted from the shutdown on, under the lock
  std::vector<sched::worker*> roles_;
  core::header* first_ = nullptr;
  core::header* last_ = nullptr;
  std::size_t queued_ = 0;
  unsigned idle_ = 0;
  unsigned threads_ = 0;
  unsigned running_ = 0;               // closures
  unsigned busy_ = 0;                  // threads inside a role or a closure
  base::atomic<unsigned> missing_{0};  // changed under the lock
  bool said_so_ = false;
  bool stopping_ = false;
  bool cancelling_ = false;
  std::vector<std::unique_ptr<seat>> seats_;
};

}  // namespace rota::detail
