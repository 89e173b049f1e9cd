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

#include <cstdint>
#include <memory>
#include <vector>

namespace rota::gate::detail {

// PROTOCOL: bed of a consumer
//
//   awake 0 · asleep 1: it sleeps on this word, or is about to · called 2: it was told to get up, and has not seen it
//
// call() exchanges `called`; sleep() moves awake -> asleep and sleeps until it is called, then consumes the call. A consumer is
// called by whoever has claimed it in the idle word, once for each claim.
class bed {
 public:
  void sleep() noexcept;
  void call() noexcept;

 private:
  enum value : std::uint32_t { awake, asleep, called };
  base::atomic<std::uint32_t> word_{awake};
};

// PROTOCOL: executor. The scheduler's rules (../sched/README.md, Protocol A), with ready lists for rings
//
//   publish      push to a list, then look: nobody searches, and somebody is parked: claim one, call it
//   consumer     its own list; then as a searcher all the others; then announce that it parks, look at all once more, sleep
//   found        as a searcher: give the token back; who was the last looks whether there is more, and if so at the idle word
//   took one of several   look at the idle word: what is left needs somebody
//
// Invariants (tests/model/ready_model.cpp): R1 and R2 of ready_lists.
class executor_core {
 public:
  /// Throws std::bad_alloc, std::system_error if the threads cannot be had; then none is left.
  static executor_core& create(unsigned threads);
  executor_core(const executor_core&) = delete;
  executor_core& operator=(const executor_core&) = delete;

  /// Any thread; the caller has a reference.
  void publish(mailbox_core& ready) noexcept;

  void enrol(mailbox_core& made) noexcept;
  void strike_off(mailbox_core& ended) noexcept;
  [[nodiscard]] executor_stats totals() noexcept;
  /// Of those that are there now. Throws std::bad_alloc, and has waited for none.
  void wait_until_all_were_empty();

  void pause() noexcept;
  void resume() noexcept;

  /// Ends all mailboxes and all threads. By the owner, once, and by none of its own threads.
  void shut_down() noexcept;
  /// Is this thread one of its consumers?
  [[nodiscard]] bool runs_here() const noexcept;

  [[nodiscard]] std::uint32_t next_number() noexcept;
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
    unsigned takes = 0;       // that gave something
    bed rest;
    base::thread thread;
  };

  explicit executor_core(unsigned threads);
  ~executor_core() = default;

  static void run_consumer(void* raw) noexcept;
  void serve(consumer& me) noexcept;
  /// Null: got up without a mailbox; go round.
  mailbox_core* find(consumer& me) noexcept;
  mailbox_core* take(consumer& me, unsigned shard) noexcept;
  void leave_search(consumer& me) noexcept;
  void sleep(consumer& me) noexcept;
  void look() noexcept;
  void stop_threads() noexcept;
  [[nodiscard]] bool collect(std::vector<mailbox_core*>& all) noexcept;
  static void add(executor_stats& sum, const mailbox_stats& one) noexcept;
  [[nodiscard]] bool is_stopping() const noexcept;
  [[nodiscard]] bool is_paused() const noexcept;

  ready_lists<mailbox_core> ready_;
  queue::idle idle_;
  std::vector<consumer> consumers_;
  base::atomic<std::uint32_t> orders_{0};  // to_stop, to_pause
  base::atomic<std::uint32_t> numbers_{0};
  base::atomic<std::uint32_t> references_{1};
  base::mutex lock_;
  registry_links alive_;     // under the lock
  registry_links told_;      // under the lock: to end
  executor_stats of_ended_;  // under the lock
};

}  // namespace rota::gate::detail
