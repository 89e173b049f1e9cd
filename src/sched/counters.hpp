// What a worker counts: written by it alone, read by anyone, never by an RMW.
#pragma once

#include "base/atomic.hpp"

#include <cstdint>

namespace rota::sched {

class counter {
 public:
  void add(std::uint64_t n) noexcept {
    // relaxed, both. One writer; a reader may be a little late.
    value_.store(value_.load(base::order::relaxed) + n, base::order::relaxed);
  }
  [[nodiscard]] std::uint64_t read() const noexcept {
    // relaxed. A sum for a report.
    return value_.load(base::order::relaxed);
  }

 private:
  base::atomic<std::uint64_t> value_{0};
};

struct worker_counters {
  counter polled;            // looks at a task
  counter stolen;            // tasks taken from other workers
  counter steals;            // operations that took at least one
  counter searches;          // looks at all others for work
  counter parked;            // times it went to sleep
  counter lifo_hits;         // tasks run out of the LIFO slot
  counter injector_fetches;  // batches
  counter overflows;         // times half a full ring moved to the injector
  counter wakes_sent;        // workers it unparked
  counter wakes_spurious;    // times it was unparked and found nothing
  counter spawned;
  counter ended;
  counter cancelled;
  counter made;  // memory: of tasks of the pool, too
  counter freed;
};

}  // namespace rota::sched
