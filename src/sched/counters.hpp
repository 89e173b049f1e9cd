// What a worker counts: written by it alone, read by anyone, never by an RMW.
#pragma once

#include "base/counter.hpp"

namespace rota::sched {

using base::counter;

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
