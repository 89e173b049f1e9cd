// What a pool says of itself: counts of a moment, and what was left when it ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rota/detail/chrono.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

/// Of the works that were timed: of all with pool_options::time_one_in = 1, else of a sample. The median, p90 and p99 are at most an eighth
/// too long; the other times are exact.
struct time_summary {
  std::uint64_t count = 0;
  std::chrono::nanoseconds median{0}, p90{0}, p99{0}, longest{0};
  std::chrono::nanoseconds total{0};  // the sum of the times
  std::chrono::nanoseconds mean{0};   // total / count; zero where nothing was timed
};

/// What one thread of a pool has done. When it ends the next one that is started goes on with its counts.
struct thread_stats {
  unsigned index = 0;          // the number that on_thread_start was given
  bool is_there = false;       // it has not ended; also one that an abandoned work holds
  std::uint64_t attempts = 0;  // totals; executions that were begun there
  std::uint64_t ended = 0;     // works that it has brought to an end, whatever that was
  std::uint64_t failed = 0;    // of these
  std::uint64_t stolen = 0;    // works that it has taken from the queues of others
};

/// Counts of one moment; those that are totals only grow.
struct pool_stats {
  unsigned threads = 0;       // alive, the lost ones apart
  unsigned idle = 0;          // of these
  unsigned thread_goal = 0;   // how many there may be at most: max_threads, or what hill climbing has found
  unsigned running = 0;       // works that hold a thread
  unsigned long_running = 0;  // of these
  unsigned in_regions = 0;    // threads inside of a blocking_region, or of a wait for another work
  unsigned abandoned = 0;     // threads that an abandoned work still holds
  std::uint64_t waiting = 0;  // accepted, and not begun: blocked and suspended ones, too
  std::uint64_t outstanding =
      0;  // accepted, and not over; and each busy_guard, and each watch that has something left to do
  std::uint64_t coroutines = 0;  // begun, and not over
  std::uint64_t submitted = 0;   // totals from here on
  std::uint64_t succeeded = 0;
  std::uint64_t failed = 0;
  std::uint64_t cancelled = 0;
  std::uint64_t stopped = 0;
  std::uint64_t force_stopped = 0;
  std::uint64_t abandoned_works = 0;
  std::uint64_t discarded = 0;
  std::uint64_t rejected = 0;
  std::uint64_t attempts = 0;  // executions that were begun
  std::uint64_t stolen = 0;
  std::uint64_t threads_started = 0;
  std::uint64_t threads_retired = 0;
  std::uint64_t start_failures = 0;     // times the system gave no thread
  std::uint64_t handler_failures = 0;   // exceptions that error() of an observer threw
  std::uint64_t unhandled = 0;          // exceptions that went to pool_options::on_unhandled
  std::chrono::nanoseconds uptime{0};   // since the pool was made, also after its end
  time_summary queue_time;              // from the queue to the first attempt
  time_summary run_time;                // of the first attempt; of functions, not of coroutines
  std::vector<thread_stats> by_thread;  // what other threads did (submit, wait, cancel) is only in the totals
};

/// A work that has failed, as its pool remembers it: see thread_pool::failed_works().
struct failed_work {
  static constexpr std::size_t most_kept = 256;     // of a pool; the oldest goes first
  static constexpr std::size_t longest_text = 200;  // bytes of each text; the rest is cut off

  work_id id;
  work_id
      root;  // the first work that did not end well, if this one has not run because of that; else its own id
  std::string name;   // empty: none
  std::string group;  // empty: none
  std::string error;  // what() of its exception
};

/// What was left when a pool ended.
struct pool_report {
  std::uint64_t cancelled = 0;  // ended without having begun
  std::uint64_t ended = 0;      // ran when the end began, and came to an end
  std::vector<work_id> abandoned;
};

}  // namespace rota::pool
