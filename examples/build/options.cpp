#include "build/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <thread>

namespace build {
namespace {

void add_seconds(CLI::App& app,
                 const std::string& name,
                 std::chrono::milliseconds& to,
                 const std::string& help) {
  constexpr double most = 1e6;
  const auto take = [&to](double seconds) {
    to = std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1'000)));
  };
  app.add_option_function<double>(name, take, help)->check(CLI::Range(0.0, most))->type_name("SECONDS");
}

void describe(CLI::App& app, options& o) {
  app.add_option("TARGET", o.targets, "files to make; none: as the file says")->type_name("");
  app.add_option("-f", o.file, "the file that says how")->type_name("FILE")->capture_default_str();
  app.add_option("-C", o.directory, "go there first")->type_name("DIR")->check(CLI::ExistingDirectory);
  app.add_option("-j", o.run.threads, "commands at a time; default: one per processor")
      ->type_name("N")
      ->check(CLI::Range(1U, most_threads));
  app.add_flag("-k", o.run.keeps_going, "go on after a failure with what does not need it");
  app.add_flag("-n", o.is_dry, "only say what would be run");
  app.add_flag("-v", o.run.is_verbose, "show commands instead of their descriptions");
  app.add_option("--retry", o.run.retries, "attempts of a command that fails, after the first")
      ->type_name("N")
      ->check(CLI::Range(0U, 1'000U));
  add_seconds(app,
              "--backoff",
              o.run.backoff,
              "before the second attempt, and twice that before the next; default: 0.25");
  add_seconds(app, "--timeout", o.run.timeout, "for a command with all its attempts; 0: none, as by default");
  add_seconds(
      app, "--grace", o.run.grace, "from SIGTERM to SIGKILL for a command that is stopped; default: 2");
  app.add_option("--dot", o.dot_file, "write the graph for Graphviz")->type_name("FILE");
  app.add_option("--trace", o.trace_file, "write what ran when, for chrome://tracing")->type_name("FILE");
}

void make_absolute(std::string& path) {
  if (!path.empty()) path = std::filesystem::absolute(path).string();
}

}  // namespace

std::expected<options, early_end> parse_options(int argc, const char* const* argv) {
  options o;
  o.run.threads = std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
  CLI::App app("Runs the commands of a Ninja file that have to be run, several at a time.", "build");
  describe(app, o);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return std::unexpected(early_end{0, app.help()});
  } catch (const CLI::ParseError& e) {
    return std::unexpected(early_end{2, std::string("build: ") + e.what() + "\nTry build --help\n"});
  }
  make_absolute(o.dot_file);
  make_absolute(o.trace_file);
  return o;
}

}  // namespace build
