// The deterministic machine: one execution at a time, on fibres. A search makes every decision.
#pragma once

#include <rota/testing/explore.hpp>
#include "testing/fibre.hpp"
#include "testing/heap.hpp"
#include "testing/memory.hpp"
#include "testing/search.hpp"
#include "testing/trace.hpp"

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace rota::testing::detail {

class machine {
 public:
  machine() = default;
  machine(const machine&) = delete;
  machine& operator=(const machine&) = delete;
  ~machine() = default;

  void configure(const options& o) noexcept { options_ = o; }

  /// Runs one execution. Returns false if it failed; what() has the failure.
  bool run(body_ref body, search& s);

  [[nodiscard]] const std::string& what() const noexcept { return what_; }
  [[nodiscard]] std::uint64_t steps() const noexcept { return steps_; }
  /// Two executions with the same steps have the same signature.
  [[nodiscard]] std::uint64_t signature() const noexcept { return signature_; }
  [[nodiscard]] const trace& events() const noexcept { return trace_; }
  [[nodiscard]] std::string print_trace() const;

  // The seam. The running fibre calls these functions.
  void begin_lifetime(const void* address);
  void end_lifetime(const void* address);
  std::uint64_t load(word w, base::order o, place where);
  void store(word w, std::uint64_t bits, base::order o, place where);
  std::uint64_t modify(word w, modification how, std::uint64_t operand, base::order o, place where);
  bool compare_exchange(word w, exchange_request& request, place where);
  /// Counts of this execution so far, for tests of costs.
  struct operations {
    std::uint64_t modifications = 0;  // read-modify-writes of atomic words; locks do not count
    std::uint64_t wakes = 0;          // futex_wake
  };
  [[nodiscard]] const operations& done() const noexcept { return done_; }
  void touch(const void* address, access how, std::uint64_t bits, place where);
  void forget(const void* address, std::size_t size, place where);
  void relax(place where);
  void heavy_barrier(place where);

  // `where`: for the program's own locks; rota's locks have none.
  void lock(word w, place where = {});
  bool try_lock(word w, place where = {});
  void unlock(word w, place where = {});

  enum class futex_result : std::uint8_t { woken, changed, timed_out };
  /// Compares the word, shifted right by `shift` bits, with `expected`.
  futex_result futex_wait(word w, std::uint64_t expected, base::time_point deadline, unsigned shift = 0);
  void note_look();
  int futex_wake(const void* address, int count);

  /// Returns the number of the thread, or 0 if none can be started.
  unsigned start_thread(const char* name, void (*entry)(void*) noexcept, void* argument);
  void join_thread(unsigned index);

  [[nodiscard]] base::time_point now() const noexcept { return time_; }
  [[nodiscard]] base::thread_locals& locals() noexcept { return me().locals; }
  [[nodiscard]] unsigned current() const noexcept { return current_; }
  [[nodiscard]] unsigned choose(unsigned count);

  [[nodiscard]] bool allocation_fails() { return fault(allocation_failures_); }
  [[nodiscard]] bool chance() { return fault(variations_); }
  void allocated(const heap::block& b);
  void freed(const void* address, std::size_t size);

  [[noreturn]] void fail(std::string what);
  /// Fails while the state is printed: the rest of the print is abandoned.
  [[noreturn]] void fail_dump(const char* what);

  // Called by the execution.
  [[nodiscard]] callable<int>& add_thread(const char* name, bool daemon);
  [[nodiscard]] callable<int>& add_finally();
  [[nodiscard]] callable<std::string&>& add_dump();
  [[nodiscard]] void* make_room(std::size_t size, std::size_t alignment);
  void own(void* object, void (*destroy)(void*) noexcept);

 private:
  struct made {
    void* memory;
    std::size_t alignment;
    void* object;
    void (*destroy)(void*) noexcept;
  };
  /// A word that is older than the execution: its value is restored for the next execution.
  struct kept_word {
    word where;
    std::uint64_t bits;
  };
  struct fault_budget {
    unsigned left;
  };

  [[nodiscard]] fibre& me() noexcept { return fibres_[current_]; }
  [[nodiscard]] std::uint64_t task_here() noexcept;
  [[nodiscard]] static fibre_mask bit(unsigned index) noexcept { return fibre_mask{1} << index; }
  [[nodiscard]] actor by(place where) noexcept {
    return {current_, me().clock, where.line() != 0 ? where : me().where};
  }

  // machine.cpp: the course of an execution
  void reset();
  void enter(context::entry_function entry, context& stack);
  void leave();
  static void run_fibre();
  static void run_dump();
  void run_main();
  void run_job(std::string& failure);
  void end_fibre();
  void start_planned();
  void await_quiet();
  void destroy_made();
  void check_leaks();
  void dump_state();
  void clean_up() noexcept;
  unsigned new_fibre(const char* name, bool daemon);
  void start_fibre(unsigned index);

  // schedule.cpp: the choice of the next thread
  void point(place where);
  void reschedule();
  [[nodiscard]] bool stays();
  [[nodiscard]] fibre_mask candidates();
  [[nodiscard]] fibre_mask fair(fibre_mask ready) const noexcept;
  [[nodiscard]] bool may_advance_early() const noexcept;
  [[nodiscard]] fibre_mask timed() const noexcept;
  bool advance_clock();
  void switch_to(unsigned next);
  void count_step();
  void stepped(place where) noexcept;
  void make_ready(fibre& f, unsigned index) noexcept;
  void block(waiting why, const void* wants);
  void fall_behind() noexcept;
  [[nodiscard]] bool fault(fault_budget& budget);
  [[nodiscard]] unsigned decide(unsigned count, value_kind kind);
  [[noreturn]] void fail_misfit();
  [[noreturn]] void fail_deadlock();
  void demand_no_circle();
  [[nodiscard]] const fibre* waiting_holder(const fibre& f) const;

  // arrivals.cpp: buffered stores
  void buffer_store(word w, std::uint64_t bits, base::order o, place where);
  [[nodiscard]] const buffered_store* own_store(const void* address) const noexcept;
  [[nodiscard]] const buffered_store* settle_for_load(const void* address);
  [[nodiscard]] bool others_store(const void* address) const noexcept;
  [[nodiscard]] bool has_store(unsigned index, const void* address) const noexcept;
  void let_arrive(const void* address, fibre_mask busy);
  void arrive_first(unsigned index, fibre_mask busy);
  void commit_first(unsigned index);
  void drain();
  void drain_all();
  void settle(const void* address);
  void drop_stores(const void* begin, std::size_t size);

  // words.cpp, waits.cpp: the operations
  [[nodiscard]] location& open(word w, place where);
  void forget_kept(const void* begin, std::size_t size);
  [[nodiscard]] bool is_stale(const location& l, word w, base::order o, place where);
  void keep_value(location& l, word w, base::order o, place where);
  void require(verdict v, const void* address, const char* does, place where);
  void record(event_kind kind,
              const void* address,
              std::uint64_t before,
              std::uint64_t after,
              base::order o,
              place where);
  void record(event_kind kind, const void* address, std::uint64_t value);
  void take(word w);
  [[nodiscard]] unsigned pick_sleeper(fibre_mask sleepers);

  options options_;
  search* search_ = nullptr;
  body_ref body_{};

  std::array<fibre, max_fibres> fibres_;
  context host_;
  context dump_stack_;
  exception_state* exceptions_ = nullptr;  // of the C++ runtime, for this OS thread
  exception_state host_exceptions_;

  heap heap_;
  memory memory_{heap_};
  trace trace_;

  unsigned current_ = 0;
  unsigned fibre_count_ = 0;
  unsigned unfinished_ = 0;  // threads that must end
  fibre_mask ready_ = 0;
  fibre_mask yielded_ = 0;  // spinners that wait for a step of another thread
  fibre_mask behind_ = 0;   // spinners that wait for certain threads
  operations done_;
  fibre_mask sleepers_ = 0;   // in futex_wait
  fibre_mask vain_ = 0;       // threads that watch others and have done so in vain
  fibre_mask timed_ = 0;      // sleepers with a deadline
  fibre_mask buffering_ = 0;  // threads with stores that have not arrived
  std::array<std::vector<buffered_store>, max_fibres> buffers_;
  std::uint64_t steps_ = 0;
  std::uint64_t progress_ = 0;  // steps of threads that do not watch others
  std::uint64_t signature_ = 0;
  base::time_point time_{};
  fault_budget spurious_wakes_{};
  fault_budget weak_failures_{};
  fault_budget stale_reads_{};
  fault_budget thread_failures_{};
  fault_budget allocation_failures_{};
  fault_budget early_timeouts_{};
  fault_budget variations_{};

  bool planning_ = false;  // the body runs
  bool failed_ = false;
  std::string what_;
  std::string dump_;
  std::vector<made> made_;
  std::vector<kept_word> kept_words_;
  std::vector<std::unique_ptr<callable<int>>> finals_;
  std::vector<std::unique_ptr<callable<std::string&>>> dumps_;
};

/// The machine of the fibre that runs on this thread; null outside of executions.
extern constinit thread_local machine* active [[gnu::tls_model("initial-exec")]];

/// Aborts the process: outside of an execution there is nothing else to fail.
[[noreturn]] void abort_outside(const char* what) noexcept;

/// The machine that prints the state of a failed execution on this thread.
extern constinit thread_local machine* dumping;

}  // namespace rota::testing::detail
