// The atomic word: what it orders, counts and refuses. word_test.cpp tests the rules themselves.
#include "task/state.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <thread>
#include <vector>

namespace rota::core::state_test {
namespace {

// Run under TSan: `data` is a plain int and `woken` is relaxed, so only the task word can order them.
TEST(task_state, a_redundant_wake_publishes_too) {
  for (int round = 0; round < 2'000; ++round) {
    state word(spawned_word);  // scheduled already: the wake below is redundant
    int data = 0;
    std::atomic<bool> woken{false};
    std::thread waking([&] {
      data = round;
      EXPECT_EQ(word.wake(), on_wake::nothing);
      woken.store(true, std::memory_order_relaxed);
    });
    while (!woken.load(std::memory_order_relaxed)) std::this_thread::yield();
    ASSERT_EQ(word.pop(), on_pop::run);
    EXPECT_EQ(data, round);
    waking.join();
  }
}

TEST(task_state, a_wake_of_a_running_task_publishes_to_its_suspension) {
  for (int round = 0; round < 2'000; ++round) {
    state word(entered_word);
    int data = 0;
    std::atomic<bool> woken{false};
    std::thread waking([&] {
      data = round;
      EXPECT_EQ(word.wake(), on_wake::nothing);
      woken.store(true, std::memory_order_relaxed);
    });
    while (!woken.load(std::memory_order_relaxed)) std::this_thread::yield();
    ASSERT_EQ(word.suspend(), on_suspend::resubmit);
    EXPECT_EQ(data, round);
    waking.join();
  }
}

TEST(task_state, a_run_publishes_to_the_next_run) {
  for (int round = 0; round < 2'000; ++round) {
    state word(spawned_word);
    int frames = 0;
    std::atomic<bool> suspended{false};
    std::thread first([&] {
      ASSERT_EQ(word.pop(), on_pop::run);
      frames = round;
      ASSERT_EQ(word.yield(), on_suspend::resubmit);
      suspended.store(true, std::memory_order_relaxed);
    });
    while (!suspended.load(std::memory_order_relaxed)) std::this_thread::yield();
    ASSERT_EQ(word.pop(), on_pop::run);
    EXPECT_EQ(frames, round);
    first.join();
  }
}

TEST(task_state, the_end_publishes_the_outcome) {
  for (int round = 0; round < 2'000; ++round) {
    state word(entered_word);
    int outcome = 0;
    std::thread finishing([&] {
      outcome = round;
      const on_finish duty = word.finish();
      EXPECT_FALSE(duty.wake_joiner);
      EXPECT_FALSE(duty.destroy_result);
    });
    while (!word.load().is(lifecycle::complete)) std::this_thread::yield();
    EXPECT_EQ(outcome, round);
    finishing.join();
  }
}

TEST(task_state, the_last_release_sees_what_every_owner_did) {
  for (int round = 0; round < 500; ++round) {
    state word(entered_word);
    constexpr int owners = 4;
    std::vector<int> traces(owners, 0);
    for (int i = 0; i < owners; ++i) word.retain();
    static_cast<void>(word.finish());
    ASSERT_EQ(word.release(), on_release::kept);
    ASSERT_EQ(word.release(), on_release::kept);
    std::atomic<int> freed{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < owners; ++i) {
      threads.emplace_back([&, i] {
        traces[static_cast<std::size_t>(i)] = 1;
        if (word.release() != on_release::free) return;
        freed.fetch_add(1);
        int sum = 0;
        for (int t : traces) sum += t;
        EXPECT_EQ(sum, owners);
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(freed.load(), 1);
  }
}

// Run under TSan: the last owner only reads the word, and must see what every other owner did.
TEST(task_state, last_reference_check_sees_what_every_owner_did) {
  for (int round = 0; round < 2000; ++round) {
    state s(entered_word);
    static_cast<void>(s.finish());
    int data = 0;
    std::thread other([&] {
      data = round;
      static_cast<void>(s.release());
    });
    while (!s.is_last_reference()) std::this_thread::yield();
    EXPECT_EQ(data, round);
    other.join();
    EXPECT_EQ(s.release(), on_release::free);
  }
}

TEST(task_state, a_task_that_is_not_complete_has_no_last_reference) {
  state s(entered_word);
  EXPECT_EQ(s.drop_handle(), on_drop_handle::nothing);
  EXPECT_EQ(s.load().refs(), 1U);
  EXPECT_FALSE(s.is_last_reference());
}

TEST(task_state, many_wakes_of_a_parked_task_submit_it_once) {
  for (int round = 0; round < 500; ++round) {
    state word(entered_word);
    ASSERT_EQ(word.suspend(), on_suspend::parked);
    std::atomic<int> submits{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        if (word.wake() == on_wake::submit) submits.fetch_add(1);
      });
    }
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(submits.load(), 1);
    EXPECT_EQ(word.load().refs(), 3U);
  }
}

// --- the count

class task_state_aborts : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(task_state_aborts, long_before_the_count_wraps) {
  state word(entered_word);
  word.force_references(snapshot::max_refs - word.load().refs() - 1);
  word.retain();
  EXPECT_EQ(word.load().refs(), snapshot::max_refs);
  EXPECT_EXIT(word.retain(), ::testing::KilledBySignal(SIGABRT), "task refcount overflow");
}

TEST_F(task_state_aborts, when_a_reference_is_dropped_twice) {
  state word(entered_word);
  static_cast<void>(word.finish());
  EXPECT_EQ(word.release(), on_release::kept);
  EXPECT_EQ(word.release(), on_release::free);
  EXPECT_EXIT(
      static_cast<void>(word.release()), ::testing::KilledBySignal(SIGABRT), "task reference dropped twice");
}

TEST_F(task_state_aborts, when_a_transition_is_not_allowed) {
  const char* const words = "task word does not allow this transition";
  const auto killed = ::testing::KilledBySignal(SIGABRT);
  state scheduled_task(spawned_word);
  EXPECT_EXIT(static_cast<void>(scheduled_task.suspend()), killed, words);
  EXPECT_EXIT(static_cast<void>(scheduled_task.yield()), killed, words);
  EXPECT_EXIT(static_cast<void>(scheduled_task.finish()), killed, words);
  EXPECT_EXIT(static_cast<void>(scheduled_task.shield_up()), killed, words);
  EXPECT_EXIT(static_cast<void>(scheduled_task.begin_unwind()), killed, words);
  state running_task(entered_word);
  EXPECT_EXIT(static_cast<void>(running_task.pop()), killed, words) << "no queue has an entry";
  EXPECT_EXIT(static_cast<void>(running_task.drop_entry()), killed, words);
  EXPECT_EXIT(static_cast<void>(running_task.shield_down()), killed, words) << "one unshield too many";
  static_cast<void>(running_task.finish());
  EXPECT_EXIT(static_cast<void>(running_task.finish()), killed, words) << "complete is final";
  EXPECT_EXIT(static_cast<void>(running_task.suspend()), killed, words);
}

}  // namespace
}  // namespace rota::core::state_test
