// The parts of a mailbox that only this module uses.
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

/// The links in the ring of the executor's registry. The ring's own node belongs to no mailbox.
struct registry_links : ring_links<registry_links> {
  mailbox_core* whose = nullptr;
};

/// A mailbox that rests before its handler is remade: a node in the heap of its executor if that has threads.
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

/// A counter that only rounds increase. A reader sees what was done before the increase.
class served_counter {
 public:
  void add(std::uint64_t n) noexcept {
    // relaxed: rounds run one after the other. release: pairs with read(): what the handlers have sent is
    // seen as sent.
    value_.store(value_.load(base::order::relaxed) + n, base::order::release);
  }
  [[nodiscard]] std::uint64_t read() const noexcept {
    // acquire: pairs with add().
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

  // Written by rounds, which run one after the other.
  served_counter served;
  base::counter failed;
  base::counter visits;
  base::counter restarts;
  base::counter waits;
  base::counter waited;        // ns
  base::counter longest_wait;  // ns
  // Written by the thread that makes the mailbox ready, then by the round; zero: this visit is not measured.
  base::cell<base::time_point> ready_since{};
  // The times of the last `limit` restarts, in a ring; used by rounds
  std::unique_ptr<base::time_point[]> restarted;
  base::atomic<std::uint64_t> dropped{0};

  base::mutex lock;                   // guards the waiters
  mailbox_waiter senders;             // those that wait for space, under the lock
  mailbox_waiter watchers;            // tasks that wait for emptiness or the end, under the lock
  base::mutex drops;                  // with drop_oldest: around appending links and taking them out
  base::cell<std::size_t> length{0};  // of the list; under `drops`
  // The list's head, while its message is being moved out; under `drops`.
  removal* being_emptied = nullptr;

  // The task in which a round goes on: its handle, the number of its visit, and the last visit of which the
  // task is over. Under the lock.
  join_handle<void> runner;
  std::uint64_t runner_visit = 0;
  std::uint64_t runners_over = 0;
  // The visit of the task that owns the round: written before the task begins.
  base::cell<std::uint64_t> runner_begun{0};
  join_handle<void> rest;  // the task that ends the handler's rest; used by rounds
  // The id of the runner's task, and that of the task for which it waits. Ids are never reused.
  base::atomic<std::uint64_t> runner_id{0};
  base::atomic<std::uint64_t> helper_id{0};

  // How often a round left the mailbox empty while a waiter had asked
  base::atomic<std::uint32_t> emptied{0};

  registry_links registered;  // in the executor's registry, under the executor's lock
  resting_mailbox resting;    // likewise
};

/// Keeps a mailbox alive.
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
