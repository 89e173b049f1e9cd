// The promised names of the primitives by which tasks and threads wait for each other.
#include <rota/rota.hpp>
#include <rota/sync/barrier.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/latch.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/sync/shared_mutex.hpp>
#include <rota/sync/strand.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace sync = rota::sync;

std::chrono::steady_clock::time_point soon() { return std::chrono::steady_clock::now() + 1h; }

TEST(public_api, mutex_locks_and_times_out) {
  sync::mutex m;
  rota::run([&]() -> rota::task<void> {
    {
      sync::mutex::guard held = co_await m.lock();
      EXPECT_TRUE(held);
      EXPECT_TRUE(m.is_locked());
      EXPECT_FALSE(m.try_lock().has_value());
      const std::expected<sync::mutex::guard, rota::timed_out> late = co_await m.lock_for(1ns);
      EXPECT_FALSE(late.has_value());
      held.unlock();
      EXPECT_FALSE(held);
    }
    const bool got_first = (co_await m.lock_for(1h)).has_value();
    EXPECT_TRUE(got_first);
    const bool got_second = (co_await m.lock_until(soon())).has_value();
    EXPECT_TRUE(got_second);
  });
  std::optional<sync::mutex::guard> tried = m.try_lock();
  EXPECT_TRUE(tried.has_value());
  EXPECT_FALSE(m.blocking_lock_for(1ns).has_value());
  tried.reset();
  EXPECT_TRUE(m.blocking_lock_for(1.5h).has_value());
  EXPECT_TRUE(m.blocking_lock_until(soon()).has_value());
  const sync::mutex::guard held = m.blocking_lock();
  EXPECT_TRUE(held);
}

TEST(public_api, shared_mutex_admits_readers_or_one_writer) {
  sync::shared_mutex m;
  rota::run([&]() -> rota::task<void> {
    {
      sync::shared_mutex::guard writes = co_await m.lock();
      EXPECT_TRUE(m.is_locked());
      const bool got_first = (co_await m.lock_shared_for(1ns)).has_value();
      EXPECT_FALSE(got_first);
      const sync::shared_mutex::shared_guard reads = sync::shared_mutex::downgrade(std::move(writes));
      EXPECT_FALSE(writes);  // NOLINT(bugprone-use-after-move): it is empty now
      EXPECT_FALSE(m.is_locked());
      const sync::shared_mutex::shared_guard beside = co_await m.lock_shared();
      EXPECT_EQ(m.readers(), 2U);
      EXPECT_FALSE(m.try_lock().has_value());
      EXPECT_TRUE(m.try_lock_shared().has_value());
      const bool got_second = (co_await m.lock_for(1ns)).has_value();
      EXPECT_FALSE(got_second);
    }
    const bool got_third = (co_await m.lock_for(1h)).has_value();
    EXPECT_TRUE(got_third);
    const bool got_fourth = (co_await m.lock_until(soon())).has_value();
    EXPECT_TRUE(got_fourth);
    const bool got_fifth = (co_await m.lock_shared_until(soon())).has_value();
    EXPECT_TRUE(got_fifth);
  });
  EXPECT_TRUE(m.blocking_lock());
  EXPECT_TRUE(m.blocking_lock_shared());
  EXPECT_TRUE(m.blocking_lock_for(1h).has_value());
  EXPECT_TRUE(m.blocking_lock_until(soon()).has_value());
  EXPECT_TRUE(m.blocking_lock_shared_for(1h).has_value());
  EXPECT_TRUE(m.blocking_lock_shared_until(soon()).has_value());
}

TEST(public_api, semaphore_grants_permits_and_times_out) {
  sync::semaphore s(3);
  rota::run([&]() -> rota::task<void> {
    const std::expected<void, std::error_code> got = co_await s.acquire(2);
    EXPECT_TRUE(got.has_value());
    EXPECT_EQ(s.available(), 1U);
    EXPECT_EQ(s.try_acquire(2).error(), sync::acquire_refusal::empty);
    const std::expected<void, std::error_code> late = co_await s.acquire_for(1ns, 2);
    EXPECT_EQ(late.error(), rota::errc::timed_out);
    const bool got_first = (co_await s.acquire_until(soon())).has_value();
    EXPECT_TRUE(got_first);
    s.release(3);
  });
  EXPECT_TRUE(s.try_acquire().has_value());
  EXPECT_TRUE(s.blocking_acquire().has_value());
  {
    const auto given_back = sync::semaphore::permit::adopt(s);
    EXPECT_EQ(given_back.permits(), 1U);
  }
  EXPECT_TRUE(s.blocking_acquire_for(1h).has_value());
  EXPECT_TRUE(s.blocking_acquire_until(soon()).has_value());
  s.release(5);
  EXPECT_EQ(s.forget_permits(3), 3U);
  EXPECT_EQ(s.available(), 2U);
  EXPECT_EQ(s.forget_permits(3), 2U);  // there are no more
  EXPECT_EQ(s.try_acquire().error(), sync::acquire_refusal::empty);
  s.close();
  EXPECT_TRUE(s.is_closed());
  EXPECT_EQ(s.try_acquire().error(), sync::acquire_refusal::closed);
  EXPECT_EQ(s.blocking_acquire().error(), rota::errc::closed);
}

TEST(public_api, notify_wakes_waiters_and_times_out) {
  sync::notify n;
  n.notify_one();
  EXPECT_TRUE(n.try_wait());
  n.notify_all();  // no task waits: nothing is stored
  EXPECT_FALSE(n.try_wait());
  rota::run([&]() -> rota::task<void> {
    auto all = n.wait();
    n.notify_all();  // it has been asked already
    co_await all;
    n.notify_one();
    co_await n.wait();
    const bool got_first = (co_await n.wait_for(1ns)).has_value();
    EXPECT_FALSE(got_first);
    n.notify_one();
    const bool got_second = (co_await n.wait_until(soon())).has_value();
    EXPECT_TRUE(got_second);
  });
  n.notify_one();
  n.blocking_wait();
  EXPECT_FALSE(n.blocking_wait_for(1ns).has_value());
  n.notify_one();
  EXPECT_TRUE(n.blocking_wait_until(soon()).has_value());
}

TEST(public_api, event_lets_waiters_pass_while_it_is_set) {
  sync::event manual;
  EXPECT_FALSE(manual.is_set());
  manual.set();
  rota::run([&]() -> rota::task<void> {
    co_await manual.wait();
    const bool got_first = (co_await manual.wait_for(1h)).has_value();
    EXPECT_TRUE(got_first);
    const bool got_second = (co_await manual.wait_until(soon())).has_value();
    EXPECT_TRUE(got_second);
  });
  manual.blocking_wait();
  EXPECT_TRUE(manual.blocking_wait_for(1h).has_value());
  EXPECT_TRUE(manual.blocking_wait_until(soon()).has_value());
  manual.reset();
  EXPECT_FALSE(manual.try_wait());

  sync::event automatic(sync::event_reset::automatic, sync::event_state::set);
  EXPECT_TRUE(automatic.try_wait());
  EXPECT_FALSE(automatic.is_set());
}

TEST(public_api, latch_opens_when_its_count_reaches_zero) {
  sync::latch l(3);
  EXPECT_FALSE(l.try_wait());
  EXPECT_FALSE(l.blocking_wait_for(1ns).has_value());
  l.count_down();
  l.count_down(2);
  EXPECT_EQ(l.left(), 0U);
  rota::run([&]() -> rota::task<void> {
    co_await l.wait();
    const bool got_first = (co_await l.wait_for(1h)).has_value();
    EXPECT_TRUE(got_first);
    const bool got_second = (co_await l.wait_until(soon())).has_value();
    EXPECT_TRUE(got_second);
  });
  l.blocking_wait();
  EXPECT_TRUE(l.blocking_wait_until(soon()).has_value());
}

TEST(public_api, barrier_passes_after_separate_arrive_and_wait) {
  sync::barrier b(2);
  const sync::barrier::arrival mine = b.arrive();
  EXPECT_FALSE(b.try_wait(mine));
  EXPECT_FALSE(b.blocking_wait_for(mine, 1ns).has_value());
  EXPECT_TRUE(b.arrive().is_leader());
  rota::run([&]() -> rota::task<void> {
    const sync::barrier::passage passed = co_await b.wait(mine);
    EXPECT_EQ(passed.generation, 0U);
    const auto in_time = co_await b.wait_for(mine, 1h);
    EXPECT_TRUE(in_time.has_value());
    const auto then = co_await b.wait_until(mine, soon());
    EXPECT_TRUE(then.has_value());
  });
  EXPECT_EQ(b.blocking_wait(mine).generation, 0U);
}

TEST(public_api, barrier_passes_each_generation_and_undoes_a_late_arrival) {
  sync::barrier b(2);
  EXPECT_EQ(b.participants(), 2U);
  int leaders = 0;
  rota::run([&]() -> rota::task<void> {
    const auto arrives = [&]() -> rota::task<std::uint32_t> {
      const sync::barrier::passage first = co_await b.arrive_and_wait();
      EXPECT_EQ(first.generation, 0U);
      const auto second = co_await b.arrive_and_wait_for(1h);
      const auto third = co_await b.arrive_and_wait_until(soon());
      if (first.is_leader) leaders += 1;
      EXPECT_EQ(second.value().generation, 1U);
      co_return third.value().generation;
    };
    const auto [one, other] = co_await rota::when_all(arrives(), arrives());
    EXPECT_EQ(one, 2U);
    EXPECT_EQ(other, 2U);
    const bool got_first = (co_await b.arrive_and_wait_for(1ns)).has_value();
    EXPECT_FALSE(got_first);
  });
  EXPECT_EQ(leaders, 1);
  EXPECT_EQ(b.arrived(), 0U);  // the late arrival was taken back
  b.arrive_and_drop();
  EXPECT_EQ(b.participants(), 1U);
  EXPECT_TRUE(b.blocking_arrive_and_wait().is_leader);
  EXPECT_TRUE(b.blocking_arrive_and_wait_for(1h).has_value());
  EXPECT_TRUE(b.blocking_arrive_and_wait_until(soon()).has_value());
}

TEST(public_api, once_cell_is_initialized_once) {
  sync::once_cell<int> cell;
  EXPECT_EQ(cell.get(), nullptr);
  rota::run([&]() -> rota::task<void> {
    const bool got_first = (co_await cell.wait_for(1ns)).has_value();
    EXPECT_FALSE(got_first);
    auto throws = cell.get_or_init([]() -> int { throw std::runtime_error("not yet"); });
    bool threw = false;
    try {
      co_await std::move(throws);
    } catch (const std::runtime_error&) {
      threw = true;
    }
    EXPECT_TRUE(threw);
    EXPECT_EQ(cell.get(), nullptr);
    int& made = co_await cell.get_or_init([]() -> rota::task<int> { co_return 7; });
    EXPECT_EQ(made, 7);
    const auto* got_second = &co_await cell.wait();
    EXPECT_EQ(got_second, &made);
    const auto got_third = (co_await cell.wait_until(soon())).value();
    EXPECT_EQ(got_third, &made);
  });
  EXPECT_EQ(*cell.get(), 7);
  EXPECT_EQ(cell.set(8).error(), sync::set_refusal::full);
  EXPECT_EQ(cell.blocking_get_or_init([] { return 9; }), 7);
  EXPECT_EQ(cell.blocking_wait(), 7);
  EXPECT_EQ(*cell.blocking_wait_for(1h).value(), 7);
  EXPECT_EQ(*cell.blocking_wait_until(soon()).value(), 7);
  sync::once_cell<int> other;
  EXPECT_TRUE(other.set(8).has_value());
}

TEST(public_api, once_cell_initialization_times_out) {
  sync::once_cell<int> cell;
  sync::once_cell<int> other;
  rota::run([&]() -> rota::task<void> {
    const auto slowly = []() -> rota::task<int> {
      co_await rota::sleep_for(1h);
      co_return 6;
    };
    const std::expected<int*, rota::timed_out> late = co_await cell.get_or_init_for(1ns, slowly);
    EXPECT_FALSE(late.has_value());
    EXPECT_EQ(cell.get(), nullptr);
    const std::expected<int*, rota::timed_out> made = co_await cell.get_or_init_for(1h, [] { return 7; });
    EXPECT_EQ(**made, 7);
    const std::expected<int*, rota::timed_out> then =
        co_await other.get_or_init_until(soon(), []() -> rota::task<int> { co_return 8; });
    EXPECT_EQ(**then, 8);
  });
  sync::once_cell<int> of_threads;
  int calls = 0;
  const auto make = [&] {
    // The value is being made: a caller with a limit times out meanwhile.
    std::jthread comes([&] {
      EXPECT_FALSE(of_threads.blocking_get_or_init_for(1ns, [] { return 0; }).has_value());
      const auto now = std::chrono::steady_clock::now();
      EXPECT_FALSE(of_threads.blocking_get_or_init_until(now, [] { return 0; }).has_value());
    });
    return ++calls;
  };
  EXPECT_EQ(**of_threads.blocking_get_or_init_for(1h, make), 1);
  EXPECT_EQ(**of_threads.blocking_get_or_init_until(soon(), make), 1);
  EXPECT_EQ(calls, 1);
}

TEST(public_api, condition_variable_waits_for_its_predicate) {
  sync::mutex m;
  sync::condition_variable changed;
  int items = 0;
  rota::run([&]() -> rota::task<void> {
    const auto gives = [&]() -> rota::task<void> {
      for (int i = 0; i < 5; ++i) {
        {
          const sync::mutex::guard held = co_await m.lock();
          ++items;
        }
        changed.notify_one();
      }
    };
    const auto takes = [&]() -> rota::task<void> {
      sync::mutex::guard held = co_await m.lock();
      co_await changed.wait(held, [&] { return items > 0; });
      --items;
      while (items == 0) co_await changed.wait(held);
      --items;
      const bool got_first = (co_await changed.wait_for(held, 1h, [&] { return items > 0; })).has_value();
      EXPECT_TRUE(got_first);
      --items;
      const bool got_second =
          (co_await changed.wait_until(held, soon(), [&] { return items > 1; })).has_value();
      EXPECT_TRUE(got_second);
      items -= 2;
      const bool got_third = (co_await changed.wait_for(held, 1ns)).has_value();
      EXPECT_FALSE(got_third);
    };
    co_await rota::when_all(takes(), gives());
    changed.notify_all();
  });
  EXPECT_EQ(items, 0);
  std::jthread gives([&] {
    const sync::mutex::guard held = m.blocking_lock();
    items = 1;
    changed.notify_all();
  });
  sync::mutex::guard held = m.blocking_lock();
  changed.blocking_wait(held, [&] { return items == 1; });
  EXPECT_TRUE(changed.blocking_wait_for(held, 1h, [&] { return items == 1; }).has_value());
  EXPECT_TRUE(changed.blocking_wait_until(held, soon(), [&] { return items == 1; }).has_value());
  EXPECT_FALSE(changed.blocking_wait_for(held, 1ns).has_value());
}

TEST(public_api, strand_runs_its_calls_in_order) {
  sync::strand s;
  rota::run([&]() -> rota::task<void> {
    int calls = 0;
    const auto got_first = co_await s.run([&](int n) { return s.running_here() ? n + ++calls : 0; }, 1);
    EXPECT_EQ(got_first, 2);
    const auto got_second = co_await s.run([&]() -> rota::task<int> { co_return ++calls; });
    EXPECT_EQ(got_second, 2);
    auto first = s.post([&] { ++calls; });
    auto then = s.post([&] { return calls; });
    const auto got_third = co_await then;
    EXPECT_EQ(got_third, 3);
    co_await first;
    EXPECT_EQ(s.blocking_run([&] { return calls; }), 3);
    EXPECT_FALSE(s.is_busy());
    s.close();
    EXPECT_TRUE(s.is_closed());
    co_await s.join();
  });
  EXPECT_THROW(s.blocking_run([] {}), rota::error);
  s.blocking_join();
}

TEST(public_api, strand_calls_time_out_while_it_is_busy) {
  sync::strand s;
  int calls = 0;
  EXPECT_EQ(s.try_run([&] { return ++calls; }), 1);
  EXPECT_EQ(s.blocking_run_until(soon(), [&] { return ++calls; }), 2);
  EXPECT_EQ(s.blocking_run_for(1h, [&] { return ++calls; }), 3);
  rota::runtime rt({.workers = 1});
  EXPECT_EQ(s.post_on(rt, [&](int n) { return n + ++calls; }, 10).join(), 14);
  rota::run([&]() -> rota::task<void> {
    const std::expected<int, rota::timed_out> got = co_await s.run_until(soon(), [&] { return ++calls; });
    EXPECT_EQ(got, 5);
    const auto in_time = co_await s.run_for(1h, [&] { return ++calls; });
    EXPECT_EQ(in_time, 6);
  });
  // During a turn no other call may run.
  s.blocking_run([&] {
    std::jthread comes([&] {
      EXPECT_EQ(s.try_run([&] { ++calls; }).error(), sync::turn_refusal::busy);
      const auto now = std::chrono::steady_clock::now();
      EXPECT_FALSE(s.blocking_run_until(now, [&] { ++calls; }).has_value());
      EXPECT_FALSE(s.blocking_join_until(now).has_value());
      EXPECT_FALSE(s.blocking_join_for(1ns).has_value());
      rota::run([&]() -> rota::task<void> {
        const std::expected<void, rota::timed_out> late = co_await s.join_until(now);
        EXPECT_FALSE(late.has_value());
      });
    });
  });
  EXPECT_EQ(calls, 6);
  EXPECT_TRUE(s.is_closed());
  EXPECT_EQ(s.try_run([] {}).error(), sync::turn_refusal::closed);
  rota::run([&]() -> rota::task<void> {
    const auto joined = co_await s.join_until(soon());
    EXPECT_TRUE(joined.has_value());
    const auto again = co_await s.join_for(1h);
    EXPECT_TRUE(again.has_value());
  });
  EXPECT_TRUE(s.blocking_join_until(soon()).has_value());
  EXPECT_TRUE(s.blocking_join_for(1h).has_value());
}

}  // namespace
