// The options of a pool: its threads, its queues, and what happens when a queue is full.
#pragma once

#include <cstddef>

#include <rota/detail/chrono.hpp>
#include <rota/detail/shared_function.hpp>
#include <rota/pool/custom_queue.hpp>
#include <rota/pool/queue_order.hpp>
#include <rota/pool/work_options.hpp>
#include <rota/unhandled.hpp>

namespace rota::pool {

/// The scope within which priorities are compared.
enum class priority_scope : unsigned char {
  // each thread has a queue, and steals when it is empty; threads above twice the processors share queues
  per_worker,
  global,  // one queue: the larger priority is always first, at the price of one lock for all threads
};

[[nodiscard]] constexpr const char* to_string(priority_scope scope) noexcept {
  switch (scope) {
    case priority_scope::per_worker: return "per worker";
    case priority_scope::global: return "global";
  }
  return "unknown";
}

/// What a thread without work steals from another queue. `half`: at most 64 works at a time.
enum class steal_amount : unsigned char { half, one };

[[nodiscard]] constexpr const char* to_string(steal_amount amount) noexcept {
  switch (amount) {
    case steal_amount::half: return "half";
    case steal_amount::one: return "one";
  }
  return "unknown";
}

/// What happens to a work that finds no place in a queue.
enum class rejection : unsigned char {
  // submit() throws errc::queue_full. spawn_blocking() returns a job that has ended as cancelled, with
  // cancel_reason::queue_full
  abort,
  // the submitting thread runs the work before submit() returns; of a coroutine, only until it first waits
  caller_runs,
  discard_newest,  // the new work ends as `discarded`
  // the waiting work with the lowest priority ends as `discarded`, and the new work takes its place
  discard_queued,
  // submit() and spawn_blocking() wait for a place, in the order of their arrival. On a thread of the pool
  // submit() does as caller_runs. In a task and on a worker's thread, which must not block, spawn_blocking()
  // does as abort
  block,
  custom,  // the answer of `choose_rejection` decides
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
  running_only,  // a running work waits at its next checkpoint; queued works still begin
  queued_too,    // queued works do not begin either
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
  /// Called by a thread of the library while works are outstanding, with the time since the first of them.
  rota::detail::shared_function<void(std::chrono::nanoseconds)> elapsed{};
};

/// Hill climbing: the pool searches the number of threads with the best throughput. While jobs wait for a
/// thread, it counts how many jobs end in each period. It changes the number of threads a little. It keeps
/// the change if more jobs end, or if as many end with fewer threads. If jobs wait and none ends in a period,
/// it adds one step. The number stays within max(1, min_threads) .. max_threads, also after resize(), and
/// begins with the number of processors. Threads for long jobs and blocking regions come on top of it. Use it
/// for jobs of similar length that block or contend in a way that the program does not know. Some tens of
/// jobs should end in each period. docs/pool.md has the rules.
struct hill_climbing_options {
  // between two samples; 1 .. 60000; 0: off, the number follows the waiting works up to max_threads
  std::chrono::milliseconds period{0};
  unsigned noise_percent = 5;  // smaller changes of the throughput are ignored; 1 .. 50
};

/// The options of a pool. The constructor of the pool checks them: std::invalid_argument names the field and
/// its range.
///
/// A runtime's own pool (runtime_options::blocking) uses the first eight fields, for the closures of
/// spawn_blocking: `queue_limit` counts the closures that wait, and `on_full` is abort, caller_runs or block.
/// All other fields must have their default values, else the runtime's constructor throws and names the
/// field. The threads of this pool also play the workers: one thread for each worker, beside `max_threads`.
/// `nice` and the two thread functions apply to these threads as well. A thread function that throws ends the
/// program.
struct pool_options {
  unsigned min_threads = 0;    // kept even if idle; 0 .. max_threads
  unsigned max_threads = 512;  // 1 .. 65536; further works wait
  std::chrono::nanoseconds keep_alive =
      std::chrono::seconds(10);  // an idle thread ends after this time; not negative
  int nice = 0;                  // of the pool's threads; -20 .. 19, as far as the system allows it
  // The number of works that may wait in queues, in the whole pool; 0: no limit. It is checked for submitted
  // works, except works that have an `after` or are long. Works that come back to a queue are counted, but
  // never refused.
  std::size_t queue_limit = 0;
  rejection on_full = rejection::abort;
  rota::detail::shared_function<void(unsigned)>
      on_thread_start{};  // called on each thread, with its number: for affinity and names
  rota::detail::shared_function<void(unsigned)> on_thread_end{};

  std::size_t worker_queue_limit = 0;  // the same limit for each queue, on average; 0: no limit
  queue_order queue = queue_order::fifo;
  custom_queue custom{};  // if set, used for each queue instead of `queue`
  priority_scope priorities = priority_scope::per_worker;
  std::chrono::nanoseconds aging{
      0};  // the priority of a waiting work rises by one after each such time; 0: never; not negative
  steal_amount steal = steal_amount::half;
  start_mode start = start_mode::running;
  pause_mode pause = pause_mode::running_only;
  rota::detail::shared_function<rejection(int priority, std::size_t waiting)>
      choose_rejection{};  // must return any value but `custom`

  unsigned time_one_in = 64;       // about one in so many works is timed, for the statistics; 1: all; 0: none
  timeout_options work_timeout{};  // of works without a timeout of their own
  timeout_options total_timeout{};  // from the first work until the pool is idle; `from` is ignored
  running_timer_options running_timer{};
  hill_climbing_options hill_climbing{};
  work_callback default_callback{};  // of works without a callback of their own
  // The policy for exceptions that no code receives: the exception of a failed job if its result is destroyed
  // unfetched and no callback and no observer received it; and an exception of a callback, a hook or an
  // observer's handler if there is no observer to receive it. docs/failures.md
  unhandled_policy on_unhandled = unhandled_policy::report;

  std::chrono::nanoseconds force_grace =
      std::chrono::seconds(1);  // from force_stop until a work is abandoned; not negative
  // the number of threads that the pool may lose to abandoned works; 0 .. 4096
  unsigned max_abandoned = 16;
  std::chrono::nanoseconds shutdown_grace =
      std::chrono::seconds(5);  // from stop to force_stop in ~thread_pool; not negative
};

}  // namespace rota::pool
