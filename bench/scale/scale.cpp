// QUESTION  How does the scheduler behave with more workers than this machine has processors: how fast does
//           work spread, how often do workers search in vain, how often is a worker woken?
// WHY       A protocol that is right on two processors may be a queue on two hundred.
// HOW       The library's own source on the simulated machine (src/simulated): every worker has a processor
//           and a clock, an operation on a cache line that another processor owns costs a transfer, and a
//           contended line is a queue. Its times are not measurements; two lines of one table may be
//           compared.
// READ IT   speed-up: over one worker. bound: what work and span allow, work / (work / workers + span). The
//           rest is per task.
#include "simulated/machine.hpp"

#include <rota/runtime.hpp>
#include <rota/scope.hpp>
#include <rota/when.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string_view>
#include <system_error>

namespace {

using rota::task;
using rota::simulated::active;

constexpr std::int64_t leaf_work = 1'000;  // nanoseconds

struct shape {
  const char* name;
  const char* what;
  task<void> (*run)(unsigned tasks);
  std::int64_t (*span)(unsigned tasks);
};

unsigned done = 0;  // one thread runs all simulated processors

void work() {
  active->spend(leaf_work);
  ++done;
}

task<void> leaf() {
  work();
  co_return;
}

task<void> halves(unsigned leaves) {
  if (leaves == 1) co_return work();
  co_await rota::when_all(halves(leaves / 2), halves(leaves - leaves / 2));
}

task<void> spawned(unsigned tasks) {
  const auto body = [tasks](rota::scope& s) -> task<void> {
    for (unsigned i = 0; i < tasks; ++i) s.fork(leaf());
    co_return;
  };
  co_await rota::with_scope(body);
}

task<void> bursts(unsigned tasks) {
  constexpr unsigned burst = 64;
  for (unsigned first = 0; first < tasks; first += burst) co_await halves(std::min(burst, tasks - first));
}

std::int64_t one_leaf(unsigned /*tasks*/) { return leaf_work; }
std::int64_t each_burst(unsigned tasks) { return (tasks + 63) / 64 * leaf_work; }

constexpr shape shapes[] = {
    {"forks", "a tree of forks, two from each", halves, one_leaf},
    {"spawned", "all spawned by one task", spawned, one_leaf},
    {"bursts", "trees of 64, one after the other: all workers sleep and wake", bursts, each_burst},
};

struct outcome {
  double microseconds = 0;
  rota::worker_stats sum;
};

outcome simulate(const shape& what, unsigned workers, unsigned tasks) {
  outcome found;
  done = 0;
  rota::simulated::machine machine{rota::simulated::costs()};
  machine.run([&] {
    rota::runtime_options options;
    options.workers = workers;
    options.seed = 1;
    options.watchdog = std::chrono::nanoseconds(0);
    rota::runtime runtime(options);
    const auto measured = [&]() -> task<void> {
      const auto start = active->now();
      co_await what.run(tasks);
      found.microseconds = std::chrono::duration<double, std::micro>(active->now() - start).count();
    };
    runtime.spawn(measured).join();
    const rota::runtime_stats counted = runtime.stats();
    for (const rota::worker_stats& one : counted.workers) {
      found.sum.steals += one.steals;
      found.sum.searches += one.searches;
      found.sum.wakes_sent += one.wakes_sent;
      found.sum.wakes_spurious += one.wakes_spurious;
    }
  });
  if (done != tasks) {
    static_cast<void>(std::fprintf(stderr, "scale: %u of %u tasks were run\n", done, tasks));
    std::exit(1);
  }
  return found;
}

void print_curve(const shape& what, unsigned tasks, unsigned most_workers) {
  std::printf("\n%s: %u tasks of 1 us, %s\n", what.name, tasks, what.what);
  std::printf("%8s %12s %9s %7s %10s %10s %10s %8s %8s\n",
              "workers",
              "us",
              "speed-up",
              "bound",
              "searches",
              "in vain",
              "steals",
              "wakes",
              "spurious");
  double alone = 0;
  for (unsigned workers = 1; workers <= most_workers; workers *= 2) {
    const outcome o = simulate(what, workers, tasks);
    if (workers == 1) alone = o.microseconds;
    const double work = alone * 1'000;
    const auto span = static_cast<double>(what.span(tasks));
    const auto per_task = [&](std::uint64_t n) { return static_cast<double>(n) / tasks; };
    std::printf("%8u %12.1f %9.1f %7.1f %10.4f %10.4f %10.4f %8.4f %8.4f\n",
                workers,
                o.microseconds,
                alone / o.microseconds,
                work / (work / workers + span),
                per_task(o.sum.searches),
                per_task(o.sum.searches - std::min(o.sum.searches, o.sum.steals)),
                per_task(o.sum.steals),
                per_task(o.sum.wakes_sent),
                per_task(o.sum.wakes_spurious));
    static_cast<void>(std::fflush(stdout));
  }
}

}  // namespace

/// Usage: scale [TASKS [WORKERS]], for 1, 2, 4 .. WORKERS workers.
int main(int argc, char** argv) {
  constexpr unsigned most_tasks = 10'000'000;
  constexpr unsigned most_workers = 512;
  const std::span<char* const> given(argv, static_cast<std::size_t>(argc));
  // Returns 0 if the argument is out of range or no number.
  const auto number = [&](std::size_t at, unsigned otherwise, unsigned most) -> unsigned {
    if (at >= given.size()) return otherwise;
    const std::string_view text = given[at];
    unsigned value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc{} && end == text.data() + text.size() && value <= most ? value : 0;
  };
  const unsigned tasks = number(1, 100'000, most_tasks);
  const unsigned workers = number(2, 256, most_workers);
  if (tasks == 0 || workers == 0 || argc > 3) {
    static_cast<void>(std::fprintf(
        stderr, "scale [TASKS [WORKERS]]: 1 to %u tasks, 1 to %u workers\n", most_tasks, most_workers));
    return 2;
  }
  for (const shape& each : shapes) print_curve(each, tasks, workers);
  return 0;
}
