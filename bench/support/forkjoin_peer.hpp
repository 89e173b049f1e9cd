// The program of a C++ peer for the suite `forkjoin`: the command line, the problems, and the lines that it
// prints. The peer implements the functions that are declared here, as bench/forkjoin/rota.cpp says for each
// case.
#pragma once

#include "support/forkjoin_problems.hpp"
#include "support/peak_memory.hpp"

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <functional>

namespace peer {

using forkjoin::board;
using forkjoin::key;
using forkjoin::product;

/// A wait that runs other tasks on its own stack needs a deep stack: `uts` is 1995 calls deep, not counting
/// stolen tasks. The size is for all threads but the first, which already has such a stack.
constexpr std::size_t stack_bytes = std::size_t{64} << 20U;

/// Runs the root, and the tasks that it forks, on `workers` threads.
void on_workers(unsigned workers, const std::function<void()>& root);

std::uint64_t fib(unsigned n);
std::uint64_t skynet(std::uint64_t first, std::uint64_t leaves);
std::uint64_t nqueens(board queens, unsigned row, unsigned n);
void multiply(const product& todo);
void quicksort(key* first, key* last);
std::uint64_t uts(std::uint64_t node, unsigned count);

struct job {
  const char* test_case = "";
  unsigned workers = 2;
  std::uint64_t operations = 0;
  bool counts = false;
};

inline double process_cpu_ns() {
  rusage used{};
  ::getrusage(RUSAGE_SELF, &used);
  const auto ns = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) * 1e9 + static_cast<double>(t.tv_usec) * 1e3;
  };
  return ns(used.ru_utime) + ns(used.ru_stime);
}

/// Nanoseconds of wall time and of processor time.
struct spent {
  double wall;
  double cpu;
};

template <class Work>
[[nodiscard]] spent measure(Work work) {
  const double cpu = process_cpu_ns();
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> wall = std::chrono::steady_clock::now() - begin;
  return {wall.count(), process_cpu_ns() - cpu};
}

/// Prints the time of the operations, and the peak memory of the process.
inline void report(const job& what, const spent& sum) {
  const auto n = static_cast<double>(what.operations);
  std::printf(R"({"case":"%s","workers":%u,"unit":"ns","value":%.4f,"cpu_ns":%.4f})"
              "\n",
              what.test_case,
              what.workers,
              sum.wall / n,
              sum.cpu / n);
  if (what.counts) return;
  std::printf(R"({"case":"%s.peak","workers":%u,"unit":"MiB","value":%.4f})"
              "\n",
              what.test_case,
              what.workers,
              bench::peak_mib());
}

inline void solve_fib(unsigned n) { forkjoin::check_fib(n, fib(n)); }

inline void solve_skynet(unsigned depth) {
  forkjoin::check_skynet(depth, skynet(0, forkjoin::skynet_leaves[depth]));
}

inline void solve_nqueens(unsigned n) { forkjoin::check_nqueens(n, nqueens({}, 0, n)); }

inline void solve_matmul(unsigned cuts) {
  forkjoin::matrices all(cuts);
  multiply(all.whole());
  all.check();
}

inline void solve_uts(unsigned which) {
  const forkjoin::tree& tree = forkjoin::trees[which];
  forkjoin::check_uts(which, uts(forkjoin::root_of(tree), tree.root_children));
}

template <void (*Solve)(unsigned size), const auto& Operations>
void solve(const job& what) {
  on_workers(what.workers, [&] {
    for (const unsigned size : forkjoin::pieces(Operations, what.operations / 10, what.counts)) Solve(size);
    const std::vector<unsigned> sizes = forkjoin::pieces(Operations, what.operations, what.counts);
    report(what, measure([&] {
             for (const unsigned size : sizes) Solve(size);
           }));
  });
}

template <void (*Sort)(key* first, key* last)>
spent sort_arrays(std::uint64_t keys, bool counts) {
  forkjoin::arrays_of_keys arrays(keys, counts);
  const spent sum = measure([&] {
    for (std::size_t i = 0; i < arrays.size(); ++i) {
      const std::span<key> one = arrays[i];
      Sort(one.data(), one.data() + one.size());
    }
  });
  arrays.check();
  return sum;
}

template <void (*Sort)(key* first, key* last)>
void run_sort(const job& what) {
  on_workers(what.workers, [&] {
    sort_arrays<Sort>(what.operations / 10, what.counts);
    report(what, sort_arrays<Sort>(what.operations, what.counts));
  });
}

/// `loop`, for a peer with parallel loops: Loop calls the body for each item below a number.
template <void (*Loop)(std::uint64_t items, const forkjoin::loop_body& body)>
void run_loop(const job& what) {
  on_workers(what.workers, [&] {
    Loop(what.operations / 10, {});
    const forkjoin::loop_body body;
    report(what, measure([&] { Loop(what.operations, body); }));
    body.check(what.operations);
  });
}

struct one_case {
  const char* name;
  forkjoin::scale scale;
  void (*run)(const job& what);
};

inline constexpr auto run_fib = solve<solve_fib, forkjoin::fib_calls>;
inline constexpr auto run_skynet = solve<solve_skynet, forkjoin::skynet_leaves>;
inline constexpr auto run_nqueens = solve<solve_nqueens, forkjoin::queens_boards>;
inline constexpr auto run_matmul = solve<solve_matmul, forkjoin::leaf_products>;
inline constexpr auto run_uts = solve<solve_uts, forkjoin::tree_nodes>;

inline constexpr one_case cases[] = {
    {"fib", forkjoin::fib_scale, run_fib},
    {"fib_1", forkjoin::fib_scale, run_fib},
    {"skynet", forkjoin::skynet_scale, run_skynet},
    {"skynet_1", forkjoin::skynet_scale, run_skynet},
    {"nqueens", forkjoin::nqueens_scale, run_nqueens},
    {"nqueens_1", forkjoin::nqueens_scale, run_nqueens},
    {"matmul", forkjoin::matmul_scale, run_matmul},
    {"matmul_1", forkjoin::matmul_scale, run_matmul},
    {"quicksort", forkjoin::quicksort_scale, run_sort<quicksort>},
    {"uts", forkjoin::uts_scale, run_uts},
};

[[noreturn]] inline void misuse(const char* what, const char* which) {
  std::fprintf(stderr, "%s: %s\n", what, which);
  std::exit(2);
}

inline std::uint64_t number(const char* text) {
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*end != '\0' || value == 0) misuse("not a number above 0", text);
  return value;
}

inline job parse(int argc, char** argv, const one_case& chosen) {
  job what{.test_case = chosen.name, .operations = chosen.scale.full};
  for (int i = 2; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--workers") == 0) {
      what.workers = static_cast<unsigned>(number(argv[i + 1]));
    } else if (std::strcmp(argv[i], "--scale") == 0) {
      if (std::strcmp(argv[i + 1], "quick") == 0) what.operations = chosen.scale.quick;
    } else if (std::strcmp(argv[i], "--operations") == 0) {
      what.operations = number(argv[i + 1]);
      what.counts = true;
    } else {
      misuse("unknown option", argv[i]);
    }
  }
  return what;
}

/// Raises the stack limit of the first thread, which grows up to it.
inline void allow_deep_stack() {
  rlimit limit{};
  ::getrlimit(RLIMIT_STACK, &limit);
  if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < stack_bytes) {
    limit.rlim_cur = std::min<rlim_t>(stack_bytes, limit.rlim_max);
    ::setrlimit(RLIMIT_STACK, &limit);
  }
}

/// `main` of a peer: CASE [--workers N] [--scale quick|full] [--operations N], or --list. `more`: cases that
/// not every peer has.
inline int run(int argc, char** argv, std::span<const one_case> more) {
  if (argc < 2) misuse("usage", "CASE [--workers N] [--scale quick|full], or --list");
  const bool lists = std::strcmp(argv[1], "--list") == 0;
  std::vector<one_case> all(std::begin(cases), std::end(cases));
  all.insert(all.end(), more.begin(), more.end());
  for (const one_case& each : all) {
    if (lists) {
      std::puts(each.name);
    } else if (std::strcmp(argv[1], each.name) == 0) {
      try {
        allow_deep_stack();
        each.run(parse(argc, argv, each));
      } catch (const std::exception& e) {
        std::fprintf(stderr, "%s\n", e.what());
        return 1;
      }
      return 0;
    }
  }
  if (!lists) misuse("there is no such case", argv[1]);
  return 0;
}

}  // namespace peer
