// Runs one function at a time, in order. A task that waits for its turn holds no thread.
#pragma once

#include <cstdint>
#include <expected>
#include <type_traits>
#include <utility>

#include <rota/detail/turn_line.hpp>
#include <rota/error.hpp>
#include <rota/spawn.hpp>

namespace rota::sync {

/// Why try_run() did not call the function.
enum class turn_refusal : unsigned char {
  busy,    // a function runs, or waits for its turn
  closed,  // the strand takes no more functions
};

[[nodiscard]] constexpr const char* to_string(turn_refusal refusal) noexcept {
  switch (refusal) {
    case turn_refusal::busy: return "busy";
    case turn_refusal::closed: return "closed";
  }
  return "unknown";
}

/// Runs functions and tasks one at a time, in the order in which they came. A task has the turn from its
/// first line to its last, also while it waits. Each turn sees what the turn before it did. So data that only
/// the functions of one strand use needs no lock.
///
///   rota::sync::strand line;
///   const int n = co_await line.run(count, "apples");           // in a task: waits until it has run
///   line.post(log, "counted");                                  // in a task: does not wait
///   line.post_on(runtime, log, "from outside");                 // in a thread: on a runtime, or in a scope
///   const int m = line.blocking_run([] { return 2; });          // in a thread, or a work of a pool
///   const auto k = co_await line.run_for(10ms, count, "pears");  // limited wait: expected<int, timed_out>
///   co_await line.join();                                       // takes no more; all functions have run
///
/// Threads       Any. `run` runs its function in the task that awaits it, `blocking_run` in its thread,
///               `post` in a task of its own.
/// Ownership     The function and the arguments are moved into the task. They are destroyed in its turn, the
///               function's captures too, so they need no lock either. If the turn never comes they are
///               destroyed outside of it. With blocking_run and try_run they stay where they are. Destroying
///               a strand in which a function runs or waits ends the program with a sentence: join() first.
/// Ordering      First come, first served: `run` joins the line when it is awaited, `post` when it is called.
///               The end of one turn happens before the beginning of the next, and before its result is seen.
///               **Reentrant**: if the caller already has the turn, `run` and `blocking_run` call their
///               function at once, as dispatch() of an executor does; `post` never does. A task that is
///               started inside, also a child of a when_all, is a different caller: code in a turn that waits
///               for a task that waits for its turn deadlocks.
/// Failure       An exception of the function goes to the awaiter, and the next has its turn; with `post` it
///               goes to the handle. A task that is cancelled before its turn leaves the line. One that is
///               cancelled in its turn ends the turn. The others notice nothing of that. After close() or
///               join(): `error` with errc::closed, and nothing was called. join() in a turn:
///               errc::would_deadlock. The limit of `run_for` applies to the wait for the turn: if it passes,
///               the task leaves the line, and nothing was called. A function that has begun runs to its end.
///               For a limit on both use timeout(span, run(...)).
/// Cost          `run`: the frame of a task, and one read-modify-write to enter and one to leave, if the
///               strand is free. A wait: one wake, and the list's lock twice. `post`: a task and a place in
///               the line from the frame allocator. The number of posts is not bounded, except by the tasks
///               of the runtime. `run` and `blocking_run` give backpressure: a caller that is too fast waits.
/// Example       examples/strand.cpp
class strand {
 public:
  strand() noexcept = default;
  strand(const strand&) = delete;
  strand& operator=(const strand&) = delete;
  ~strand() = default;

  /// co_await it: what `function(args...)` returns. If it returns a task: the result of that task.
  template <class F, class... Args>
  task<core::turn_result_t<F, Args...>> run(F function, Args... args);
  /// The same with a limit. They yield what timeout() would yield: mostly an expected<R, timed_out>.
  template <core::span_of_time Span, class F, class... Args>
  [[nodiscard]] auto run_for(Span span, F function, Args... args) {
    return run_within(detail::saturating_span(span), std::move(function), std::move(args)...);
  }
  template <class Duration, class F, class... Args>
  [[nodiscard]] auto run_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                               F function,
                               Args... args) {
    return run_within(detail::saturating_deadline(time), std::move(function), std::move(args)...);
  }
  /// Calls the function now if the strand is free, or returns why not. Never waits. `function` is no
  /// coroutine. A reference is returned as a pointer.
  template <class F, class... Args>
  [[nodiscard]] auto try_run(F&& function, Args&&... args);

  /// Starts a new task of the current runtime, which takes its place in the line now. Returns a handle, which
  /// may be dropped.
  template <class F, class... Args>
  auto post(F function, Args... args) {
    return rota::spawn(posted(core::turn_place(line_), std::move(function), std::move(args)...));
  }
  /// The same on any object that spawns: a runtime, a handle of one, a scope.
  template <class Spawner, class F, class... Args>
  auto post_on(Spawner&& on, F function, Args... args) {
    return on.spawn(posted(core::turn_place(line_), std::move(function), std::move(args)...));
  }

  /// Blocks the thread until its turn, as mutex::blocking_lock. `function` is no coroutine.
  template <class F, class... Args>
  std::invoke_result_t<F, Args...> blocking_run(F&& function, Args&&... args);
  /// The same with a limit, as run_for().
  template <core::span_of_time Span, class F, class... Args>
  [[nodiscard]] auto blocking_run_for(Span span, F&& function, Args&&... args) {
    return blocking_run_until(core::deadline_in(detail::saturating_span(span)),
                              std::forward<F>(function),
                              std::forward<Args>(args)...);
  }
  template <class Duration, class F, class... Args>
  [[nodiscard]] auto blocking_run_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                        F&& function,
                                        Args&&... args);

  /// Takes no more functions. Those in line still have their turn. Calling it again does nothing.
  void close() noexcept { line_.close(); }
  [[nodiscard]] bool is_closed() const noexcept { return line_.is_closed(); }
  /// co_await it: closes the strand, at the co_await, and waits until everything has run. If it is cancelled,
  /// the strand stays closed.
  core::last_turn_leaf join() {
    demand_outside();
    return core::last_turn_leaf(line_);
  }
  /// The same with a limit. They yield a std::expected<void, timed_out>. If it passes, the strand stays
  /// closed, and the functions in line still have their turn.
  template <core::span_of_time Span>
  core::limited<core::last_turn_leaf> join_for(Span span) {
    demand_outside();
    return core::limited<core::last_turn_leaf>(detail::saturating_span(span), line_);
  }
  template <class Duration>
  core::limited<core::last_turn_leaf> join_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    demand_outside();
    return core::limited<core::last_turn_leaf>(detail::saturating_deadline(time), line_);
  }
  /// The same for a thread.
  void blocking_join() {
    demand_outside();
    core::wait_node me;
    static_cast<void>(core::block(line_.finishing(), me));
    line_.end();
  }
  template <core::span_of_time Span>
  std::expected<void, timed_out> blocking_join_for(Span span) {
    return blocking_join_until(core::deadline_in(detail::saturating_span(span)));
  }
  template <class Duration>
  std::expected<void, timed_out> blocking_join_until(
      std::chrono::time_point<std::chrono::steady_clock, Duration> time) {
    demand_outside();
    core::wait_node me;
    if (core::block_until(line_.finishing(), me, detail::saturating_deadline(time)) ==
        core::wait_end::timed_out)
      return std::unexpected(timed_out{});
    line_.end();
    return {};
  }

  /// Returns true if the calling task has the turn, or the calling thread outside of a task.
  [[nodiscard]] bool running_here() const noexcept { return line_.is_mine(); }
  /// Returns true if a function runs. A guess.
  [[nodiscard]] bool is_busy() const noexcept { return line_.is_busy(); }

 private:
  void demand_outside() const {
    if (line_.is_mine()) throw error(errc::would_deadlock, "a strand is joined by what runs in it");
  }
  template <class F, class... Args>
  static task<core::turn_result_t<F, Args...>> posted(core::turn_place place, F function, Args... args);
  template <class Limit, class F, class... Args>
  task<core::turn_in_time_t<core::turn_result_t<F, Args...>>> run_within(Limit limit,
                                                                         F function,
                                                                         Args... args);

  core::turn_line line_;
};

// In each function below a lambda takes over the function and the arguments in the turn, so that they are
// destroyed in the turn.

template <class F, class... Args>
task<core::turn_result_t<F, Args...>> strand::run(F function, Args... args) {
  core::turn mine;
  if (!line_.is_mine()) mine = co_await core::turn_leaf(line_);
  core::demand_unguarded();
  auto call = [f = std::move(function), ... a = std::move(args)]() mutable -> decltype(auto) {
    return std::move(f)(std::move(a)...);
  };
  if constexpr (core::is_task<std::remove_cvref_t<std::invoke_result_t<F, Args...>>>) {
    auto work = call();
    co_return co_await std::move(work);
  } else {
    co_return call();
  }
}

template <class F, class... Args>
task<core::turn_result_t<F, Args...>> strand::posted(core::turn_place place, F function, Args... args) {
  const core::turn mine = co_await core::place_leaf(place);
  core::demand_unguarded();
  auto call = [f = std::move(function), ... a = std::move(args)]() mutable -> decltype(auto) {
    return std::move(f)(std::move(a)...);
  };
  if constexpr (core::is_task<std::remove_cvref_t<std::invoke_result_t<F, Args...>>>) {
    auto work = call();
    co_return co_await std::move(work);
  } else {
    co_return call();
  }
}

template <class Limit, class F, class... Args>
task<core::turn_in_time_t<core::turn_result_t<F, Args...>>> strand::run_within(Limit limit,
                                                                               F function,
                                                                               Args... args) {
  using result = core::turn_result_t<F, Args...>;
  core::turn mine;
  if (!line_.is_mine()) {
    auto got = co_await core::limited<core::turn_leaf>(limit, line_);
    if (!got.has_value()) co_return core::timed_result<result>::late();
    mine = *std::move(got);
  }
  core::demand_unguarded();
  auto call = [f = std::move(function), ... a = std::move(args)]() mutable -> decltype(auto) {
    return std::move(f)(std::move(a)...);
  };
  if constexpr (!core::is_task<std::remove_cvref_t<std::invoke_result_t<F, Args...>>>) {
    co_return core::result_in_time<result>(call);
  } else if constexpr (std::is_void_v<result>) {
    auto work = call();
    co_await std::move(work);
    co_return core::result_in_time<result>([] {});
  } else {
    auto work = call();
    result got = co_await std::move(work);
    co_return core::result_in_time<result>([&got]() -> result { return std::forward<result>(got); });
  }
}

template <class F, class... Args>
auto strand::try_run(F&& function, Args&&... args) {
  using result = std::invoke_result_t<F, Args...>;
  static_assert(!core::is_task<std::remove_cvref_t<result>>,
                "a task cannot be awaited here: a plain function, or co_await run()");
  using kept =
      std::conditional_t<std::is_reference_v<result>, std::add_pointer_t<result>, std::remove_cv_t<result>>;
  using end = std::expected<kept, turn_refusal>;
  core::turn mine;
  if (!line_.is_mine()) {
    core::wait_node me;
    const core::wait_target at = line_.entering();
    if (!at.rules->try_now(at.of, me))
      return end(std::unexpect, line_.is_closed() ? turn_refusal::closed : turn_refusal::busy);
    mine = core::turn(line_);
  }
  core::demand_unguarded();
  if constexpr (std::is_void_v<result>) {
    std::forward<F>(function)(std::forward<Args>(args)...);
    return end();
  } else if constexpr (std::is_reference_v<result>) {
    auto&& got = std::forward<F>(function)(std::forward<Args>(args)...);
    return end(std::in_place, __builtin_addressof(got));
  } else {
    return end(std::in_place, std::forward<F>(function)(std::forward<Args>(args)...));
  }
}

template <class F, class... Args>
std::invoke_result_t<F, Args...> strand::blocking_run(F&& function, Args&&... args) {
  static_assert(!core::is_task<std::remove_cvref_t<std::invoke_result_t<F, Args...>>>,
                "a task cannot be awaited here: a plain function, or co_await run()");
  core::turn mine;
  if (!line_.is_mine()) {
    core::wait_node me;
    if (core::block(line_.entering(), me) == core::wait_end::closed)
      throw error(errc::closed, "this strand is closed");
    mine = core::turn(line_);
  }
  core::demand_unguarded();
  return std::forward<F>(function)(std::forward<Args>(args)...);
}

template <class Duration, class F, class... Args>
auto strand::blocking_run_until(std::chrono::time_point<std::chrono::steady_clock, Duration> time,
                                F&& function,
                                Args&&... args) {
  using result = std::invoke_result_t<F, Args...>;
  static_assert(!core::is_task<std::remove_cvref_t<result>>,
                "a task cannot be awaited here: a plain function, or co_await run()");
  core::turn mine;
  if (!line_.is_mine()) {
    core::wait_node me;
    const auto how = core::block_until(line_.entering(), me, detail::saturating_deadline(time));
    if (how == core::wait_end::closed) throw error(errc::closed, "this strand is closed");
    if (how == core::wait_end::timed_out) return core::timed_result<result>::late();
    mine = core::turn(line_);
  }
  core::demand_unguarded();
  return core::result_in_time<result>(
      [&]() -> result { return std::forward<F>(function)(std::forward<Args>(args)...); });
}

}  // namespace rota::sync
