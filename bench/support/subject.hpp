// A subject of `./dev bench`: a program that runs one case once and prints what it measured. bench/README.md
// has the contract.
#pragma once

#include <rota/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <utility>

namespace bench {

/// What the command line asks for.
struct job {
  const char* test_case = "";
  unsigned workers = 2;
  std::uint64_t operations = 0;
  std::uint64_t warm_up = 0;  // operations that are not measured, first
  bool counts = false;        // operations are counted: no result may depend on the time
  bool counts_allocations = false;
};

struct one_case {
  const char* name;
  const char* unit;
  std::uint64_t full;   // operations
  std::uint64_t quick;  // the same with --scale quick
  void (*run)(const job& what);
};

/// What happened between two points, in the whole process.
struct spent {
  double wall_ns = 0;
  double cpu_ns = 0;
  std::uint64_t rmws = 0;
  std::uint64_t seq_cst_stores = 0;
  std::uint64_t system_calls = 0;
  // If allocations are counted: calls of operator new.
  std::uint64_t allocations = 0;
  std::uint64_t allocated_bytes = 0;

  spent& operator+=(const spent& more) noexcept;
};

/// Measures from its construction on.
class stretch {
 public:
  stretch() noexcept;
  [[nodiscard]] spent end() const noexcept;

 private:
  spent sums_;
  std::chrono::steady_clock::time_point begin_;
};

/// Returns the nanoseconds of processor time that this process has used.
[[nodiscard]] double process_cpu_ns() noexcept;

/// Prints the line of a measured stretch: nanoseconds per operation of the job.
void report(const job& what, const spent& sum);
/// The same with processor time as the value.
void report_cpu(const job& what, const spent& sum);
/// Prints a line of another kind. `subject`: null, or the name of what was measured beside rota.
void report_value(
    const job& what, const char* test_case, const char* unit, double value, const char* subject = nullptr);

/// Prints why a case failed and ends the program.
[[noreturn]] void fail(const char* why);

[[nodiscard]] rota::runtime_options options_of(const job& what);

/// `main` of a subject: CASE [--workers N] [--scale quick|full] [--operations N] [--allocations 1], or
/// --list.
int run_subject(int argc, char** argv, std::span<const one_case> cases);
/// The same, but lists no case if the backend that ROTA_IO asks for is missing.
int run_subject_of_backend(int argc, char** argv, std::span<const one_case> cases);

/// A loop of `operations` operations.
using loop = rota::task<void> (*)(std::uint64_t operations);

/// Runs the loop twice, the first time as a warm-up.
rota::task<spent> measure(loop work, job what);

/// The two shapes of a case: the root is spawned and runs on a worker, or runs on the calling thread.
template <loop Work>
void on_worker(const job& what) {
  rota::runtime runtime(options_of(what));
  auto root = runtime.spawn(measure(Work, what));
  report(what, root.join());
}
template <loop Work>
void in_block_on(const job& what) {
  rota::runtime runtime(options_of(what));
  report(what, runtime.block_on(measure(Work, what)));
}

}  // namespace bench
