// Dropped handles, joins that block or time out, ends that race.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>

#include "base/tls_slot.hpp"
#include "unit/task/task_support.hpp"

namespace rota::join_end_test {
namespace {

using namespace std::chrono_literals;
using test::after;
using test::counted;
using test::event;
using test::fails_after;
using test::give;
using test::journal;
using test::manual_scheduler;

// --- awaiting

// --- dropping

TEST(join, dropping_before_the_end_detaches) {
  manual_scheduler s;
  event e;
  counted::reset();
  {
    auto h = s.spawn(
        [](event* on) -> task<counted> {
          co_await (*on)();
          co_return counted(1);
        },
        &e);
    s.run_until_idle();
  }
  EXPECT_EQ(s.live, 1);
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(s.ended, 1);
  EXPECT_EQ(s.live, 0);
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST(join, unseen_exception_is_reported_once_if_the_handle_is_dropped_first) {
  manual_scheduler s;
  event e;
  s.spawn(fails_after(e)).detach();
  s.run_until_idle();
  EXPECT_EQ(s.unhandled_count, 0);
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(s.unhandled_count, 1);
  EXPECT_THROW(std::rethrow_exception(s.unhandled), std::runtime_error);
}

TEST(join, unseen_exception_is_reported_once_if_the_task_ends_first) {
  manual_scheduler s;
  event e;
  {
    auto h = s.spawn(fails_after(e));
    e.fire();
    s.run_until_idle();
    EXPECT_EQ(s.unhandled_count, 0) << "somebody may still ask";
  }
  EXPECT_EQ(s.unhandled_count, 1);
  EXPECT_THROW(std::rethrow_exception(s.unhandled), std::runtime_error);
}

TEST(join, unseen_cancellation_is_not_reported_as_a_failure) {
  manual_scheduler s;
  event never;
  {
    auto h = s.spawn(after(never, 1));
    s.run_until_idle();
    h.cancel();
  }
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST(join, assigning_a_handle_drops_the_old_task) {
  manual_scheduler s;
  auto h = s.spawn(give(1));
  h = s.spawn(give(2));
  s.run_until_idle();
  EXPECT_EQ(h.join(), 2);
  EXPECT_EQ(s.live, 0);
}

// --- blocking

TEST(join, blocking_join_on_a_worker_runs_an_unstarted_task_in_place) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler* on) -> task<int> {
        auto child = on->spawn(give(9));
        co_return child.join();
      },
      &s);
  s.run_until_idle();
  EXPECT_EQ(h.join(), 9);
}

task<int> joins_down(manual_scheduler& on, int left, std::atomic<unsigned>& deepest) {
  const unsigned here = base::this_thread_locals().nesting;
  if (here > deepest) deepest = here;
  int below = 0;
  if (left > 0) {
    auto child = on.spawn(joins_down(on, left - 1, deepest));
    below = child.join();
  }
  co_return below + 1;
}

TEST(join, blocking_joins_nest_up_to_64) {
  manual_scheduler s;
  std::atomic<unsigned> deepest = 0;
  auto h = s.spawn(joins_down(s, 64, deepest));
  s.run_until_idle();
  EXPECT_EQ(h.join(), 65);
  EXPECT_EQ(deepest, 64U);
}

TEST(join, joins_nested_deeper_than_64_block_and_another_thread_runs_the_rest) {
  manual_scheduler s;
  std::atomic<unsigned> deepest = 0;
  auto h = s.spawn(joins_down(s, 100, deepest));
  std::thread second([&] {
    // If it began earlier, it could take a task before its joiner claims it: then both threads would block.
    while (deepest < 64) std::this_thread::yield();
    while (!h.is_done()) {
      if (!s.run_one()) std::this_thread::yield();
    }
  });
  while (!h.is_done()) {
    if (!s.run_one()) std::this_thread::yield();
  }
  second.join();
  EXPECT_EQ(h.join(), 101);
  EXPECT_LE(deepest, 64U);
}

TEST(join, a_foreign_thread_waits_for_the_end) {
  for (int round = 0; round < 200; ++round) {
    manual_scheduler s;
    int data = 0;
    auto h = s.spawn(
        [](int* out, int value) -> task<> {
          *out = value;
          co_return;
        },
        &data,
        round);
    std::thread runner([&s] { s.run_until_idle(); });
    h.join();
    EXPECT_EQ(data, round);
    runner.join();
  }
}

TEST(join, join_with_help_waits_for_the_end_on_a_foreign_thread) {
  manual_scheduler s;
  auto h = s.spawn(give(3));
  std::thread runner([&s] { s.run_until_idle(); });
  EXPECT_EQ(h.join(help), 3);
  runner.join();
}

// --- limits

TEST(join, wait_for_gives_up_and_the_handle_stays) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(after(e, 5));
  s.run_until_idle();
  EXPECT_FALSE(h.wait_for(1ms).has_value());
  EXPECT_FALSE(h.wait_for(-1s).has_value());
  EXPECT_TRUE(h.valid());
  e.fire();
  s.run_until_idle();
  auto got = h.wait_for(0ns);
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->value(), 5);
  EXPECT_FALSE(h.valid());
}

TEST(join, wait_for_does_not_run_the_task_itself) {
  manual_scheduler s;
  journal j;
  auto h = s.spawn(
      [](manual_scheduler* on, journal* in) -> task<> {
        auto child = on->spawn(
            [](journal* out) -> task<> {
              out->add("child");
              co_return;
            },
            in);
        static_cast<void>(child.wait_for(1ms));
        in->add("gave-up");
        co_await child;
      },
      &s,
      &j);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "gave-up child");
  h.join();
}

TEST(join, task_wakes_its_awaiter_after_a_wait_for_that_timed_out) {
  manual_scheduler s;
  event e;
  auto child = s.spawn(after(e, 5));
  s.run_until_idle();
  auto h = s.spawn(
      [](join_handle<int>* of) -> task<int> {
        EXPECT_FALSE(of->wait_for(1ms).has_value());
        const int got = co_await *of;
        co_return got;
      },
      &child);
  s.run_until_idle();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), 5);
}

TEST(join, wait_for_racing_the_end_loses_no_result) {
  for (int round = 0; round < 2000; ++round) {
    manual_scheduler s;
    auto h = s.spawn(give(round));
    std::thread runner([&s] { s.run_until_idle(); });
    std::optional<outcome<int>> got;
    while (!got.has_value()) got = h.wait_for(std::chrono::microseconds(round % 7));
    EXPECT_EQ(got->value(), round);
    runner.join();
  }
}

// --- ends that race

TEST(join, cancel_completion_and_drop_race_to_one_end) {
  int values = 0;
  int cancels = 0;
  for (int round = 0; round < 2000; ++round) {
    manual_scheduler s;
    counted::reset();
    event e;
    auto h = s.spawn(
        [](event* on, counted) -> task<counted> {
          co_await (*on)();
          co_return counted(1);
        },
        &e,
        counted(0));
    s.run_until_idle();
    std::atomic<int> ready{0};
    const auto together = [&ready] {
      ready.fetch_add(1);
      while (ready.load() < 2) std::this_thread::yield();
    };
    std::thread firing([&] {
      together();
      e.fire();
    });
    together();
    h.cancel();
    if (round % 2 == 0) h.detach();
    firing.join();
    s.run_until_idle();
    EXPECT_EQ(s.ended, 1);
    (s.cancelled == 1 ? cancels : values) += 1;
    if (h.valid()) static_cast<void>(h.wait_for(0ns));
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(s.live, 0);
  }
  EXPECT_EQ(values + cancels, 2000);
}

}  // namespace
}  // namespace rota::join_end_test
