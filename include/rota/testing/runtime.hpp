// A runtime for tests: one thread, a seed that decides the order, and virtual time.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <source_location>
#include <stdexcept>
#include <string>
#include <utility>

#include <rota/detail/chrono.hpp>
#include <rota/detail/enter.hpp>
#include <rota/detail/spawn_on.hpp>
#include <rota/task.hpp>

namespace rota {

namespace solo {
class scheduler;
}

namespace testing {

/// Thrown when nothing can run, no timer is armed, and the awaited task has not ended. what() lists every
/// task and its await site.
class ROTA_API stalled : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Runs tasks on the calling thread, in ordinary programs: it uses no model, and only rota::rota is linked.
///
/// The seed chooses the next of the runnable tasks: two seeds give two orders, one seed always gives the same
/// order. Time stands still while anything can run, and then jumps to the next timer: a sleep of 30 days
/// takes no time.
///
/// Threads       The thread that made it, for everything, including handles and wakers of its tasks. A
///               wake-up or a spawn on another thread ends the program.
/// Ownership     Owns its tasks. The destructor cancels the remaining ones and runs them to their ends.
/// Ordering      As the seed decides. A task that is awaited before it has begun may begin in its awaiter.
/// Failure       block_on() rethrows the exception of the task. It throws `stalled` after it has cancelled
///               the task. An unhandled exception (of a detached task, for example) is thrown by the call in
///               which it occurred. The first of several is thrown, and before an exception of the root. In
///               the destructor it ends the program. A task that sleeps again and again keeps time going: a
///               root that waits for nothing else then never stalls. Sockets and signals are not available:
///               errc::no_runtime. A blocking join() of a task that cannot run at once waits for ever: await
///               the task. A time_limit that gets a span outside of a task counts from the clock of the
///               machine: use time_limit::at and reset_at there.
/// Cost          Some 100 nanoseconds for a run of a task.
/// Example       examples/test_a_task.cpp
class ROTA_API runtime {
 public:
  static constexpr std::uint64_t first_seed = 1;
  static constexpr std::chrono::steady_clock::time_point beginning{std::chrono::hours(1)};

  explicit runtime(std::uint64_t seed = first_seed);
  runtime(const runtime&) = delete;
  runtime& operator=(const runtime&) = delete;
  ~runtime();

  /// Runs tasks, and advances time, until this task has ended, and returns its value. Throws
  /// `errc::nested_block_on` inside a task.
  template <class T>
  T block_on(task<T> work, std::source_location site = std::source_location::current()) {
    core::demand_outside_of_tasks();
    core::header& root = launch(*work.release(), core::result_vtable_of<T>, site);
    const dropper last{*this, root};
    run_to_end(root);
    return core::take_outcome<T>(root).value();
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

  /// Starts a task. It runs inside of the other calls.
  template <class T>
  join_handle<T> spawn(task<T> work, std::source_location site = std::source_location::current()) {
    return join_handle<T>(launch(*work.release(), core::result_vtable_of<T>, site));
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

  /// Runs until nothing can run, and returns how many times a task ran. Time stands still.
  std::size_t run_until_stalled();

  /// Runs tasks and advances time by `span`, from timer to timer. A span of zero or less: as
  /// run_until_stalled().
  template <core::span_of_time Span>
  void advance(Span span) {
    advance_to(rota::detail::saturating_deadline(now(), span));
  }
  void advance_to(std::chrono::steady_clock::time_point time);
  /// Returns the virtual time. It begins at `beginning`.
  [[nodiscard]] std::chrono::steady_clock::time_point now() const noexcept;

  [[nodiscard]] std::uint64_t seed() const noexcept { return seed_; }
  /// Returns the number of tasks that have not ended.
  [[nodiscard]] std::size_t alive_tasks() const noexcept;
  /// Lists every task that has suspended: id, name, state, await site.
  [[nodiscard]] std::string dump() const;

 private:
  friend struct core::spawner_of<runtime>;
  struct dropper {
    runtime& by;
    core::header& task;
    ~dropper() { by.drop_root(task); }
  };
  void drop_root(core::header& root) noexcept;
  [[nodiscard]] core::header& launch(core::promise_base& root,
                                     const core::result_vtable& type,
                                     std::source_location site);
  void run_to_end(core::header& root);

  solo::scheduler* scheduler_;
  std::uint64_t seed_;
};

}  // namespace testing
}  // namespace rota
