// The cases of bench/pool/rota.cpp: functions run in a task_group, by task_arena::enqueue (the subject
// `tbb_enqueue`), and a flow graph.
// READ IT   A wait for a task_group runs its tasks, so a waiting caller is one of the workers. Priorities are
//           those of arenas.
#include "pool.hpp"

#include "support/pool_load.hpp"

#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <oneapi/tbb/task_group.h>

#include <array>
#include <deque>
#include <string>

namespace peer {
namespace {

using pool_load::clock;

void report_as(const job& what, const char* subject, const spent& sum) {
  const auto n = static_cast<double>(what.operations);
  std::printf(R"({"case":"%s","workers":%u,"unit":"ns","value":%.4f,"cpu_ns":%.4f,"subject":"%s"})"
              "\n",
              what.test_case,
              what.workers,
              sum.wall / n,
              sum.cpu / n,
              subject);
}

void report_value(
    const job& what, const std::string& test_case, const char* unit, double value, const char* subject) {
  std::printf(R"({"case":"%s","workers":%u,"unit":"%s","value":%.4f,"subject":"%s"})"
              "\n",
              test_case.c_str(),
              what.workers,
              unit,
              value,
              subject);
}

/// All threads that run tasks, including the caller of a wait.
class threads {
 public:
  explicit threads(const job& what) : limit_(tbb::global_control::max_allowed_parallelism, what.workers) {}

 private:
  tbb::global_control limit_;
};

class group_pool {
 public:
  static constexpr const char* name = "tbb";

  explicit group_pool(const job& what) : limit_(what) {}
  ~group_pool() { group_.wait(); }
  template <class F>
  void post(F f) {
    group_.run(std::move(f));
  }
  void wait() { group_.wait(); }

 private:
  threads limit_;
  tbb::task_group group_;
};

/// The callers of this pool run no tasks.
class enqueue_pool {
 public:
  static constexpr const char* name = "tbb_enqueue";

  explicit enqueue_pool(const job& what)
      : limit_(tbb::global_control::max_allowed_parallelism, what.workers + 1),
        arena_(static_cast<int>(what.workers), 0) {}
  template <class F>
  void post(F f) {
    left_.begin();
    arena_.enqueue([this, f = std::move(f)] {
      f();
      left_.end();
    });
  }
  void wait() { left_.wait(); }

 private:
  pool_load::outstanding left_;
  tbb::global_control limit_;
  tbb::task_arena arena_;
};

template <class Pool, void (*Load)(Pool& pool, std::uint64_t n)>
void loaded(const job& what) {
  Pool pool(what);
  Load(pool, what.operations / 10);
  report_as(what, Pool::name, measure([&] { Load(pool, what.operations); }));
}

template <void (*Group)(group_pool& pool, std::uint64_t n),
          void (*Enqueue)(enqueue_pool& pool, std::uint64_t n)>
void both(const job& what) {
  loaded<group_pool, Group>(what);
  loaded<enqueue_pool, Enqueue>(what);
}

/// Without a worker thread, a task of a group runs only when a thread waits for the group. So this case uses
/// enqueue.
void submit_idle(const job& what) {
  enqueue_pool pool(what);
  const std::vector<double> samples = pool_load::from_idle(pool, what.operations);
  report_value(what, std::string(what.test_case) + ".p50", "ns", pool_load::quantile(samples, 0.5), "tbb");
  report_value(what, std::string(what.test_case) + ".p99", "ns", pool_load::quantile(samples, 0.99), "tbb");
}

void priority_works(const job& what) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, what.workers + 1);
  const auto slots = static_cast<int>(what.workers);
  std::array<tbb::task_arena, 3> arenas{tbb::task_arena(slots, 0, tbb::task_arena::priority::low),
                                        tbb::task_arena(slots, 0, tbb::task_arena::priority::normal),
                                        tbb::task_arena(slots, 0, tbb::task_arena::priority::high)};
  pool_load::outstanding left;
  pool_load::priority_times times(what.operations);
  pool_load::submit_priorities(what.operations, [&](int priority) {
    left.begin();
    arenas[static_cast<std::size_t>(priority)].enqueue([&times, &left, priority] {
      pool_load::busy_and_blocked();
      times.end(priority);
      left.end();
    });
  });
  left.wait();
  report_value(what, "priority_works.high", "ms", times.high_ms(), "tbb");
  report_value(what, "priority_works.all", "ms", times.all_ms(), "tbb");
}

/// Builds the graph and runs it.
void graph(const job& what, double& run_ns) {
  const threads limit(what);
  using node = tbb::flow::continue_node<tbb::flow::continue_msg>;
  const auto once = [&](std::uint64_t n) {
    std::atomic<std::uint64_t> ran{0};
    const auto run = [&ran](const tbb::flow::continue_msg&) { ran.fetch_add(1, std::memory_order_relaxed); };
    tbb::flow::graph all;
    std::deque<node> nodes;
    for (std::uint64_t i = 0; i < n; ++i) {
      nodes.emplace_back(all, run);
      if (i < pool_load::layer_width) continue;
      tbb::flow::make_edge(nodes[pool_load::first_before(i)], nodes[i]);
      tbb::flow::make_edge(nodes[pool_load::second_before(i)], nodes[i]);
    }
    const clock::time_point begin = clock::now();
    for (std::uint64_t i = 0; i < std::min(n, pool_load::layer_width); ++i)
      nodes[i].try_put(tbb::flow::continue_msg());
    all.wait_for_all();
    run_ns = pool_load::ms_since(begin) * 1e6;
    if (ran.load() != n) misuse("not every node has run", what.test_case);
  };
  once(what.operations / 10);
  report_as(what, "tbb", measure([&] { once(what.operations); }));
}

void whole_graph(const job& what) {
  double run_ns = 0;
  graph(what, run_ns);
}

void built_graph(const job& what) {
  double run_ns = 0;
  graph(what, run_ns);
  report_value(what, "graph_100k.run", "ns", run_ns / static_cast<double>(what.operations), "tbb");
}

constexpr auto outside = both<pool_load::from_outside<1>, pool_load::from_outside<1>>;
constexpr auto outside_4 = both<pool_load::from_outside<4>, pool_load::from_outside<4>>;
constexpr auto inside = both<pool_load::from_inside, pool_load::from_inside>;
constexpr auto waits = both<pool_load::one_by_one, pool_load::one_by_one>;
constexpr auto sync =
    both<pool_load::roots<pool_load::roots_of_a_work>, pool_load::roots<pool_load::roots_of_a_work>>;
constexpr auto short_ones = both<pool_load::roots<pool_load::roots_of_a_short_work>,
                                 pool_load::roots<pool_load::roots_of_a_short_work>>;

constexpr one_case of_pools[] = {
    {"submit_outside", {1'000'000, 200'000}, outside},
    {"submit_outside_4", {1'000'000, 200'000}, outside_4},
    {"submit_inside", {1'000'000, 200'000}, inside},
    {"submit_inside_alone", {1'000'000, 200'000}, inside},
    {"submit_wait", {50'000, 10'000}, waits},
    {"submit_idle", {1000, 300}, submit_idle},
    {"sync_works", {1000, 200}, sync},
    {"short_works", {1'000'000, 200'000}, short_ones},
    {"priority_works", {200, 20}, priority_works},
    {"dag_100k", {100'000, 100'000}, whole_graph},
    {"graph_100k", {100'000, 100'000}, built_graph},
};

}  // namespace

const std::span<const one_case> pool_cases(of_pools);

}  // namespace peer
