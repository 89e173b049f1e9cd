// Time that does strange things. This program's clock_gettime() is its own: tests move what rota sees.
//
//  scenario 28  sleep(max), sleep_until(max)   the_longest_sleeps_never_end_and_can_be_cancelled
//  scenario 29  sleep(-5 s), sleep(0)          sleep_of_zero_or_less_yields_once
//  scenario 30  the realtime clock is stepped  steps_of_the_realtime_clock_have_no_effect
//  scenario 31  the monotonic clock jumps      after_a_jump_of_an_hour_each_timer_fires_once, *_intervals_*
//  row 11       timers on the real clock       timers_of_1_to_5000_ms_are_never_early
//  row 12       after a stall of 200 ms        after_a_stall_all_due_timers_fire_once
#include "api/scenario_support.hpp"

#include <rota/time.hpp>

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <numeric>
#include <vector>

namespace {

std::atomic<std::int64_t> monotonic_ahead{0};  // nanoseconds
std::atomic<std::int64_t> realtime_ahead{0};
std::atomic<unsigned> realtime_reads{0};

constexpr std::int64_t billion = 1'000'000'000;

void add(timespec& to, std::int64_t nanoseconds) noexcept {
  const std::int64_t sum = to.tv_nsec + nanoseconds % billion + billion;
  to.tv_sec += static_cast<time_t>(nanoseconds / billion + sum / billion - 1);
  to.tv_nsec = static_cast<long>(sum % billion);
}

}  // namespace

// Replaces the C library's function, for every library of this program.
extern "C" int clock_gettime(clockid_t clock, timespec* out) noexcept {
  const long result = ::syscall(SYS_clock_gettime, clock, out);
  if (result != 0) return -1;
  if (clock == CLOCK_REALTIME) {
    ++realtime_reads;
    add(*out, realtime_ahead);
  } else if (clock == CLOCK_MONOTONIC) {
    add(*out, monotonic_ahead);
  }
  return 0;
}

namespace rota::test {
namespace {

using steady = std::chrono::steady_clock;

void jump_ahead(std::chrono::nanoseconds by) { monotonic_ahead += by.count(); }

/// One worker takes spawns of foreign threads in turn: all that were spawned before have had their first run.
void let_all_run(runtime& rt) { EXPECT_EQ(rt.spawn(number(1)).join(), 1); }

TEST(scenario_clock, replaced_clock_gettime_moves_both_clocks) {
  const auto before = steady::now();
  jump_ahead(1h);
  EXPECT_GE(steady::now() - before, 1h);
  const auto day = std::chrono::system_clock::now();
  realtime_ahead -= billion * 86'400;
  EXPECT_LT(std::chrono::system_clock::now(), day);
  realtime_ahead = 0;
  EXPECT_GE(realtime_reads, 2U);
}

TEST(scenario_clock, the_longest_sleeps_never_end_and_can_be_cancelled) {
  runtime rt(with_workers(1));
  std::atomic<int> ended = 0;
  std::vector<join_handle<void>> all;
  struct body {
    static task<> longest(int which, witness /*mine*/) {
      if (which == 0) co_await sleep_for(std::chrono::hours::max());
      if (which == 1) co_await sleep_for(std::chrono::nanoseconds::max());
      if (which == 2) co_await sleep_until(steady::time_point::max());
      if (which == 3)
        co_await sleep_for(std::chrono::duration<double>(std::numeric_limits<double>::infinity()));
      if (which == 4) {
        const auto end = co_await timeout(std::chrono::hours::max(), sleep_for(std::chrono::hours::max()));
        static_cast<void>(end);
      }
      ADD_FAILURE() << "it ended: " << which;
    }
  };
  for (int i = 0; i < 5; ++i) all.push_back(rt.spawn(body::longest(i, witness(ended))));
  let_all_run(rt);
  jump_ahead(std::chrono::hours(24 * 365 * 50));
  let_all_run(rt);
  EXPECT_EQ(rt.stats().alive_tasks, 5U);
  for (auto& h : all) {
    EXPECT_TRUE(h.cancel());
    EXPECT_THROW(h.join(), cancelled_error);
  }
  EXPECT_EQ(ended, 5);
}

TEST(scenario_clock, sleep_of_zero_or_less_yields_once) {
  for (const auto span :
       {std::chrono::nanoseconds(0), std::chrono::nanoseconds(-5s), std::chrono::nanoseconds::min()}) {
    runtime rt(with_workers(1));
    std::string order;
    struct body {
      static task<> naps(std::string& out, char me, std::chrono::nanoseconds length) {
        out += me;
        co_await sleep_for(length);
        out += me;
      }
      static task<> both(std::string& out, std::chrono::nanoseconds length) {
        auto second = spawn(naps(out, 'b', length));
        auto first = spawn(naps(out, 'a', length));
        co_await yield();
        co_await first;
        co_await second;
      }
    };
    rt.spawn(body::both(order, span)).join();
    EXPECT_EQ(order.size(), 4U);
    EXPECT_EQ(order.substr(0, 2), order.substr(2, 2)) << "each gave the other one turn, and took no more";
    EXPECT_NE(order[0], order[1]);
  }
}

// --- the realtime clock

task<std::chrono::nanoseconds> lateness_of(std::chrono::nanoseconds span) {
  const auto due = steady::now() + span;
  co_await sleep_for(span);
  co_return steady::now() - due;
}

struct latenesses {
  std::size_t early = 0;
  std::vector<std::chrono::nanoseconds> all;

  void add(std::chrono::nanoseconds late) {
    early += late < 0ns ? 1 : 0;
    all.push_back(late);
  }
  void print(const char* what) {
    std::sort(all.begin(), all.end());
    const auto at = [this](double share) {
      const auto index = static_cast<std::size_t>(share * static_cast<double>(all.size() - 1));
      return std::chrono::duration<double, std::milli>(all[index]).count();
    };
    std::printf("%s: %zu timers, late by %.3f ms (median), %.3f ms (99 in 100), %.3f ms (at most)\n",
                what,
                all.size(),
                at(0.5),
                at(0.99),
                at(1.0));
  }
};

// The clock goes a day back, then two days ahead, again and again, while timers are armed and fire.
TEST(scenario_clock, steps_of_the_realtime_clock_have_no_effect) {
  runtime rt(with_workers(2));
  const unsigned reads = realtime_reads;
  std::vector<join_handle<std::chrono::nanoseconds>> all;
  latenesses seen;
  std::int64_t step = -86'400 * billion;
  for (int i = 0; i < 300; ++i) {
    all.push_back(rt.spawn(lateness_of(std::chrono::milliseconds(1 + i % 100))));
    realtime_ahead = step = -step;
  }
  for (auto& h : all) {
    seen.add(h.join());
    realtime_ahead = step = -step;
  }
  EXPECT_EQ(seen.early, 0U);
  EXPECT_EQ(seen.all.size(), 300U);
  EXPECT_EQ(realtime_reads, reads) << "nobody asks for it";
  realtime_ahead = 0;
  seen.print("the realtime clock stepped");
}

TEST(scenario_clock, timers_of_1_to_5000_ms_are_never_early) {
  runtime rt(with_workers(2));
  std::vector<join_handle<std::chrono::nanoseconds>> all;
  for (int ms = 1; ms <= 5000; ++ms) all.push_back(rt.spawn(lateness_of(std::chrono::milliseconds(ms))));
  latenesses seen;
  for (auto& h : all) seen.add(h.join());
  EXPECT_EQ(seen.early, 0U);
  EXPECT_EQ(seen.all.size(), 5000U);
  seen.print("1 to 5000 ms");
}

// --- jumps

task<> notes_its_end(std::vector<int>& order, int me, steady::time_point due) {
  co_await sleep_until(due);
  order.push_back(me);
}

/// Each of 0..n-1 once, and nearly in order: in a random order half of all numbers come before a smaller one.
/// A worker runs first what a poll of the timers woke last. Behind a busy worker the watchdog polls too, and
/// its tasks come by another queue. wheel_test and shard_test check the order in one poll.
void expect_once_and_nearly_in_order(std::vector<int> order, int n) {
  int ahead = 0;
  for (std::size_t i = 0; i + 1 < order.size(); ++i) ahead += order[i] > order[i + 1] ? 1 : 0;
  EXPECT_LE(ahead, n * 3 / 8);
  std::sort(order.begin(), order.end());
  std::vector<int> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(order, all);
}

TEST(scenario_clock, after_a_jump_of_an_hour_each_timer_fires_once) {
  runtime rt(with_workers(1));
  std::vector<int> order;
  std::vector<join_handle<void>> all;
  const auto begin = steady::now();
  for (int i = 0; i < 100; ++i) {
    const int n = i * 37 % 100;
    all.push_back(rt.spawn(notes_its_end(order, n, begin + std::chrono::seconds(600 + 30 * n))));
  }
  auto later = rt.spawn(notes_its_end(order, 100, begin + 2h));
  let_all_run(rt);
  EXPECT_TRUE(order.empty());
  jump_ahead(1h);
  let_all_run(rt);
  for (auto& h : all) h.join();
  expect_once_and_nearly_in_order(order, 100);
  EXPECT_FALSE(later.is_done());
  jump_ahead(1h);
  let_all_run(rt);
  later.join();
  ASSERT_EQ(order.size(), 101U);
  EXPECT_EQ(order.back(), 100);
  EXPECT_EQ(rt.stats().alive_tasks, 0U);
}

TEST(scenario_clock, after_a_stall_all_due_timers_fire_once) {
  runtime rt(with_workers(1));
  std::vector<int> order;
  std::binary_semaphore stalled(0);
  std::binary_semaphore go(0);
  struct body {
    static task<> stalls(std::binary_semaphore& s, std::binary_semaphore& g) {
      s.release();
      g.acquire();
      co_return;
    }
  };
  std::vector<join_handle<void>> all;
  const auto begin = steady::now() + 1h;
  for (int i = 0; i < 200; ++i) {
    const int n = i * 37 % 200;
    all.push_back(rt.spawn(notes_its_end(order, n, begin + std::chrono::milliseconds(n))));
  }
  let_all_run(rt);
  auto h = rt.spawn(body::stalls(stalled, go));
  stalled.acquire();
  jump_ahead(1h + 200ms);
  go.release();
  h.join();
  for (auto& each : all) each.join();
  expect_once_and_nearly_in_order(order, 200);
}

/// Waits for the first tick, and counts those that are due then.
task<int> ticks_that_are_due(interval& of) {
  co_await of.tick();
  for (int n = 1;; ++n) {
    const auto next = co_await timeout(0s, of.tick());
    if (!next.has_value()) co_return n;
  }
}

task<std::vector<int>> counts_ticks(missed_tick policy, std::atomic<int>& rounds) {
  interval each(30s, policy);
  std::vector<int> counts;
  while (rounds < 2) {
    const int due = co_await ticks_that_are_due(each);
    counts.push_back(due);
    ++rounds;
  }
  co_return counts;
}

TEST(scenario_clock, after_a_jump_of_an_hour_intervals_tick_as_their_policy_says) {
  struct expected {
    missed_tick policy;
    int ticks;
  };
  for (const expected e :
       {expected{missed_tick::burst, 120}, {missed_tick::skip, 1}, {missed_tick::delay, 1}}) {
    runtime rt(with_workers(1));
    std::atomic<int> rounds = 0;
    auto h = rt.spawn(counts_ticks(e.policy, rounds));
    for (int jump = 1; jump <= 2; ++jump) {
      let_all_run(rt);
      jump_ahead(1h);
      let_all_run(rt);
      wait_until([&] { return rounds == jump; });
    }
    EXPECT_EQ(h.join(), (std::vector<int>{e.ticks, e.ticks}));
  }
}

}  // namespace
}  // namespace rota::test
