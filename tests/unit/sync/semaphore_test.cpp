// The semaphore: the order of waiters, and that no permit is lost or created.
#include "support/manual_scheduler.hpp"

#include <rota/detail/spawn_on.hpp>
#include <rota/rota.hpp>
#include <rota/sync/semaphore.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::sync::semaphore_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

/// Takes `n` permits for good, and appends its name.
task<bool> takes(semaphore& of, std::uint64_t n, std::string& order, char name) {
  const auto got = co_await of.acquire(n);
  if (got.has_value()) order += name;
  co_return got.has_value();
}

TEST(semaphore, try_acquire_takes_available_permits_only) {
  semaphore s(3);
  EXPECT_TRUE(s.try_acquire(2));
  EXPECT_EQ(s.available(), 1U);
  EXPECT_EQ(s.try_acquire(2).error(), acquire_refusal::empty);
  EXPECT_TRUE(s.try_acquire());
  s.release(3);
  EXPECT_EQ(s.available(), 3U);
}

TEST(semaphore, permit_object_releases_at_its_end_unless_forgotten) {
  semaphore s(5);
  {
    ASSERT_TRUE(s.try_acquire(4));
    auto three = semaphore::permit::adopt(s, 3);
    auto moved = std::move(three);
    EXPECT_EQ(three.permits(), 0U);
    EXPECT_EQ(moved.permits(), 3U);
    auto one = semaphore::permit::adopt(s);
    one.forget();
  }
  EXPECT_EQ(s.available(), 4U);
}

TEST(semaphore, forget_permits_removes_available_permits) {
  semaphore s(5);
  EXPECT_EQ(s.forget_permits(2), 2U);
  EXPECT_EQ(s.available(), 3U);
  EXPECT_EQ(s.forget_permits(0), 0U);
  EXPECT_EQ(s.forget_permits(semaphore::max_permits), 3U);
  EXPECT_EQ(s.forget_permits(1), 0U);
  s.release(2);
  s.close();
  EXPECT_EQ(s.forget_permits(1), 1U);
  EXPECT_TRUE(s.is_closed());
  EXPECT_EQ(s.available(), 1U);
}

// The permits are reserved for the first waiter, which must not be set back.
TEST(semaphore, forget_permits_removes_none_while_a_task_waits) {
  manual_scheduler by;
  semaphore s(2);
  auto waits = by.spawn([](semaphore& of) -> task<bool> { co_return (co_await of.acquire(3)).has_value(); },
                        std::ref(s));
  by.run_until_idle();
  EXPECT_EQ(s.forget_permits(2), 0U);
  s.release();
  by.run_until_idle();
  EXPECT_TRUE(waits.join());
}

TEST(semaphore, refuses_numbers_that_it_cannot_count) {
  EXPECT_THROW(semaphore(semaphore::max_permits + 1), std::invalid_argument);
  semaphore full(semaphore::max_permits);
  EXPECT_THROW(full.release(), std::invalid_argument);
  EXPECT_EQ(full.available(), semaphore::max_permits);
  EXPECT_THROW(static_cast<void>(full.acquire(semaphore::max_permits + 1)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(full.blocking_acquire(~std::uint64_t{0})), std::invalid_argument);
  try {
    full.release(7);
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "sync::semaphore: n of release is 7: must be 0..0");
  }
}

TEST(semaphore, waiter_for_many_permits_is_not_overtaken) {
  manual_scheduler by;
  semaphore s(0);
  std::string order;
  auto a = by.spawn(takes(s, 3, order, 'a'));
  auto b = by.spawn(takes(s, 1, order, 'b'));
  by.run_until_idle();
  s.release(2);
  by.run_until_idle();
  EXPECT_EQ(order, "");
  EXPECT_EQ(s.try_acquire().error(), acquire_refusal::empty);
  s.release(3);
  by.run_until_idle();
  EXPECT_EQ(order, "ab");
  EXPECT_EQ(s.available(), 1U);
}

TEST(semaphore, first_waiter_reserves_the_available_permits) {
  manual_scheduler by;
  semaphore s(2);
  std::string order;
  auto a = by.spawn(takes(s, 3, order, 'a'));
  by.run_until_idle();
  EXPECT_EQ(s.available(), 0U);
  s.release();
  by.run_until_idle();
  EXPECT_EQ(order, "a");
}

TEST(semaphore, cancelled_wait_passes_its_reserved_permits_to_the_next) {
  manual_scheduler by;
  semaphore s(2);
  std::string order;
  auto a = by.spawn(takes(s, 3, order, 'a'));
  auto b = by.spawn(takes(s, 1, order, 'b'));
  by.run_until_idle();
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "b");
  EXPECT_EQ(s.available(), 1U);
}

TEST(semaphore, cancelled_wait_behind_others_consumes_no_permit) {
  manual_scheduler by;
  semaphore s(0);
  std::string order;
  auto a = by.spawn(takes(s, 1, order, 'a'));
  auto b = by.spawn(takes(s, 1, order, 'b'));
  by.run_until_idle();
  b.cancel();
  by.run_until_idle();
  s.release(2);
  by.run_until_idle();
  EXPECT_EQ(order, "a");
  EXPECT_EQ(s.available(), 1U);
}

// Regression row 5: granted, and cancelled before it runs.
TEST(semaphore, permits_granted_to_a_cancelled_waiter_go_to_the_next) {
  manual_scheduler by;
  semaphore s(0);
  std::string order;
  auto a = by.spawn(takes(s, 2, order, 'a'));
  auto b = by.spawn(takes(s, 2, order, 'b'));
  by.run_until_idle();
  s.release(2);
  a.cancel();
  by.run_until_idle();
  EXPECT_EQ(order, "b");
  EXPECT_EQ(s.available(), 0U);
}

TEST(semaphore, one_release_wakes_more_waiters_than_fit_into_one_batch) {
  manual_scheduler by;
  semaphore s(0);
  std::string order;
  std::vector<join_handle<bool>> all;
  for (int i = 0; i < 100; ++i) all.push_back(by.spawn(takes(s, 1, order, 'x')));
  by.run_until_idle();
  s.release(101);
  by.run_until_idle();
  EXPECT_EQ(order.size(), 100U);
  EXPECT_EQ(s.available(), 1U);
}

TEST(semaphore, close_fails_all_waiters_and_returns_their_reserved_permits) {
  manual_scheduler by;
  semaphore s(1);
  std::string order;
  std::vector<join_handle<bool>> all;
  for (int i = 0; i < 40; ++i) all.push_back(by.spawn(takes(s, 2, order, 'x')));
  by.run_until_idle();
  s.close();
  s.close();
  by.run_until_idle();
  for (auto& each : all) EXPECT_FALSE(each.join());
  EXPECT_TRUE(s.is_closed());
  EXPECT_EQ(s.available(), 1U);
  EXPECT_EQ(s.try_acquire().error(), acquire_refusal::closed);
  EXPECT_EQ(s.blocking_acquire().error(), make_error_code(errc::closed));
  s.release();
  EXPECT_EQ(s.available(), 2U);
}

TEST(semaphore, timed_acquire_returns_its_reserved_permits_on_timeout) {
  manual_scheduler by;
  semaphore s(1);
  auto late = by.spawn(
      [](semaphore& of) -> task<std::error_code> {
        const auto got = co_await of.acquire_for(5ms, 2);
        co_return got.has_value() ? std::error_code() : got.error();
      },
      std::ref(s));
  by.run_with_time();
  EXPECT_EQ(late.join(), make_error_code(errc::timed_out));
  EXPECT_EQ(s.available(), 1U);
}

TEST(semaphore, timed_acquire_reports_a_close_before_its_deadline) {
  manual_scheduler by;
  semaphore s(0);
  auto told = by.spawn(
      [](semaphore& of, manual_scheduler& on) -> task<std::error_code> {
        const auto got = co_await of.acquire_until(on.time + 5ms);
        co_return got.has_value() ? std::error_code() : got.error();
      },
      std::ref(s),
      std::ref(by));
  by.run_until_idle();
  s.close();
  by.run_until_idle();
  EXPECT_EQ(told.join(), make_error_code(errc::closed));
}

TEST(semaphore, thread_waits_with_and_without_a_timeout) {
  semaphore s(1);
  EXPECT_TRUE(s.blocking_acquire());
  EXPECT_EQ(s.blocking_acquire_for(1ms).error(), make_error_code(errc::timed_out));
  EXPECT_EQ(s.blocking_acquire_until(std::chrono::steady_clock::now()).error(),
            make_error_code(errc::timed_out));
  std::thread gives([&] { s.release(2); });
  EXPECT_TRUE(s.blocking_acquire(2));
  gives.join();
  EXPECT_EQ(s.available(), 0U);
}

TEST(semaphore, threads_never_hold_more_permits_than_exist) {
  semaphore s(2);
  std::atomic<int> inside = 0;
  std::atomic<int> most = 0;
  const auto visit = [&] {
    for (int i = 0; i < 500; ++i) {
      ASSERT_TRUE(s.blocking_acquire());
      const auto held = semaphore::permit::adopt(s);
      const int now = ++inside;
      int seen = most;
      while (seen < now && !most.compare_exchange_weak(seen, now)) {
      }
      --inside;
    }
  };
  std::vector<std::thread> all;
  for (int i = 0; i < 4; ++i) all.emplace_back(visit);
  for (auto& each : all) each.join();
  EXPECT_LE(most, 2);
  EXPECT_EQ(s.available(), 2U);
}

TEST(semaphore_death, destroyed_while_a_task_waits) {
  EXPECT_DEATH(
      {
        manual_scheduler by;
        std::optional<semaphore> s(std::in_place, 0U);
        std::string order;
        auto waits = by.spawn(takes(*s, 1, order, 'a'));
        by.run_until_idle();
        s.reset();
      },
      "a sync::semaphore was destroyed while a task or a thread waits");
}

// The granted waiter destroys the semaphore while the other thread is still inside of release().
TEST(semaphore, may_be_destroyed_by_a_waiter_during_release) {
  for (int round = 0; round < 2000; ++round) {
    std::optional<semaphore> s(std::in_place, 0U);
    std::thread gives([&] { s->release(); });
    EXPECT_TRUE(s->blocking_acquire());
    s.reset();
    gives.join();
  }
}

}  // namespace
}  // namespace rota::sync::semaphore_test
