// The id and the status of a work.
#pragma once

#include <compare>
#include <cstdint>

namespace rota::pool {

/// Identifies a work of one pool. A pool never uses an id twice. 0 identifies no work.
struct work_id {
  std::uint64_t value = 0;
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return value != 0; }
  friend constexpr bool operator==(work_id, work_id) = default;
  friend constexpr bool operator<(work_id a, work_id b) noexcept { return a.value < b.value; }
};

/// The states of a work. The last eight are final. Every accepted work reaches exactly one of them.
enum class work_status : unsigned char {
  created,  // its id is reserved, and the work is not submitted yet
  blocked,  // waits for the works in `after`
  // held back: the pool has not started, its group is full or paused, or its next attempt is not due
  suspended,
  queued,         // ready to run; a thread will take it
  running,        // has begun; holds a thread, or is a coroutine between two segments
  paused,         // has begun; waits at a checkpoint until it is resumed
  succeeded,      // returned
  failed,         // threw in its last attempt, or a work in `after` did not succeed
  cancelled,      // cancelled before it began
  stopped,        // ended because of a request to stop
  force_stopped,  // ended by force_stop at a blocking point of the library
  abandoned,      // did not end after force_stop; its thread no longer belongs to the pool
  discarded,      // lost its place in a full queue to another work
  // its submit() threw, for example because a queue is full; seen by threads that had found the work before
  rejected,
};

[[nodiscard]] constexpr bool is_final(work_status status) noexcept {
  return status >= work_status::succeeded;
}

[[nodiscard]] constexpr const char* to_string(work_status status) noexcept {
  switch (status) {
    case work_status::created: return "created";
    case work_status::blocked: return "blocked";
    case work_status::suspended: return "suspended";
    case work_status::queued: return "queued";
    case work_status::running: return "running";
    case work_status::paused: return "paused";
    case work_status::succeeded: return "succeeded";
    case work_status::failed: return "failed";
    case work_status::cancelled: return "cancelled";
    case work_status::stopped: return "stopped";
    case work_status::force_stopped: return "force stopped";
    case work_status::abandoned: return "abandoned";
    case work_status::discarded: return "discarded";
    case work_status::rejected: return "rejected";
  }
  return "unknown";
}

}  // namespace rota::pool
