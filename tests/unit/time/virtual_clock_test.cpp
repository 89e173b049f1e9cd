// The clock that stands still while any task can run.
#include <gtest/gtest.h>

#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include "unit/task/task_support.hpp"

#include <rota/testing/virtual_clock.hpp>
#include <rota/time.hpp>

namespace rota::virtual_clock_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;
using testing::clock_mode;
using testing::virtual_clock;
using time_point = std::chrono::steady_clock::time_point;

/// Uses the clock as a runtime does: advances it when nothing is runnable.
void run(manual_scheduler& s, virtual_clock& clock) {
  do {
    s.time = clock.now();
    while (s.shard.poll(s.time, 32) != 0) {
    }
    s.run_until_idle();
  } while (clock.all_blocked(s.shard.earliest()));
}

TEST(virtual_clock, jumps_from_one_timer_to_the_next) {
  manual_scheduler s;
  virtual_clock clock;
  std::vector<std::chrono::nanoseconds> woke;
  const auto napper =
      [](virtual_clock& c, std::vector<std::chrono::nanoseconds>& out, std::chrono::hours span) -> task<> {
    co_await sleep_for(span);
    out.push_back(c.now() - virtual_clock::beginning);
    co_await sleep_for(1ns);
    out.push_back(c.now() - virtual_clock::beginning);
  };
  auto a = s.spawn(napper, std::ref(clock), std::ref(woke), 2h);
  auto b = s.spawn(napper, std::ref(clock), std::ref(woke), 1h);
  run(s, clock);
  EXPECT_TRUE(a.is_done() && b.is_done());
  EXPECT_EQ(woke, (std::vector<std::chrono::nanoseconds>{1h, 1h + 1ns, 2h, 2h + 1ns}));
}

TEST(virtual_clock, stands_still_when_no_timer_is_armed) {
  virtual_clock clock;
  EXPECT_FALSE(clock.all_blocked(time_point::max()));
  EXPECT_EQ(clock.now(), virtual_clock::beginning);
}

TEST(virtual_clock, in_manual_mode_moves_only_by_advance) {
  virtual_clock clock(clock_mode::manual, time_point(5s));
  EXPECT_FALSE(clock.all_blocked(time_point(6s)));
  EXPECT_EQ(clock.now(), time_point(5s));
  clock.advance(1500us);
  EXPECT_EQ(clock.now(), time_point(5s + 1500us));
  clock.advance_to(time_point(7s));
  EXPECT_EQ(clock.now(), time_point(7s));
}

TEST(virtual_clock, never_goes_back_nor_beyond_the_end) {
  virtual_clock clock(clock_mode::manual);
  clock.advance(-1h);
  clock.advance(0s);
  clock.advance_to(time_point::min());
  EXPECT_EQ(clock.now(), virtual_clock::beginning);
  clock.advance(std::chrono::hours::max());
  EXPECT_EQ(clock.now(), time_point::max());
  clock.advance(1h);
  EXPECT_EQ(clock.now(), time_point::max());
}

TEST(virtual_clock, notifies_its_listener_of_manual_moves_only) {
  virtual_clock clock;
  int told = 0;
  clock.listen({[](void* n) noexcept { ++*static_cast<int*>(n); }, &told});
  EXPECT_TRUE(clock.all_blocked(clock.now() + 1s));
  EXPECT_EQ(told, 0);
  clock.advance(1s);
  EXPECT_EQ(told, 1);
  clock.advance(0s);
  clock.advance_to(clock.now() - 1s);
  EXPECT_EQ(told, 1);
  clock.listen({});
  clock.advance(1s);
  EXPECT_EQ(told, 1);
}

TEST(virtual_clock, overdue_timer_is_polled_without_a_move_of_the_clock) {
  virtual_clock clock;
  EXPECT_TRUE(clock.all_blocked(virtual_clock::beginning - 1s));
  EXPECT_EQ(clock.now(), virtual_clock::beginning);
}

TEST(virtual_clock, moved_by_many_threads_ends_at_the_latest_time) {
  virtual_clock clock(clock_mode::manual);
  std::vector<std::thread> movers;
  for (int i = 0; i < 4; ++i) {
    movers.emplace_back([&clock, i] {
      time_point last = clock.now();
      for (int n = 0; n < 1000; ++n) {
        clock.advance_to(virtual_clock::beginning + std::chrono::milliseconds(4 * n + i));
        const time_point now = clock.now();
        EXPECT_GE(now, last);
        last = now;
      }
    });
  }
  for (std::thread& each : movers) each.join();
  EXPECT_EQ(clock.now(), virtual_clock::beginning + 3999ms);
}

}  // namespace
}  // namespace rota::virtual_clock_test
