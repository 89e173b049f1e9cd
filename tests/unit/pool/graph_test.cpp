// Graphs of works, and works of the results of others.
#include <rota/pool/graph.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace graph_test {
namespace {

using namespace rota;
using namespace rota::pool;

TEST(pool_graph, passes_results_along) {
  thread_pool p({.max_threads = 2});
  graph g;
  const auto a = g.add("a", [] { return 20; });
  const auto b = g.add("b", [] { return std::string("22"); });
  const auto c = g.add("c", [](int x, const std::string& y) { return x + std::stoi(y); }, a, b);
  std::atomic<int> seen{0};
  const auto d = g.add("d", [&](int z) { seen = z; }, c);
  g.add("e", [&] { ++seen; }, d);
  for (int run = 0; run < 3; ++run) {
    const graph_report report = g.run(p);
    EXPECT_TRUE(report.succeeded());
    EXPECT_EQ(*g.result(c), 42);
    EXPECT_EQ(seen, 43);
    EXPECT_GE(report.took, report.critical);
    EXPECT_GE(report.work, report.critical);
    EXPECT_EQ(report.critical_path.back(), 4U);
    EXPECT_EQ(report.critical_path.size(), 4U);
  }
}

TEST(pool_graph, a_failure_ends_what_comes_after_it) {
  thread_pool p({.max_threads = 2});
  graph g;
  const auto bad = g.add("bad", []() -> int { throw std::runtime_error("bad"); });
  const auto good = g.add("good", [] { return 1; });
  g.add("after", [](int) { FAIL(); }, bad);
  g.add("other", [](int) {}, good);
  const graph_report report = g.run(p);
  EXPECT_FALSE(report.succeeded());
  EXPECT_EQ(report.nodes[0].status, work_status::failed);
  EXPECT_EQ(report.nodes[1].status, work_status::succeeded);
  EXPECT_EQ(report.nodes[2].status, work_status::failed);
  EXPECT_THROW(std::rethrow_exception(report.nodes[2].exception), dependency_failed);
  EXPECT_EQ(report.nodes[3].status, work_status::succeeded);
  EXPECT_EQ(g.result(bad), nullptr);
}

TEST(pool_graph, runs_each_layer_after_the_previous_one) {
  constexpr std::size_t width = 50;
  constexpr std::size_t layers = 50;
  thread_pool p({.max_threads = 2});
  graph g;
  std::atomic<std::size_t> done{0};
  for (std::size_t layer = 0; layer < layers; ++layer) {
    for (std::size_t i = 0; i < width; ++i) {
      g.add("n", [&done, layer] { EXPECT_GE(done++, layer * width); });
      for (std::size_t before = 0; layer > 0 && before < width; ++before)
        g.order((layer - 1) * width + before, layer * width + i);
    }
  }
  EXPECT_TRUE(g.run(p).succeeded());
  EXPECT_EQ(done, width * layers);
}

TEST(pool_graph, is_printed_as_a_dot_graph) {
  thread_pool p;
  graph g;
  const auto a = g.add("say \"a\"", [] { return 1; });
  g.add("b", [](int) {}, a);
  EXPECT_EQ(g.to_dot(),
            "digraph works {\n  rankdir=LR;\n  node [shape=box];\n"
            "  n0 [label=\"say \\\"a\\\"\"];\n  n1 [label=\"b\"];\n  n0 -> n1;\n}\n");
  const std::string timed = g.to_dot(g.run(p));
  EXPECT_NE(timed.find("n0 -> n1 [style=bold]"), std::string::npos) << timed;
}

TEST(pool_graph, refuses_nodes_of_another_graph) {
  graph g;
  graph h;
  const auto far = h.add("far", [] { return 1; });
  EXPECT_THROW(g.add("near", [](int) {}, far), std::invalid_argument);
  g.add("text", [] { return std::string("no number"); });
  EXPECT_THROW(g.add(
                   "near", [](int) {}, far),
               std::invalid_argument)
      << "its place is there, its graph is another";
  EXPECT_EQ(g.result(far), nullptr);
  EXPECT_THROW(g.order(0, 0), std::invalid_argument);
  thread_pool p;
  EXPECT_THROW(g.run(p, {.name = "x"}), std::invalid_argument);
}

TEST(submit_when, takes_the_results_of_others) {
  thread_pool p({.max_threads = 2});
  auto a = p.submit([] { return std::make_unique<int>(40); });
  auto b = p.submit([] {});
  auto c = p.submit([] { return 2; });
  auto sum = p.submit_when({}, [](const std::unique_ptr<int>& x, int y) { return *x + y; }, a, b, c);
  EXPECT_EQ(sum.fetch().value(), 42);
}

TEST(submit_bulk, submits_many_jobs_at_once) {
  thread_pool p({.max_threads = 2});
  auto all = p.submit_bulk(100, [](std::size_t i) { return i * i; }, {.priority = 3});
  std::size_t sum = 0;
  for (auto& each : all) sum += each.fetch().value();
  EXPECT_EQ(sum, 328'350U);
}

}  // namespace
}  // namespace graph_test
