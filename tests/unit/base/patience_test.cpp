// How a thread adapts its waits: when it spins first, and that spinning changes only the cost of a wait.
#include "base/patience.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace rota::base::patience_test {
namespace {

using std::chrono::nanoseconds;

constexpr habit after(nanoseconds sleep) {
  habit h;
  h.slept(sleep);
  return h;
}

/// Returns how many of the next `waits` spin first, if each spin ends as `in_vain` says.
int looks(habit& h, int waits, bool in_vain) {
  int count = 0;
  for (int i = 0; i < waits; ++i) {
    if (!h.looks_first()) continue;
    ++count;
    h.looked(in_vain);
  }
  return count;
}

TEST(adaptive_spin, thread_without_history_sleeps_at_once) {
  habit h;
  EXPECT_EQ(looks(h, 1000, false), 0);
}

TEST(adaptive_spin, waits_spin_after_a_short_sleep_and_not_after_a_long_one) {
  habit h = after(habit::short_sleep - nanoseconds(1));
  EXPECT_EQ(looks(h, 1000, false), 1000);
  h.slept(habit::short_sleep);
  EXPECT_EQ(looks(h, 1000, false), 0);
  h.slept(nanoseconds(0));
  EXPECT_EQ(looks(h, 1000, false), 1000);
}

TEST(adaptive_spin, waits_without_a_spin_double_after_each_failed_spin) {
  habit h = after(nanoseconds(1));
  // The waits 0, 2, 6, 14, 30, 62 .. spin: ten of the first 1 + 2 + 4 + .. + 512 = 1023.
  EXPECT_EQ(looks(h, 1023, true), 10);
  // From then on one in 1024 spins.
  EXPECT_EQ(looks(h, 1024, true), 1);
  EXPECT_EQ(looks(h, 10 * 1024, true), 10);
}

TEST(adaptive_spin, short_sleeps_do_not_reset_the_backoff_of_failed_spins) {
  habit h = after(nanoseconds(1));
  int count = 0;
  for (int i = 0; i < 1023; ++i) {
    count += looks(h, 1, true);
    h.slept(nanoseconds(1));
  }
  EXPECT_EQ(count, 10);
}

TEST(adaptive_spin, next_waits_spin_after_a_successful_spin) {
  habit h = after(nanoseconds(1));
  EXPECT_EQ(looks(h, 100, true), 6);
  while (!h.looks_first()) {
  }
  h.looked(false);
  EXPECT_EQ(looks(h, 100, false), 100);
}

TEST(adaptive_spin, waits_do_not_spin_after_forget) {
  habit h = after(nanoseconds(1));
  h.forget();
  EXPECT_EQ(looks(h, 1000, false), 0);
}

TEST(adaptive_spin, a_word_that_has_changed_is_not_waited_for) {
  patience mine;
  atomic<std::uint32_t> word{1};
  EXPECT_EQ(mine.wait(word, 0, never), wait_result::changed);
}

TEST(adaptive_spin, wait_ends_at_its_deadline_with_and_without_a_spin) {
  patience mine;
  atomic<std::uint32_t> word{0};
  mine.falls_asleep();
  mine.wakes_up();  // either a very short sleep, or one so long that the next wait does not spin
  EXPECT_EQ(mine.wait(word, 0, time_point::min()), wait_result::timed_out);
  EXPECT_EQ(mine.wait(word, 0, now()), wait_result::timed_out);
}

TEST(adaptive_spin, two_threads_that_wait_for_each_other_lose_no_wakeup) {
  constexpr std::uint32_t rounds = 20'000;
  atomic<std::uint32_t> word{0};
  // Each thread waits until the word is its turn, and passes the turn on.
  const auto take_turns = [&word](std::uint32_t first) {
    patience mine;
    for (std::uint32_t turn = first; turn < 2 * rounds; turn += 2) {
      for (;;) {
        const std::uint32_t seen = word.load(order::acquire);
        if (seen == turn) break;
        static_cast<void>(mine.wait(word, seen, never));
      }
      word.store(turn + 1, order::release);
      futex_wake(&word, 1);
    }
  };
  std::thread other(take_turns, 1U);
  take_turns(0);
  other.join();
  EXPECT_EQ(word.load(order::relaxed), 2 * rounds);
}

}  // namespace
}  // namespace rota::base::patience_test
