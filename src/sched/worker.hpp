// A worker: the role that a thread plays, with its queues, its search for work, and its sleep.
#pragma once

#include "base/cache_line.hpp"
#include "base/chance.hpp"
#include "base/random.hpp"
#include "base/tls_slot.hpp"
#include "queue/fork_deque.hpp"
#include "queue/ring.hpp"
#include "sched/counters.hpp"
#include "sched/lifo_slot.hpp"
#include "sched/pace.hpp"
#include "sched/parker.hpp"
#include "sched/poller.hpp"
#include "task/header.hpp"

#include <rota/detail/fork_group.hpp>

#include <cstdint>

namespace rota::sched {

class scheduler;

/// The capacity of a ring. It is small in the model build, so that overflow and wrap are reached.
inline constexpr std::uint32_t ring_capacity = ROTA_MODEL && !ROTA_SIMULATED ? 4 : 256;
using task_ring = queue::ring<core::header, ring_capacity>;

inline constexpr std::uint32_t polls_per_tick = 128;
inline constexpr std::uint32_t polls_between_driver_looks = 61;
inline constexpr std::uint32_t lifo_polls_in_a_row = 3;
/// At least one task of the ring runs for each task of the injector, however long they take.
inline constexpr std::uint32_t least_between_injector_looks = 2;
inline constexpr std::uint32_t most_forks_in_a_row = 8;

class worker;

/// A role that waits for a thread, in the list of the pool. Guarded by the lock of that list.
struct role_offer {
  worker* next = nullptr;
  /// The thread that may take it back, by the address of its thread_locals. Null: the role is not offered.
  const void* by = nullptr;
  /// The number of closures that were queued before it.
  std::uint64_t after = 0;
};

/// A worker is a role, not a thread. A thread that is about to block hands the role to another one and goes
/// on without it.
/// Members without a comment belong to the thread that plays the role.
class alignas(base::cache_line) worker {
 public:
  worker(scheduler& shared, unsigned index, std::uint64_t seed) noexcept;
  worker(const worker&) = delete;
  worker& operator=(const worker&) = delete;
  ~worker() = default;

  /// Plays the role until the scheduler stops, or until a task that it runs has given the role away.
  enum class [[nodiscard]] on_play : std::uint8_t { stopped, role_lent };
  on_play play() noexcept;

  /// Makes this thread play the role; leave_thread() ends that.
  void enter_thread() noexcept;
  static void leave_thread() noexcept;

  /// Returns a random number for fair choices of the code that runs on this thread.
  [[nodiscard]] std::uint64_t draw() noexcept { return random_.next() + (base::chance() ? 1 : 0); }

  /// Puts the newest task into the LIFO slot, and the displaced one into the ring.
  void push_newest(core::header& task) noexcept;
  /// Puts the task at the end of the ring, and notifies.
  void push_ring(core::header& task) noexcept;
  /// The same for a task that ran just now. The worker is about to choose its next task, and notifies after
  /// that, if anything is left for others.
  void push_last(core::header& task) noexcept;

  /// Makes the notification that push_last() has deferred, if the ring is not empty.
  void settle() noexcept;

  /// Returns true if a task that yields may go on because no other task waits here. It does not do so for
  /// ever: the driver is still polled. `looks` task polls have been made here since one was chosen.
  [[nodiscard]] bool keeps_turn(unsigned looks) noexcept;

  /// For join(help): runs one task from the LIFO slot, the ring, the injector or another worker, in that
  /// order.
  [[nodiscard]] bool help_once() noexcept;

  /// Returns the worker that this thread plays, or null.
  [[nodiscard]] static worker* current() noexcept {
    return static_cast<worker*>(base::this_thread_locals().worker);
  }

  [[nodiscard]] scheduler& shared() const noexcept { return shared_; }
  [[nodiscard]] unsigned index() const noexcept { return index_; }
  [[nodiscard]] lifo_slot<core::header>& slot() noexcept { return slot_; }
  [[nodiscard]] task_ring::thief thief_end() noexcept { return ring_.thief_end(); }
  [[nodiscard]] core::fork_context& forks() noexcept { return forks_; }
  [[nodiscard]] parker& bed() noexcept { return parker_; }
  [[nodiscard]] worker_counters& counts() noexcept { return counts_; }
  [[nodiscard]] const pace& rhythm() const noexcept { return pace_; }
  [[nodiscard]] role_offer& offer() noexcept { return offer_; }

  /// Counts of the thread that plays the role. count_freed() returns true for the last memory of all: the
  /// caller frees the scheduler.
  void count_spawned() noexcept;
  void count_made() noexcept;
  void count_ended(bool was_cancelled) noexcept;
  [[nodiscard]] bool count_freed() noexcept;

  /// Drops the remaining entries of the queues. Called after the role has ended, by the thread that stops the
  /// scheduler.
  void drain() noexcept;

  /// Returns a number that changes with every poll. Any thread.
  [[nodiscard]] std::uint64_t poll_stamp() const noexcept {
    // relaxed: the watchdog compares it with an earlier value; a late value is only a guess.
    return stamp_.load(base::order::relaxed);
  }
  /// Records that another poll begins, of `task_id`; 0: of no task. By the thread that plays the role.
  void note_poll(std::uint64_t task_id) noexcept {
    // relaxed, both: one writer; the watchdog may read it a little late.
    stamp_.store(stamp_.load(base::order::relaxed) + 1, base::order::relaxed);
    // release: pairs with task_of_poll(): the stamp is stored before the task.
    task_id_.store(task_id, base::order::release);
  }
  /// Returns the task that runs here, if the poll is still the one with this stamp. 0: another poll, or no
  /// task.
  [[nodiscard]] std::uint64_t task_of_poll(std::uint64_t stamp) const noexcept {
    // acquire: pairs with note_poll(): a reader of the task of a later poll reads its stamp, too.
    const std::uint64_t id = task_id_.load(base::order::acquire);
    return poll_stamp() == stamp ? id : 0;
  }
  /// Returns the kernel's id of the last thread that entered this role; 0: none. Any thread, for reports.
  [[nodiscard]] std::uint64_t thread_id() const noexcept {
    // relaxed: for a report; a late value measures the previous thread of the role.
    return thread_id_.load(base::order::relaxed);
  }
  /// Returns the task that runs here. Any thread, for reports.
  [[nodiscard]] std::uint64_t current_task_id() const noexcept {
    // relaxed: for a report.
    return task_id_.load(base::order::relaxed);
  }

 private:
  /// Where a woken task goes now. Tasks that events wake are for all workers, in the order of the events. A
  /// timer that fires between two tasks is late already: the first task of such a poll goes into the slot and
  /// displaces its task; the others go into the ring.
  enum class newest : std::uint8_t { to_slot, to_ring, to_ring_told_later, first_to_slot };

  /// Why the worker polls the driver now: the number of task polls between two driver polls was reached, or
  /// only the time slice has ended.
  enum class due : std::uint8_t { by_polls, by_time };

  void tick() noexcept;
  void maintain(due why) noexcept;
  [[nodiscard]] bool leaves_events_where_they_are(due why) noexcept;
  [[nodiscard]] bool dispatch_events() noexcept;
  [[nodiscard]] bool driver_is_due(std::uint32_t polls) const noexcept;
  void note_slice() noexcept;
  void note_slice_for_injector() noexcept;
  enum class timers_of : std::uint8_t { all, this_worker };
  void fire_timers(timers_of whose, unsigned limit) noexcept;
  void run(core::header& task) noexcept;
  [[nodiscard]] bool lost_role() const noexcept { return current() != this; }

  void push_first(core::header& task) noexcept;
  [[nodiscard]] core::header* next_running() noexcept;
  [[nodiscard]] core::header* next_entry() noexcept;
  [[nodiscard]] core::header* choose() noexcept;
  [[nodiscard]] bool store(core::header& task) noexcept;
  /// Apart from store(), which then needs no batch on its stack.
  [[nodiscard, gnu::noinline]] bool store_beside_full_ring(core::header& task) noexcept;
  [[nodiscard]] core::header* from_lifo() noexcept;
  [[nodiscard]] core::header* choose_beside_forks() noexcept;
  [[nodiscard]] core::header* from_forks() noexcept;
  [[nodiscard]] core::header* from_injector() noexcept;
  [[nodiscard]] core::header* start(core::header* entry) noexcept;
  void flush_lifo() noexcept;
  void move_to_injector(task_ring::batch& batch) noexcept;

  [[nodiscard]] core::header* from_neighbour() noexcept;
  void choose_neighbour() noexcept;
  [[nodiscard]] core::header* search() noexcept;
  [[nodiscard]] core::header* steal_from(worker& victim) noexcept;
  [[nodiscard]] core::header* steal_fork(worker& victim) noexcept;
  [[nodiscard]] core::header* find_or_park() noexcept;
  [[nodiscard]] core::header* leave_search(core::header& found) noexcept;
  void leave_behind() noexcept;
  [[nodiscard]] bool others_have_work() noexcept;
  [[nodiscard]] core::header* search_for_help() noexcept;
  [[nodiscard]] bool sees_work() noexcept;
  void get_up(bool consumed) noexcept;
  void sleep() noexcept;
  void wait_in_driver() noexcept;
  [[nodiscard]] unsigned wait_for_events(base::time_point until, event_buffer& found) noexcept;
  void close_books() noexcept;

  scheduler& shared_;
  const unsigned index_;
  lifo_slot<core::header> slot_;
  task_ring ring_;
  task_ring::owner mine_;
  core::fork_context forks_;
  parker parker_;
  base::atomic<std::uint64_t> stamp_{0};
  base::atomic<std::uint64_t> task_id_{0};
  base::atomic<std::uint64_t> thread_id_{0};  // written by the thread that enters the role
  worker_counters counts_;
  role_offer offer_;
  core::birth_range births_;

  base::random random_;
  pace pace_;
  std::uint32_t budget_ = polls_per_tick;
  std::uint32_t since_injector_ = 0;
  std::uint32_t injector_is_due_after_ = pace_.interval();  // polls since the last poll of the injector
  std::uint32_t since_driver_ =
      0;  // task polls since the last driver poll, except polls by time that left the events out
  std::uint32_t slice_of_injector_look_ = 0;
  std::uint32_t slice_of_driver_look_ = 0;
  std::uint32_t looks_left_out_ = 0;
  std::uint32_t lifo_polls_ = 0;
  std::uint32_t timers_in_a_row_ = 0;  // put into the slot since the ring had its turn
  std::uint32_t forks_in_a_row_ = 0;
  std::uint32_t calls_heard_ = 0;  // calls of the fork deque when forks were chosen last
  std::uint32_t polls_this_tick_ = 0;
  unsigned neighbour_;                    // the neighbour to check next
  std::uint64_t stamp_of_neighbour_ = 0;  // its poll stamp when it was chosen
  bool searching_ = false;
  newest newest_goes_ = newest::to_slot;
  bool owes_look_ = false;      // a task went into the ring without a notification
  bool timer_is_next_ = false;  // the slot holds the task of a due timer
  bool just_woken_ = false;
  bool books_closed_ = false;
};

}  // namespace rota::sched
