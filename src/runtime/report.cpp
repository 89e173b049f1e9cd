// Reports of a runtime: stats(), dump(), the survivors of a shutdown.
#include "runtime/join_circles.hpp"
#include "runtime/runtime_core.hpp"
#include "task/describe.hpp"

#include <algorithm>
#include <new>
#include <string>
#include <vector>

namespace rota::detail {

namespace {

worker_stats stats_of(sched::worker& w) noexcept {
  const sched::worker_counters& c = w.counts();
  return {c.polled.read(),
          c.stolen.read(),
          c.steals.read(),
          c.searches.read(),
          c.parked.read(),
          c.lifo_hits.read(),
          c.injector_fetches.read(),
          c.overflows.read(),
          c.wakes_sent.read(),
          c.wakes_spurious.read()};
}

}  // namespace

runtime_core::ends runtime_core::count_ends() noexcept {
  ends sum{tasks.foreign_ended(), tasks.foreign_cancelled()};
  for (unsigned i = 0; i < tasks.workers(); ++i) {
    sum.all += tasks.at(i).counts().ended.read();
    sum.cancelled += tasks.at(i).counts().cancelled.read();
  }
  return sum;
}

runtime_stats runtime_core::stats() {
  runtime_stats sum;
  sum.num_workers = tasks.workers();
  const ends ended = count_ends();
  sum.total_spawned = tasks.foreign_spawned();
  for (unsigned i = 0; i < tasks.workers(); ++i) {
    sched::worker& w = tasks.at(i);
    const worker_stats& one = sum.workers.emplace_back(stats_of(w));
    sum.total_polled += one.tasks_polled;
    sum.total_stolen += one.steals;
    sum.total_parked += one.times_parked;
    sum.total_spawned += w.counts().spawned.read();
  }
  sum.total_cancelled = ended.cancelled;
  sum.total_completed = ended.completed();
  sum.alive_tasks = sum.total_spawned - std::min(sum.total_spawned, ended.all);
  sum.injector_depth = tasks.injector().length_guess();
  const blocking_pool::counts pool = threads.count();
  sum.blocking_queued = pool.queued;
  sum.blocking_threads = pool.threads;
  sum.total_suppressed = tasks.suppressed();
  sum.total_shields_overridden = tasks.shields_overridden();
  sum.total_shortages = tasks.shortages();
  sum.total_stalls = watchdog_.stalls();
  sum.total_ripened = watchdog_.ripened();
  // relaxed: for a report.
  sum.total_unhandled = unhandled_.load(base::order::relaxed);
  tell_of_io(sum);
  return sum;
}

/// A task moves from the births into the registry, never back. Reading the births first finds it in one of
/// them, or in both.
void runtime_core::describe_tasks(std::string& text) {
  std::vector<core::birth::seen> newborn;
  tasks.newborn().for_each([&newborn](const core::birth::seen& task) { newborn.push_back(task); });
  std::vector<std::uint64_t> described;
  tasks.tasks().for_each([&](const core::header& task) {
    core::describe(text, task);
    described.push_back(task.id);
  });
  std::sort(described.begin(), described.end());
  for (const core::birth::seen& task : newborn)
    if (!std::binary_search(described.begin(), described.end(), task.id)) core::describe(text, task);
}

std::string runtime_core::dump() {
  const runtime_stats now = stats();
  std::string text = "rota runtime: " + std::to_string(now.num_workers) + " workers, " +
                     std::to_string(now.alive_tasks) + " tasks alive, " + std::to_string(now.injector_depth) +
                     " in the injector, " + std::to_string(now.blocking_threads) + " threads\n";
  for (unsigned i = 0; i < tasks.workers(); ++i) {
    sched::worker& w = tasks.at(i);
    const std::uint64_t running = w.current_task_id();
    text += "  worker " + std::to_string(i) + ": ";
    text += running != 0 ? "runs task " + std::to_string(running) : std::string("runs nothing");
    text += ", " + std::to_string(w.thief_end().length_guess()) + " queued\n";
  }
  describe_tasks(text);
  for (const join_circle& each : find_join_circles(tasks.tasks()))
    text += "  circle of joins: " + to_string(each) + "\n";
  return text;
}

runtime_core::on_shutdown runtime_core::report_survivors(shutdown_report* into) noexcept {
  if (into == nullptr) return on_shutdown::done;
  try {
    tasks.tasks().for_each([into](const core::header& task) {
      into->survivors.push_back({{task.id}, core::name_of(task), core::place_of(task)});
    });
  } catch (const std::bad_alloc&) {
    return on_shutdown::no_memory_for_report;
  }
  return on_shutdown::done;
}

}  // namespace rota::detail
