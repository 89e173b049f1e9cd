// Which part of the time that a worker stays in one poll counts.
#include "runtime/poll_watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rota::detail::poll_watch_test {
namespace {

using namespace std::chrono_literals;

constexpr base::nanoseconds patience = 25ms;
constexpr base::nanoseconds longest_step = 2ms;

// No thread has this id, so nothing is measured: the wall clock counts.
TEST(poll_watch, reports_are_due_at_the_limit_then_after_250ms_1s_and_10s) {
  constexpr std::uint64_t nothing = 0;
  const base::time_point began = base::now();
  poll_watch poll(1, began);
  std::vector<long long> due;
  for (base::nanoseconds at = 1ms; at <= 41s; at += 1ms) {
    poll.measure(nothing, began + at, longest_step);
    if (!poll.is_due(began + at, patience)) continue;
    due.push_back(at / 1ms);
    EXPECT_EQ(poll.note_due(7, began + at), due.size() == 1);
  }
  EXPECT_EQ(due, (std::vector<long long>{25, 250, 1000, 10'000, 20'000, 30'000, 40'000}));
  EXPECT_EQ(poll.task(), 7U);
}

// The measured thread is this one. It uses far less processor time than the hour that the test pretends.
TEST(poll_watch, the_time_of_a_thread_that_waits_for_a_processor_does_not_count) {
  const base::time_point began = base::now();
  poll_watch poll(1, began);
  poll.measure(base::this_thread_id(), began, longest_step);
  poll.measure(base::this_thread_id(), began + 1h, longest_step);
  EXPECT_EQ(poll.blocked(), 0ns);
  EXPECT_LT(poll.computed(), 1h);
  EXPECT_FALSE(poll.is_due(began + 1h, 30min));
}

TEST(poll_watch, processor_time_counts) {
  const base::time_point began = base::now();
  poll_watch poll(1, began);
  poll.measure(base::this_thread_id(), began, longest_step);
  const auto used = [] { return base::processor_time_of(base::this_thread_id()).value(); };
  for (const base::nanoseconds first = used(); used() - first < patience;) {
  }
  poll.measure(base::this_thread_id(), began + 1h, longest_step);
  EXPECT_TRUE(poll.is_due(began + 1h, patience));
  EXPECT_EQ(poll.blocked(), 0ns);
}

TEST(poll_watch, blocked_time_counts_at_most_one_step_per_check) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::atomic<std::uint64_t> id{0};
  std::thread reader([&] {
    id = base::this_thread_id();
    char byte = 0;
    EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  });
  while (id == 0 || base::state_of_thread(id) != base::thread_state::blocked) std::this_thread::yield();
  const base::time_point began = base::now();
  poll_watch poll(1, began);
  poll.measure(id, began, longest_step);
  poll.measure(id, began + 1s, longest_step);
  EXPECT_EQ(poll.blocked(), longest_step) << "of the rest of the second nothing is known";
  for (int i = 1; i <= 25; ++i) poll.measure(id, began + 1s + i * 1ms, longest_step);
  EXPECT_GT(poll.blocked(), poll.computed());
  EXPECT_TRUE(poll.is_due(began + 2s, patience));
  EXPECT_EQ(::write(ends[1], "x", 1), 1);
  reader.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(poll_watch, a_thread_that_has_ended_has_no_time_and_no_state) {
  std::uint64_t id = 0;
  std::thread([&id] { id = base::this_thread_id(); }).join();
  // The kernel may still list the ended thread for a moment.
  while (base::processor_time_of(id).has_value()) std::this_thread::yield();
  while (base::state_of_thread(id) != base::thread_state::unknown) std::this_thread::yield();
  EXPECT_FALSE(base::processor_time_of(0).has_value());
}

}  // namespace
}  // namespace rota::detail::poll_watch_test
