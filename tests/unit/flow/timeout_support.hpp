// Shared by the tests of timeouts and of shields.
#pragma once

#include "unit/task/task_support.hpp"

#include <rota/cancel.hpp>
#include <rota/time.hpp>

#include <chrono>
#include <expected>
#include <string>
#include <utility>

namespace rota::test {

using namespace std::chrono_literals;

/// Waits for an event, with a local variable in its frame.
inline task<int> work_on(event& e, journal& log, std::string name) {
  const note mine(log, std::move(name));
  co_await e();
  co_return 7;
}

inline task<int> around(event& e, journal& log) {
  const note outer(log, "outer");
  const int inner = co_await work_on(e, log, "inner");
  co_return inner + 1;
}

template <class T>
using result = std::expected<T, timed_out>;

/// One timeout of ten milliseconds around `work_on`, in a task of its own.
inline task<result<int>> limited(event& e, journal& log) {
  const note caller(log, "caller");
  auto r = co_await timeout(10ms, around(e, log));
  log.add("back");
  co_return r;
}

/// Waits for `shielded` under a shield, then for `after` without one.
inline task<> two_steps(event& shielded, event& after, journal& log, std::chrono::nanoseconds limit) {
  const note mine(log, "mine");
  {
    auto guard = shield(limit);
    co_await shielded();
    log.add("kept");
  }
  co_await after();
  log.add("done");
}

}  // namespace rota::test
