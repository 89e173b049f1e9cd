// A simulated machine with any number of processors and a clock in each: how long the library's own source
// would take there.
#pragma once

#include "base/clock.hpp"
#include "base/tls_slot.hpp"
#include "testing/context.hpp"
#include "testing/fibre.hpp"

#include <rota/detail/base.hpp>

#include <bitset>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <memory_resource>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rota::simulated {

/// Nanoseconds. Their origin: src/simulated/README.md.
struct costs {
  std::int64_t operation = 1;          // an operation and the ordinary code up to the next one
  std::int64_t modification = 6;       // added for a read-modify-write
  std::int64_t transfer = 60;          // added if another processor has the line; one gets it after the other
  std::int64_t barrier = 2'000;        // the heavy half
  std::int64_t sleep = 600;            // to fall asleep
  std::int64_t wake = 1'200;           // to wake a thread
  std::int64_t wake_latency = 5'000;   // from there until the sleeper runs
  std::int64_t thread_start = 20'000;  // from the call until the thread runs
};

// PROTOCOL: the simulation
//
// Each thread has a processor to itself, and each processor a clock. Before an operation of the seam a thread
// lets all threads run that have clocks behind its own. So operations happen in the order of simulated time,
// and two runs of the same program take the same time, to the nanosecond. The code between two operations
// costs nothing by itself: `operation` stands for it, and spend() for the program's own work.
//
// A cache line is at the processor of its last writer, and at those that have read it since. A thread that
// needs it from elsewhere waits until the line is free, pays for the transfer, and holds the line for that
// long: a word that all threads modify is a queue.
class machine {
 public:
  static constexpr unsigned most_threads = 600;

  explicit machine(costs what);
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  ~machine();

  /// Runs `body` on the first processor, and all threads that it starts. Call it once. Returns the time of
  /// the first processor's clock at the end.
  base::nanoseconds run(std::function<void()> body);

  // The seam. The running thread calls these.
  enum class use : std::uint8_t { read, write, modify };
  void operate(const void* address, use how);
  void spend(std::int64_t nanoseconds);
  void lock(const void* word);
  [[nodiscard]] bool try_lock(const void* word);
  void unlock(const void* word);
  enum class wake_reason : std::uint8_t { woken, changed, timed_out };
  wake_reason futex_wait(const std::uint32_t* word, std::uint32_t expected, base::time_point deadline);
  int futex_wake(const void* word, int count);
  unsigned start_thread(const char* name, void (*entry)(void*) noexcept, void* argument);
  void join_thread(unsigned index);
  void barrier() { spend(costs_.barrier); }
  [[nodiscard]] base::time_point now() const noexcept;
  [[nodiscard]] base::thread_locals& locals() noexcept { return threads_[current_]->locals; }
  [[nodiscard]] unsigned current() const noexcept { return current_; }

 private:
  struct thread {
    testing::detail::context stack;
    std::function<void()> job;
    base::thread_locals locals;
    testing::detail::exception_state exceptions;
    std::int64_t clock = 0;
    bool ended = false;
    bool timed_out = false;
    const void* sleeps_on = nullptr;
    std::vector<unsigned> joiners;
  };
  struct line {
    std::int64_t free_at = 0;
    std::bitset<most_threads> with;
  };
  struct held_lock {
    bool held = false;
    std::deque<unsigned> waiters;
  };

  static void run_thread();
  unsigned add_thread(std::function<void()> job, std::int64_t at);
  [[nodiscard]] thread& me() noexcept { return *threads_[current_]; }
  void let_others_catch_up();
  void leave_to_the_earliest();
  void switch_to(unsigned next);
  void make_ready(unsigned index, std::int64_t at);
  [[noreturn]] static void fail(const char* what);

  const costs costs_;
  testing::detail::context host_;
  testing::detail::exception_state* exceptions_ = nullptr;
  std::vector<std::unique_ptr<thread>> threads_;
  unsigned current_ = 0;
  std::set<std::pair<std::int64_t, unsigned>> ready_;  // by their clocks; without the running thread
  std::set<std::pair<std::int64_t, unsigned>> timed_;  // sleepers by their deadlines
  // A hash table frees its nodes in an order that its keys decide, and addresses differ from one process to
  // the next. Then the heap, and so the lines, would differ for the next machine. So these maps are ordered.
  // The lines, which are read at each operation, are in a hash table with a heap of its own.
  std::map<const void*, held_lock> locks_;
  std::map<const void*, std::deque<unsigned>> sleepers_;
  std::pmr::monotonic_buffer_resource heap_of_lines_;
  std::pmr::unordered_map<std::uintptr_t, line> lines_{&heap_of_lines_};
};

/// The machine that runs on this thread; null outside of run().
extern constinit machine* active;

}  // namespace rota::simulated
