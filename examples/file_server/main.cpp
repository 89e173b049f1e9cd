// A static file server on rota: see README.md beside this file.
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include <rota/runtime.hpp>

#include "descriptor_limit.hpp"
#include "options.hpp"
#include "server.hpp"

namespace {

int complain(const std::exception& e) {
  std::fprintf(stderr, "file_server: %s\n", e.what());
  return 2;
}

void prepare_descriptors(std::uint32_t connections) {
  const std::uint64_t limit = file_server::raise_descriptor_limit(connections);
  const std::uint64_t least = connections + file_server::descriptors_beside;
  if (limit >= least) return;
  std::fprintf(stderr,
               "file_server: --max-connections %u needs %llu descriptors, and the limit is %llu\n",
               connections,
               static_cast<unsigned long long>(least),
               static_cast<unsigned long long>(limit));
}

int code_of(rota::join_handle<int>& done) {
  try {
    return done.join();
  } catch (const std::exception& e) {
    return complain(e);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto parsed = file_server::parse_options(argc, argv);
  if (!parsed.has_value()) {
    std::fputs(parsed.error().text.c_str(), parsed.error().exit_code == 0 ? stdout : stderr);
    return parsed.error().exit_code;
  }
  // Standard output, and the access log, may be a pipe. A closed reader must be a write error, not the end of
  // the process.
  std::signal(SIGPIPE, SIG_IGN);
  prepare_descriptors(parsed->max_connections);
  try {
    rota::runtime runtime(rota::runtime_options{.workers = parsed->workers});
    file_server::server server(*parsed, runtime.stats().num_workers);
    rota::join_handle<int> done = runtime.spawn(server.run());
    const int code = code_of(done);
    // Connections that outlast the drain, or an error, reference the server, so they must end first.
    const rota::shutdown_report report = runtime.shutdown(std::chrono::seconds(0));
    // A read or a write that hangs in the kernel cannot be cancelled and still references the server. So
    // nothing is destroyed.
    if (!report.survivors.empty()) std::quick_exit(code);
    return code;
  } catch (const std::exception& e) {
    return complain(e);
  }
}
