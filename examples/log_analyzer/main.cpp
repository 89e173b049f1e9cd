// Reads an access log with mailboxes: see README.md beside this file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <string>
#include <thread>

#include "log_analyzer/analyse.hpp"
#include "log_analyzer/generate.hpp"
#include "log_analyzer/mapped_file.hpp"
#include "log_analyzer/totals.hpp"

namespace {

constexpr int failed = 1;
constexpr unsigned most_threads = 256;

int complain(const std::string& what) {
  std::fprintf(stderr, "log_analyzer: %s\n", what.c_str());
  return failed;
}

int run(const std::string& file, unsigned threads, bool plainly, std::size_t top) {
  const log_analyzer::mapped_file log(file);
  if (threads == 0) threads = std::clamp(std::thread::hardware_concurrency(), 1U, most_threads);
  const log_analyzer::totals all =
      plainly ? log_analyzer::analyse_plainly(log.text()) : log_analyzer::analyse(log.text(), threads);
  log_analyzer::print(all, top, stdout);
  return std::fflush(stdout) == 0 ? 0 : complain(std::string("standard output: ") + std::strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Sums up an access log by client, and prints those with the most requests.", "log_analyzer");
  std::string file;
  unsigned threads = 0;
  std::size_t top = 10;
  bool plainly = false;
  std::uint64_t bytes = 0;
  std::uint64_t seed = 1;
  auto* const log = app.add_option("FILE", file, "the log, in the combined format");
  app.add_option("--threads", threads, "0: as many as there are processors")
      ->check(CLI::Range(0U, most_threads));
  app.add_option("--top", top, "clients that are printed")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1'000'000}));
  app.add_flag("--plain", plainly, "one thread and no mailboxes");
  auto* const made =
      app.add_option("--generate", bytes, "writes a log of at least so many bytes to standard output")
          ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40U))
          ->excludes(log);
  app.add_option("--seed", seed, "of the log that is made")->needs(made);
  try {
    app.parse(argc, argv);
    if (made->count() == 0 && log->count() == 0) throw CLI::RequiredError("FILE, or --generate,");
  } catch (const CLI::ParseError& e) {
    return app.exit(e) == 0 ? 0 : 2;
  }
  try {
    if (made->count() == 0) return run(file, threads, plainly, top);
    return log_analyzer::generate(bytes, seed, stdout)
               ? 0
               : complain(std::string("standard output: ") + std::strerror(errno));
  } catch (const std::exception& e) {
    return complain(e.what());
  }
}
