#include "runtime/runtime_core.hpp"

#include <cstdlib>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <string_view>

namespace rota::detail {

namespace {

void demand(bool holds, const char* field, const char* range, long long given) {
  if (holds) return;
  throw std::invalid_argument(std::string("rota::runtime_options::") + field + " must be " + range +
                              ", not " + std::to_string(given));
}

/// Checks the fields that the pool of a runtime has.
void check_taken(const pool::pool_options& blocking) {
  demand(blocking.max_threads >= 1 && blocking.max_threads <= 65536,
         "blocking.max_threads",
         "1..65536",
         blocking.max_threads);
  demand(blocking.min_threads <= blocking.max_threads,
         "blocking.min_threads",
         "0..max_threads",
         blocking.min_threads);
  demand(blocking.keep_alive.count() >= 0, "blocking.keep_alive", "0 or more", blocking.keep_alive.count());
  demand(blocking.nice >= -20 && blocking.nice <= 19, "blocking.nice", "-20..19", blocking.nice);
  const pool::rejection full = blocking.on_full;
  demand(full == pool::rejection::abort || full == pool::rejection::caller_runs ||
             full == pool::rejection::block,
         "blocking.on_full",
         "abort, caller_runs or block",
         static_cast<long long>(full));
}

/// Checks a field that it does not have.
void demand_default(bool holds, const char* field) {
  if (holds) return;
  throw std::invalid_argument(std::string("rota::runtime_options::blocking.") + field +
                              " must be as it is by default: a runtime's pool does not have it");
}

bool are_equal(const pool::timeout_options& one, const pool::timeout_options& other) noexcept {
  return one.limit == other.limit && one.then == other.then && one.from == other.from;
}

void check_left(const pool::pool_options& blocking) {
  const pool::pool_options none;
  demand_default(blocking.worker_queue_limit == none.worker_queue_limit, "worker_queue_limit");
  demand_default(blocking.queue == none.queue, "queue");
  demand_default(!blocking.custom, "custom");
  demand_default(blocking.priorities == none.priorities, "priorities");
  demand_default(blocking.aging == none.aging, "aging");
  demand_default(blocking.steal == none.steal, "steal");
  demand_default(blocking.start == none.start, "start");
  demand_default(blocking.pause == none.pause, "pause");
  demand_default(!blocking.choose_rejection, "choose_rejection");
  demand_default(blocking.time_one_in == none.time_one_in, "time_one_in");
  demand_default(are_equal(blocking.work_timeout, none.work_timeout), "work_timeout");
  demand_default(are_equal(blocking.total_timeout, none.total_timeout), "total_timeout");
  demand_default(
      blocking.running_timer.interval == none.running_timer.interval && !blocking.running_timer.elapsed,
      "running_timer");
  demand_default(blocking.hill_climbing.period == none.hill_climbing.period &&
                     blocking.hill_climbing.noise_percent == none.hill_climbing.noise_percent,
                 "hill_climbing");
  demand_default(!blocking.default_callback, "default_callback");
  demand_default(blocking.on_unhandled == none.on_unhandled, "on_unhandled");
  demand_default(blocking.force_grace == none.force_grace, "force_grace");
  demand_default(blocking.max_abandoned == none.max_abandoned, "max_abandoned");
  demand_default(blocking.shutdown_grace == none.shutdown_grace, "shutdown_grace");
}

}  // namespace

io_backend wanted_backend(const runtime_options& options) {
  if (options.backend != io_backend::automatic) return options.backend;
  const char* const said = ::secure_getenv("ROTA_IO");
  if (said == nullptr) return io_backend::automatic;
  for (const io_backend each : {io_backend::epoll, io_backend::uring}) {
    if (std::string_view(said) == to_string(each)) return each;
  }
  throw std::invalid_argument("rota: ROTA_IO in the environment must be epoll or uring, not '" +
                              std::string(said) + "'");
}

void check(const runtime_options& options) {
  demand(options.workers <= 4096, "workers", "0 (automatic) or 1..4096", options.workers);
  demand(options.backend <= io_backend::uring,
         "backend",
         "automatic, epoll or uring",
         static_cast<int>(options.backend));
  demand(options.watchdog.count() >= 0, "watchdog", "0 (never) or more", options.watchdog.count());
  demand(options.shutdown_grace.count() >= 0, "shutdown_grace", "0 or more", options.shutdown_grace.count());
  check_taken(options.blocking);
  check_left(options.blocking);
}

}  // namespace rota::detail
