#include "runtime/runtime_core.hpp"

#include <stdexcept>
#include <string>

namespace rota::detail {

namespace {

void demand(bool holds, const char* field, const char* range, long long given) {
  if (holds) return;
  throw std::invalid_argument(std::string("rota::runtime_options::") + field + " must be " + range +
                              ", not " + std::to_string(given));
}

}  // namespace

void check(const runtime_options& options) {
  demand(options.workers <= 4096, "workers", "0 (automatic) or 1..4096", options.workers);
  const bool known = options.backend == io_backend::automatic || options.backend == io_backend::epoll;
  demand(known,
         "backend",
         "automatic or epoll (uring is not in this version)",
         static_cast<int>(options.backend));
  demand(options.watchdog.count() >= 0, "watchdog", "0 (never) or more", options.watchdog.count());
  demand(options.shutdown_grace.count() >= 0, "shutdown_grace", "0 or more", options.shutdown_grace.count());
  const pool::pool_options& blocking = options.blocking;
  demand(blocking.max_threads >= 1 && blocking.max_threads <= 65536,
         "blocking.max_threads",
         "1..65536",
         blocking.max_threads);
  demand(blocking.min_threads <= blocking.max_threads,
         "blocking.min_threads",
         "0..max_threads",
         blocking.min_threads);
  demand(blocking.keep_alive.count() >= 0, "blocking.keep_alive", "0 or more", blocking.keep_alive.count());
}

}  // namespace rota::detail
