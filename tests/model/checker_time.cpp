// Time: when the clock moves, which thread times out; a polling watcher hides no deadlock and delays no time.
#include <rota/testing/explore.hpp>
#include "base/clock.hpp"
#include "base/futex.hpp"

#include <rota/detail/base.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace rota {
namespace {

using base::order;
using testing::check;
using testing::execution;
using testing::explore;

TEST(checker_time, time_moves_only_when_no_thread_can_run) {
  const auto r = explore({}, [](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    e.thread([&word] {
      const auto begin = base::now();
      const auto deadline = begin + std::chrono::seconds(5);
      const auto result = base::futex_wait(word, 0, deadline);
      // relaxed. The value says whether the other thread has run.
      if (word.load(order::relaxed) == 0)
        check(result != base::wait_result::timed_out, "nobody slept through work");
      check(base::now() == (result == base::wait_result::timed_out ? deadline : begin),
            "the clock stands still or jumps");
    });
    e.thread([&word] { word.store(1, order::relaxed); });  // relaxed. No wake: the sleeper times out.
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_time, sleepers_time_out_each_in_its_time) {
  const auto r = explore({}, [](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    for (int seconds = 1; seconds <= 3; ++seconds) {
      e.thread([&word, deadline = base::now() + std::chrono::seconds(seconds)] {
        check(base::futex_wait(word, 0, deadline) == base::wait_result::timed_out, "nobody wakes it");
        check(base::now() == deadline, "not earlier, not later");
      });
    }
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_time, an_early_timeout_is_a_choice) {
  bool early = false;
  const auto r = explore({.early_timeouts = 1}, [&early](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    e.thread([&] {
      const auto result = base::futex_wait(word, 0, base::now() + std::chrono::seconds(5));
      // relaxed. The value says whether the other thread has run.
      early |= result == base::wait_result::timed_out && word.load(order::relaxed) == 0;
    });
    e.thread([&word] { word.store(1, order::relaxed); });  // relaxed. One word has one order.
  });
  EXPECT_FALSE(r.failed) << to_string(r);
  EXPECT_TRUE(early);
}

/// Polls every millisecond until it is told to end.
void watch(base::atomic<std::uint32_t>& word) {
  // seq_cst. A test.
  while (word.load(order::seq_cst) == 0) {
    static_cast<void>(base::futex_watch(word, 0, base::now() + std::chrono::milliseconds(1)));
  }
}

TEST(checker_time, polling_watcher_does_not_hide_a_deadlock) {
  struct words {
    base::atomic<std::uint32_t> told{0};
    base::atomic<std::uint32_t> never{0};
  };
  const auto r = explore({.steps = 2'000}, [](execution& e) {
    auto& w = e.make<words>();
    e.thread("watcher", [&w] { watch(w.told); });
    e.thread("sleeper", [&w] { static_cast<void>(base::futex_wait(w.never, 0, base::never)); });
  });
  EXPECT_NE(r.what.find("deadlock or lost wakeup"), std::string::npos) << to_string(r);
}

TEST(checker_time, time_moves_past_a_watcher_that_polls_in_vain) {
  struct words {
    base::atomic<std::uint32_t> told{0};
    base::atomic<std::uint32_t> never{0};
  };
  const auto r = explore({.preemptions = 0, .steps = 2'000}, [](execution& e) {
    auto& w = e.make<words>();
    e.thread("watcher", [&w] { watch(w.told); });
    e.thread("sleeper", [&w] {
      const auto until = base::now() + std::chrono::hours(1);
      const auto how = base::futex_wait(w.never, 0, until);
      check(how == base::wait_result::timed_out && base::now() >= until, "an hour has passed");
      // seq_cst. A test.
      w.told.store(1, order::seq_cst);
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

TEST(checker_time, a_deadline_in_the_past_does_not_sleep) {
  const auto r = explore({}, [](execution& e) {
    auto& word = e.make<base::atomic<std::uint32_t>>(0U);
    e.thread([&word] {
      check(base::futex_wait(word, 0, base::now()) == base::wait_result::timed_out, "at once");
      check(base::futex_wait(word, 1, base::now()) == base::wait_result::changed, "the value comes first");
    });
  });
  EXPECT_FALSE(r.failed) << to_string(r);
}

}  // namespace
}  // namespace rota
