// The rest of a mailbox: what only this room needs to know.
#pragma once

#include "base/atomic.hpp"
#include "base/mutex.hpp"

#include <rota/detail/mailbox_core.hpp>
#include <rota/detail/mailbox_waits.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

namespace rota::gate::detail {

/// In the ring of its executor's registry; the ring's own is nobody's.
struct registry_links {
  registry_links* next = this;
  registry_links* before = this;
  mailbox_core* whose = nullptr;

  void insert_after(registry_links& where) noexcept {
    before = &where;
    next = std::exchange(where.next, this);
    next->before = this;
  }
  void unlink() noexcept {
    before->next = next;
    next->before = before;
    next = before = this;
  }
};

struct mailbox_core::parts {
  /// Written by one side at a time, which the gate decides.
  class counter {
   public:
    void add(std::uint64_t n) noexcept {
      // relaxed, both. One writer at a time, and each sees the one before; a reader may be a little late.
      value_.store(value_.load(base::order::relaxed) + n, base::order::relaxed);
    }
    [[nodiscard]] std::uint64_t read() const noexcept {
      // relaxed. A sum for a report.
      return value_.load(base::order::relaxed);
    }

   private:
    base::atomic<std::uint64_t> value_{0};
  };

  mailbox_options options;
  unsigned band = 0;
  unsigned home = 0;
  std::uint32_t number = 0;

  counter served;
  counter failed;
  counter visits;
  base::atomic<std::uint64_t> dropped{0};

  base::mutex lock;         // of those who wait
  mailbox_waiter senders;   // for room, under the lock
  mailbox_waiter watchers;  // tasks that wait for emptiness or the end, under the lock
  base::mutex drops;        // around taking out, where senders do that as well

  base::atomic<std::uint32_t> emptied{0};  // how often a round that somebody waited for left it empty

  registry_links registered;  // the executor's, under its lock
};

}  // namespace rota::gate::detail
