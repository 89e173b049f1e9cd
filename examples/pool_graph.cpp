// Jobs that depend on each other. Prints the graph with the run times: pipe the output to `dot -Tsvg`.
#include <rota/pool/graph.hpp>

#include <cstdio>
#include <numeric>
#include <string>
#include <vector>

namespace pool = rota::pool;

int main() {
  pool::graph g;
  const auto numbers = g.add("read", [] {
    std::vector<long> all(100'000);
    std::iota(all.begin(), all.end(), 1);
    return all;
  });
  const auto sum = g.add(
      "sum",
      [](const std::vector<long>& all) { return std::accumulate(all.begin(), all.end(), 0L); },
      numbers);
  const auto squares = g.add(
      "sum of squares",
      [](const std::vector<long>& all) {
        return std::inner_product(all.begin(), all.end(), all.begin(), 0L);
      },
      numbers);
  const auto report = g.add(
      "report", [](long a, long b) { return std::to_string(a) + " and " + std::to_string(b); }, sum, squares);

  pool::thread_pool threads({.max_threads = 2});
  const pool::graph_report run = g.run(threads);
  std::printf("%s", g.to_dot(run).c_str());
  std::fprintf(stderr,
               "%s; %zu of %zu nodes are on the critical path\n",
               g.result(report)->c_str(),
               run.critical_path.size(),
               g.size());
  return run.succeeded() && *g.result(report) == "5000050000 and 333338333350000" ? 0 : 1;
}
