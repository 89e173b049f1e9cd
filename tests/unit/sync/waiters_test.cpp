// The number of waiters, for each way into and out of the queue.
#include "support/manual_scheduler.hpp"

#include <rota/detail/wait_list.hpp>
#include <rota/rota.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/sync/shared_mutex.hpp>
#include <rota/waker.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace rota::sync::waiters_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

TEST(waiters, of_a_mutex_are_counted_until_they_are_woken_or_cancelled) {
  manual_scheduler by;
  mutex m;
  EXPECT_EQ(m.waiters(), 0U);
  std::optional<mutex::guard> held = m.try_lock();
  EXPECT_EQ(m.waiters(), 0U);
  const auto takes = [](mutex& of) -> task<void> { const auto mine = co_await of.lock(); };
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 3; ++i) all.push_back(by.spawn(takes, std::ref(m)));
  by.run_until_idle();
  EXPECT_EQ(m.waiters(), 3U);
  all[1].cancel();
  by.run_until_idle();
  EXPECT_EQ(m.waiters(), 2U);
  held.reset();
  EXPECT_EQ(m.waiters(), 1U);
  by.run_until_idle();
  EXPECT_EQ(m.waiters(), 0U);
}

TEST(waiters, are_not_counted_after_their_timeout) {
  manual_scheduler by;
  semaphore s(0);
  auto late = by.spawn(
      [](semaphore& of) -> task<bool> {
        const auto got = co_await of.acquire_for(5ms, 2);
        co_return got.has_value();
      },
      std::ref(s));
  by.run_until_idle();
  EXPECT_EQ(s.waiters(), 1U);
  s.release();  // a part of its request: it stays blocked
  EXPECT_EQ(s.waiters(), 1U);
  by.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_EQ(s.waiters(), 0U);
}

TEST(waiters, are_not_counted_after_all_are_woken_together) {
  manual_scheduler by;
  notify n;
  shared_mutex m;
  auto held = m.try_lock();
  std::vector<join_handle<void>> all;
  const auto waits = [](notify& of) -> task<void> { co_await of.wait(); };
  const auto reads = [](shared_mutex& of) -> task<void> { const auto mine = co_await of.lock_shared(); };
  for (int i = 0; i < 20; ++i) {
    all.push_back(by.spawn(waits, std::ref(n)));
    all.push_back(by.spawn(reads, std::ref(m)));
  }
  by.run_until_idle();
  EXPECT_EQ(n.waiters(), 20U);
  EXPECT_EQ(m.waiters(), 20U);
  n.notify_one();
  EXPECT_EQ(n.waiters(), 19U);
  n.notify_all();
  EXPECT_EQ(n.waiters(), 0U);
  held.reset();
  by.run_until_idle();
  EXPECT_EQ(m.waiters(), 0U);
}

// Waiters of a condition variable move from its queue to that of the mutex.
TEST(waiters, are_counted_in_the_queue_to_which_they_are_moved) {
  manual_scheduler by;
  mutex m;
  condition_variable c;
  const auto waits = [](mutex& of, condition_variable& on) -> task<void> {
    auto mine = co_await of.lock();
    co_await on.wait(mine);
  };
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 3; ++i) all.push_back(by.spawn(waits, std::ref(m), std::ref(c)));
  by.run_until_idle();
  EXPECT_EQ(m.waiters(), 0U);
  std::optional<mutex::guard> held = m.try_lock();
  c.notify_all();
  EXPECT_EQ(m.waiters(), 3U);
  all[2].cancel();
  held.reset();
  by.run_until_idle();
  EXPECT_EQ(m.waiters(), 0U);
}

// More waiters than one batch wakes: the rest still counts while the lock is released between two batches.
TEST(waiters, are_counted_between_two_batches_until_they_are_granted) {
  core::wait_list list;
  std::deque<core::wait_node> nodes;
  std::vector<std::size_t> seen;
  constexpr unsigned count = core::wait_section::capacity + 2;
  for (unsigned i = 0; i < count; ++i) {
    core::wait_node& node = nodes.emplace_back();
    node.wake = callback_waker([&]() noexcept { seen.push_back(list.size()); });
    core::wait_section section(list);
    section.link_back(node);
  }
  EXPECT_EQ(list.size(), count);
  {
    core::wait_section section(list);
    section.grant_all();
  }
  EXPECT_EQ(list.size(), 0U);
  ASSERT_EQ(seen.size(), count);
  EXPECT_EQ(seen.front(), 2U);
  EXPECT_EQ(seen.back(), 0U);
}

}  // namespace
}  // namespace rota::sync::waiters_test
