// A static file server on rota: see README.md beside this file.
#include <cstdio>
#include <exception>

#include <rota/runtime.hpp>

#include "options.hpp"
#include "server.hpp"

int main(int argc, char** argv) {
  const auto parsed = file_server::parse_options(argc, argv);
  if (!parsed.has_value()) {
    std::fputs(parsed.error().text.c_str(), parsed.error().exit_code == 0 ? stdout : stderr);
    return parsed.error().exit_code;
  }
  try {
    rota::runtime runtime(rota::runtime_options{.workers = parsed->workers});
    file_server::server server(*parsed, runtime.stats().num_workers);
    rota::join_handle<int> done = runtime.spawn(server.run());
    const int code = done.join();
    // Connections that outlast the drain reference the server: they end first.
    runtime.shutdown(std::chrono::seconds(0));
    return code;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "file_server: %s\n", e.what());
    return 2;
  }
}
