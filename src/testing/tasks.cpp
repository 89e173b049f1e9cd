// Exploration of tasks: each execution has a runtime of its own.
#include "testing/explorer.hpp"
#include "testing/machine.hpp"

#include <rota/runtime.hpp>
#include <rota/testing/explore.hpp>

#include <chrono>
#include <stdexcept>
#include <string>

namespace rota::testing::detail {

namespace {

constexpr unsigned most_workers = 4;
constexpr unsigned blocking_threads = 4;  // in addition to the workers; an execution has at most 15 threads
constexpr unsigned seeds = 8;             // of the choice of victims

options options_of(const task_options& o) noexcept {
  options low;
  low.name = o.name;
  low.search = o.search;
  low.preemptions = o.preemptions;
  low.depth = o.depth;
  low.max_runs = o.max_runs;
  low.seed = o.seed;
  low.memory = o.memory;
  low.seconds = o.seconds;
  low.steps = o.steps;
  low.spurious_wakes = o.spurious_wakes;
  low.stale_reads = o.stale_reads;
  low.thread_failures = o.thread_failures;
  low.allocation_failures = o.allocation_failures;
  low.variations = o.variations;
  low.early_timeouts = o.early_timeouts;
  low.replay_every = o.replay_every;
  low.hides_rota = true;
  low.minimise_runs = o.minimise_runs;
  return low;
}

void check_options(const task_options& o) {
  if (o.workers < 1 || o.workers > most_workers)
    throw std::invalid_argument("task_options.workers: " + std::to_string(o.workers) + " is not in 1..4");
  if (const std::string wrong = what_is_wrong(options_of(o)); !wrong.empty())
    throw std::invalid_argument("task_options." + wrong);
}

void on_unhandled(const unhandled_exception& e) noexcept {
  std::string text = "an exception of task " + std::to_string(e.id.value);
  if (!e.name.empty()) text += " \'" + std::string(e.name) + "\'";
  text += std::string(" was not observed: ") + e.what;
  if (e.file != nullptr) text += ", last awaited at " + std::string(e.file) + ':' + std::to_string(e.line);
  active->fail(std::move(text));
}

runtime_options runtime_options_of(const task_options& o) {
  runtime_options r;
  r.workers = o.workers;
  r.blocking.max_threads = o.workers + blocking_threads;
  r.blocking.keep_alive = std::chrono::nanoseconds::max();  // numbers of threads are not reused
  r.watchdog = {};
  r.on_unhandled = unhandled_policy::callback(on_unhandled);
  r.seed = 1 + (o.search == search_kind::dfs ? 0 : active->choose(seeds));
  return r;
}

/// For the dump: null before the runtime exists, and while it is destroyed.
struct stage {
  runtime* shown = nullptr;
};

class show {
 public:
  show(stage& on, runtime& r) noexcept : on_(on) { on.shown = &r; }
  show(const show&) = delete;
  show& operator=(const show&) = delete;
  ~show() { on_.shown = nullptr; }

 private:
  stage& on_;
};

}  // namespace

report explore_tasks(const task_options& o, task_ref body) {
  check_options(o);
  return testing::explore(options_of(o), [&](execution& e) {
    auto& s = e.make<stage>();
    e.on_failure([&s] { return s.shown == nullptr ? std::string("no runtime") : s.shown->dump(); });
    e.thread("root", [&o, &s, body] {
      runtime here(runtime_options_of(o));
      const show shown(s, here);
      here.block_on(body.call(body.object));
    });
  });
}

}  // namespace rota::testing::detail
