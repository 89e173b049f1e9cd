// QUESTION  What does a work cost that goes to the elastic pool: empty, short, long, waiting, with a
//           priority, after others? How soon do threads start and end?
// WHY       It bounds how small a work may be that is worth its submit, and how long a burst waits for
//           threads.
// BASELINE  oneTBB, Boost.Asio's thread_pool, Tokio's spawn_blocking, goroutines, and plain threads on one
//           queue (peer `std`).
// READ IT   ns per operation, or ms where the case says so; the comment of each case says what one operation
//           is. Peers without priorities, thread counts or dependencies have no such case. `pop_` keeps a
//           number of works in the queue while it measures; `queue_` is the queue alone.
#include "pool/work_queue.hpp"
#include "support/pool_load.hpp"
#include "support/subject.hpp"

#include <rota/pool/graph.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using bench::job;
using rota::pool::pool_options;
using rota::pool::thread_pool;
using rota::pool::work;
using rota::pool::work_id;
using rota::pool::work_options;
using namespace std::chrono_literals;

pool_options threads_of(const job& what) {
  return {.min_threads = what.workers, .max_threads = what.workers};
}

/// The interface that pool_load needs.
class posting_pool {
 public:
  explicit posting_pool(const job& what) : pool_(threads_of(what)) {}
  template <class F>
  void post(F f) {
    pool_ | std::move(f);
  }
  void wait() { pool_.wait_idle(); }

 private:
  thread_pool pool_;
};

/// Runs the loop twice, the first time as a warm-up.
template <class Loop>
void measured(const job& what, const Loop& loop) {
  loop(what.warm_up);
  const bench::stretch all;
  loop(what.operations);
  bench::report(what, all.end());
}

template <void (*Load)(posting_pool& pool, std::uint64_t n)>
void loaded(const job& what) {
  posting_pool pool(what);
  measured(what, [&pool](std::uint64_t n) { Load(pool, n); });
}

/// One sample: the time from a submit on a foreign thread to the first line of the work, in an idle pool.
void submit_idle(const job& what) {
  posting_pool pool(what);
  const std::vector<double> samples = pool_load::from_idle(pool, what.operations);
  const std::string name = what.test_case;
  bench::report_value(what, (name + ".p50").c_str(), "ns", pool_load::quantile(samples, 0.5));
  bench::report_value(what, (name + ".p99").c_str(), "ns", pool_load::quantile(samples, 0.99));
}

// ---- while the only thread is busy: no other work runs, so the counts are exact

constexpr std::uint64_t at_once = 1000;

/// Calls `act(count)` while the pool's only thread is held, with up to `at_once` works at a time, and then
/// releases the thread.
template <class Act>
void while_held(thread_pool& pool, std::uint64_t n, const Act& act) {
  for (; n != 0; n -= std::min(n, at_once)) {
    pool_load::gate gate;
    auto holder = pool.submit([&gate] { gate.wait(); });
    while (holder.status() != rota::pool::work_status::running) std::this_thread::yield();
    act(std::min(n, at_once));
    gate.open();
    pool.wait_idle();
  }
}

/// One operation: an empty work is submitted while the thread is busy, and runs afterwards.
void submit_busy(const job& what) {
  thread_pool pool(threads_of(what));
  double submit_ns = 0;
  measured(what, [&](std::uint64_t n) {
    submit_ns = 0;
    while_held(pool, n, [&](std::uint64_t count) {
      const auto begin = pool_load::clock::now();
      for (std::uint64_t i = 0; i < count; ++i) static_cast<void>(pool.submit([] {}));
      submit_ns += pool_load::ms_since(begin) * 1e6;
    });
  });
  if (what.counts) return;
  bench::report_value(what, "submit_busy.submit", "ns", submit_ns / static_cast<double>(what.operations));
}

/// One operation: the same, but the work is cancelled before the thread takes it.
void cancel_queued(const job& what) {
  thread_pool pool(threads_of(what));
  std::vector<work<void>> handles;
  handles.reserve(at_once);
  measured(what, [&](std::uint64_t n) {
    while_held(pool, n, [&](std::uint64_t count) {
      for (std::uint64_t i = 0; i < count; ++i) handles.push_back(pool.submit([] {}));
      for (const auto& each : handles) {
        if (!each.cancel()) bench::fail("a work that waits could not be cancelled");
      }
      handles.clear();
    });
  });
}

/// One operation: a submit with a priority, the pop and the run, with a constant number of waiting works:
/// each work that runs submits another one.
class refilling {
 public:
  refilling(thread_pool& pool, const job& what)
      : pool_(&pool), warm_up_(what.warm_up), left_(what.operations) {
    for (int p = 0; p < pool_load::priorities; ++p) options_[static_cast<unsigned>(p)].priority = p;
  }
  void submit(unsigned priority) {
    static_cast<void>(pool_->submit([this, priority] { ran(priority); }, options_[priority]));
  }
  [[nodiscard]] const bench::spent& sum() const noexcept { return sum_; }

 private:
  void ran(unsigned priority) {
    if (warm_up_ != 0 && --warm_up_ == 0) begin_.emplace();
    if (warm_up_ == 0 && left_ != 0 && --left_ == 0) sum_ = begin_->end();
    if (left_ != 0) submit(priority);
  }

  thread_pool* pool_;
  work_options options_[pool_load::priorities];
  std::uint64_t warm_up_;
  std::uint64_t left_;
  std::optional<bench::stretch> begin_;
  bench::spent sum_;
};

template <unsigned Waiting>
void pop(const job& what) {
  thread_pool pool(threads_of(what));
  refilling works(pool, what);
  pool_load::gate gate;
  auto holder = pool.submit([&gate] { gate.wait(); }, {.priority = pool_load::priorities});
  while (holder.status() != rota::pool::work_status::running) std::this_thread::yield();
  for (unsigned i = 0; i < Waiting; ++i) works.submit(i % pool_load::priorities);
  gate.open();
  pool.wait_idle();
  bench::report(what, works.sum());
}

/// One operation: a pop from a worker's queue, and a push of the same item. No lock, no pool.
template <unsigned Waiting>
void queue(const job& what) {
  std::vector<rota::pool::detail::queue_item> items(Waiting);
  rota::pool::detail::priority_queue all(rota::pool::queue_order::fifo);
  for (unsigned i = 0; i < Waiting; ++i) {
    items[i].priority = static_cast<int>(i % pool_load::priorities);
    all.set(items[i]);
  }
  measured(what, [&all](std::uint64_t n) {
    for (std::uint64_t i = 0; i < n; ++i) all.set(*all.get({}));
  });
  while (all.get({}) != nullptr) {
  }
}

// ---- coroutines

rota::task<void> sleep_thrice() {
  for (int i = 0; i < 3; ++i) co_await rota::sleep_for(10ms);
}

/// One operation: a coroutine that sleeps three times for 10 ms. All run at once.
void timers(posting_pool& pool, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) pool.post([] { return sleep_thrice(); });
  pool.wait();
}

constexpr std::uint64_t yields_of_a_work = 10;

rota::task<void> yield_often() {
  for (std::uint64_t i = 0; i < yields_of_a_work; ++i) co_await rota::yield();
}

/// One operation: one of ten yields of a coroutine, with its share of the coroutine's start and end.
void yields(posting_pool& pool, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n / yields_of_a_work; ++i) pool.post([] { return yield_often(); });
  pool.wait();
}

// ---- priorities

rota::task<void> busy_and_waiting(pool_load::priority_times& times, int priority) {
  pool_load::spin_for(pool_load::busy_part);
  for (int i = 0; i < 2; ++i) {
    co_await rota::sleep_for(pool_load::waiting_part);
    pool_load::spin_for(pool_load::busy_part);
  }
  times.end(priority);
}

/// The times until the last work of the highest of three priorities, and the last work of all, has ended.
void priority_works(const job& what) {
  thread_pool pool(threads_of(what));
  pool_load::priority_times times(what.operations);
  pool_load::submit_priorities(what.operations, [&](int priority) {
    static_cast<void>(pool.submit([&times, priority] { return busy_and_waiting(times, priority); },
                                  {.priority = priority}));
  });
  pool.wait_idle();
  bench::report_value(what, "priority_works.high", "ms", times.high_ms());
  bench::report_value(what, "priority_works.all", "ms", times.all_ms());
}

/// The time from the submit to the end of a work of high priority that waits for one of low priority, with
/// other works queued in between.
void priority_inversion(const job& what) {
  thread_pool pool(threads_of(what));
  auto low = pool.submit([] { pool_load::spin_for(pool_load::medium_work); }, {.priority = 0});
  low.wait();
  for (std::uint64_t i = 0; i < what.workers; ++i)
    static_cast<void>(pool.submit([] { pool_load::spin_for(pool_load::medium_work); }, {.priority = 1}));
  low = pool.submit([] { pool_load::spin_for(pool_load::medium_work); }, {.priority = 0});
  for (std::uint64_t i = 0; i < what.operations; ++i)
    static_cast<void>(pool.submit([] { pool_load::spin_for(pool_load::medium_work); }, {.priority = 1}));
  const auto begin = pool_load::clock::now();
  auto high = pool.submit([&low] { low.wait(); }, {.priority = 2});
  high.wait();
  bench::report_value(what, what.test_case, "ms", pool_load::ms_since(begin));
  pool.wait_idle();
}

// ---- dependencies

/// One operation: a node of a graph, submitted and run.
void graph(const job& what) {
  thread_pool pool(threads_of(what));
  measured(what, [&pool](std::uint64_t n) {
    std::vector<work_id> nodes;
    nodes.reserve(n);
    std::atomic<std::uint64_t> ran{0};
    const auto run = [&ran] { ran.fetch_add(1, std::memory_order_relaxed); };
    for (std::uint64_t i = 0; i < n; ++i) {
      if (i < pool_load::layer_width) {
        nodes.push_back(pool.submit(run).id());
      } else {
        nodes.push_back(
            pool.submit(run,
                        {.after = {nodes[pool_load::first_before(i)], nodes[pool_load::second_before(i)]}})
                .id());
      }
    }
    pool.wait_idle();
    if (ran.load() != n) bench::fail("not every node has run");
  });
}

/// One operation: a node of a graph that is built and run; `.run`: of a graph that was built before.
void built_graph(const job& what) {
  thread_pool pool(threads_of(what));
  std::atomic<std::uint64_t> ran{0};
  double run_ns = 0;
  measured(what, [&](std::uint64_t n) {
    ran.store(0);
    rota::pool::graph all;
    std::vector<rota::pool::node<void>> nodes;
    nodes.reserve(n);
    const auto run = [&ran] { ran.fetch_add(1, std::memory_order_relaxed); };
    for (std::uint64_t i = 0; i < n; ++i) {
      nodes.push_back(
          i < pool_load::layer_width
              ? all.add("", run)
              : all.add("", run, nodes[pool_load::first_before(i)], nodes[pool_load::second_before(i)]));
    }
    const auto begin = pool_load::clock::now();
    static_cast<void>(all.run(pool));
    run_ns = pool_load::ms_since(begin) * 1e6;
    if (ran.load() != n) bench::fail("not every node has run");
  });
  bench::report_value(what, "graph_100k.run", "ns", run_ns / static_cast<double>(what.operations));
}

// ---- threads

[[nodiscard]] std::ptrdiff_t threads_of_process() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"), {});
}

/// Threads of an empty pool start when many works block, and end after its keep-alive of 100 ms.
void burst(const job& what) {
  thread_pool pool(pool_options{
      .min_threads = 0, .max_threads = static_cast<unsigned>(what.operations), .keep_alive = 100ms});
  std::atomic<std::uint64_t> begun{0};
  pool_load::gate gate;
  const std::ptrdiff_t before = threads_of_process();
  auto begin = pool_load::clock::now();
  for (std::uint64_t i = 0; i < what.operations; ++i) {
    static_cast<void>(pool.submit([&] {
      if (begun.fetch_add(1) + 1 == what.operations) begun.notify_all();
      gate.wait();
    }));
  }
  for (std::uint64_t seen = begun.load(); seen != what.operations; seen = begun.load()) begun.wait(seen);
  bench::report_value(what, "burst.grow", "ms", pool_load::ms_since(begin));
  begin = pool_load::clock::now();
  gate.open();
  while (threads_of_process() > before) std::this_thread::sleep_for(1ms);
  bench::report_value(what, "burst.shrink", "ms", pool_load::ms_since(begin));
}

/// The processor time of an idle second, with the threads running.
void idle(const job& what) {
  posting_pool pool(what);
  for (int i = 0; i < 1000; ++i) pool.post([] {});
  pool.wait();
  std::this_thread::sleep_for(20ms);
  const double before = bench::process_cpu_ns();
  std::this_thread::sleep_for(1s);
  bench::report_value(what, what.test_case, "us", (bench::process_cpu_ns() - before) / 1000);
}

constexpr bench::one_case cases[] = {
    {"submit_outside", "ns", 1'000'000, 200'000, loaded<pool_load::from_outside<1>>},
    {"submit_outside_4", "ns", 1'000'000, 200'000, loaded<pool_load::from_outside<4>>},
    {"submit_inside", "ns", 1'000'000, 200'000, loaded<pool_load::from_inside>},
    {"submit_wait", "ns", 50'000, 10'000, loaded<pool_load::one_by_one>},
    {"submit_idle", "ns", 1000, 300, submit_idle},
    {"submit_busy", "ns", 1'000'000, 200'000, submit_busy},
    {"submit_inside_alone", "ns", 1'000'000, 200'000, loaded<pool_load::from_inside>},
    {"cancel_queued", "ns", 1'000'000, 200'000, cancel_queued},
    {"burst", "ms", 64, 64, burst},
    {"sync_works", "ns", 1000, 200, loaded<pool_load::roots<pool_load::roots_of_a_work>>},
    {"short_works", "ns", 1'000'000, 200'000, loaded<pool_load::roots<pool_load::roots_of_a_short_work>>},
    {"timer_works", "ns", 50, 50, loaded<timers>},
    {"yield_works", "ns", 100'000, 100'000, loaded<yields>},
    {"priority_works", "ms", 200, 20, priority_works},
    {"priority_inversion", "ms", 200, 50, priority_inversion},
    {"pop_1k", "ns", 500'000, 100'000, pop<1000>},
    {"pop_10k", "ns", 500'000, 100'000, pop<10'000>},
    {"pop_100k", "ns", 500'000, 100'000, pop<100'000>},
    {"pop_1m", "ns", 500'000, 100'000, pop<1'000'000>},
    {"queue_1k", "ns", 20'000'000, 4'000'000, queue<1000>},
    {"queue_10k", "ns", 20'000'000, 4'000'000, queue<10'000>},
    {"queue_100k", "ns", 20'000'000, 4'000'000, queue<100'000>},
    {"queue_1m", "ns", 20'000'000, 4'000'000, queue<1'000'000>},
    {"dag_100k", "ns", 100'000, 100'000, graph},
    {"graph_100k", "ns", 100'000, 100'000, built_graph},
    {"pool_idle", "us", 1, 1, idle},
};

}  // namespace

int main(int argc, char** argv) { return bench::run_subject(argc, argv, cases); }
