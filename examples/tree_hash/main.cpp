// Hashes a tree of files on rota: see README.md beside this file.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cinttypes>
#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>

#include <rota/runtime.hpp>

#include "descriptors.hpp"
#include "lines.hpp"
#include "options.hpp"
#include "pipeline.hpp"
#include "run.hpp"

namespace {

constexpr int failed = 1;
constexpr int misuse = 2;
/// Exit codes after a signal are 128 + number, as in a shell.
constexpr int signalled = 128;

int complain(const char* what, int code) {
  std::fprintf(stderr, "tree_hash: %s\n", what);
  return code;
}

int interrupted(int signal_number, const tree_hash::tally& t) {
  std::fprintf(stderr,
               "tree_hash: interrupted: %" PRIu64 " of %" PRIu64 " files, %" PRIu64 " of %" PRIu64
               " bytes that were found so far\n",
               t.files_done,
               t.files_found,
               t.bytes_done,
               t.bytes_found);
  return signalled + signal_number;
}

/// Opens a placeholder for each closed standard stream. Otherwise the next opened file would take its number,
/// and output lines would go into that file. Nothing can be written to the placeholder.
void fill_standard_streams() noexcept {
  int fd = 0;
  do {
    fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  } while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0) ::close(fd);
}

int hash(const tree_hash::options& o) {
  rota::runtime runtime(rota::runtime_options{.workers = o.workers});
  const unsigned threads =
      o.threads != 0 ? o.threads : std::min(runtime.stats().num_workers, tree_hash::most_threads);
  const auto room = tree_hash::directories_within(tree_hash::descriptor_limit(), threads);
  if (!room.has_value()) {
    return complain("the limit of open files is too low for --threads; see ulimit -n", misuse);
  }
  tree_hash::counts counts;
  tree_hash::walk tree(o.directory, *room, counts);
  tree_hash::report lines(o.directory, o.shown);
  tree_hash::screen screen(STDOUT_FILENO, STDERR_FILENO, o.progress);
  tree_hash::pipeline work(tree, lines, screen, counts, threads);
  const std::optional<int> signal_number =
      runtime.block_on(tree_hash::run_until_signal(work.run(), screen, counts));
  if (signal_number.has_value()) return interrupted(*signal_number, counts.now());
  return lines.failures() == 0 ? 0 : failed;
}

}  // namespace

int main(int argc, char** argv) {
  fill_standard_streams();
  const auto parsed = tree_hash::parse_options(argc, argv);
  if (!parsed.has_value()) {
    std::fputs(parsed.error().text.c_str(), parsed.error().exit_code == 0 ? stdout : stderr);
    return parsed.error().exit_code;
  }
  // A closed reader of a pipe must be a write error, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    return hash(*parsed);
  } catch (const std::exception& e) {
    return complain(tree_hash::printable(e.what()).c_str(), failed);
  }
}
