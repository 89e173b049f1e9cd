// A runtime on a virtual clock: hours pass in no time, and every timer fires at exactly its time.
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/testing/virtual_clock.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <semaphore>
#include <span>
#include <thread>
#include <vector>

namespace rota::virtual_clock_test {
namespace {

using namespace std::chrono_literals;
using testing::clock_mode;
using testing::virtual_clock;

runtime_options with_workers(unsigned n) {
  runtime_options o;
  o.workers = n;
  o.seed = 1;
  return o;
}

/// Returns how long the sleep took on the clock.
task<std::chrono::nanoseconds> timed_sleep(virtual_clock& clock, std::chrono::nanoseconds span) {
  const auto before = clock.now();
  co_await sleep_for(span);
  co_return clock.now() - before;
}

TEST(runtime_on_a_virtual_clock, a_month_passes_at_once) {
  virtual_clock clock;
  runtime rt(with_workers(2), clock);
  EXPECT_EQ(rt.spawn(timed_sleep(clock, 30 * 24h)).join(), 30 * 24h);
  EXPECT_EQ(rt.block_on(timed_sleep(clock, 30 * 24h)), 30 * 24h);
  EXPECT_EQ(clock.now() - virtual_clock::beginning, 60 * 24h);
}

TEST(runtime_on_a_virtual_clock, every_one_of_five_thousand_timers_is_exact) {
  virtual_clock clock;
  runtime rt(with_workers(2), clock);
  struct body {
    static task<int> root(virtual_clock& c) {
      std::vector<join_handle<std::chrono::nanoseconds>> all;
      for (int i = 1; i <= 5000; ++i) all.push_back(spawn(timed_sleep(c, std::chrono::milliseconds(i))));
      int exact = 0;
      for (int i = 1; i <= 5000; ++i) {
        auto& one = all[static_cast<std::size_t>(i - 1)];
        const std::chrono::nanoseconds took = co_await one;
        if (took == std::chrono::milliseconds(i)) ++exact;
      }
      co_return exact;
    }
  };
  // The clock stands still while the root spawns, so all sleeps begin at the same time.
  EXPECT_EQ(rt.block_on(body::root(clock)), 5000);
  EXPECT_EQ(clock.now() - virtual_clock::beginning, 5s);
}

TEST(runtime_on_a_virtual_clock, an_interval_loses_nothing) {
  virtual_clock clock;
  runtime rt(with_workers(1), clock);
  struct body {
    static task<int> root() {
      interval every_minute(1min, missed_tick::burst);
      int ticks = 0;
      for (int i = 0; i < 1000; ++i) {
        co_await every_minute.tick();
        ++ticks;
      }
      co_return ticks;
    }
  };
  EXPECT_EQ(rt.spawn(body::root()).join(), 1000);
  const auto passed = clock.now() - virtual_clock::beginning;
  EXPECT_GE(passed, 999min);
  EXPECT_LE(passed, 1000min);
}

/// Waits until every worker has parked since `parked_before`.
void wait_until_all_sleep(runtime& rt, std::uint64_t parked_before) {
  while (rt.stats().total_parked < parked_before + rt.stats().num_workers) std::this_thread::yield();
}

TEST(runtime_on_a_virtual_clock, time_stands_still_while_a_closure_runs) {
  virtual_clock clock;
  runtime rt(with_workers(1), clock);
  std::binary_semaphore held(0);
  std::binary_semaphore running(0);
  auto closure = rt.spawn_blocking([&] {
    running.release();
    held.acquire();
  });
  running.acquire();
  const std::uint64_t before = rt.stats().total_parked;
  auto sleeper = rt.spawn(timed_sleep(clock, 1h));
  wait_until_all_sleep(rt, before);
  EXPECT_EQ(clock.now(), virtual_clock::beginning);
  EXPECT_FALSE(sleeper.is_done());
  held.release();
  closure.join();
  EXPECT_EQ(sleeper.join(), 1h);
}

TEST(runtime_on_a_virtual_clock, time_stands_still_while_a_task_blocks_in_place) {
  virtual_clock clock;
  runtime rt(with_workers(1), clock);
  std::binary_semaphore held(0);
  std::binary_semaphore running(0);
  struct body {
    static task<> root(std::binary_semaphore& r, std::binary_semaphore& h) {
      block_in_place([&] {
        r.release();
        h.acquire();
      });
      co_await sleep_for(1min);
    }
  };
  auto blocked = rt.spawn(body::root(running, held));
  running.acquire();
  const std::uint64_t before = rt.stats().total_parked;
  auto sleeper = rt.spawn(timed_sleep(clock, 1h));
  wait_until_all_sleep(rt, before);
  EXPECT_EQ(clock.now(), virtual_clock::beginning);
  held.release();
  blocked.join();
  EXPECT_EQ(sleeper.join(), 1h);
}

TEST(runtime_on_a_virtual_clock, sleeps_on_a_manual_clock_end_after_it_is_advanced) {
  virtual_clock clock(clock_mode::manual);
  runtime rt(with_workers(2), clock);
  for (int i = 0; i < 100; ++i) {
    auto first = rt.spawn(timed_sleep(clock, 1s));
    auto second = rt.spawn(timed_sleep(clock, 2s));
    const auto begun = clock.now();
    while (!first.is_done() || !second.is_done()) {
      clock.advance(1s);
      std::this_thread::yield();
    }
    EXPECT_GE(first.join(), 1s);
    EXPECT_GE(second.join(), 2s);
    EXPECT_GE(clock.now() - begun, 1s);
  }
}

TEST(runtime_on_a_virtual_clock, sockets_work_beside_it) {
  virtual_clock clock;
  runtime rt(with_workers(2), clock);
  struct body {
    static task<> echo(net::tcp_listener& listener) {
      auto accepted = co_await listener.accept();
      if (!accepted.has_value()) co_return;
      std::array<std::byte, 64> room{};
      for (;;) {
        const auto got = co_await accepted->read(room);
        if (!got.has_value() || *got == 0) co_return;
        const auto sent = co_await accepted->write_all(std::span<const std::byte>(room).first(*got));
        if (!sent.has_value()) co_return;
      }
    }
    static task<int> root() {
      const auto any = net::endpoint::parse("127.0.0.1:0");
      auto listener = net::tcp_listener::bind(*any);
      auto server = spawn(echo(*listener));
      int in_time = 0;
      {
        auto stream = co_await net::tcp_stream::connect(*listener->local_endpoint());
        std::array<std::byte, 64> room{};
        for (int i = 0; i < 200; ++i) {
          const auto sent = co_await stream->write_all(room);
          static_cast<void>(sent);
          const auto got = co_await stream->read(room);
          if (got.has_value() && *got > 0) ++in_time;
        }
      }
      co_await server;
      co_return in_time;
    }
  };
  EXPECT_EQ(rt.spawn(body::root()).join(), 200);
}

}  // namespace
}  // namespace rota::virtual_clock_test
