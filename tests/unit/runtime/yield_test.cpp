// A task that yields while no other task is ready goes on at once. Timers and new tasks are still seen.
#include <gtest/gtest.h>

#include <atomic>

#include "unit/runtime/runtime_support.hpp"

#include <rota/cancel.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

namespace rota::yield_test {
namespace {

using namespace std::chrono_literals;
using test::with_workers;

task<> yields_until(std::atomic<bool>& flag) {
  while (!flag) co_await yield();
}

task<> sets(std::atomic<bool>& flag) {
  flag = true;
  co_return;
}

task<> sets_later(std::atomic<bool>& flag) {
  co_await sleep_for(2ms);
  flag = true;
}

TEST(yield, of_one_task_alone_is_a_poll_each_time) {
  runtime rt(with_workers(1));
  auto h = rt.spawn([]() -> task<> {
    for (int i = 0; i < 1000; ++i) co_await yield();
  });
  h.join();
  // A poll is counted at its end, which may come after the join.
  rt.shutdown(1s);
  EXPECT_EQ(rt.stats().total_polled, 1001U);
}

TEST(yield, of_one_task_alone_lets_timers_fire) {
  runtime rt(with_workers(1));
  std::atomic<bool> flag{false};
  auto sleeper = rt.spawn(sets_later(flag));
  auto h = rt.spawn(yields_until(flag));
  h.join();
  sleeper.join();
}

TEST(yield, of_one_task_alone_lets_tasks_from_outside_run) {
  runtime rt(with_workers(1));
  std::atomic<bool> flag{false};
  std::atomic<bool> began{false};
  auto h = rt.spawn([&]() -> task<> {
    began = true;
    while (!flag) co_await yield();
  });
  while (!began) std::this_thread::yield();
  rt.spawn(sets(flag)).join();
  h.join();
}

TEST(yield, of_one_task_alone_lets_its_children_run_first) {
  runtime rt(with_workers(1));
  auto h = rt.spawn([]() -> task<bool> {
    std::atomic<bool> flag{false};
    auto child = spawn(sets(flag));
    co_await yield();
    const bool seen = flag;
    co_await child;
    co_return seen;
  });
  EXPECT_TRUE(h.join());
}

TEST(yield, of_one_task_alone_delivers_a_cancellation) {
  runtime rt(with_workers(1));
  std::atomic<bool> never{false};
  auto h = rt.spawn(yields_until(never));
  h.cancel();
  const auto end = h.wait_for(1h);
  EXPECT_EQ(end->reason(), cancel_reason::user);
}

TEST(yield, of_one_task_alone_does_not_delay_a_shutdown) {
  runtime rt(with_workers(1));
  std::atomic<bool> never{false};
  std::atomic<bool> began{false};
  auto h = rt.spawn([&]() -> task<> {
    began = true;
    while (!never) co_await yield();
  });
  while (!began) std::this_thread::yield();
  EXPECT_EQ(rt.shutdown(0s).cancelled, 1U);
}

TEST(yield, after_many_children_run_in_place_lets_timers_fire) {
  runtime rt(with_workers(1));
  std::atomic<bool> flag{false};
  auto sleeper = rt.spawn(sets_later(flag));
  auto h = rt.spawn([&]() -> task<std::uint64_t> {
    std::uint64_t most = 0;
    std::uint64_t since = 0;
    std::uint64_t polled = 0;
    while (!flag) {
      for (int i = 0; i < 100; ++i) {
        auto child = spawn([]() -> task<> { co_return; });
        co_await child;
      }
      co_await yield();
      // The worker's loop polls the driver and counts the poll between two runs of this task.
      const std::uint64_t now = rt.stats().total_polled;
      since = now == polled ? since + 1 : 0;
      most = since > most ? since : most;
      polled = now;
    }
    co_return most;
  });
  EXPECT_EQ(h.join(), 0U) << "turns in a row without a look at the driver";
  sleeper.join();
}

// The helper's worker runs a task that yields with no other task ready, and goes on without choosing.
// The other worker must be notified.
TEST(yield, inside_a_helping_join_notifies_another_worker) {
  runtime rt(with_workers(2));
  std::atomic<bool> helped{false};
  std::atomic<bool> target_ended{false};
  std::atomic<bool> end{false};
  std::atomic<std::uint64_t> parks{0};
  const auto parked = [&rt] {
    std::uint64_t sum = 0;
    for (const worker_stats& w : rt.stats().workers) sum += w.times_parked;
    return sum;
  };
  auto outer = rt.spawn([&]() -> task<> {
    auto target = spawn([&]() -> task<> {
      while (!helped) std::this_thread::yield();
      parks = parked();
      target_ended = true;
      co_return;
    });
    auto other = spawn([&]() -> task<> {
      helped = true;
      while (!target_ended) std::this_thread::yield();
      // Waits until the target's worker finds nothing more and parks.
      while (parked() == parks) std::this_thread::yield();
      for (int i = 0; i < 200; ++i) co_await yield();
      end = true;
    });
    target.join(help);
    while (!end) std::this_thread::yield();
    co_await other;
  });
  outer.join();
}

}  // namespace
}  // namespace rota::yield_test
