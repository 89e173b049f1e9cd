// For models of the whole elastic pool: threads come and go as in a program, and sleep without end where a
// timeout could hide a lost wakeup.
#pragma once

#include <rota/pool/events.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "model/whole.hpp"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace rota::model {

inline testing::options pool_exhaustive(std::string_view name, unsigned preemptions = 1) {
  testing::options o = exhaustive(name, preemptions);
  o.steps = 100'000;
  o.daemon_threads = true;
  return o;
}

inline testing::options pool_at_random(std::string_view name, std::uint64_t runs = 2'000) {
  testing::options o = by_priority(name, runs);
  o.steps = 100'000;
  o.daemon_threads = true;
  return o;
}

inline pool::pool_options few_threads(unsigned most) {
  pool::pool_options o;
  o.max_threads = most;
  o.keep_alive = std::chrono::nanoseconds::max();
  o.shutdown_grace = std::chrono::nanoseconds(0);
  o.force_grace = std::chrono::milliseconds(1);
  // No line on standard error in each of many thousand executions.
  o.on_unhandled = unhandled_policy::callback([](const unhandled_exception&) noexcept {});
  return o;
}

/// What a function carries: destroyed once. Too large for the job's own memory, so that a slot that is never
/// given back leaks a frame.
struct luggage {
  std::unique_ptr<guest> mine = std::make_unique<guest>();
  std::array<char, 160> room{};
};

/// The record of one job.
struct record {
  int runs = 0;
  int ends = 0;
  pool::work_status told = pool::work_status::created;
  base::cell<int> done;
  pool::work<int> handle;

  /// For its callback: the end is reported once.
  [[nodiscard]] pool::work_options options() {
    pool::work_options o;
    o.callback = [this](const pool::work_end& end) {
      if (end.will_retry) return;
      testing::check(++ends == 1, "it ends once");
      told = end.status;
    };
    return o;
  }
  /// Runs once, and gives 7.
  [[nodiscard]] auto function() {
    return [this, with = luggage{}] {
      testing::check(++runs == 1, "it runs once");
      done.set(7);
      return 7;
    };
  }
  /// At the end: the outcome fits the status.
  void check_end() {
    testing::check(handle.is_done(), "it is over");
    check_end(handle.status());
  }
  void check_end(pool::work_status how) {
    testing::check(is_final(how), "its status is final");
    testing::check(ends == 1 && told == how, "and it was told of, once");
    if (how == pool::work_status::succeeded) testing::check(runs == 1 && done.get() == 7, "it has run");
    if (how == pool::work_status::cancelled) testing::check(runs == 0, "it has not run");
  }
};

}  // namespace rota::model
