// How many threads a pool may have, how long they stay, what waits for them, and what happens when too much does.
#pragma once

#include <cstddef>

#include <rota/detail/chrono.hpp>
#include <rota/detail/shared_function.hpp>
#include <rota/pool/custom_queue.hpp>
#include <rota/pool/queue_order.hpp>
#include <rota/pool/work_options.hpp>
#include <rota/unhandled.hpp>

namespace rota::pool {

/// Whose queue a priority counts in.
enum class priority_scope : unsigned char {
  per_worker,  // each thread has a queue, and steals when that is empty; threads above twice the processors share them
  global,  // one queue: the larger priority is always first, at the price of one lock for all threads
};

[[nodiscard]] constexpr const char* to_string(priority_scope scope) noexcept {
  switch (scope) {
    case priority_scope::per_worker: return "per worker";
    case priority_scope::global: return "global";
  }
  return "unknown";
}

/// What a thread without work takes from another's queue. `half`: at most 64 works at a time.
enum class steal_amount : unsigned char { half, one };

[[nodiscard]] constexpr const char* to_string(steal_amount amount) noexcept {
  switch (amount) {
    case steal_amount::half: return "half";
    case steal_amount::one: return "one";
  }
  return "unknown";
}

/// What happens to a work for which there is no place.
enum class rejection : unsigned char {
  abort,  // submit() throws errc::queue_full; spawn_blocking() returns what has ended as cancelled: cancel_reason::queue_full
  caller_runs,  // the submitting thread runs it, before submit() returns; of a coroutine what it does until it first waits
  discard_newest,  // it ends as `discarded`
  discard_queued,  // the one that waits with the lowest priority ends as `discarded`, and it takes its place
  block,  // submit() waits for a place: first come, first served; on a thread of the pool: caller_runs. So does spawn_blocking(); in
          // a task and on a worker's thread, which must not wait in a plain call: abort
  custom,  // as `choose_rejection` says
};

[[nodiscard]] constexpr const char* to_string(rejection action) noexcept {
  switch (action) {
    case rejection::abort: return "abort";
    case rejection::caller_runs: return "caller runs";
    case rejection::discard_newest: return "discard newest";
    case rejection::discard_queued: return "discard queued";
    case rejection::block: return "block";
    case rejection::custom: return "custom";
  }
  return "unknown";
}

enum class start_mode : unsigned char {
  running,
  suspended,  // works are held until start()
};

[[nodiscard]] constexpr const char* to_string(start_mode mode) noexcept {
  switch (mode) {
    case start_mode::running: return "running";
    case start_mode::suspended: return "suspended";
  }
  return "unknown";
}

/// What pause() of the pool, of a group or of a work holds.
enum class pause_mode : unsigned char {
  running_only,  // what runs waits at its next checkpoint; what is queued still begins
  queued_too,    // what is queued does not begin either
};

[[nodiscard]] constexpr const char* to_string(pause_mode mode) noexcept {
  switch (mode) {
    case pause_mode::running_only: return "running only";
    case pause_mode::queued_too: return "queued too";
  }
  return "unknown";
}

struct running_timer_options {
  std::chrono::nanoseconds interval{0};  // 0: none; not negative
  /// Called by one thread of the library's own while works are outstanding; for how long they have been.
  rota::detail::shared_function<void(std::chrono::nanoseconds)> elapsed{};
};

/// The pool looks for the number of threads with the best throughput: it measures how many jobs end in each period while jobs wait for a
/// thread, changes the number a little, and keeps the change if more jobs end, or as many with fewer threads. The number stays within
/// max(1, min_threads) .. max_threads, also after resize(), and begins with the number of processors; long jobs and blocking regions have
/// threads beside it. For jobs of similar length that block or contend in a way that the program does not know; a period should see some
/// tens of jobs end. Where jobs wait and none ends in a period there is one step more. docs/pool.md has the rules.
struct hill_climbing_options {
  std::chrono::milliseconds period{
      0};  // between two samples; 1 .. 60000; 0: off, the number follows what waits up to max_threads
  unsigned noise_percent = 5;  // a smaller change of the throughput is none; 1 .. 50
};

/// For threads that may block. Checked where the pool is made: std::invalid_argument names the field and its range.
///
/// A runtime's own pool (runtime_options::blocking) takes the first eight, for the closures of spawn_blocking: `queue_limit` counts
/// those that wait, and `on_full` is abort, caller_runs or block. All other fields must be as they are here: else the runtime's
/// constructor throws, and names the field. Its threads play the workers, too: one for each, beside `max_threads`; `nice` and the two
/// functions are for these as well, and a function that throws ends the program.
struct pool_options {
  unsigned min_threads = 0;    // kept even when idle; 0 .. max_threads
  unsigned max_threads = 512;  // 1 .. 65536; more work than that waits
  std::chrono::nanoseconds keep_alive =
      std::chrono::seconds(10);  // an idle thread leaves after it; not negative
  int nice = 0;                  // of its threads; -20 .. 19, as far as the system allows it
  // Works in queues for which there is no thread, of the whole pool; 0: no limit. Asked of what is submitted, but for works that have
  // an `after` or are long: works that come back to a queue are counted, and never refused.
  std::size_t queue_limit = 0;
  rejection on_full = rejection::abort;
  rota::detail::shared_function<void(unsigned)>
      on_thread_start{};  // on each thread, with its number: for affinity and names
  rota::detail::shared_function<void(unsigned)> on_thread_end{};

  std::size_t worker_queue_limit = 0;  // the same, for each queue: on average; 0: no limit
  queue_order queue = queue_order::fifo;
  custom_queue custom{};  // instead of `queue`: one of them for each
  priority_scope priorities = priority_scope::per_worker;
  std::chrono::nanoseconds aging{
      0};  // a waiting work counts one priority more for each; 0: never; not negative
  steal_amount steal = steal_amount::half;
  start_mode start = start_mode::running;
  pause_mode pause = pause_mode::running_only;
  rota::detail::shared_function<rejection(int priority, std::size_t waiting)>
      choose_rejection{};  // any answer but `custom`

  unsigned time_one_in = 64;       // one in about so many works is timed, for the statistics; 1: all; 0: none
  timeout_options work_timeout{};  // of works that name none
  timeout_options total_timeout{};  // from the first work to the pool's being idle; `from` means nothing here
  running_timer_options running_timer{};
  hill_climbing_options hill_climbing{};
  work_callback default_callback{};  // of works that name none
  // What happens to the exception of a job that failed, when its result is destroyed unfetched and no callback or observer was told; and
  // to one that a callback, a hook or an observer's handler throws, if no observer is there to hear of it. docs/failures.md
  unhandled_policy on_unhandled = unhandled_policy::report;

  std::chrono::nanoseconds force_grace =
      std::chrono::seconds(1);  // from force_stop until a work is abandoned; not negative
  unsigned max_abandoned = 16;  // threads that the pool may lose to abandoned works; 0 .. 4096
  std::chrono::nanoseconds shutdown_grace =
      std::chrono::seconds(5);  // from stop to force_stop in ~thread_pool; not negative
};

}  // namespace rota::pool
