// Starting tasks from a task.
#pragma once

#include <source_location>
#include <type_traits>
#include <utility>

#include <rota/detail/blocking_section.hpp>
#include <rota/detail/spawn_blocking_on.hpp>
#include <rota/detail/spawn_on.hpp>
#include <rota/detail/under_deadline.hpp>
#include <rota/task.hpp>

namespace rota {

namespace core {

/// Returns the scheduler of the task that runs on this thread. Throws `errc::no_runtime` outside of a task;
/// `errc::forked` in a forked child.
[[nodiscard]] ROTA_API scheduler& current_scheduler();
[[nodiscard]] ROTA_API scheduler& current_blocking_pool();

}  // namespace core

/// Starts `work` on the current runtime and returns a handle to its result.
///
/// The task is queued, not run: `spawn` never suspends and never calls into `work`. Reports name the line of
/// the call, `site`.
///
/// Threads       Any thread that is running a task: a worker, or the caller inside `block_on`. Elsewhere:
///               `runtime::spawn`.
/// Ownership     The runtime owns the task until it finishes. Dropping the handle detaches the task; it does
///               not stop it. To cancel the task, call `join_handle::cancel`.
/// Ordering      What the caller did before `spawn` happens before the first line of `work`. The last line of
///               `work` happens before `co_await handle` returns.
/// Failure       An exception from `work` is rethrown by `co_await handle`. If the handle was dropped, the
///               exception goes to `runtime_options::on_unhandled`. Throws `std::bad_alloc`, and then nothing
///               was started. Throws `errc::no_runtime` outside of a task, and `errc::forked` if the task
///               goes on in a forked child, where no worker of its runtime runs. After the shutdown has begun
///               the returned handle is cancelled already.
/// Cost          No allocation beyond the coroutine frame of `work`. Inside of a timeout or a with_deadline,
///               which the task inherits, one more. Besides, one push to this worker's queue; at most one
///               wake-up of an idle worker. A spawned child is a task with a handle. A recursion that spawns
///               its children and awaits their handles takes about 8 times the processor time of the same
///               recursion with `when_all`: 188 ns and 23 ns for each call of fib on one worker; on two
///               workers about 12 times. For children that are awaited in place use `when_all` or a parallel
///               loop. `./dev bench forkjoin --only 'fib*' --quick --peers none` prints both.
/// Example       examples/spawn.cpp
template <class T>
join_handle<T> spawn(task<T> work ROTA_DETAIL_STARTED,
                     std::source_location site = std::source_location::current()) {
  return core::spawn_on(core::current_scheduler(), core::inherit_deadline(std::move(work)), site);
}

/// Spawns the task that `function(args...)` returns. `function` and `args` live in the spawned task:
/// `spawn([t]() -> task<> {...})` is right, and `spawn([t]() -> task<> {...}())` reads a destroyed lambda. A
/// callable without state costs one allocation, if it takes its arguments by value and in their own types.
/// One more allocation, for a frame that keeps them, is needed for a callable with state, for a parameter by
/// reference or of another type than its argument, and for a generic lambda with arguments.
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
auto spawn(F&& function, A&& first, B&& second, std::source_location site = std::source_location::current()) {
  return spawn(core::make_task(std::forward<F>(function), std::forward<A>(first), std::forward<B>(second)),
               site);
}
/// As above, for more than two arguments. Reports do not know the spawn site of such a task: no default
/// argument can follow a deduced pack.
template <class F, class... Args>
  requires(core::makes_task<F, Args...> && sizeof...(Args) > 2)
auto spawn(F&& function, Args&&... args) {
  return spawn(core::make_task(std::forward<F>(function), std::forward<Args>(args)...), {});
}

/// Calls `function(args...)` on a thread of the blocking pool. If it is cancelled before it starts, it never
/// starts. Once started it cannot be stopped, but may ask `this_task::cancel_requested()`. It may block:
/// `run` and `runtime::block_on` are allowed in it. Throws `errc::no_runtime` in a coroutine job of a pool:
/// docs/pool.md. The deadline of the calling place cancels it too. If the queue is full
/// (pool_options::queue_limit), `on_full` decides: a task never waits here; its closure ends as cancelled
/// (cancel_reason::queue_full), or the caller runs it.
template <class F>
  requires core::callable_with<F>
auto spawn_blocking(F&& function, std::source_location site = std::source_location::current()) {
  return core::spawn_blocking_on(core::current_blocking_pool(), site, std::forward<F>(function));
}
template <class F, class A>
  requires core::callable_with<F, A>
auto spawn_blocking(F&& function, A&& first, std::source_location site = std::source_location::current()) {
  return core::spawn_blocking_on(
      core::current_blocking_pool(), site, std::forward<F>(function), std::forward<A>(first));
}
template <class F, class A, class B>
  requires core::callable_with<F, A, B>
auto spawn_blocking(F&& function,
                    A&& first,
                    B&& second,
                    std::source_location site = std::source_location::current()) {
  return core::spawn_blocking_on(core::current_blocking_pool(),
                                 site,
                                 std::forward<F>(function),
                                 std::forward<A>(first),
                                 std::forward<B>(second));
}
/// As above, for more than two arguments. Reports do not know the spawn site of such a closure.
template <class F, class... Args>
  requires(core::callable_with<F, Args...> && sizeof...(Args) > 2)
auto spawn_blocking(F&& function, Args&&... args) {
  return core::spawn_blocking_on(core::current_blocking_pool(),
                                 std::source_location(),
                                 std::forward<F>(function),
                                 std::forward<Args>(args)...);
}

/// Calls `function()` on this thread. It may block: another thread plays this worker's role meanwhile.
/// `runtime::block_on` is allowed in it. Outside of a worker this is a plain call.
template <class F>
decltype(auto) block_in_place(F&& function) {
  const core::blocking_section section;
  return std::forward<F>(function)();
}

}  // namespace rota
