// Which statements are run, and in which order.
#include "build/plan.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <vector>

#include "build/graph.hpp"
#include "build/parser.hpp"

namespace plan_test {
namespace {

using namespace build;
using names = std::vector<std::string>;

const std::string rule = "rule r\n  command = make $out of $in\n";

/// An invented set of files, and a log.
struct world {
  manifest m;
  graph g;
  std::map<std::string, file_time> files;
  std::map<std::string, made_file> log;

  explicit world(const std::string& content) {
    m = parse(content).value();
    g = make_graph(m).value();
  }

  std::expected<plan, complaint> plan_for(const names& targets = {}) const {
    std::vector<named_target> wanted;
    for (const std::string& each : targets) wanted.push_back({.path = each, .line = 0});
    const auto chosen = choose_targets(m, g, wanted);
    if (!chosen.has_value()) return std::unexpected(chosen.error());
    return make_plan(
        m,
        g,
        *chosen,
        [this](const std::string& path) {
          const auto found = files.find(path);
          return found == files.end() ? std::nullopt : std::optional(found->second);
        },
        [this](const std::string& path) {
          const auto found = log.find(path);
          return found == log.end() ? std::nullopt : std::optional(found->second);
        });
  }
  /// Returns the first output of each statement, in the order of the plan.
  names to_run(const names& targets = {}) const {
    const auto made = plan_for(targets);
    EXPECT_TRUE(made.has_value()) << made.error().text;
    names found;
    if (!made.has_value()) return found;
    for (const job& each : made->jobs) found.push_back(m.statements[each.statement].outputs.front());
    return found;
  }
  std::string refusal(const names& targets = {}) const {
    const auto made = plan_for(targets);
    return made.has_value() ? "" : std::to_string(made.error().line) + ": " + made.error().text;
  }
  /// Acts as if all commands had run, one tick for each.
  void run(const names& targets = {}) {
    const auto made = plan_for(targets);
    ASSERT_TRUE(made.has_value());
    for (const job& each : made->jobs) {
      const statement& s = m.statements[each.statement];
      if (s.is_phony) continue;
      const file_time started = ++now;
      ++now;
      for (const std::string& output : s.outputs) {
        files[output] = now;
        log[output] = {.command = hash_of(s.command), .started = started, .left = now};
      }
    }
  }
  void touch(const std::string& path) { files[path] = ++now; }

  file_time now = 100;
};

std::string refused_graph(const std::string& content) {
  const auto made = make_graph(parse(content).value());
  return made.has_value() ? "" : std::to_string(made.error().line) + ": " + made.error().text;
}

TEST(build_graph, refuses_two_statements_for_one_file) {
  EXPECT_EQ(refused_graph(rule + "build a: r\nbuild b c: r\nbuild x | ./c: r\n"),
            "5: 'c' is made twice: also in line 4");
  EXPECT_EQ(refused_graph(rule + "build a a: r\n"), "3: 'a' is made twice: also in line 3");
}

TEST(build_graph, refuses_a_circle_and_names_it) {
  EXPECT_EQ(refused_graph(rule + "build a: r b\nbuild b: r c | d\nbuild d: r || a\n"),
            "3: dependency cycle: a -> b -> d -> a");
  EXPECT_EQ(refused_graph("build a: phony a\n"), "1: dependency cycle: a -> a");
  EXPECT_EQ(refused_graph("build x: phony a\nbuild a: phony b\nbuild b: phony a\n"),
            "2: dependency cycle: a -> b -> a");
}

TEST(build_graph, orders_a_chain_of_50000_statements_without_recursion) {
  std::string content;
  for (int i = 0; i < 50'000; ++i)
    content += "build f" + std::to_string(i) + ": phony f" + std::to_string(i + 1) + "\n";
  const manifest m = parse(content).value();
  EXPECT_EQ(in_order(make_graph(m).value(), {0}).size(), 50'000U);
}

TEST(build_graph, targets_are_the_named_ones_else_the_defaults_else_the_roots) {
  world w(rule + "build a: r\nbuild b: r a\nbuild c: r\ndefault a\n");
  EXPECT_EQ(w.to_run(), names{"a"});
  EXPECT_EQ(w.to_run({"b"}), (names{"a", "b"}));
  w.m.defaults.clear();
  EXPECT_EQ(w.to_run(), (names{"a", "b", "c"}));
  EXPECT_EQ(w.refusal({"d"}), "0: unknown target 'd'");
}

TEST(build_plan, a_second_run_does_nothing) {
  world w(rule + "build a: r s\nbuild b: r a\n");
  w.files["s"] = 1;
  EXPECT_EQ(w.to_run(), (names{"a", "b"}));
  w.run();
  EXPECT_EQ(w.to_run(), names{});
}

TEST(build_plan, what_depends_on_a_newer_file_runs_and_nothing_else) {
  world w(rule + "build a: r s\nbuild b: r t | h\nbuild c: r u || h\nbuild d: r a b c\n");
  for (const char* source : {"s", "t", "u", "h"}) w.files[source] = 1;
  w.run();
  w.touch("h");
  EXPECT_EQ(w.to_run(), (names{"b", "d"}));
  w.run();
  w.touch("u");
  EXPECT_EQ(w.to_run(), (names{"c", "d"}));
}

TEST(build_plan, a_source_that_changed_while_its_command_ran_is_newer) {
  world w(rule + "build a: r s\n");
  w.files["s"] = 1;
  w.run();
  w.files["s"] = w.log["a"].started + 1;
  w.files["a"] = w.log["a"].left = w.log["a"].started + 5;
  EXPECT_EQ(w.to_run(), names{"a"});
}

TEST(build_plan, statement_runs_again_if_its_command_or_an_output_has_changed) {
  world w(rule + "build a b: r s\n");
  w.files["s"] = 1;
  w.run();
  w.log["b"].command = hash_of("other");
  EXPECT_EQ(w.to_run(), names{"a"});
  w.run();
  w.files.erase("b");
  EXPECT_EQ(w.to_run(), names{"a"});
  w.run();
  w.touch("b");
  EXPECT_EQ(w.to_run(), names{"a"});
  w.run();
  w.log.erase("b");
  EXPECT_EQ(w.to_run(), names{"a"});
}

TEST(build_plan, phony_names_stand_for_what_is_behind_them) {
  world w(rule + "build heads: phony h1 h2\nbuild a: r s | heads\nbuild all: phony a\n");
  for (const char* source : {"s", "h1", "h2"}) w.files[source] = 1;
  w.run();
  EXPECT_EQ(w.to_run(), names{});
  w.touch("h2");
  EXPECT_EQ(w.to_run(), (names{"a", "all"}));
}

TEST(build_plan, a_phony_name_of_nothing_is_always_new) {
  world w(rule + "build always: phony\nbuild a: r | always\nbuild b: r || always\n");
  w.run();
  EXPECT_EQ(w.to_run(), (names{"always", "a"}));
  EXPECT_EQ(w.plan_for()->commands, 1U);
  w.files["always"] = 1;
  w.run();
  EXPECT_EQ(w.to_run(), names{}) << "unless it is a file";
}

TEST(build_plan, a_missing_source_is_refused) {
  world w(rule + "build a: r s\nbuild b: r || t\n");
  EXPECT_EQ(w.refusal({"a"}), "3: 's', needed by 'a', is missing, and no statement makes it");
  EXPECT_EQ(w.refusal({"b"}), "4: 't', needed by 'b', is missing, and no statement makes it");
  EXPECT_EQ(w.refusal({"s"}), "0: 's' is missing, and no statement makes it");
}

TEST(build_plan, jobs_have_their_chain_length_and_their_predecessors) {
  world w(rule +
          "build a: r\nbuild b: r a\nbuild p: phony b\nbuild c: r p a\nbuild d: r a\nbuild e: r d a || d\n");
  const plan made = w.plan_for().value();
  std::map<std::string, int> chains;
  for (const job& each : made.jobs) chains[w.m.statements[each.statement].outputs.front()] = each.chain;
  EXPECT_EQ(chains, (std::map<std::string, int>{{"a", 3}, {"b", 2}, {"p", 1}, {"c", 1}, {"d", 2}, {"e", 1}}));
  std::set<std::size_t> done;
  for (std::size_t i = 0; i < made.jobs.size(); ++i) {
    for (const std::size_t before : made.jobs[i].after) EXPECT_TRUE(done.contains(before));
    done.insert(i);
  }
  EXPECT_EQ(made.jobs.back().after.size(), 2U);
}

}  // namespace
}  // namespace plan_test
