// The runtime: workers, a blocking pool, timers, a driver.
#pragma once

#include <cstdint>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <rota/detail/chrono.hpp>
#include <rota/detail/enter.hpp>
#include <rota/detail/io_backend.hpp>
#include <rota/detail/spawn_blocking_on.hpp>
#include <rota/detail/spawn_on.hpp>
#include <rota/detail/under_deadline.hpp>
#include <rota/pool/pool_options.hpp>
#include <rota/task.hpp>
#include <rota/unhandled.hpp>

namespace rota {

namespace detail {
class runtime_core;
}
namespace core {
class clock_source;
}

/// Every field has a default. The constructor checks the values: std::invalid_argument names the field and
/// its range.
struct runtime_options {
  unsigned workers = 0;  // 0: the number of processors this process may use, at least 1; else 1..4096
  io_backend backend = io_backend::automatic;
  pool::pool_options blocking{};  // the threads of closures and of workers: its first eight fields
  // A cancelled_error during a shutdown does not count as unhandled: the operation that a task awaits may be
  // cancelled a moment before the task itself.
  unhandled_policy on_unhandled = unhandled_policy::terminate;
  std::chrono::nanoseconds watchdog =
      std::chrono::milliseconds(25);  // report a task, or a root of block_on, that runs longer; 0: never
  // When the grace is over, active shields are overridden and running clean-ups are unwound. It must not be
  // negative. A shield or a clean-up that begins later has its own limit: one without a limit can block a
  // shutdown for ever.
  std::chrono::nanoseconds shutdown_grace{0};
  std::uint64_t seed = 0;  // seed of the choice of steal victims; 0: a random one
};

struct worker_stats {
  std::uint64_t tasks_polled = 0;
  std::uint64_t tasks_stolen = 0;  // tasks taken from other workers: a steal may take half of a ring
  std::uint64_t steals = 0;        // steal operations that took at least one task
  std::uint64_t searches = 0;      // scans of all other workers for tasks to steal
  std::uint64_t times_parked = 0;
  std::uint64_t lifo_hits = 0;
  std::uint64_t injector_fetches = 0;
  std::uint64_t overflows = 0;
  std::uint64_t wakes_sent = 0;
  std::uint64_t wakes_spurious = 0;
};

/// Sums of counters. The counters may change while they are read.
struct runtime_stats {
  std::uint64_t total_spawned = 0;
  std::uint64_t total_completed = 0;  // ended with a value or an exception
  std::uint64_t total_cancelled = 0;
  std::uint64_t total_polled = 0;
  std::uint64_t total_stolen =
      0;  // steal operations: the sum of `steals`; the tasks are in `tasks_stolen` of each worker
  std::uint64_t total_parked = 0;
  std::uint64_t total_unhandled = 0;
  std::uint64_t total_suppressed = 0;          // discarded exceptions of children: another one was reported
  std::uint64_t total_shields_overridden = 0;  // their limit passed while a cancellation waited for them
  std::uint64_t total_shortages = 0;  // blocking calls that found no free thread for the role of their worker
  std::uint64_t total_stalls = 0;     // times a task ran longer than `watchdog`
  std::uint64_t total_ripened = 0;    // times the watchdog gave a waiting task to other workers
  unsigned num_workers = 0;
  std::uint64_t alive_tasks = 0;
  std::uint64_t injector_depth = 0;
  std::uint64_t blocking_queued = 0;
  std::uint64_t blocking_threads = 0;  // threads of the pool, including the threads of the workers
  rota::io_backend io_backend = rota::io_backend::automatic;  // the backend in use
  io_stats io;
  std::vector<worker_stats> workers;
};

/// A task that did not end.
struct survivor {
  task_id id;
  std::string name;
  std::string where;  // file:line of the program's innermost co_await; empty if it never suspended
};

struct shutdown_report {
  std::uint64_t drained = 0;    // tasks that ended with a value or an exception after the shutdown began
  std::uint64_t cancelled = 0;  // tasks that ended as cancelled
  std::vector<survivor> survivors;
};

/// Lets foreign threads spawn on a runtime that they do not own. Copyable. A task that is spawned after the
/// shutdown is cancelled at once.
class ROTA_API runtime_handle {
 public:
  runtime_handle(const runtime_handle& other) noexcept;
  runtime_handle& operator=(const runtime_handle& other) noexcept;
  ~runtime_handle();

  template <class T>
  join_handle<T> spawn(task<T> work, std::source_location site = std::source_location::current()) const {
    return core::spawn_on(scheduler(), core::inherit_deadline(std::move(work)), site);
  }
  template <class F>
    requires core::makes_task<F>
  auto spawn(F&& function, std::source_location site = std::source_location::current()) const {
    return spawn(core::make_task(std::forward<F>(function)), site);
  }
  template <class F, class A>
    requires core::makes_task<F, A>
  auto spawn(F&& function, A&& first, std::source_location site = std::source_location::current()) const {
    return spawn(core::make_task(std::forward<F>(function), std::forward<A>(first)), site);
  }
  template <class F, class A, class B>
    requires core::makes_task<F, A, B>
  auto spawn(F&& function,
             A&& first,
             B&& second,
             std::source_location site = std::source_location::current()) const {
    return spawn(core::make_task(std::forward<F>(function), std::forward<A>(first), std::forward<B>(second)),
                 site);
  }
  /// Reports do not show the spawn site of a task with so many arguments.
  template <class F, class... Args>
    requires(core::makes_task<F, Args...> && sizeof...(Args) > 2)
  auto spawn(F&& function, Args&&... args) const {
    return spawn(core::make_task(std::forward<F>(function), std::forward<Args>(args)...), {});
  }
  template <class F>
    requires core::callable_with<F>
  auto spawn_blocking(F&& function, std::source_location site = std::source_location::current()) const {
    return core::spawn_blocking_on(pool(), site, std::forward<F>(function));
  }
  template <class F, class A>
    requires core::callable_with<F, A>
  auto spawn_blocking(F&& function,
                      A&& first,
                      std::source_location site = std::source_location::current()) const {
    return core::spawn_blocking_on(pool(), site, std::forward<F>(function), std::forward<A>(first));
  }
  template <class F, class A, class B>
    requires core::callable_with<F, A, B>
  auto spawn_blocking(F&& function,
                      A&& first,
                      B&& second,
                      std::source_location site = std::source_location::current()) const {
    return core::spawn_blocking_on(
        pool(), site, std::forward<F>(function), std::forward<A>(first), std::forward<B>(second));
  }
  /// Reports do not show the spawn site of a closure with so many arguments.
  template <class F, class... Args>
    requires(core::callable_with<F, Args...> && sizeof...(Args) > 2)
  auto spawn_blocking(F&& function, Args&&... args) const {
    return core::spawn_blocking_on(
        pool(), std::source_location(), std::forward<F>(function), std::forward<Args>(args)...);
  }

 private:
  friend class runtime;
  friend struct core::spawner_of<runtime_handle>;
  friend struct core::spawner_of<const runtime_handle>;
  explicit runtime_handle(detail::runtime_core& core) noexcept;
  [[nodiscard]] core::scheduler& scheduler() const;
  [[nodiscard]] core::scheduler& pool() const;
  detail::runtime_core* core_;
};

/// Runs tasks.
///
/// Threads       Any thread may spawn, cancel and read stats. The destroying thread must not run tasks of
///               this runtime: else the program ends with "runtime destroyed on its own worker".
/// Ownership     Owns its threads. After its destructor every task has ended, except blocking work that did
///               not return.
/// Ordering      What a thread did before `spawn` happens before the first line of the task.
/// Failure       The constructor throws std::invalid_argument for an option out of range and for a ROTA_IO
///               that is no backend. It throws std::bad_alloc, and std::system_error if it cannot get the
///               worker threads (EAGAIN), the watchdog thread, the descriptors of the driver or the backend;
///               nothing is left behind then. Blocking work that finds no thread waits for one.
/// Cost          One thread for each worker and one watchdog. When there is no work they all sleep without
///               timers.
/// Example       examples/runtime.cpp
class ROTA_API runtime {
 public:
  runtime() : runtime(runtime_options{}) {}
  explicit runtime(runtime_options options);
  /// The tasks read the time from `clock`, a testing::virtual_clock. Stall detection, keep_alive, wait_for()
  /// on a handle and the grace of a shutdown use the clock of the machine.
  runtime(runtime_options options, core::clock_source& clock);
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  /// shutdown(options.shutdown_grace)
  ~runtime();

  /// Runs a task on the calling thread and returns its value. Rethrows its exception; throws
  /// `cancelled_error` if it was cancelled. Throws `errc::nested_block_on` inside a task, except in closures
  /// of spawn_blocking and in functions inside of block_in_place.
  template <class T>
  T block_on(task<T> work, std::source_location site = std::source_location::current()) {
    return core::run_on_this_thread(std::move(work), &scheduler(), site);
  }
  template <class F>
    requires core::makes_task<F>
  auto block_on(F&& function, std::source_location site = std::source_location::current()) {
    return block_on(core::make_task(std::forward<F>(function)), site);
  }
  template <class F, class A>
    requires core::makes_task<F, A>
  auto block_on(F&& function, A&& first, std::source_location site = std::source_location::current()) {
    return block_on(core::make_task(std::forward<F>(function), std::forward<A>(first)), site);
  }
  template <class F, class A, class B>
    requires core::makes_task<F, A, B>
  auto block_on(F&& function,
                A&& first,
                B&& second,
                std::source_location site = std::source_location::current()) {
    return block_on(
        core::make_task(std::forward<F>(function), std::forward<A>(first), std::forward<B>(second)), site);
  }
  /// Reports do not show the spawn site of a task with so many arguments.
  template <class F, class... Args>
    requires(core::makes_task<F, Args...> && sizeof...(Args) > 2)
  auto block_on(F&& function, Args&&... args) {
    return block_on(core::make_task(std::forward<F>(function), std::forward<Args>(args)...), {});
  }

  /// Starts a task. From a worker of this runtime the task runs next; from other threads it goes to the end
  /// of the common queue.
  template <class T>
  join_handle<T> spawn(task<T> work, std::source_location site = std::source_location::current()) {
    return core::spawn_on(scheduler(), core::inherit_deadline(std::move(work)), site);
  }
  template <class F>
    requires core::makes_task<F>
  auto spawn(F&& function, std::source_location site = std::source_location::current()) {
    return spawn(core::make_task(std::forward<F>(function)), site);
  }
  template <class F, class A>
    requires core::makes_task<F, A>
  auto spawn(F&& function, A&& first, std::source_location site = std::source_location::current()) {
    return spawn(core::make_task(std::forward<F>(function), std::forward<A>(first)), site);
  }
  template <class F, class A, class B>
    requires core::makes_task<F, A, B>
  auto spawn(F&& function,
             A&& first,
             B&& second,
             std::source_location site = std::source_location::current()) {
    return spawn(core::make_task(std::forward<F>(function), std::forward<A>(first), std::forward<B>(second)),
                 site);
  }
  /// Reports do not show the spawn site of a task with so many arguments.
  template <class F, class... Args>
    requires(core::makes_task<F, Args...> && sizeof...(Args) > 2)
  auto spawn(F&& function, Args&&... args) {
    return spawn(core::make_task(std::forward<F>(function), std::forward<Args>(args)...), {});
  }
  /// Calls `function(args...)` on a thread that may block. If the queue has a limit and is full,
  /// pool_options::on_full decides.
  template <class F>
    requires core::callable_with<F>
  auto spawn_blocking(F&& function, std::source_location site = std::source_location::current()) {
    return core::spawn_blocking_on(pool(), site, std::forward<F>(function));
  }
  template <class F, class A>
    requires core::callable_with<F, A>
  auto spawn_blocking(F&& function, A&& first, std::source_location site = std::source_location::current()) {
    return core::spawn_blocking_on(pool(), site, std::forward<F>(function), std::forward<A>(first));
  }
  template <class F, class A, class B>
    requires core::callable_with<F, A, B>
  auto spawn_blocking(F&& function,
                      A&& first,
                      B&& second,
                      std::source_location site = std::source_location::current()) {
    return core::spawn_blocking_on(
        pool(), site, std::forward<F>(function), std::forward<A>(first), std::forward<B>(second));
  }
  /// Reports do not show the spawn site of a closure with so many arguments.
  template <class F, class... Args>
    requires(core::callable_with<F, Args...> && sizeof...(Args) > 2)
  auto spawn_blocking(F&& function, Args&&... args) {
    return core::spawn_blocking_on(
        pool(), std::source_location(), std::forward<F>(function), std::forward<Args>(args)...);
  }

  [[nodiscard]] runtime_handle handle();

  /// Refuses new tasks, cancels all others, and waits for them and for running closures until `grace` is
  /// over. After that, active shields no longer delay a cancellation; with a grace of 0 that holds from the
  /// beginning. Returns when every task has ended, except closures that have not returned by then: those are
  /// reported, with the tasks that wait for them. Idempotent. Throws std::bad_alloc if there is no memory for
  /// the report; the shutdown is complete even then.
  template <core::span_of_time Span>
  shutdown_report shutdown(Span grace) {
    return shutdown_within(detail::saturating_span(grace));
  }

  [[nodiscard]] runtime_stats stats() const;
  /// Lists every live task (id, name, state, spawn site, await site) and what each worker does. A queued task
  /// that has not run yet has the state "queued, never ran". Not listed: a child of a when_* or of a parallel
  /// loop before its first suspension, which is a part of its parent; and, while more than 512 closures and
  /// tasks from outside wait for their first run, further closures. The spawn site is the line of the program
  /// that calls spawn, fork, spawn_blocking, block_on or run. It is unknown for a call with more than two
  /// arguments for the function, and for a task that the library itself spawns. The await site is the
  /// innermost co_await of the program, also for a task that waits inside a coroutine of rota, such as
  /// `strand::run`. For a task that is itself a coroutine of rota it is a line of a header, printed from
  /// "rota/" on.
  [[nodiscard]] std::string dump() const;

 private:
  friend struct core::spawner_of<runtime>;
  shutdown_report shutdown_within(std::chrono::nanoseconds grace);
  [[nodiscard]] core::scheduler& scheduler() const;
  [[nodiscard]] core::scheduler& pool() const;
  detail::runtime_core* core_;
};

/// Returns runtime::dump() of the runtime of the calling task. Use it in a program started by rota::run,
/// where there is no runtime object.
///
/// Threads       Any thread that runs a task: a worker, the caller of `block_on` or `run`, a closure of
///               spawn_blocking, a thread in `join(rota::help)`. In a task of a testing::runtime: as its
///               dump(). Elsewhere: `runtime::dump`.
/// Ownership     The caller owns the text.
/// Ordering      As runtime::dump(): the runtime goes on meanwhile, so each line is a snapshot of its own.
/// Failure       Throws `errc::no_runtime` outside of a task and in a coroutine job of a pool; `errc::forked`
///               in a forked child; `std::bad_alloc`.
/// Cost          As runtime::dump(): a line for each live task.
/// Example       examples/runtime.cpp
[[nodiscard]] ROTA_API std::string dump();

/// Creates a runtime, runs the task on the calling thread, and shuts the runtime down.
template <class T>
T run(task<T> work, runtime_options options, std::source_location site = std::source_location::current()) {
  runtime whole(options);
  return whole.block_on(std::move(work), site);
}
template <class T>
T run(task<T> work, std::source_location site = std::source_location::current()) {
  return run(std::move(work), runtime_options{}, site);
}
template <class F>
  requires core::makes_task<F>
auto run(F&& function, std::source_location site = std::source_location::current()) {
  return run(core::make_task(std::forward<F>(function)), site);
}
template <class F, class A>
  requires core::makes_task<F, A>
auto run(F&& function, A&& first, std::source_location site = std::source_location::current()) {
  return run(core::make_task(std::forward<F>(function), std::forward<A>(first)), site);
}
template <class F, class A, class B>
  requires core::makes_task<F, A, B>
auto run(F&& function, A&& first, B&& second, std::source_location site = std::source_location::current()) {
  return run(core::make_task(std::forward<F>(function), std::forward<A>(first), std::forward<B>(second)),
             site);
}
/// Reports do not show the spawn site of a task with so many arguments.
template <class F, class... Args>
  requires(core::makes_task<F, Args...> && sizeof...(Args) > 2)
auto run(F&& function, Args&&... args) {
  return run(core::make_task(std::forward<F>(function), std::forward<Args>(args)...), std::source_location());
}
/// For a function that does not itself take runtime_options: `options` are those of the runtime.
template <class F>
  requires(core::makes_task<F> && !core::makes_task<F, runtime_options>)
auto run(F&& function, runtime_options options, std::source_location site = std::source_location::current()) {
  return run(core::make_task(std::forward<F>(function)), std::move(options), site);
}

}  // namespace rota
