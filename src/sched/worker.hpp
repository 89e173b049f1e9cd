// One worker: the role that a thread plays. Its queues, its way to find work, its sleep.
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

/// The capacity of a ring; small in the model build, so that overflow and wrap are reached.
inline constexpr std::uint32_t ring_capacity = ROTA_MODEL && !ROTA_SIMULATED ? 4 : 256;
using task_ring = queue::ring<core::header, ring_capacity>;

inline constexpr std::uint32_t polls_per_tick = 128;
inline constexpr std::uint32_t polls_between_driver_looks = 61;
inline constexpr std::uint32_t lifo_polls_in_a_row = 3;
/// A task of the ring for each of the injector, however long they take.
inline constexpr std::uint32_t least_between_injector_looks = 2;
inline constexpr std::uint32_t most_forks_in_a_row = 8;

class worker;

/// A role that waits for a thread, in the pool's list. Under the lock of that list.
struct role_offer {
  worker* next = nullptr;
  /// The thread that may take it back, by the address of its thread_locals. Null: the role is not offered.
  const void* by = nullptr;
  /// So many closures were queued before it.
  std::uint64_t after = 0;
};

/// A worker is a role, not a thread: a thread that is about to block hands it to another one and goes on without it.
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

  /// This thread plays the role from now on, or no longer.
  void enter_thread() noexcept;
  static void leave_thread() noexcept;

  /// For whoever runs here and would be fair.
  [[nodiscard]] std::uint64_t draw() noexcept { return random_.next() + (base::chance() ? 1 : 0); }

  /// The newest task: into the LIFO slot, its predecessor into the ring.
  void push_newest(core::header& task) noexcept;
  /// The end of the ring; published, and looked.
  void push_ring(core::header& task) noexcept;
  /// The same for a task that ran just now: the worker is about to choose what it runs next, and looks then, if anything is
  /// left for others.
  void push_last(core::header& task) noexcept;

  /// The look that push_last() has put off, if what it was for is still there.
  void settle() noexcept;

  /// A task that would let others go first finds none here: it may go on. Not for ever: the driver gets its looks. `looks` at
  /// tasks have been made here since one was chosen.
  [[nodiscard]] bool keeps_turn(unsigned looks) noexcept;

  /// join(help): one task from the LIFO slot, the ring, the injector or another worker's ring, in that order.
  [[nodiscard]] bool help_once() noexcept;

  /// The worker that this thread plays; null for none.
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

  /// What the role's thread counts. `count_freed`: true for the last task of all; the caller frees the scheduler.
  void count_spawned() noexcept;
  void count_made() noexcept;
  void count_ended(bool was_cancelled) noexcept;
  [[nodiscard]] bool count_freed() noexcept;

  /// After the role has ended, by the thread that stops the scheduler: drops what is left in the queues.
  void drain() noexcept;

  /// It changes with every poll. Anybody.
  [[nodiscard]] std::uint64_t poll_stamp() const noexcept {
    // relaxed. The watchdog compares it with an earlier one, and is only a guess late.
    return stamp_.load(base::order::relaxed);
  }
  /// Another poll begins, of `task_id`; 0: of nothing. By the thread that plays the role.
  void note_poll(std::uint64_t task_id) noexcept {
    // relaxed, both. One writer; the watchdog reads it a little late.
    stamp_.store(stamp_.load(base::order::relaxed) + 1, base::order::relaxed);
    // release. Pairs with task_of_poll(): the stamp goes before the task.
    task_id_.store(task_id, base::order::release);
  }
  /// The task that runs here, if the poll is still the one with this stamp. 0: another poll, or none.
  [[nodiscard]] std::uint64_t task_of_poll(std::uint64_t stamp) const noexcept {
    // acquire. Pairs with note_poll(): who sees the task of a later poll sees its stamp, too.
    const std::uint64_t id = task_id_.load(base::order::acquire);
    return poll_stamp() == stamp ? id : 0;
  }
  /// The kernel's id of the thread that has entered this role last. Any thread, for reports; 0: none.
  [[nodiscard]] std::uint64_t thread_id() const noexcept {
    // relaxed. A report; a late one measures the thread that had the role before.
    return thread_id_.load(base::order::relaxed);
  }
  /// The task that runs here. Anybody, for reports.
  [[nodiscard]] std::uint64_t current_task_id() const noexcept {
    // relaxed. A report.
    return task_id_.load(base::order::relaxed);
  }

 private:
  /// Where a task that is woken now goes. What events bring is for all workers, and stands in its order. A timer is late already if it
  /// fires between two tasks: the first task of such a look goes into the slot, and displaces what is there; the others into the ring.
  enum class newest : std::uint8_t { to_slot, to_ring, to_ring_told_later, first_to_slot };

  /// Why the worker asks the driver now: it has polled as many tasks as may pass between two looks, or only the time slice has ended.
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
  /// Apart from store(), which so has no batch on its stack.
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
  base::atomic<std::uint64_t> thread_id_{0};  // by the thread that enters the role
  worker_counters counts_;
  role_offer offer_;
  core::birth_range births_;

  base::random random_;
  pace pace_;
  std::uint32_t budget_ = polls_per_tick;
  std::uint32_t since_injector_ = 0;
  std::uint32_t injector_is_due_after_ = pace_.interval();  // polls since the last look at it
  std::uint32_t since_driver_ =
      0;  // polls since the last look, but for those by time that left the events out
  std::uint32_t slice_of_injector_look_ = 0;
  std::uint32_t slice_of_driver_look_ = 0;
  std::uint32_t looks_left_out_ = 0;
  std::uint32_t lifo_polls_ = 0;
  std::uint32_t timers_in_a_row_ = 0;  // that were put into the slot since the ring had its turn
  std::uint32_t forks_in_a_row_ = 0;
  std::uint32_t calls_heard_ = 0;  // by the fork deque, when forks were chosen last
  std::uint32_t polls_this_tick_ = 0;
  unsigned neighbour_;                    // whose ring is looked at next
  std::uint64_t stamp_of_neighbour_ = 0;  // its poll, when it was chosen
  bool searching_ = false;
  newest newest_goes_ = newest::to_slot;
  bool owes_look_ = false;      // something went into the ring, and nobody was told
  bool timer_is_next_ = false;  // the slot's task is a due timer's
  bool just_woken_ = false;
  bool books_closed_ = false;
};

}  // namespace rota::sched
