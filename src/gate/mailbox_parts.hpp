// The rest of a mailbox: what only this room needs to know.
#pragma once

#include "base/atomic.hpp"
#include "base/counter.hpp"
#include "base/mutex.hpp"

#include <rota/detail/mailbox_core.hpp>
#include <rota/detail/mailbox_waits.hpp>
#include <rota/join_handle.hpp>

#include <chrono>
#include <cstdint>
#include <utility>

namespace rota::gate::detail {

/// In the ring of its executor's registry; the ring's own is nobody's.
struct registry_links : ring_links<registry_links> {
  mailbox_core* whose = nullptr;
};

struct mailbox_core::parts {
  mailbox_options options;
  unsigned band = 0;
  unsigned home = 0;
  std::uint32_t number = 0;

  // Written by rounds, which come one after the other.
  base::counter served;
  base::counter failed;
  base::counter visits;
  base::atomic<std::uint64_t> dropped{0};

  base::mutex lock;         // of those who wait
  mailbox_waiter senders;   // for room, under the lock
  mailbox_waiter watchers;  // tasks that wait for emptiness or the end, under the lock
  base::mutex drops;        // around taking out, where senders do that as well

  // The task in which a round goes on: of which visit, and the last visit whose task is over. Under the lock.
  join_handle<void> runner;
  std::uint64_t runner_visit = 0;
  std::uint64_t runners_over = 0;
  base::cell<std::uint64_t> runner_begun{
      0};  // the visit whose task owns the round: written before that begins
  base::atomic<std::uint64_t> runner_id{0};  // its task's, while it runs: ids are never used twice

  base::atomic<std::uint32_t> emptied{0};  // how often a round that somebody waited for left it empty

  registry_links registered;  // the executor's, under its lock
};

}  // namespace rota::gate::detail
