// A virtual clock that is moved while its runtime comes and goes; one that stands at the end of time.
#include <rota/runtime.hpp>
#include <rota/testing/virtual_clock.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace rota {
namespace {

TEST(regress, a_clock_may_be_moved_by_another_thread_while_its_runtime_ends) {
  testing::virtual_clock clock(testing::clock_mode::manual);
  std::atomic<bool> over{false};
  std::thread mover([&] {
    while (!over) clock.advance(std::chrono::nanoseconds(1));
  });
  for (int i = 0; i < 20; ++i) {
    runtime_options o;
    o.workers = 1;
    const runtime rt(o, clock);
  }
  over = true;
  mover.join();
  const auto last = clock.now();
  clock.advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(clock.now(), last + std::chrono::nanoseconds(1));
}

task<int> after_a_sleep() {
  co_await sleep_for(std::chrono::seconds(-1));
  co_return 7;
}

TEST(regress, virtual_clock_may_start_at_time_point_max) {
  testing::virtual_clock clock(testing::clock_mode::automatic, std::chrono::steady_clock::time_point::max());
  runtime_options o;
  o.workers = 1;
  runtime rt(o, clock);
  EXPECT_EQ(rt.block_on(after_a_sleep()), 7);
}

}  // namespace
}  // namespace rota
