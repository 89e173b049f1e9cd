// Runs the commands of a Ninja file on rota's elastic pool: see README.md beside this file.
#include <sys/prctl.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <expected>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "build/dot.hpp"
#include "build/file_times.hpp"
#include "build/options.hpp"
#include "build/parser.hpp"
#include "build/runner.hpp"
#include "build/text.hpp"

namespace {

constexpr int failed = 1;
constexpr int misuse = 2;
/// Exit codes after a signal are 128 + number, as in a shell.
constexpr int signalled = 128;

/// A malformed file, or an unknown target.
class refusal : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <class T>
T demand(std::expected<T, build::complaint> what, const std::string& file) {
  if (what.has_value()) return std::move(*what);
  const build::complaint& why = what.error();
  throw refusal((why.line == 0 ? "" : file + ":" + std::to_string(why.line) + ": ") + why.text);
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string content(std::istreambuf_iterator<char>(in), {});
  if (!in.is_open() || in.bad()) throw refusal(path + ": cannot be read");
  return content;
}

void write_file(const std::string& path, const std::string& content) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << content;
  out.close();
  if (!out) throw std::runtime_error(path + ": cannot be written");
}

void print_plan(const build::manifest& m, const build::plan& p, bool is_verbose) {
  std::size_t number = 0;
  for (const build::job& each : p.jobs) {
    const build::statement& s = m.statements[each.statement];
    if (s.is_phony) continue;
    const std::string& title = is_verbose || s.description.empty() ? s.command : s.description;
    std::printf("[%zu/%zu] %s\n", ++number, p.commands, title.c_str());
  }
}

int sum_up(const build::run_result& result, std::size_t commands, std::chrono::duration<double> time) {
  const std::size_t not_run = commands - result.done - result.failed;
  if (result.failed == 0 && result.signal == 0) {
    std::printf("build: %zu commands, %.2f s\n", result.done, time.count());
    return 0;
  }
  std::printf("build: %s: %zu done, %zu failed, %zu not done, %.2f s\n",
              result.signal != 0 ? "interrupted" : "failed",
              result.done,
              result.failed,
              not_run,
              time.count());
  return result.signal != 0 ? signalled + result.signal : failed;
}

int run(const build::options& o, const build::manifest& m, const build::plan& p, build::build_log& log) {
  // Orphaned processes of a command become children of this process, so that it can wait for them.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  build::signal_watch signals;
  build::run_result result;
  const auto began = std::chrono::steady_clock::now();
  {
    build::screen screen(STDOUT_FILENO, p.commands);
    result = build::run_plan(m, p, o.run, log, screen, signals);
  }
  const int code = sum_up(result, p.commands, std::chrono::steady_clock::now() - began);
  if (!o.trace_file.empty()) write_file(o.trace_file, result.trace_json);
  return code;
}

int build_all(const build::options& o) {
  if (!o.directory.empty()) std::filesystem::current_path(o.directory);
  const auto m = demand(build::parse(content_of(o.file)), o.file);
  const auto g = demand(build::make_graph(m), o.file);
  std::vector<build::named_target> wanted;
  for (const std::string& each : o.targets) wanted.push_back({.path = build::tidy_path(each), .line = 0});
  const auto targets = demand(build::choose_targets(m, g, wanted), o.file);
  build::build_log log(".build_log");
  const auto made_by = [&log](const std::string& output) { return log.find(output); };
  const auto p = demand(build::make_plan(m, g, targets, build::written_at, made_by), o.file);
  if (!o.dot_file.empty()) write_file(o.dot_file, build::dot(m, g, build::in_order(g, targets)));
  if (p.commands == 0) {
    std::puts("build: nothing to do");
    return 0;
  }
  if (!o.is_dry) return run(o, m, p, log);
  print_plan(m, p, o.run.is_verbose);
  return 0;
}

int complain(const char* what, int code) {
  std::fflush(stdout);
  std::fprintf(stderr, "build: %s\n", what);
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = build::parse_options(argc, argv);
  if (!parsed.has_value()) {
    std::fputs(parsed.error().text.c_str(), parsed.error().exit_code == 0 ? stdout : stderr);
    return parsed.error().exit_code;
  }
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return build_all(*parsed);
  } catch (const refusal& e) {
    return complain(e.what(), misuse);
  } catch (const std::exception& e) {
    return complain(e.what(), failed);
  }
}
