// Who serves the mailboxes: consumers, their lists, their sleep.
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
//   awake 0 · asleep 1: it sleeps on this word, or is about to · called 2: it was told to get up, and has not seen it
//
// call() exchanges `called`; sleep() moves awake -> asleep and sleeps until it is called, then consumes the call. A consumer is
// called by whoever has claimed it in the idle word, once for each claim. There is a deadline only while a handler rests.
class bed {
 public:
  /// False: the deadline came first, and nobody has called.
  bool sleep(base::time_point deadline = base::never) noexcept;
  void call() noexcept;

 private:
  enum value : std::uint32_t { awake, asleep, called };
  base::atomic<std::uint32_t> word_{awake};
};

// PROTOCOL: bed of a consumer that is a task
//
//   lie down   the waker is put in, then the consumer announces that it parks: who claims it later takes the waker
//   call       takes the waker out, then stores `called`, the last touch, then wakes
//   get up     not claimed: the consumer takes its waker back. Claimed: it waits for `called`, cancelled or not
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
    // release. Pairs with was_called().
    called_.store(1, base::order::release);
    sleeper.wake();
  }
  [[nodiscard]] bool was_called() const noexcept {
    // acquire. Pairs with call(): the bed is the consumer's again.
    return called_.load(base::order::acquire) != 0;
  }
  void answer() noexcept {
    // relaxed. The next call comes after the next announcement.
    called_.store(0, base::order::relaxed);
  }

 private:
  waker by_;
  base::cell<bool> by_is_mine_{false};  // written by whoever uses it: the model sees who that is
  base::atomic<std::uint32_t> called_{0};
};

class core_reference;

// PROTOCOL: executor. The scheduler's rules (../sched/README.md, Protocol A), with ready lists for rings
//
//   publish      push to a list, then look: nobody searches, and somebody is parked: claim one, call it
//   consumer     its own list; then as a searcher all the others; then announce that it parks, look at all once more, sleep
//   found        as a searcher: give the token back; who was the last looks whether there is more, and if so at the idle word
//   took one of several   look at the idle word: what is left needs somebody
//   rest         store the earliest deadline (seq_cst) under the lock; if it has become earlier, claim each parked consumer and call it.
//                A consumer announces that it parks, and then reads the deadline (seq_cst). So none sleeps past the earliest deadline:
//                it has read this one, or an earlier one, or it is called. To call one consumer, and only if none searches, is too
//                little: T1 stores the deadline, finds T2 searching, and calls none; T2 takes a mailbox; T1 and T2 run long handlers;
//                T3 sleeps until the old deadline
//   gone         no consumer is left, or none looks any more: gone (seq_cst), then sweep: visit what is in the lists. Who publishes
//                pushes (seq_cst), then looks at gone, and sweeps; so does a consumer that leaves, for it may have taken a list and
//                served only its first. By then all mailboxes have the order to discard
//
// Consumers are threads, or tasks of a runtime. These give their worker back after 64 messages. When the runtime shuts down they are
// unwound, and the last one that leaves ends all mailboxes: what is sent later is refused. A mailbox has the order to discard before it
// leaves the ring of those that are alive, so whoever finds that ring empty may sweep.
//
// Fork: a child of the process that has the consumers has none of them, and finds each lock, list and idle word as some thread of its parent
// had it. So the executor's calls compare `process_` first, and throw errc::forked; the destructor returns, and the core stays in memory,
// with its mailboxes, handlers and messages.
//
// Invariants (tests/model/ready_model.cpp): R1 and R2 of ready_lists.
class executor_core {
 public:
  /// Throws std::bad_alloc, std::system_error if the threads cannot be had; then none is left.
  static executor_core& create(unsigned threads);
  /// For as many tasks, each made by consume(). Throws std::bad_alloc.
  static executor_core& create_for_tasks(unsigned tasks);
  /// Of each index one. Throws std::bad_alloc.
  static task<void> consume(executor_core& core, unsigned index);
  executor_core(const executor_core&) = delete;
  executor_core& operator=(const executor_core&) = delete;

  /// Any thread; the caller has a reference.
  void publish(mailbox_core& ready) noexcept;

  void enrol(mailbox_core& made) noexcept;
  void strike_off(mailbox_core& ended) noexcept;
  [[nodiscard]] executor_stats totals() noexcept;
  static task<void> drain_all(core_reference of);
  /// Calls its end_rest() then. On a runtime without memory for a task: at once.
  void end_rest_later(mailbox_core& box, base::time_point when) noexcept;

  /// Of those that are there now. Throws std::bad_alloc, and has waited for none.
  void wait_until_all_were_empty();

  void pause() noexcept;
  void resume() noexcept;

  /// Ends all mailboxes and all consumers. By the owner, once, and inside of none of its own handlers.
  void shut_down() noexcept;
  /// Is this thread one of its consumers?
  [[nodiscard]] bool runs_here() const noexcept;
  /// Is this thread inside of one of its handlers?
  [[nodiscard]] bool handles_here() noexcept;
  /// Would what waits here hold up what it waits for?
  [[nodiscard]] bool would_deadlock() const noexcept;
  [[nodiscard]] bool has_tasks() const noexcept { return by_tasks_; }
  /// Of one of its tasks, before anybody else has the executor.
  void note_scheduler(const core::header& task) noexcept;
  /// As its handlers see it.
  [[nodiscard]] base::time_point now() const noexcept;

  /// Where its tasks all run on this thread, and it would wait for one of them: runs another. False: it may wait.
  [[nodiscard]] bool help_once() noexcept;
  [[nodiscard]] bool help_before(base::time_point deadline) noexcept;
  [[nodiscard]] bool is_alone() const noexcept { return alone_ != nullptr; }

  /// Around each sleep in a blocking wait for its handlers: inside of a task the worker's role is lent meanwhile, and a root of block_on rests.
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
    // relaxed. The caller has one.
    references_.fetch_add(1, base::order::relaxed);
  }
  void drop_reference() noexcept;

 private:
  struct alignas(base::cache_line) consumer {
    executor_core* all = nullptr;
    unsigned index = 0;
    bool searching = false;
    bool met_holder = false;  // of a list's lock
    unsigned looks = 0;       // in a row that gave nothing and met one
    unsigned takes = 0;       // that gave something
    bed rest;
    base::thread thread;
    task_bed place;  // of one that is a task
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
  /// After the announcement that it parks.
  [[nodiscard]] bool has_reason_to_stay() const noexcept;
  /// Null: there is none.
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
  // Both written before anybody else has the executor.
  const core::scheduler* scheduler_ = nullptr;  // of its tasks: it may be gone
  core::scheduler* alone_ = nullptr;            // a testing::runtime's, which is gone only when all has ended
  base::atomic<std::uint32_t> living_{0};       // consumers that are tasks
  base::atomic<std::uint32_t> numbers_{0};
  base::atomic<base::time_point::rep> next_rest_{no_rest};  // when the first of those that rest goes on
  base::atomic<std::uint32_t> references_{1};
  base::mutex lock_;
  registry_links alive_;                       // under the lock
  registry_links told_;                        // under the lock: to end
  resting_mailboxes resting_;                  // under the lock
  executor_stats of_ended_;                    // under the lock
  base::atomic<std::uint32_t> struck_off_{0};  // under the lock: mailboxes that have ended
};

/// A counted reference to it.
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
