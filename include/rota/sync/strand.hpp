// One thing at a time, in order: what runs in a strand holds no thread while it waits for its turn.
#pragma once

#include <cstdint>
#include <expected>
#include <type_traits>
#include <utility>

#include <rota/detail/turn_line.hpp>
#include <rota/error.hpp>
#include <rota/spawn.hpp>

namespace rota::sync {

/// Why a function was not called.
enum class turn_refusal : unsigned char {
  busy,    // something runs, or waits for its turn
  closed,  // nobody comes in any more
};

[[nodiscard]] constexpr const char* to_string(turn_refusal refusal) noexcept {
  switch (refusal) {
    case turn_refusal::busy: return "busy";
    case turn_refusal::closed: return "closed";
  }
  return "unknown";
}

/// Runs one function at a time, in the order in which they came: functions, and tasks from the first line to the last, also while
/// these wait for something. What one did is seen by the next, so that what only a strand's functions use needs no lock.
///
///   rota::sync::strand line;
///   const int n = co_await line.run(count, "apples");           // in a task: waits for its turn, then for the result
///   line.post(log, "counted");                                  // in a task: does not wait
///   line.post_on(runtime, log, "from outside");                 // in a thread, on this runtime, or in a scope
///   const int m = line.blocking_run([] { return 2; });          // in a thread, or a work of a pool
///   const auto k = co_await line.run_for(10ms, count, "pears");  // at most so long for its turn: an expected<int, timed_out>
///   co_await line.join();                                       // no more, and all is done
///
/// Threads       Any. `run` runs its function in the task that awaits it; `blocking_run` in its thread; `post` in a task of its own.
/// Ownership     The function and the arguments are moved into the task, and end in its turn, the function's captures too, so that they need
///               no lock either; outside of it if the turn never comes. With blocking_run and try_run they stay where they are. Destroying
///               a strand in which something runs or waits ends the program with a sentence: join() first.
/// Ordering      First come, first served: `run` comes when it is awaited, `post` when it is called. The end of one happens before the
///               beginning of the next, and before its result is seen. **Reentrant**: `run` and `blocking_run` of who has its turn call their
///               function at once, as dispatch() of an executor does; `post` never does. Another task that is started inside, a child of a
///               when_all too, is another: whoever waits inside for one that waits for its turn waits for ever.
/// Failure       What the function throws goes to who awaits it, and the next has its turn; with `post` that is the handle. A task that is
///               cancelled before its turn leaves the line, one that is cancelled in it ends it: the others see nothing of that. After
///               close() and join(): `error` with errc::closed, and nothing was called. join() in a turn: errc::would_deadlock. The limit
///               of `run_for` is one for its turn: late, it leaves the line, and nothing was called; what has begun runs to its end. A
///               limit for both is timeout(span, run(...)).
/// Cost          `run`: the frame of a task, and one read-modify-write to enter and one to leave, if it is free. A wait: one wake, and the
///               list's lock twice. `post`: a task, a place in the line from the frame allocator, and no bound: as many as the runtime has tasks. `run` and
///               `blocking_run` make who is too fast wait.
/// Example       examples/strand.cpp
class strand {
 public:
  strand() noexcept = default;
  strand(const strand&) = delete;
  strand& operator=(const strand&) = delete;
  ~strand() = default;

  /// co_await it: what `function(args...)` returns, or the task that it returns.
  template <class F, class... Args>
  task<core::turn_result_t<F, Args...>> run(F function, Args... args);
  /// co_await them: the same as timeout() would have it, an expected<R, timed_out> mostly.
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
  /// Never waits: calls it now, or says why not. `function` is no coroutine. Of a reference: a pointer.
  template <class F, class... Args>
  [[nodiscard]] auto try_run(F&& function, Args&&... args);

  /// A new task of the current runtime takes its place in the line now. A handle to it, which may be dropped.
  template <class F, class... Args>
  auto post(F function, Args... args) {
    return rota::spawn(posted(core::turn_place(line_), std::move(function), std::move(args)...));
  }
  /// The same on anything that spawns: a runtime, a handle of one, a scope.
  template <class Spawner, class F, class... Args>
  auto post_on(Spawner&& on, F function, Args... args) {
    return on.spawn(posted(core::turn_place(line_), std::move(function), std::move(args)...));
  }

  /// Blocks the thread until it is its turn; as mutex::blocking_lock. `function` is no coroutine.
  template <class F, class... Args>
  std::invoke_result_t<F, Args...> blocking_run(F&& function, Args&&... args);
  /// The same, as run_for().
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

  /// Nobody comes in any more; who is in line has its turn. Again: nothing.
  void close() noexcept { line_.close(); }
  [[nodiscard]] bool is_closed() const noexcept { return line_.is_closed(); }
  /// co_await it: closes it, at the co_await, and waits until everything has run. Cancelled: it stays closed.
  core::last_turn_leaf join() {
    demand_outside();
    return core::last_turn_leaf(line_);
  }
  /// co_await them: std::expected<void, timed_out>. Late: it stays closed, and what is in line has its turn.
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

  /// Is it the turn of the task, or else the thread, that asks?
  [[nodiscard]] bool running_here() const noexcept { return line_.is_mine(); }
  /// A guess: whether something runs.
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

// A lambda takes the function and the arguments over in the turn, so that they end before it does.

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
                "nobody can await a task here: a plain function, or co_await run()");
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
                "nobody can await a task here: a plain function, or co_await run()");
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
                "nobody can await a task here: a plain function, or co_await run()");
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
