// The model checker's face: explore() runs a body again and again, each time with other interleavings.
//
//   const auto report = testing::explore({.preemptions = 2}, [](testing::execution& e) {
//     auto& flag = e.make<base::atomic<int>>(0);
//     e.thread([&flag] { flag.store(1, base::order::release); });
//     e.thread([&flag] { (void)flag.load(base::order::acquire); });
//     e.finally([&flag] { testing::check(flag.load(base::order::relaxed) == 1, "the store is there"); });
//   });
//   EXPECT_FALSE(report.failed) << to_string(report);
//
// The README says what is explored, what is checked, and what is not.
#pragma once

#include "testing/callable.hpp"

#include <rota/detail/config.hpp>

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
};

enum class memory_mode : std::uint8_t {
  sequential,  // every load sees the last store
  tso,         // stores that are not seq_cst wait in their thread's buffer, as on x86
};

/// What may go wrong in an execution is a number: at most so many times, at every place where it can. 0:
/// never.
struct options {
  std::string_view name = {};  // told apart in replay strings
  search_kind search = search_kind::dfs;
  unsigned preemptions = 2;                      // dfs: the largest bound
  unsigned depth = 3;                            // pct: a bug of this depth has a known chance per run
  std::uint64_t max_runs = 10'000'000;           // dfs: then `complete` is false; random, pct: how many
  std::uint64_t seed = 1;                        // random, pct
  memory_mode memory = memory_mode::sequential;  // tso: not together with stale_reads
  unsigned seconds = 0;                          // of the processor, for the whole search; 0: no limit
  std::uint64_t steps = 20'000;                  // per execution; more is a livelock
  unsigned spurious_wakes = 0;                   // futex_wait returns without a wake
  unsigned weak_cas_failures = 0;                // compare_exchange_weak fails on equal words
  unsigned stale_reads = 0;          // a load returns the value before the last, where its order lets it
  unsigned thread_failures = 0;      // base::thread::start reports EAGAIN
  unsigned allocation_failures = 0;  // base::allocate_frame throws
  unsigned early_timeouts = 0;       // the clock jumps to the next deadline while others could still run
  bool daemon_threads = false;       // threads started by base::thread may stay blocked at the end
  unsigned replay_every = 100;       // nondeterminism check: each so many runs, one is run twice; 0: never
  unsigned minimise_runs = 1'000;    // spent on a shorter failing schedule; 0: the first one is kept
};

struct report {
  std::uint64_t runs = 0;   // executions, without replays
  std::uint64_t steps = 0;  // scheduling points in them
  bool complete = false;    // dfs: nothing within the bound is left
  bool failed = false;
  std::string what;          // the failure
  std::string trace;         // its steps, and the state dump
  std::string replay;        // ROTA_MODEL_REPLAY=<this> runs it again
  unsigned preemptions = 0;  // dfs: the bound that the last run had; failed: in the failing schedule
  std::vector<std::uint64_t> runs_at;  // dfs: executions at bound 0, 1, ..
  double seconds = 0;                  // of the processor
};

/// What a test prints when it fails.
[[nodiscard]] ROTA_API std::string to_string(const report& r);

/// Fails the execution, with its trace. Callable from any thread of the execution; outside of one, it aborts.
[[noreturn]] ROTA_API void fail(const char* what) noexcept;

inline void check(bool holds, const char* what) noexcept {
  if (!holds) fail(what);
}

/// Any number below `count`: the search tries them all.
[[nodiscard]] ROTA_API unsigned choose(unsigned count) noexcept;

/// Objects with an owner: each must be deleted once before the execution ends. `what` is a literal.
ROTA_API void track_new(const void* object, const char* what) noexcept;
ROTA_API void track_delete(const void* object) noexcept;

namespace detail {

class machine;

/// Memory with an owner, as track_new, and more: between on_free and the end of the execution nobody may
/// touch it. From on_allocate on the memory is the checker's, which calls `release` for it when the execution
/// has ended.
ROTA_API void on_allocate(void* address,
                          std::size_t size,
                          const char* what,
                          void (*release)(void*) noexcept) noexcept;
ROTA_API void on_free(void* address, std::size_t size) noexcept;

}  // namespace detail

/// One execution, as its body sees it. The body runs first and alone, as thread `main`; the threads that it
/// asks for start when it has returned; when all have ended, and the daemons are blocked, the `finally`
/// functions run in order; then what make() made is destroyed, newest first.
///
/// Failure       A failed execution is abandoned where it stands: no destructor of a frame, a function or a
///               made object runs. Its memory is given back as far as the checker knows it.
class ROTA_API execution {
 public:
  explicit execution(detail::machine& m) noexcept : machine_(m) {}
  execution(const execution&) = delete;
  execution& operator=(const execution&) = delete;
  ~execution() = default;

  /// State that lives as long as the execution.
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

  /// A thread that may be blocked at the end. It must not spin for ever: the end comes when it is blocked.
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

  /// `f` returns a std::string that is printed below the trace. It reads the state as the failure left it.
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
[[nodiscard]] report explore(const options& o, F body) {
  static_assert(std::is_invocable_v<F&, execution&>, "the body takes a testing::execution&");
  return detail::explore(o, {&body, [](void* object, execution& e) { (*static_cast<F*>(object))(e); }});
}

}  // namespace rota::testing
