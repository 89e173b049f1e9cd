// Regression row 21: forty tasks wait for a primitive. Each task runs inside of its wake and uses the
// primitive again before the next one is woken. If the wake held a lock, the thread would take it twice.
#include "support/manual_scheduler.hpp"

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

#include <vector>

namespace rota::sync::reentrant_test {
namespace {

using test::manual_scheduler;

constexpr int crowd = 40;
static_assert(crowd > 4 * static_cast<int>(core::wait_section::capacity));

/// begin() makes all tasks wait. From then on a woken task runs at once, inside of the wake.
struct scene {
  template <class F>
  void begin(F each, int count = crowd) {
    for (int i = 0; i < count; ++i) all.push_back(by.spawn(each()));
    by.run_until_idle();
    by.at_once = true;
  }
  [[nodiscard]] int ended() const { return by.ended.load(); }

  int first = 0;
  int second = 0;
  manual_scheduler by;
  std::vector<join_handle<void>> all;
};

task<void> calls_and_waits_again(notify& n, scene& s) {
  co_await n.wait();
  ++s.first;
  n.notify_one();
  co_await n.wait();
  ++s.second;
}

// The call grants all waiters before it wakes the first, so each inner call is a permit for a second wait.
TEST(reentrant, notify_one_may_be_called_inside_a_wake_of_notify_all) {
  notify n;
  scene s;
  s.begin([&] { return calls_and_waits_again(n, s); });
  n.notify_all();
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
  EXPECT_FALSE(n.try_wait());
}

task<void> waits_twice_for_all(notify& n, scene& s) {
  co_await n.wait();
  ++s.first;
  co_await n.wait();
  ++s.second;
}

TEST(reentrant, notify_may_be_awaited_again_inside_its_wake) {
  notify n;
  scene s;
  s.begin([&] { return waits_twice_for_all(n, s); });
  n.notify_all();
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, 0);
  n.notify_all();
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
}

task<void> resets_and_waits_again(event& e, scene& s) {
  co_await e.wait();
  if (++s.first == 1) e.reset();
  co_await e.wait();
  ++s.second;
  e.set();
}

TEST(reentrant, event_may_be_reset_and_awaited_inside_its_wake) {
  event e;
  scene s;
  s.begin([&] { return resets_and_waits_again(e, s); });
  e.set();
  EXPECT_EQ(s.first, crowd);  // all waited when the event was set
  EXPECT_EQ(s.second, 0);
  e.set();
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
}

task<void> acquires_twice(semaphore& of, scene& s) {
  const auto got = co_await of.acquire();
  EXPECT_TRUE(got.has_value());
  ++s.first;
  of.release();
  const auto again = co_await of.acquire(2);
  EXPECT_TRUE(again.has_value());
  ++s.second;
  of.release(2);
}

TEST(reentrant, semaphore_may_be_acquired_inside_its_wake) {
  semaphore of(0);
  scene s;
  s.begin([&] { return acquires_twice(of, s); });
  of.release(crowd);
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
  EXPECT_EQ(of.available(), static_cast<semaphore::count>(crowd));
}

task<void> is_refused_twice(semaphore& of, scene& s) {
  const auto got = co_await of.acquire();
  EXPECT_TRUE(!got.has_value() && got.error() == errc::closed);
  ++s.first;
  EXPECT_EQ(of.try_acquire().error(), acquire_refusal::closed);
  of.release();  // no waiter gets it: the remaining ones are refused, too
  of.close();
  const auto again = co_await of.acquire();
  EXPECT_TRUE(!again.has_value() && again.error() == errc::closed);
  ++s.second;
}

TEST(reentrant, semaphore_may_be_used_inside_the_wake_of_its_close) {
  semaphore of(0);
  scene s;
  s.begin([&] { return is_refused_twice(of, s); });
  of.close();
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
  EXPECT_EQ(of.available(), static_cast<semaphore::count>(crowd));
}

task<void> locks_twice(mutex& m, scene& s) {
  {
    const auto held = co_await m.lock();
    ++s.first;
    EXPECT_FALSE(m.try_lock().has_value());
  }
  const auto again = co_await m.lock();
  ++s.second;
}

TEST(reentrant, mutex_may_be_locked_again_inside_its_wake) {
  mutex m;
  scene s;
  auto held = m.try_lock();
  s.begin([&] { return locks_twice(m, s); });
  held.reset();
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
  EXPECT_FALSE(m.is_locked());
}

task<void> reads_and_writes(shared_mutex& m, scene& s) {
  {
    const auto reads = co_await m.lock_shared();
    ++s.first;
    EXPECT_FALSE(m.try_lock().has_value());
  }
  const auto writes = co_await m.lock();
  ++s.second;
  EXPECT_FALSE(m.try_lock_shared().has_value());
}

TEST(reentrant, shared_mutex_may_be_locked_again_inside_its_wake) {
  shared_mutex m;
  scene s;
  auto held = m.try_lock();
  s.begin([&] { return reads_and_writes(m, s); });
  held.reset();
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
  EXPECT_FALSE(m.is_locked());
  EXPECT_EQ(m.readers(), 0U);
}

task<void> waits_twice(latch& l, scene& s) {
  co_await l.wait();
  ++s.first;
  l.count_down(0);
  co_await l.wait();
  ++s.second;
}

TEST(reentrant, latch_may_be_awaited_again_inside_its_wake) {
  latch l(2);
  scene s;
  s.begin([&] { return waits_twice(l, s); });
  l.count_down();
  EXPECT_EQ(s.first, 0);
  l.count_down();
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
}

task<void> arrives_twice(barrier& b, scene& s, int& leaders) {
  const barrier::passage passed = co_await b.arrive_and_wait();
  EXPECT_EQ(passed.generation, 0U);
  ++s.first;
  const barrier::passage again = co_await b.arrive_and_wait();
  EXPECT_EQ(again.generation, 1U);
  ++s.second;
  leaders += (passed.is_leader ? 1 : 0) + (again.is_leader ? 1 : 0);
}

TEST(reentrant, barrier_may_be_used_again_inside_its_wake) {
  barrier b(crowd + 1);
  scene s;
  int leaders = 0;
  s.begin([&] { return arrives_twice(b, s, leaders); });
  EXPECT_TRUE(b.arrive().is_leader());
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(b.arrived(), static_cast<barrier::count>(crowd));
  EXPECT_EQ(s.second, 0);
  EXPECT_TRUE(b.arrive().is_leader());
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(leaders, 0);
  EXPECT_EQ(s.ended(), crowd);
}

task<void> hears_and_calls(mutex& m, condition_variable& changed, int& round, scene& s) {
  auto held = co_await m.lock();
  co_await changed.wait(held, [&] { return round == 1; });
  ++s.first;
  changed.notify_all();
  co_await changed.wait(held, [&] { return round == 2; });
  ++s.second;
}

TEST(reentrant, condition_variable_may_be_notified_inside_its_wake) {
  mutex m;
  condition_variable changed;
  int round = 0;
  scene s;
  s.begin([&] { return hears_and_calls(m, changed, round, s); });
  // A task that is woken from within its own unlock runs after that unlock.
  round = 1;
  changed.notify_all();
  s.by.run_until_idle();
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, 0);
  round = 2;
  changed.notify_all();
  s.by.run_until_idle();
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
  EXPECT_FALSE(m.is_locked());
}

task<void> looks_twice(once_cell<int>& cell, scene& s) {
  const int& seen = co_await cell.wait();
  s.first += seen == 7 ? 1 : 0;
  EXPECT_EQ(cell.set(8).error(), set_refusal::full);
  const int& again = co_await cell.get_or_init([] { return 9; });
  s.second += &again == &seen ? 1 : 0;
}

TEST(reentrant, once_cell_may_be_read_again_inside_its_wake) {
  once_cell<int> cell;
  scene s;
  s.begin([&] { return looks_twice(cell, s); });
  EXPECT_TRUE(cell.set(7).has_value());
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd);
}

task<void> runs_twice(strand& line, scene& s) {
  co_await line.run([&s] { ++s.first; });
  co_await line.run([&s] { ++s.second; });
}

TEST(reentrant, strand_may_run_another_function_inside_its_wake) {
  strand line;
  scene s;
  event goes_on;
  auto before = s.by.spawn(
      [](strand& in, event& until) -> task<void> {
        co_await in.run([&until]() -> task<void> { co_await until.wait(); });
      },
      std::ref(line),
      std::ref(goes_on));
  s.begin([&] { return runs_twice(line, s); });
  EXPECT_EQ(s.first, 0);
  goes_on.set();
  EXPECT_EQ(s.first, crowd);
  EXPECT_EQ(s.second, crowd);
  EXPECT_EQ(s.ended(), crowd + 1);
  EXPECT_FALSE(line.is_busy());
}

}  // namespace
}  // namespace rota::sync::reentrant_test
