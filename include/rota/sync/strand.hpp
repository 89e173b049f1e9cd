// One thing at a time, in order: what runs in a strand holds no thread while it waits for its turn.
#pragma once

#include <cstdint>
#include <type_traits>
#include <utility>

#include <rota/detail/thread_wait.hpp>
#include <rota/detail/wait_leaf.hpp>
#include <rota/error.hpp>
#include <rota/spawn.hpp>
#include <rota/task.hpp>

namespace rota::core {

// PROTOCOL: line of a strand
//   word_     busy 1 · waiting 2 · closed 4
//   owner_    the task or thread whose turn it is; null: it is on its way, or there is none
//
//   enter    free -> busy, by compare-exchange; else, under the lock of the list: the same, or `waiting` is set in that step and the caller
//            joins the list. Closed: it is refused, by the same step.
//   finish   the same, but for `closed`, which it sets in that step. So whoever finishes is behind all that have entered.
//   leave    busy -> free, by compare-exchange while nobody waits. Else, under the lock of the list, the first is granted the turn, and the
//            word stays busy: nobody overtakes.
//
//   T1  Busy exactly while somebody has the turn or is granted it.
//   T2  Under the lock: somebody is in the list exactly while `waiting` is set, and then it is busy.
//   T3  owner_ is what asks who has set it, and not yet cleared it: on the same task or thread the two are in order by themselves, and
//       no other has that value.
//   T4  With waiters the turn is given away only under the list's lock: see W5 of the wait list.
class ROTA_API turn_line {
 public:
  turn_line() noexcept = default;
  turn_line(const turn_line&) = delete;
  turn_line& operator=(const turn_line&) = delete;
  ~turn_line() {
    list_.end("a sync::strand was destroyed while somebody waits for it");
    // relaxed. Who destroys it has seen to it that all others are done.
    if ((word_.load(base::order::relaxed) & busy) != 0) [[unlikely]]
      end_in_use();
  }

  [[nodiscard]] wait_target entering() noexcept { return {&list_, this, &enter_rules}; }
  [[nodiscard]] wait_target finishing() noexcept { return {&list_, this, &finish_rules}; }
  /// It is the caller's turn, who is granted it: from now on is_mine().
  void begin() noexcept;
  void end() noexcept;
  /// Whether the task, or the thread outside of one, that calls this has the turn.
  [[nodiscard]] bool is_mine() const noexcept;

  void close() noexcept;
  [[nodiscard]] bool is_closed() const noexcept { return (guess() & closed) != 0; }
  [[nodiscard]] bool is_busy() const noexcept { return (guess() & busy) != 0; }

 private:
  static constexpr std::uint32_t busy = 1;
  static constexpr std::uint32_t waiting = 2;
  static constexpr std::uint32_t closed = 4;
  static const wait_rules enter_rules;
  static const wait_rules finish_rules;

  [[nodiscard]] std::uint32_t guess() const noexcept {
    // relaxed. A guess.
    return word_.load(base::order::relaxed);
  }
  bool take(std::uint32_t also) noexcept;
  on_join join(wait_section& section, wait_node& me, std::uint32_t also) noexcept;
  void give_up(const wait_section& section) noexcept;
  void give_back() noexcept;
  void give_back_slowly() noexcept;
  [[noreturn]] static void end_in_use() noexcept;

  base::atomic<std::uint32_t> word_{0};
  base::atomic<const void*> owner_{nullptr};
  wait_list list_;
};

/// Has the turn, and ends it. Empty: what runs here is in somebody's turn already.
class [[nodiscard]] turn {
 public:
  turn() noexcept = default;
  explicit turn(turn_line& of) noexcept : of_(&of) { of.begin(); }
  turn(turn&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
  turn& operator=(turn&& other) noexcept {
    const turn old(std::move(*this));
    of_ = std::exchange(other.of_, nullptr);
    return *this;
  }
  turn(const turn&) = delete;
  turn& operator=(const turn&) = delete;
  ~turn() {
    if (of_ != nullptr) of_->end();
  }

 private:
  turn_line* of_ = nullptr;
};

/// A task that waits for its turn.
class ROTA_API turn_leaf final : public wait_leaf {
 public:
  explicit turn_leaf(turn_line& of) noexcept : wait_leaf(of.entering()), of_(&of) {}
  [[nodiscard]] turn await_resume() {
    if (ended_as() == wait_state::closed) throw error(errc::closed, "this strand is closed");
    return turn(*of_);
  }

 private:
  turn_line* of_;
};

/// A task that waits for the last turn.
class ROTA_API last_turn_leaf final : public wait_leaf {
 public:
  explicit last_turn_leaf(turn_line& of) noexcept : wait_leaf(of.finishing()), of_(&of) {}
  void await_resume() noexcept { of_->end(); }

 private:
  turn_line* of_;
};

/// A place in the line for a task that does not run yet. Empty after a move.
class ROTA_API turn_place {
 public:
  /// Throws errc::closed, and `std::bad_alloc`.
  explicit turn_place(turn_line& of);
  turn_place(turn_place&& other) noexcept : of_(other.of_), node_(std::exchange(other.node_, nullptr)) {}
  turn_place& operator=(turn_place&&) = delete;
  turn_place(const turn_place&) = delete;
  turn_place& operator=(const turn_place&) = delete;
  ~turn_place();

 private:
  friend class place_leaf;
  static void free(wait_node* node) noexcept;

  turn_line* of_;
  wait_node* node_;  // from the frame allocator
};

/// The task has begun, and waits in its place.
class ROTA_API place_leaf final : public leaf {
 public:
  explicit place_leaf(turn_place& at) noexcept : at_(&at) {}
  [[nodiscard]] bool is_ready() noexcept override;
  /// The place is given up by its own end.
  cancel_progress try_cancel(cancel_reason /*reason*/) noexcept override { return cancel_progress::ended; }
  [[nodiscard]] const char* what() const noexcept override { return "strand post"; }
  [[nodiscard]] turn await_resume() noexcept;

 protected:
  bool start() override;

 private:
  turn_place* at_;
};

/// What a function of a strand's gives, with a task as its result.
template <class R>
struct turn_result {
  using type = R;
};
template <class R>
  requires is_task<R>
struct turn_result<R> {
  using type = typename R::value_type;
};
template <class F, class... Args>
using turn_result_t = typename turn_result<std::invoke_result_t<F, Args...>>::type;

}  // namespace rota::core

namespace rota::sync {

/// Runs one function at a time, in the order in which they came: functions, and tasks from the first line to the last, also while
/// these wait for something. What one did is seen by the next, so that what only a strand's functions use needs no lock.
///
///   rota::sync::strand line;
///   const int n = co_await line.run(count, "apples");           // in a task: waits for its turn, then for the result
///   line.post(log, "counted");                                  // in a task: does not wait
///   line.post_on(runtime, log, "from outside");                 // in a thread, on this runtime, or in a scope
///   const int m = line.blocking_run([] { return 2; });          // in a thread, or a work of a pool
///   co_await line.join();                                       // no more, and all is done
///
/// Threads       Any. `run` runs its function in the task that awaits it; `blocking_run` in its thread; `post` in a task of its own.
/// Ownership     The function and the arguments are moved into the task, and end in its turn, the function's captures too, so that they need
///               no lock either; outside of it if the turn never comes. With blocking_run they stay where they are. Destroying
///               a strand in which something runs or waits ends the program with a sentence: join() first.
/// Ordering      First come, first served: `run` comes when it is awaited, `post` when it is called. The end of one happens before the
///               beginning of the next, and before its result is seen. **Reentrant**: `run` and `blocking_run` of who has its turn call their
///               function at once, as dispatch() of an executor does; `post` never does. Another task that is started inside, a child of a
///               when_all too, is another: whoever waits inside for one that waits for its turn waits for ever.
/// Failure       What the function throws goes to who awaits it, and the next has its turn; with `post` that is the handle. A task that is
///               cancelled before its turn leaves the line, one that is cancelled in it ends it: the others see nothing of that. After
///               close() and join(): `error` with errc::closed, and nothing was called. join() in a turn: errc::would_deadlock.
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
  [[nodiscard]] task<core::turn_result_t<F, Args...>> run(F function, Args... args);

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

  /// Nobody comes in any more; who is in line has its turn. Again: nothing.
  void close() noexcept { line_.close(); }
  [[nodiscard]] bool is_closed() const noexcept { return line_.is_closed(); }
  /// co_await it: closes it, at the co_await, and waits until everything has run. Cancelled: it stays closed.
  [[nodiscard]] core::last_turn_leaf join() {
    demand_outside();
    return core::last_turn_leaf(line_);
  }
  /// The same for a thread.
  void blocking_join() {
    demand_outside();
    core::wait_node me;
    static_cast<void>(core::block(line_.finishing(), me));
    line_.end();
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

}  // namespace rota::sync
