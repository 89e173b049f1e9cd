// Output for users: graphs, traces, the screen, the command line.
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "build/dot.hpp"
#include "build/options.hpp"
#include "build/parser.hpp"
#include "build/screen.hpp"
#include "build/trace.hpp"

namespace shown_test {
namespace {

using namespace build;
using namespace std::chrono_literals;

TEST(build_dot, draws_files_and_statements) {
  const manifest m = parse("build a\"b: phony c | d || e\n").value();
  const graph g = make_graph(m).value();
  EXPECT_EQ(dot(m, g, {0}),
            "digraph build {\n  rankdir=LR;\n  node [fontsize=10];\n"
            "  s0 [shape=box, label=\"phony\"];\n"
            "  f1 -> s0;\n  f2 -> s0 [style=dashed];\n  f3 -> s0 [style=dotted];\n  s0 -> f0;\n"
            "  f0 [label=\"a\\\"b\"];\n  f1 [label=\"c\"];\n  f2 [label=\"d\"];\n  f3 [label=\"e\"];\n}\n");
}

TEST(build_trace, is_json_whatever_the_names_are) {
  trace t;
  const auto now = std::chrono::steady_clock::now();
  t.add({.name = "\xff \"x\"",
         .rule = "r",
         .how = "exit code 0",
         .slot = 3,
         .attempt = 1,
         .began = now,
         .ended = now + 5us});
  const auto read = nlohmann::json::parse(t.json());
  ASSERT_EQ(read["traceEvents"].size(), 1U);
  EXPECT_EQ(read["traceEvents"][0]["dur"], 5);
  EXPECT_EQ(read["traceEvents"][0]["tid"], 3);
  EXPECT_EQ(read["traceEvents"][0]["ph"], "X");
  EXPECT_EQ(read["traceEvents"][0]["args"]["attempt"], 1);
}

TEST(build_trace, slots_are_the_smallest_that_are_free) {
  slots s;
  EXPECT_EQ(s.take(), 0U);
  EXPECT_EQ(s.take(), 1U);
  EXPECT_EQ(s.take(), 2U);
  s.give_back(1);
  EXPECT_EQ(s.take(), 1U);
  EXPECT_EQ(s.take(), 3U);
}

TEST(build_screen, counts_what_has_ended_and_prints_outputs_whole) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  {
    screen out(ends[1], 2);
    out.started("one");
    out.ended("one", "");
    out.say("word");
    out.ended("two", "no end of a line");
  }
  ::close(ends[1]);
  std::string read(1'000, '\0');
  read.resize(static_cast<std::size_t>(::read(ends[0], read.data(), read.size())));
  ::close(ends[0]);
  EXPECT_EQ(read, "[1/2] one\nword\n[2/2] two\nno end of a line\n");
}

std::expected<options, early_end> given(std::vector<const char*> arguments) {
  arguments.insert(arguments.begin(), "build");
  return parse_options(static_cast<int>(arguments.size()), arguments.data());
}

TEST(build_options, are_read) {
  const auto o = given({"-j", "3", "-k", "--retry", "2", "--timeout", "1.5", "a", "b", "--trace", "/t"});
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->run.threads, 3U);
  EXPECT_TRUE(o->run.keeps_going);
  EXPECT_EQ(o->run.retries, 2U);
  EXPECT_EQ(o->run.timeout, 1500ms);
  EXPECT_EQ(o->targets, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(o->trace_file, "/t");
  EXPECT_GE(given({})->run.threads, 1U);
}

TEST(build_options, are_refused_if_invalid) {
  for (const auto& bad : {std::vector{"-j", "0"}, std::vector{"--timeout", "-1"}, std::vector{"--what"}}) {
    const auto o = given(bad);
    ASSERT_FALSE(o.has_value());
    EXPECT_EQ(o.error().exit_code, 2);
  }
  EXPECT_EQ(given({"--help"}).error().exit_code, 0);
}

}  // namespace
}  // namespace shown_test
