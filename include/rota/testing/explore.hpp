// explore() runs a test many times, each time with another schedule, and reports the first schedule that
// fails. It is for programs that link rota::testing in place of rota::rota: there the whole library runs on a
// deterministic machine.
//
// A test of tasks runs on a runtime of its own, in virtual time:
//
//   const auto report = testing::explore({.name = "cache"}, []() -> task<> { ... });
//   EXPECT_FALSE(report.failed) << to_string(report);
//
// A test of threads, atomics and locks, as the tests of rota itself in tests/model/:
//
//   const auto report = testing::explore({.preemptions = 2}, [](testing::execution& e) {
//     auto& flag = e.make<base::atomic<int>>(0);
//     e.thread([&flag] { flag.store(1, base::order::release); });
//     e.thread([&flag] { (void)flag.load(base::order::acquire); });
//     e.finally([&flag] { testing::check(flag.load(base::order::relaxed) == 1, "the store is there"); });
//   });
//   EXPECT_FALSE(report.failed) << to_string(report);
//
// docs/find-a-race.md is the introduction; src/testing/README.md says what is explored and checked, and what
// is not.
#pragma once

#if !ROTA_MODEL
#error "rota/testing/explore.hpp is for programs that link rota::testing, not rota::rota"
#endif

#include <rota/detail/callable.hpp>

#include <rota/detail/config.hpp>
#include <rota/detail/spawn_on.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <new>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota::testing {

enum class search_kind : std::uint8_t {
  dfs,     // every interleaving with at most `preemptions` preemptions: 0, 1, 2 .. in turn
  random,  // uniform random walks
  pct,     // random priorities with depth - 1 change points (Burckhardt et al., ASPLOS 2010)
  mixed,   // random and pct in turn
  few,     // at most `preemptions` preemptions, at random places
};

enum class memory_mode : std::uint8_t {
  sequential,  // every load sees the last store
  tso,         // stores that are not seq_cst wait in their thread's buffer, as on x86
};

/// The fields from `spurious_wakes` to `early_timeouts` are limits of faults: in one execution the fault
/// occurs at most that many times, at any place where it can. 0: never.
struct options {
  std::string_view name = {};  // distinguishes replay strings
  search_kind search = search_kind::dfs;
  unsigned preemptions = 2;             // dfs: the largest bound; few: how many; 0..250
  unsigned depth = 3;                   // pct: a bug of this depth has a known chance per run; 1..250
  std::uint64_t max_runs = 10'000'000;  // dfs: then `complete` is false; random, pct: how many
  std::uint64_t seed = 1;               // random, pct
  memory_mode memory = memory_mode::sequential;  // tso: not together with stale_reads
  unsigned seconds = 0;                          // processor time, until a failure is found; 0: no limit
  std::uint64_t steps = 20'000;                  // per execution; more is a livelock
  unsigned spurious_wakes = 0;                   // futex_wait returns without a wake
  unsigned weak_cas_failures = 0;                // compare_exchange_weak fails on equal words
  unsigned stale_reads = 0;          // a load returns the value before the last, where its order allows it
  unsigned thread_failures = 0;      // base::thread::start reports EAGAIN
  unsigned allocation_failures = 0;  // base::allocate_frame throws
  unsigned variations = 0;           // a worker skips its LIFO slot, or a task's budget is spent at once
  unsigned early_timeouts = 0;     // the clock jumps to the next deadline while other threads could still run
  bool daemon_threads = false;     // threads started by base::thread may stay blocked at the end
  unsigned replay_every = 100;     // nondeterminism check: one in so many runs is run twice; 0: never
  bool hides_rota = false;         // traces omit the steps in rota's own sources
  unsigned minimise_runs = 1'000;  // spent twice on a shorter failing schedule; 0: the first one is kept
};

struct report {
  std::uint64_t runs = 0;   // executions, without replays
  std::uint64_t steps = 0;  // scheduling points in them
  bool complete = false;    // dfs: nothing within the bound is left
  bool failed = false;
  std::string what;                    // the failure
  std::string trace;                   // its steps, and the state dump
  std::string replay;                  // ROTA_MODEL_REPLAY=<this> runs it again
  unsigned preemptions = 0;            // dfs: the bound of the last run; failed: in the failing schedule
  std::vector<std::uint64_t> runs_at;  // dfs: executions at bound 0, 1, ..
  double seconds = 0;                  // of processor time
};

/// Returns the text that a failing test prints.
[[nodiscard]] ROTA_API std::string to_string(const report& r);

/// Fails the execution and records its trace. Callable from any thread of the execution. Outside of an
/// execution it aborts.
[[noreturn]] ROTA_API void fail(const char* what) noexcept;

inline void check(bool holds, const char* what) noexcept {
  if (!holds) fail(what);
}

/// Returns the virtual time. std::chrono::steady_clock::now() reads the clock of the machine, which explore()
/// does not control.
[[nodiscard]] ROTA_API std::chrono::steady_clock::time_point now() noexcept;

/// Returns a number below `count`. The search tries all of them.
[[nodiscard]] ROTA_API unsigned choose(unsigned count) noexcept;

/// Registers and unregisters an object with an owner: it must be deleted exactly once before the execution
/// ends. `what` is a literal.
ROTA_API void track_new(const void* object, const char* what) noexcept;
ROTA_API void track_delete(const void* object) noexcept;

namespace detail {

class machine;

/// As track_new, for memory. From on_free to the end of the execution every access to the memory is an error.
/// From on_allocate on the checker owns the memory and calls `release` for it when the execution has ended.
ROTA_API void on_allocate(void* address,
                          std::size_t size,
                          const char* what,
                          void (*release)(void*) noexcept) noexcept;
ROTA_API void on_free(void* address, std::size_t size) noexcept;

}  // namespace detail

/// One execution, as its body sees it. The steps: (1) the body runs alone, as thread `main`; (2) the threads
/// that it registered run; (3) when all have ended and the daemons are blocked, the `finally` functions run
/// in order; (4) the objects of make() are destroyed, newest first.
///
/// Failure       A failed execution is abandoned at once: no destructor of a frame, a function or a made
///               object runs. The memory that the checker knows is freed.
class ROTA_API execution {
 public:
  explicit execution(detail::machine& m) noexcept : machine_(m) {}
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;
  ~execution() = default;

  /// Creates state that lives as long as the execution.
  template <class T, class... Arguments>
  T& make(Arguments&&... arguments) {
    static_assert(alignof(T) <= 4096);
    void* memory = allocate(sizeof(T), alignof(T));
    T* object = ::new (memory) T(std::forward<Arguments>(arguments)...);
    own(object, [](void* made) noexcept { static_cast<T*>(made)->~T(); });
    return *object;
  }

  template <class F>
  void thread(F f) {
    thread("", std::move(f));
  }
  /// `name` is a literal.
  template <class F>
  void thread(const char* name, F f) {
    put(add_thread(name, false), std::move(f));
  }

  /// Registers a thread that may be blocked at the end. It must not spin for ever: the execution ends when
  /// the thread is blocked.
  template <class F>
  void daemon(F f) {
    daemon("", std::move(f));
  }
  template <class F>
  void daemon(const char* name, F f) {
    put(add_thread(name, true), std::move(f));
  }

  template <class F>
  void finally(F f) {
    put(add_finally(), std::move(f));
  }

  /// `f` returns a std::string that is printed below the trace. It reads the state at the failure.
  template <class F>
  void on_failure(F f) {
    add_dump().put([f = std::move(f)](std::string& out) mutable { out += f(); });
  }

 private:
  using job = callable<int>;

  template <class F>
  static void put(job& slot, F f) {
    slot.put([f = std::move(f)](int) mutable { f(); });
  }

  [[nodiscard]] job& add_thread(const char* name, bool daemon);
  [[nodiscard]] job& add_finally();
  [[nodiscard]] callable<std::string&>& add_dump();
  [[nodiscard]] void* allocate(std::size_t size, std::size_t alignment);
  void own(void* object, void (*destroy)(void*) noexcept);

  detail::machine& machine_;
};

namespace detail {

/// The body without its type.
struct body_ref {
  void* object;
  void (*call)(void* object, execution& e);
};

ROTA_API report explore(const options& o, body_ref body);

}  // namespace detail

/// Runs `body(execution&)` until the search is done or a run fails.
template <class F>
  requires std::is_invocable_v<F&, execution&>
[[nodiscard]] report explore(const options& o, F body) {
  return detail::explore(o, {&body, [](void* object, execution& e) { (*static_cast<F*>(object))(e); }});
}

/// Options for exploring tasks. Each execution has a runtime of its own.
struct task_options {
  std::string_view name = {};  // distinguishes replay strings
  unsigned workers = 2;        // 1 to 4
  search_kind search = search_kind::mixed;
  std::uint64_t max_runs = 10'000;  // 1 and more
  unsigned seconds = 30;            // processor time; 0: no limit
  std::uint64_t seed = 1;
  std::uint64_t steps = 200'000;  // per execution; more is a livelock
  unsigned depth = 3;             // mixed, pct: 1 and more
  unsigned preemptions = 1;       // dfs, few; 0..250
  unsigned variations = 4;        // as in options, from here on
  unsigned spurious_wakes = 1;
  unsigned thread_failures = 0;
  unsigned allocation_failures = 0;
  unsigned early_timeouts = 0;
  unsigned stale_reads = 0;
  memory_mode memory = memory_mode::sequential;
  unsigned replay_every = 100;
  unsigned minimise_runs = 2'000;
};

namespace detail {

struct task_ref {
  void* object;
  task<> (*call)(void* object);
};

ROTA_API report explore_tasks(const task_options& o, task_ref body);

template <class T>
task<> without_value(task<T> work) {
  static_cast<void>(co_await std::move(work));
}
ROTA_DETAIL_WRAPPER inline task<> without_value(task<> work) { return work; }

}  // namespace detail

/// Runs the task that `body()` returns on a new runtime, by `block_on`, with another schedule each time. A
/// schedule decides which thread runs next, which victim a worker steals from, and the budget of a task. Time
/// is virtual: it advances when nothing can run, so a sleep of 30 days takes no time. A run fails if an
/// exception leaves the task or a detached task; by check() or fail(); on a deadlock (every task is listed
/// with its await site); on a data race on instrumented plain data (shared.hpp); on a leaked frame; and if
/// the program crashes.
///
/// Threads       The calling thread only. No other thread may touch what the tasks use.
/// Ownership     A failed run is abandoned at once: what it owned is not destroyed.
/// Ordering      The body must do the same each time: no real clocks, no addresses as keys, no randomness but
///               choose().
/// Failure       report::failed, with the trace and a string that repeats it: ROTA_MODEL_REPLAY=<it> in the
///               environment. Throws std::invalid_argument for an option out of range.
/// Cost          About 100 microseconds for a run of a few tasks. Sockets, files and signals are not
///               available.
/// Example       examples/find_a_race.cpp
template <class F>
  requires core::makes_task<F>
[[nodiscard]] report explore(const task_options& o, F body) {
  return detail::explore_tasks(o, {&body, [] ROTA_DETAIL_WRAPPER(void* object) -> task<> {
                                     return detail::without_value((*static_cast<F*>(object))());
                                   }});
}

}  // namespace rota::testing
