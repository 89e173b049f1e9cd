// How the pool runs a plan: the order, the number of runs, and the end.
#include "build/runner.hpp"

#include <fcntl.h>

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "build/file_times.hpp"
#include "build/graph.hpp"
#include "build/parser.hpp"
#include "support/scratch_folder.hpp"

namespace runner_test {
namespace {

using namespace build;
using namespace std::chrono_literals;

/// A Ninja file in a folder of its own; each `@` in it stands for the path of that folder.
class tried_build {
 public:
  explicit tried_build(std::string content) {
    const std::string folder = folder_.root() + "/";
    for (std::size_t at = content.find('@'); at != std::string::npos;
         at = content.find('@', at + folder.size()))
      content.replace(at, 1, folder);
    manifest_ = parse("rule sh\n  command = $do\npool one\n  depth = 1\n" + content).value();
    graph_ = make_graph(manifest_).value();
    settings.threads = 4;
    settings.backoff = 0ms;
    settings.grace = 1h;
  }

  run_result run() {
    build_log log(folder_.at("log"));
    const plan p = plan_with(log);
    planned_ = p.commands;
    const common::unique_fd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
    screen out(nowhere.get(), p.commands);
    signal_watch signals;
    return run_plan(manifest_, p, settings, log, out, signals);
  }
  [[nodiscard]] std::size_t left_to_do() const {
    build_log log(folder_.at("log"));
    return plan_with(log).commands;
  }
  /// Returns the number of commands in the plan of the last run.
  [[nodiscard]] std::size_t planned() const { return planned_; }
  [[nodiscard]] bool has(const std::string& name) const { return std::filesystem::exists(folder_.at(name)); }

  run_settings settings;

 private:
  [[nodiscard]] plan plan_with(const build_log& log) const {
    const auto targets = choose_targets(manifest_, graph_, {}).value();
    const auto made = [&log](const std::string& output) { return log.find(output); };
    return make_plan(manifest_, graph_, targets, written_at, made).value();
  }

  rota::test::scratch_folder folder_;
  manifest manifest_;
  graph graph_;
  std::size_t planned_ = 0;
};

/// Each command checks that its inputs exist. The commands named in `fails` fail.
struct random_graph {
  std::string content;
  std::size_t failing = 0;
  std::size_t spoilt = 0;  // statements that need one that fails

  random_graph(unsigned seed, unsigned size, unsigned one_in) {
    std::mt19937 numbers(seed);
    const auto dice = [&numbers] { return static_cast<unsigned>(numbers()); };
    std::vector<bool> is_bad;
    for (unsigned i = 0; i < size; ++i) {
      std::string inputs;
      std::string command;
      bool is_spoilt = false;
      for (unsigned n = i == 0 ? 0 : dice() % 4; n > 0; --n) {
        const unsigned other = dice() % i;
        inputs += std::string(n == 1 ? " || @f" : " @f") + std::to_string(other);
        command += "test -e @f" + std::to_string(other) + " && ";
        is_spoilt = is_spoilt || is_bad[other];
      }
      const bool fails = one_in != 0 && dice() % one_in == 0;
      const std::string name = "@f" + std::to_string(i);
      content += "build " + name + ": sh" + inputs + "\n  do = " + command + "echo x >>" + name +
                 (fails ? "; false" : "") + "\n";
      if (dice() % 3 == 0) content += "  pool = one\n";
      is_bad.push_back(fails || is_spoilt);
      if (is_spoilt) {
        ++spoilt;
      } else if (fails) {
        ++failing;
      }
    }
  }
};

TEST(build_runner, runs_each_statement_once_after_its_inputs) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    tried_build b(random_graph(seed, 40, 0).content);
    b.settings.threads = 1 + seed;
    const run_result result = b.run();
    EXPECT_EQ(result.done, 40U);
    EXPECT_EQ(result.failed, 0U);
    EXPECT_EQ(b.left_to_do(), 0U);
  }
}

TEST(build_runner, runs_statements_that_do_not_depend_on_a_failed_one) {
  for (unsigned seed = 10; seed < 15; ++seed) {
    const random_graph g(seed, 40, 6);
    tried_build b(g.content);
    b.settings.keeps_going = true;
    b.settings.retries = seed % 2;
    const run_result result = b.run();
    EXPECT_EQ(result.failed, g.failing) << seed;
    EXPECT_EQ(result.done, 40 - g.failing - g.spoilt) << seed;
    EXPECT_EQ(b.left_to_do(), g.failing + g.spoilt) << seed;
  }
}

TEST(build_runner, begins_nothing_more_after_a_failure) {
  for (unsigned seed = 20; seed < 25; ++seed) {
    tried_build b(random_graph(seed, 40, 6).content);
    const run_result result = b.run();
    EXPECT_GE(result.failed, 1U);
    EXPECT_LE(result.failed, b.settings.threads);
    EXPECT_EQ(b.left_to_do(), 40 - result.done);
  }
}

TEST(build_runner, statement_that_waits_for_a_retry_blocks_no_other) {
  tried_build b(
      "build @a: sh\n  pool = one\n  do = test -e @b && touch @a\n"
      "build @b: sh\n  pool = one\n  do = touch @b\n");
  b.settings.threads = 1;
  b.settings.retries = 1'000;
  b.settings.backoff = 1ms;
  EXPECT_EQ(b.run().done, 2U);
}

TEST(build_runner, signal_ends_all_commands_and_removes_their_outputs) {
  tried_build b(
      "build @a: sh\n  do = echo half >@a; kill -INT $$PPID; exec sleep 1000\n"
      "build @b: sh\n  do = echo half >@b; exec sleep 1000\n"
      "build @c: sh @a\n  do = touch @c\n");
  const run_result result = b.run();
  EXPECT_EQ(result.signal, SIGINT);
  EXPECT_EQ(result.done + result.failed, 0U);
  EXPECT_FALSE(b.has("a") || b.has("b") || b.has("c"));
}

TEST(build_runner, second_signal_ends_the_run_without_the_grace_period) {
  tried_build b(
      "build @a: sh\n  do = trap 'kill -TERM $$PPID' TERM; kill -TERM $$PPID; while :; do sleep 0.01; "
      "done\n");
  EXPECT_EQ(b.run().signal, SIGTERM);
}

TEST(build_runner, a_command_that_takes_too_long_has_failed) {
  tried_build b(
      "build @a: sh\n  do = echo half >@a; exec sleep 1000\n"
      "build @b: sh @a\n  do = touch @b\n");
  b.settings.timeout = 200ms;
  b.settings.retries = 3;
  b.settings.keeps_going = true;
  const run_result result = b.run();
  EXPECT_EQ(result.failed, 1U);
  EXPECT_EQ(result.done, 0U);
  EXPECT_FALSE(b.has("a") || b.has("b"));
}

TEST(build_runner, timeout_includes_the_time_between_attempts) {
  tried_build b("build @a: sh\n  do = false\n");
  b.settings.timeout = 50ms;
  b.settings.retries = 3;
  b.settings.backoff = 1h;
  const run_result result = b.run();
  EXPECT_EQ(result.failed, 1U);
  EXPECT_EQ(result.done, 0U);
}

TEST(build_runner, run_of_phony_statements_alone_completes_no_command) {
  tried_build b("build @a: phony\nbuild @b: phony @a\n");
  EXPECT_EQ(b.run().done, 0U);
}

}  // namespace
}  // namespace runner_test
