// The harness of the micro benchmarks: rounds, a start barrier, medians, one JSON line per case.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

using threads = unsigned;

inline const int counted_rounds = std::getenv("ROTA_BENCH_QUICK") == nullptr ? 9 : 3;

/// Stops the compiler from dropping an unused value.
template <class T>
inline void keep(const T& value) noexcept {
  asm volatile("" : : "g"(&value) : "memory");
}

/// The place of a case in the table: `./dev bench` groups by suite and case, and compares subjects.
struct label {
  const char* suite;
  const char* test_case;
  threads workers = 1;
  const char* unit = "ns";
};

/// Prints the line of a case. `values` are those of the counted rounds.
inline void report(const label& where, const char* subject, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  std::printf(
      "{\"suite\":\"%s\",\"case\":\"%s\",\"subject\":\"%s\",\"workers\":%u,\"unit\":\"%s\",\"median\":%.2f,"
      "\"min\":%.2f,\"max\":%.2f,\"runs\":%zu}\n",
      where.suite,
      where.test_case,
      subject,
      where.workers,
      where.unit,
      values[values.size() / 2],
      values.front(),
      values.back(),
      values.size());
  std::fflush(stdout);
}

/// Returns the nanoseconds that `work` takes, divided by `operations`.
template <class Work>
[[nodiscard]] double time_once(double operations, Work&& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / operations;
}

/// A named candidate of a comparison: `run(thread)` does one operation.
template <class Run>
struct subject {
  const char* name;
  Run run;
};
template <class Run>
subject(const char*, Run) -> subject<Run>;

/// Runs one round: every thread warms up, waits for the others, then calls `run` `calls` times. Returns
/// nanoseconds per call.
template <class Run>
[[nodiscard]] double round_of(threads n, int calls, Run& run) {
  std::atomic<threads> ready{0};
  std::atomic<bool> go{false};
  std::vector<std::thread> pool;
  for (threads t = 0; t < n; ++t) {
    pool.emplace_back([&, t] {
      for (int i = 0; i < calls / 10; ++i) run(t);
      ready.fetch_add(1);
      while (!go.load()) std::this_thread::yield();
      for (int i = 0; i < calls; ++i) run(t);
    });
  }
  while (ready.load() != n) std::this_thread::yield();
  return time_once(calls, [&] {
    go.store(true);
    for (auto& thread : pool) thread.join();
  });
}

/// Compares subjects. Their rounds are interleaved (A B A B ...), after one warm-up round each, so that a
/// slow minute of the machine affects all of them.
template <class... Runs>
void compare(const label& where, int calls, subject<Runs>... subjects) {
  std::vector<std::vector<double>> values(sizeof...(Runs));
  for (int round = 0; round <= counted_rounds; ++round) {
    std::size_t at = 0;
    const auto play = [&](auto& one) {
      const double ns = round_of(where.workers, calls, one.run);
      if (round > 0) values[at].push_back(ns);
      ++at;
    };
    (play(subjects), ...);
  }
  std::size_t at = 0;
  (report(where, subjects.name, values[at++]), ...);
}

/// Repeats work that is not a repeated call: `once()` returns the value of one round.
template <class Once>
void repeat(const label& where, const char* name, Once once) {
  std::vector<double> values;
  for (int round = 0; round <= counted_rounds; ++round) {
    const double value = once();
    if (round > 0) values.push_back(value);
  }
  report(where, name, values);
}

}  // namespace bench
