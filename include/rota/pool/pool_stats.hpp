// The statistics of a pool: counts of one moment, and the report of its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <rota/detail/chrono.hpp>
#include <rota/pool/work_status.hpp>

namespace rota::pool {

/// The times of the works that were timed: of all works if pool_options::time_one_in is 1, else of a sample.
/// The median, p90 and p99 are at most an eighth too long. The other times are exact.
struct time_summary {
  std::uint64_t count = 0;
  std::chrono::nanoseconds median{0}, p90{0}, p99{0}, longest{0};
  std::chrono::nanoseconds total{0};  // the sum of the times
  std::chrono::nanoseconds mean{0};   // total / count; 0 if nothing was timed
};

/// The counts of one thread of a pool. After the thread has ended, the next thread that starts continues its
/// counts.
struct thread_stats {
  unsigned index = 0;          // the number that on_thread_start received
  bool is_there = false;       // it has not ended; also true if an abandoned work holds it
  std::uint64_t attempts = 0;  // totals from here on; executions that began on it
  std::uint64_t ended = 0;     // works that it brought to a final status
  std::uint64_t failed = 0;    // of these, the failed ones
  std::uint64_t stolen = 0;    // works that it took from queues of other threads
};

/// Counts of one moment. Totals never decrease.
struct pool_stats {
  unsigned threads = 0;       // alive, without the abandoned ones
  unsigned idle = 0;          // of these
  unsigned thread_goal = 0;   // the limit at this moment: max_threads, or the result of hill climbing
  unsigned running = 0;       // works that hold a thread
  unsigned long_running = 0;  // of these
  unsigned in_regions = 0;    // threads in a blocking_region, or in a wait for another work
  unsigned abandoned = 0;     // threads that an abandoned work still holds
  std::uint64_t waiting = 0;  // accepted, and not begun; with the blocked and suspended ones
  std::uint64_t outstanding =
      0;  // accepted, and not over; also counts each busy_guard, and each watch that has work to do
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
  std::uint64_t attempts = 0;  // executions that began
  std::uint64_t stolen = 0;
  std::uint64_t threads_started = 0;
  std::uint64_t threads_retired = 0;
  std::uint64_t start_failures = 0;    // how often the system refused a thread
  std::uint64_t handler_failures = 0;  // exceptions that error() of an observer threw
  std::uint64_t unhandled = 0;         // exceptions that went to pool_options::on_unhandled
  std::chrono::nanoseconds uptime{0};  // since the constructor; goes on after the end
  time_summary queue_time;             // from the queue to the first attempt
  time_summary run_time;               // of the first attempt; only functions, no coroutines
  // actions of other threads (submit, wait, cancel) are only in the totals
  std::vector<thread_stats> by_thread;
};

/// The record of a failed work: see thread_pool::failed_works().
struct failed_work {
  static constexpr std::size_t most_kept = 256;     // for each pool; the oldest is dropped first
  static constexpr std::size_t longest_text = 200;  // bytes of each text; longer texts are cut

  work_id id;
  work_id
      root;  // the first work that did not end well, if this one did not run because of it; else its own id
  std::string name;   // empty: none
  std::string group;  // empty: none
  std::string error;  // what() of its exception
};

/// What was left when a pool ended.
struct pool_report {
  std::uint64_t cancelled = 0;  // ended without having begun
  std::uint64_t ended = 0;      // were running when the end began, and have ended
  std::vector<work_id> abandoned;
};

}  // namespace rota::pool
