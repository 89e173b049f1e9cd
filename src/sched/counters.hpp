// The counters of a worker. Only the worker writes them, any thread may read them, and no RMW is used.
#pragma once

#include "base/counter.hpp"

namespace rota::sched {

using base::counter;

struct worker_counters {
  counter polled;            // polls of tasks
  counter stolen;            // tasks taken from other workers
  counter steals;            // steal operations that took at least one task
  counter searches;          // scans of all other workers for work
  counter parked;            // times it went to sleep
  counter lifo_hits;         // tasks run out of the LIFO slot
  counter injector_fetches;  // batches
  counter overflows;         // times half a full ring moved to the injector
  counter wakes_sent;        // workers it unparked
  counter wakes_spurious;    // times it was unparked and found nothing
  counter spawned;
  counter ended;
  counter cancelled;
  counter made;  // memory of tasks, including tasks of the pool
  counter freed;
};

}  // namespace rota::sched
