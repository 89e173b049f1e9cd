// Threads that may block: they run closures, and play the role of a worker whose thread is blocked.
#pragma once

#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "pool/crew.hpp"
#include "sched/scheduler.hpp"

#include <rota/pool/pool_options.hpp>

#include <cstdint>

namespace rota::detail {

// PROTOCOL: the runtime's pool
//   Its threads are a crew's: pool/crew.hpp says how many there are, who sleeps, who is woken, who leaves, and who comes for a
//   closure. mutex_ guards every plain member here. The crew's lock comes first: leaves_behind() and waiting() are called under it; nothing of
//   the crew is called under mutex_.
//
//   Roles     The crew hands a role over to one thread, which plays it before it looks for anything else; or it refuses it, and no
//             thread has seen it. A refused role of a task that blocks is offered: it waits in offered_, under mutex_, and then
//             crew::attract() is called, as for a closure. Roles and closures are taken in the order in which they came: the task
//             that blocks may wait for a closure that is queued, and a thread that took the role before would leave none for it.
//             When the call that blocked returns, its thread takes the role back under mutex_, or another thread has taken it
//             there before. offer().by names the thread that made the offer: the thread that took the role may have offered it
//             again.
//             playing_ counts the roles that a thread has: it is raised before the role goes out, or under the mutex_ under which
//             it is taken, and lowered when play() has returned, so also for a thread whose task has lent the role on: playing_ -
//             workers, and the roles that are offered, are inside of such a task.
//   Closures  Published in the queue under mutex_, then crew::attract(). seat.job is the closure's task from take() until its end,
//             changed under mutex_; null while a role is played; the pool itself if the thread was left behind. A closure whose
//             handle is there ends when it has returned and its captures are destroyed, before its task is complete: a thread that has
//             seen the end finds the closure neither in running_ nor in accepted_ - over_, and the crew's stop() joins the thread that
//             ran it. One without a handle ends when its result is destroyed, too.
//   Missing   A thread that could not be started: missing_ is set, and the watchdog gets up. It clears missing_ and then looks into
//             the queue: whoever fails after that sets it again. It does not sleep while it is set (four seq_cst accesses).
//   Places    Where there is a queue limit: accepted_ - over_ closures run or wait. Within the limit that is at most the threads
//             that they may have and the limit. Looked at under the mutex_ under which a closure is queued: never exceeded but by
//             those that wait for their place, whose closures are in the queue already, in order: the n-th has its place when
//             n - over_ is within the limit.
//   Watchers  Who waits for a place, or for the closures that run, reads changed_ under the mutex_ under which it has looked, and
//             is counted in watchers_ by then. Whoever ends something raises changed_ under mutex_ if there are any.
//   The end   cancel_queued() sets cancelling_ under the mutex_ under which it empties the queue: who comes later ends there and
//             then. A thread that is inside of a closure when the crew stops is left behind: decided under mutex_, against the end
//             of the closure. It counts in the ledger's memories from then on, so that whatever it touches is there.
class blocking_pool final : public core::scheduler, public pool::detail::crew_client {
 public:
  blocking_pool(sched::scheduler& tasks, const pool::pool_options& options);
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  ~blocking_pool() = default;

  /// Finds a thread that plays `role`. False: none is free beside one for each closure and role that waits.
  [[nodiscard]] bool start_role(sched::worker& role) noexcept;
  /// Lets the next thread that is free play `role`, until the calling thread takes it back.
  void offer_role(sched::worker& role) noexcept;
  /// Returns false if another thread has taken `role`.
  [[nodiscard]] bool take_role_back(sched::worker& role) noexcept;
  /// Starts `min_threads` threads beside those of the roles, as far as the system gives them.
  void start_minimum() noexcept { threads_.fill(); }

  /// For the watchdog: closures or roles wait because no thread could be started for them; tries again. False: none does.
  [[nodiscard]] bool start_missing() noexcept;

  /// No more closures are begun: queued ones end as cancelled.
  void cancel_queued() noexcept;
  /// After cancel_queued(). Blocks until no closure runs, or until the deadline.
  void wait_for_closures(base::time_point deadline) noexcept;
  /// After all roles have ended. Idle threads leave and are joined; those inside a closure are left to themselves.
  void stop() noexcept { threads_.stop(); }
  /// Blocks until every role has ended.
  void wait_for_roles(unsigned roles) noexcept;

  struct counts {
    unsigned threads;
    unsigned running;  // closures
    unsigned lent;     // inside a task whose role another thread plays
    std::size_t queued;
  };
  [[nodiscard]] counts count() noexcept;

  // ---- for the crew
  [[nodiscard]] void* take(pool::detail::seat& here) noexcept override;
  on_run run(pool::detail::seat& here, void* job) noexcept override;
  [[nodiscard]] bool has_work() noexcept override;
  [[nodiscard]] std::size_t waiting() noexcept override;
  void begins(pool::detail::seat& here) noexcept override;
  void ends(pool::detail::seat& here) noexcept override;
  void gone(void* job) noexcept override;
  void missing() noexcept override;
  [[nodiscard]] bool leaves_behind(pool::detail::seat& here) noexcept override;

 private:
  /// What becomes of a closure that comes.
  enum class [[nodiscard]] on_enter : std::uint8_t { queued, queued_in_excess, refused, run_here, too_late };

  /// One run of a closure, on the stack of the thread that runs it.
  struct turn {
    blocking_pool& of;
    pool::detail::seat& here;
    const core::header* task;  // null: over
    bool is_left_behind = false;
  };

  static const core::scheduler_ops ops_table;
  static blocking_pool& of(core::scheduler& self) noexcept { return static_cast<blocking_pool&>(self); }

  void submit(core::header& task) noexcept;
  on_enter enter(core::header& task, std::uint64_t& number) noexcept;
  [[nodiscard]] on_enter when_full() const noexcept;
  [[nodiscard]] bool has_place(std::uint64_t number) const noexcept;
  void wait_for_place(std::uint64_t number) noexcept;
  void run_by_caller(core::header& task) noexcept;
  void end_cancelled(core::header& task, cancel_reason why) noexcept;
  void call(core::header& task) noexcept;
  on_run run_closure(pool::detail::seat& here, core::header& task) noexcept;
  [[nodiscard]] static turn* turn_here() noexcept;
  static void end_for_its_cause(core::header& task) noexcept;
  static void note_over(const core::header& task) noexcept;
  void end(turn& now) noexcept;
  void play(sched::worker& role) noexcept;
  [[nodiscard]] sched::worker* take_offered() noexcept;
  [[nodiscard]] unsigned lent() const noexcept;
  template <class Done>
  void watch(base::time_point deadline, Done done) noexcept;
  [[nodiscard]] bool note_change() noexcept;
  void tell(bool watched) noexcept;

  sched::scheduler& tasks_;
  const pool::pool_options options_;

  base::mutex mutex_;
  base::atomic<std::uint32_t> changed_{0};
  base::atomic<std::uint32_t> roles_ended_{0};
  base::atomic<std::uint32_t> missing_{0};
  sched::worker* offered_ = nullptr;  // roles that wait for a thread, the oldest first
  core::header* first_ = nullptr;
  core::header* last_ = nullptr;
  std::size_t queued_ = 0;
  std::uint64_t accepted_ = 0;  // closures that were queued
  std::uint64_t over_ = 0;      // those of them that have ended
  unsigned running_ = 0;        // closures
  unsigned playing_ = 0;        // threads inside a role, or inside a task that has lent it
  unsigned watchers_ = 0;
  bool said_so_ = false;
  bool cancelling_ = false;
  pool::detail::crew threads_;
};

}  // namespace rota::detail
