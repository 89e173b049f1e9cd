// A shield that is up when the grace of a shutdown ends, in a task that has never suspended.
#include "api/scenario_support.hpp"

#include <rota/cancel.hpp>
#include <rota/time.hpp>

#include <atomic>
#include <chrono>
#include <thread>

namespace rota::test {
namespace {

constexpr auto for_ever = std::chrono::hours::max();

struct sets_at_end {
  explicit sets_at_end(std::atomic<bool>& which) : flag(which) {}
  sets_at_end(const sets_at_end&) = delete;
  sets_at_end& operator=(const sets_at_end&) = delete;
  ~sets_at_end() { flag = true; }
  std::atomic<bool>& flag;
};

/// Its frame goes when the shutdown has overridden the shields.
task<> first_to_go(std::atomic<bool>& waits, std::atomic<bool>& gone) {
  const sets_at_end at_end(gone);
  const auto guard = shield(for_ever);
  waits = true;
  co_await sleep_for(for_ever);
}

/// In its first poll until then.
task<> never_suspended(std::atomic<bool>& up, const std::atomic<bool>& go_on) {
  const auto guard = shield(for_ever);
  up = true;
  while (!go_on) std::this_thread::yield();
  co_await sleep_for(for_ever);
}

TEST(regress, shutdown_overrides_the_shield_of_a_task_that_never_suspended) {
  std::atomic<bool> up{false};
  std::atomic<bool> waits{false};
  std::atomic<bool> overridden{false};
  runtime_options o;
  o.workers = 2;
  runtime rt(o);
  auto busy = rt.spawn(never_suspended(up, overridden));
  wait_until([&up] { return up.load(); });
  auto other = rt.spawn(first_to_go(waits, overridden));
  wait_until([&waits] { return waits.load(); });
  const shutdown_report report = rt.shutdown(std::chrono::nanoseconds(0));
  EXPECT_EQ(report.cancelled, 2U);
}

}  // namespace
}  // namespace rota::test
