// The rest of a mailbox: what only this room needs to know.
#pragma once

#include "base/atomic.hpp"
#include "base/clock.hpp"
#include "base/counter.hpp"
#include "base/mutex.hpp"
#include "queue/pairing_heap.hpp"

#include <rota/detail/mailbox_core.hpp>
#include <rota/detail/mailbox_waits.hpp>
#include <rota/join_handle.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace rota::gate::detail {

/// In the ring of its executor's registry; the ring's own is nobody's.
struct registry_links : ring_links<registry_links> {
  mailbox_core* whose = nullptr;
};

/// A mailbox whose handler rests, in the heap of its executor if that has threads.
struct resting_mailbox {
  mailbox_core* whose = nullptr;  // null: in no heap
  base::time_point until{};
  resting_mailbox* next_ = nullptr;
  resting_mailbox* prev_ = nullptr;
  resting_mailbox* child_ = nullptr;
};
struct ends_rest_before {
  [[nodiscard]] bool operator()(const resting_mailbox& a, const resting_mailbox& b) const noexcept {
    return a.until < b.until;
  }
};
using resting_mailboxes = queue::pairing_heap<resting_mailbox, ends_rest_before>;

/// Only rounds add; who reads it sees what was done before.
class served_counter {
 public:
  void add(std::uint64_t n) noexcept {
    // relaxed. Rounds come one after the other. release. Pairs with read(): what the handlers have sent is sent.
    value_.store(value_.load(base::order::relaxed) + n, base::order::release);
  }
  [[nodiscard]] std::uint64_t read() const noexcept {
    // acquire. Pairs with add().
    return value_.load(base::order::acquire);
  }

 private:
  base::atomic<std::uint64_t> value_{0};
};

struct mailbox_core::parts {
  explicit parts(const mailbox_options& given) : options(given) {
    if (given.error_policy == on_error::restart)
      restarted = std::make_unique<base::time_point[]>(given.restarts.limit);
  }

  const mailbox_options options;
  unsigned band = 0;
  unsigned home = 0;
  std::uint32_t number = 0;

  // Written by rounds, which come one after the other.
  served_counter served;
  base::counter failed;
  base::counter visits;
  base::counter restarts;
  base::counter waits;
  base::counter waited;        // ns
  base::counter longest_wait;  // ns
  base::cell<base::time_point>
      ready_since{};  // who makes it ready, then the round; zero: this one is not timed
  std::unique_ptr<base::time_point[]> restarted;  // when the last `limit` were, in a ring; the rounds'
  base::atomic<std::uint64_t> dropped{0};

  base::mutex lock;                   // of those who wait
  mailbox_waiter senders;             // for room, under the lock
  mailbox_waiter watchers;            // tasks that wait for emptiness or the end, under the lock
  base::mutex drops;                  // of one that drops: around appending links and taking them out
  base::cell<std::size_t> length{0};  // of its list; under `drops`
  removal* being_emptied =
      nullptr;  // the list's head, if its message is still being moved out; under `drops`

  // The task in which a round goes on: of which visit, and the last visit whose task is over. Under the lock.
  join_handle<void> runner;
  std::uint64_t runner_visit = 0;
  std::uint64_t runners_over = 0;
  base::cell<std::uint64_t> runner_begun{
      0};                  // the visit whose task owns the round: written before that begins
  join_handle<void> rest;  // the task that ends the handler's rest; the rounds'
  // Its task's, and that of one which this waits for: ids are never used twice.
  base::atomic<std::uint64_t> runner_id{0};
  base::atomic<std::uint64_t> helper_id{0};

  base::atomic<std::uint32_t> emptied{0};  // how often a round that somebody waited for left it empty

  registry_links registered;  // the executor's, under its lock
  resting_mailbox resting;    // the same
};

/// Keeps it while it lives.
class kept_mailbox {
 public:
  explicit kept_mailbox(mailbox_core& box) noexcept : box_(&box) { box.add_reference(); }
  kept_mailbox(kept_mailbox&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  kept_mailbox& operator=(kept_mailbox&&) = delete;
  ~kept_mailbox() {
    if (box_ != nullptr) box_->drop_reference();
  }
  [[nodiscard]] mailbox_core* operator->() const noexcept { return box_; }

 private:
  mailbox_core* box_;
};

}  // namespace rota::gate::detail
