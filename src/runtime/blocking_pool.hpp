// Threads that may block: they run closures, and play the role of a worker after its thread has blocked.
#pragma once

#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "pool/crew.hpp"
#include "sched/scheduler.hpp"

#include <rota/pool/pool_options.hpp>

#include <cstdint>

namespace rota::detail {

// PROTOCOL: the runtime's pool
//   The threads are those of a crew: pool/crew.hpp decides how many there are, which sleep, are woken or
//   leave, and which thread fetches a closure. mutex_ guards every plain member here. The lock of the crew
//   comes first: leaves_behind() and waiting() are called under it; nothing of the crew is called under
//   mutex_.
//
//   Roles     The crew hands a role over to one thread, which plays it before it looks for other work; or it
//             refuses the role, and no thread has seen it. A refused role of a blocking task is offered: it
//             waits in offered_, under mutex_, and then crew::attract() is called, as for a closure. Roles
//             and closures are taken in the order of their arrival: the blocking task may wait for a queued
//             closure, and a thread that took the role first would leave no thread for that closure. When the
//             blocking call returns, its thread takes the role back under mutex_, or finds that another
//             thread has taken it. offer().by names the thread that made the offer: the thread that took the
//             role may have offered it again. playing_ counts the threads that have a role. It is raised
//             before the role is handed over, or under the mutex_ under which it is taken. It is lowered when
//             play() has returned; so it includes a thread after its task has lent the role on. The number
//             of threads inside such a task is playing_ - workers, plus the number of offered roles.
//   Closures  Published in the queue under mutex_, then crew::attract(). seat.job is the closure's task from
//             take() until its end, changed under mutex_; null while a role is played; the pool itself if the
//             thread was left behind. A closure with a handle ends when it has returned and its captures are
//             destroyed, before its task is complete. So a thread that has observed the end finds the closure
//             neither in running_ nor in accepted_ - over_, and stop() of the crew joins the thread that ran
//             it. A closure without a handle ends when its result is destroyed, too.
//   Missing   A thread that could not be started: missing_ is set, and the watchdog is woken. The watchdog
//             clears missing_ and then checks the queue; a later failure sets missing_ again. The watchdog
//             does not sleep while it is set (four seq_cst accesses).
//   Places    If there is a queue limit: accepted_ - over_ closures run or wait. That is within the limit if
//             it is at most the number of threads that closures may have plus the limit. It is checked under
//             the mutex_ under which a closure is queued. So the limit is exceeded only by waiting
//             submitters, with their closures in the queue already, in order: the n-th has its place when n -
//             over_ is within the limit.
//   Watchers  A thread that waits for a place, or for running closures, reads changed_ under the mutex_ under
//             which it has checked, and is counted in watchers_ by then. A thread that ends something raises
//             changed_ under mutex_ if there are watchers.
//   The end   cancel_queued() sets cancelling_ under the mutex_ under which it empties the queue: a later
//             closure is ended at once. A thread inside a closure when the crew stops is left behind: decided
//             under mutex_, against the end of the closure. From then on it counts in the memories of the
//             ledger, so that everything it uses stays alive.
class blocking_pool final : public core::scheduler, public pool::detail::crew_client {
 public:
  blocking_pool(sched::scheduler& tasks, const pool::pool_options& options);
  blocking_pool(const blocking_pool&) = delete;
  blocking_pool& operator=(const blocking_pool&) = delete;
  ~blocking_pool() = default;

  /// Finds a thread to play `role`. Returns false if none is free beside one for each waiting closure and
  /// role.
  [[nodiscard]] bool start_role(sched::worker& role) noexcept;
  /// Lets the next free thread play `role`, until the calling thread takes it back.
  void offer_role(sched::worker& role) noexcept;
  /// Returns false if another thread has taken `role`.
  [[nodiscard]] bool take_role_back(sched::worker& role) noexcept;
  /// Starts `min_threads` threads beside those of the roles, as far as the system provides them.
  void start_minimum() noexcept { threads_.fill(); }

  /// Called by the watchdog if closures or roles wait because no thread could be started: tries again.
  /// Returns false if none wait for that.
  [[nodiscard]] bool start_missing() noexcept;

  /// Lets no more closures begin: queued ones end as cancelled.
  void cancel_queued() noexcept;
  /// After cancel_queued(): blocks until no closure runs, or until the deadline.
  void wait_for_closures(base::time_point deadline) noexcept;
  /// After all roles have ended: idle threads leave and are joined; threads inside a closure are left behind.
  void stop() noexcept { threads_.stop(); }
  /// Blocks until every role has ended.
  void wait_for_roles(unsigned roles) noexcept;

  struct counts {
    unsigned threads;
    unsigned running;  // closures
    unsigned lent;     // inside a task after another thread has got its role
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
  /// The outcome of a submission.
  enum class [[nodiscard]] on_enter : std::uint8_t { queued, queued_in_excess, refused, run_here, too_late };

  /// One run of a closure, on the stack of the thread that runs it.
  struct turn {
    blocking_pool& of;
    pool::detail::seat& here;
    const core::header* task;  // null: it is over
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
