// The consumers that serve the mailboxes: their lists, their sleep, their end.
#pragma once

#include "base/atomic.hpp"
#include "base/cache_line.hpp"
#include "base/futex.hpp"
#include "base/mutex.hpp"
#include "base/thread.hpp"
#include "gate/mailbox_parts.hpp"
#include "gate/ready_lists.hpp"
#include "queue/idle.hpp"

#include <rota/detail/mailbox_core.hpp>
#include <rota/leaf.hpp>
#include <rota/spawn.hpp>
#include <rota/waker.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace rota::gate::detail {

// PROTOCOL: bed of a consumer
//
//   awake 0
//   asleep 1   the consumer sleeps on this word, or is about to
//   called 2   it was told to wake up, and has not seen that
//
// call() exchanges `called`. sleep() moves awake -> asleep, sleeps until it is called, then consumes the
// call. A consumer is called by the thread that has claimed it in the idle word, once for each claim. There
// is a deadline only while a handler rests.
class bed {
 public:
  /// Sleeps until it is called. Returns false if the deadline came first; then there was no call.
  bool sleep(base::time_point deadline = base::never) noexcept;
  void call() noexcept;

 private:
  enum value : std::uint32_t { awake, asleep, called };
  base::atomic<std::uint32_t> word_{awake};
};

// PROTOCOL: bed of a consumer that is a task
//
//   lie down   the waker is stored, then the consumer announces that it parks: a thread that claims it later
//              takes the waker
//   call       takes the waker out, then stores `called`, the last access, then wakes
//   get up     Not claimed: the consumer takes its waker back. Claimed: it waits for `called`, even if it is
//              cancelled.
class task_bed {
 public:
  void lie_down(waker by) noexcept {
    by_is_mine_.set(true);
    by_ = std::move(by);
  }
  [[nodiscard]] waker get_up() noexcept {
    by_is_mine_.set(true);
    return std::move(by_);
  }
  void call() noexcept {
    waker sleeper = get_up();
    // release: pairs with was_called().
    called_.store(1, base::order::release);
    sleeper.wake();
  }
  [[nodiscard]] bool was_called() const noexcept {
    // acquire: pairs with call(): the consumer owns this object again.
    return called_.load(base::order::acquire) != 0;
  }
  void answer() noexcept {
    // relaxed: the next call comes after the next announcement.
    called_.store(0, base::order::relaxed);
  }

 private:
  waker by_;
  base::cell<bool> by_is_mine_{false};  // set by each thread that uses it, so that the model detects a race
  base::atomic<std::uint32_t> called_{0};
};

class core_reference;

// PROTOCOL: executor. The scheduler's rules (../sched/README.md, Protocol A), with ready lists for rings
//
//   publish      push to a list, then check the idle word: if no consumer searches and one is parked, claim
//                one and call it
//   consumer     its own list; then, as a searcher, all the others; then announce that it parks, check all
//                once more, sleep
//   found        As a searcher: give the token back. The last searcher checks whether there is more, and if
//                so the idle word.
//   took one of several
//                check the idle word: the items that are left need another consumer
//   rest         Store the earliest deadline (seq_cst) under the lock. If it has become earlier, claim each
//                parked consumer and call it. A consumer announces that it parks, and then reads the deadline
//                (seq_cst). So none sleeps past the earliest deadline: it has read this one, or an earlier
//                one, or it is called. To call one consumer, and only if none searches, is not enough:
//                  1. T1 stores the deadline, finds that T2 searches, and calls none.
//                  2. T2 takes a mailbox. T1 and T2 run long handlers.
//                  3. T3 sleeps until the old deadline.
//   gone         No consumer is left, or none polls the lists any more. Store gone (seq_cst), then sweep:
//                visit what is in the lists. A thread that publishes pushes (seq_cst), then checks gone, and
//                sweeps. So does a consumer that leaves, because it may have taken a list and served only its
//                first item. By then all mailboxes have the order to discard.
//
// Consumers are threads, or tasks of a runtime. Tasks give their worker back after 64 messages. When the
// runtime shuts down they are unwound, and the last one that leaves ends all mailboxes: later sends are
// refused. A mailbox gets the order to discard before it leaves the ring of live mailboxes. So a thread that
// finds that ring empty may sweep.
//
// Fork: a child of the process that has the consumers has none of them. Each lock, list and idle word is
// there as some thread of the parent had it at the fork. So the executor's calls compare `process_` first,
// and throw errc::forked. The destructor returns, and the core stays in memory, with its mailboxes, handlers
// and messages.
//
// Invariants (tests/model/ready_model.cpp): R1 and R2 of ready_lists.
class executor_core {
 public:
  /// Throws std::bad_alloc, and std::system_error if a thread cannot be started; then no thread is left.
  static executor_core& create(unsigned threads);
  /// Makes a core for `tasks` consumers, each made by consume(). Throws std::bad_alloc.
  static executor_core& create_for_tasks(unsigned tasks);
  /// The task of consumer `index`; to be called once for each index. Throws std::bad_alloc.
  static task<void> consume(executor_core& core, unsigned index);
  executor_core(const executor_core&) = delete;
  executor_core& operator=(const executor_core&) = delete;

  /// Makes a mailbox ready. Any thread; the caller has a reference.
  void publish(mailbox_core& ready) noexcept;

  void enrol(mailbox_core& made) noexcept;
  void strike_off(mailbox_core& ended) noexcept;
  [[nodiscard]] executor_stats totals() noexcept;
  static task<void> drain_all(core_reference of);
  /// Calls end_rest() of the mailbox at `when`. On a runtime without memory for a task: at once.
  void end_rest_later(mailbox_core& box, base::time_point when) noexcept;

  /// Waits until each mailbox that is there now was empty once. If it throws std::bad_alloc, it has waited
  /// for none.
  void wait_until_all_were_empty();

  void pause() noexcept;
  void resume() noexcept;

  /// Ends all mailboxes and all consumers. The owner calls it, once, and not inside one of its own handlers.
  void shut_down() noexcept;
  /// Returns true if the calling thread is one of its consumers.
  [[nodiscard]] bool runs_here() const noexcept;
  /// Returns true if the calling thread is inside one of its handlers.
  [[nodiscard]] bool handles_here() noexcept;
  /// Returns true if a wait here would delay what it waits for.
  [[nodiscard]] bool would_deadlock() const noexcept;
  [[nodiscard]] bool has_tasks() const noexcept { return by_tasks_; }
  /// Notes the scheduler of one of its tasks, before any other thread has the executor.
  void note_scheduler(const core::header& task) noexcept;
  /// The time as its handlers see it.
  [[nodiscard]] base::time_point now() const noexcept;

  /// If its tasks all run on this thread, which would wait for one of them: runs another task. Returns false
  /// otherwise; then the caller may block.
  [[nodiscard]] bool help_once() noexcept;
  [[nodiscard]] bool help_before(base::time_point deadline) noexcept;
  [[nodiscard]] bool is_alone() const noexcept { return alone_ != nullptr; }

  /// Surrounds each sleep in a blocking wait for its handlers: inside a task it lends the worker's role
  /// meanwhile, and a root of block_on rests.
  class waiting_section {
   public:
    waiting_section() noexcept;
    waiting_section(const waiting_section&) = delete;
    waiting_section& operator=(const waiting_section&) = delete;
    ~waiting_section() = default;

   private:
    std::optional<core::blocking_section> lent_;
  };

  [[nodiscard]] std::uint32_t next_number() noexcept;
  /// The process that has its consumers, as base::this_process_id() names it.
  [[nodiscard]] std::uint64_t process() const noexcept { return process_; }
  [[nodiscard]] bool is_own_process() const noexcept { return base::is_this_process(process_); }
  /// Throws errc::forked in a forked child of the process that has its consumers.
  void demand_own_process() const;
  [[nodiscard]] unsigned consumers() const noexcept { return static_cast<unsigned>(consumers_.size()); }

  void add_reference() noexcept {
    // relaxed: the caller holds a reference.
    references_.fetch_add(1, base::order::relaxed);
  }
  void drop_reference() noexcept;

 private:
  struct alignas(base::cache_line) consumer {
    executor_core* all = nullptr;
    unsigned index = 0;
    bool searching = false;
    bool met_holder = false;  // of a list's lock, in the last find()
    unsigned looks = 0;       // searches in a row that found nothing but a held lock
    unsigned takes = 0;       // takes that returned a mailbox
    bed rest;
    base::thread thread;
    task_bed place;  // used by a consumer that is a task
  };
  class seat;
  class nap_leaf;
  static task<void> sit(seat mine);
  struct on_thread;
  static constexpr base::time_point::rep no_rest = base::never.time_since_epoch().count();
  enum class pause_kind : std::uint8_t { turn, nap, stop };

  executor_core(unsigned consumers, bool by_tasks);
  ~executor_core() = default;

  static void run_consumer(void* raw) noexcept;
  void serve(consumer& me) noexcept;
  [[nodiscard]] pause_kind serve_for_a_while(consumer& me) noexcept;
  void leave(consumer& me) noexcept;
  void call(unsigned index) noexcept;
  /// To be called after the announcement that the consumer parks.
  [[nodiscard]] bool has_reason_to_stay() const noexcept;
  /// Returns a ready mailbox, or null if there is none.
  mailbox_core* find(consumer& me) noexcept;
  mailbox_core* take(consumer& me, unsigned shard) noexcept;
  void leave_search(consumer& me) noexcept;
  void sleep(consumer& me) noexcept;
  void look() noexcept;
  void call_sleepers() noexcept;
  void stop_consumers() noexcept;
  void ask_all_to_end() noexcept;
  void sweep() noexcept;
  void sweep_if_gone() noexcept;
  void wait_until_all_have_ended() noexcept;
  [[nodiscard]] std::vector<mailbox_core*> all_that_live();
  [[nodiscard]] bool collect(std::vector<mailbox_core*>& all) noexcept;
  static void add(executor_stats& sum, const mailbox_stats& one) noexcept;
  static task<void> end_rest_at(kept_mailbox box, base::time_point when);
  void end_rests() noexcept;
  void insert_rest(mailbox_core& box, base::time_point until) noexcept;
  void remove_rest(mailbox_core& box) noexcept;
  void set_next_rest() noexcept;
  [[nodiscard]] bool is_stopping() const noexcept;
  [[nodiscard]] bool is_paused() const noexcept;

  const bool by_tasks_;
  const std::uint64_t process_ = base::this_process_id();
  ready_lists<mailbox_core> ready_;
  queue::idle idle_;
  std::vector<consumer> consumers_;
  base::atomic<std::uint32_t> orders_{0};  // to_stop, to_pause, gone, ending
  // Both are written before any other thread has the executor.
  const core::scheduler* scheduler_ = nullptr;  // of its tasks: it may be destroyed already
  // A testing::runtime's, which is destroyed only after all has ended
  core::scheduler* alone_ = nullptr;
  base::atomic<std::uint32_t> living_{0};  // consumers that are tasks
  base::atomic<std::uint32_t> numbers_{0};
  base::atomic<base::time_point::rep> next_rest_{no_rest};  // when the first of the resting mailboxes goes on
  base::atomic<std::uint32_t> references_{1};
  base::mutex lock_;
  registry_links alive_;                       // under the lock
  registry_links told_;                        // under the lock: those that were told to end
  resting_mailboxes resting_;                  // under the lock
  executor_stats of_ended_;                    // under the lock
  base::atomic<std::uint32_t> struck_off_{0};  // under the lock: mailboxes that have ended
};

/// A counted reference to an executor_core.
class core_reference {
 public:
  explicit core_reference(executor_core& core) noexcept : core_(&core) { core.add_reference(); }
  core_reference(core_reference&& other) noexcept : core_(std::exchange(other.core_, nullptr)) {}
  core_reference& operator=(core_reference&&) = delete;
  ~core_reference() {
    if (core_ != nullptr) core_->drop_reference();
  }
  [[nodiscard]] executor_core& operator*() const noexcept { return *core_; }
  [[nodiscard]] executor_core* operator->() const noexcept { return core_; }
  [[nodiscard]] explicit operator bool() const noexcept { return core_ != nullptr; }

 private:
  executor_core* core_;
};

}  // namespace rota::gate::detail
