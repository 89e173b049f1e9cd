// The condition variable: who is woken, and that every wait ends with the mutex.
#include "support/manual_scheduler.hpp"

#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rota::sync {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

struct scene {
  manual_scheduler s;
  mutex m;
  condition_variable c;
  int items = 0;  // under the mutex
  std::string order;

  static task<void> takes(scene& x, char name) {
    auto held = co_await x.m.lock();
    co_await x.c.wait(held, [&x] { return x.items > 0; });
    --x.items;
    x.order += name;
  }
  static task<void> waits(scene& x, char name) {
    auto held = co_await x.m.lock();
    co_await x.c.wait(held);
    x.order += name;
    EXPECT_TRUE(x.m.is_locked());
  }
  template <class F>
  std::vector<join_handle<void>> start(F each, const std::string& names) {
    std::vector<join_handle<void>> all;
    for (const char name : names) all.push_back(s.spawn(each(*this, name)));
    s.run_until_idle();
    return all;
  }
  void put(int n) {
    const auto held = m.blocking_lock();
    items += n;
  }
};

TEST(condition_variable, a_predicate_that_is_met_already_waits_for_nothing) {
  scene x;
  x.items = 1;
  const auto all = x.start(scene::takes, "a");
  EXPECT_EQ(x.order, "a");
  EXPECT_FALSE(x.m.is_locked());
}

TEST(condition_variable, the_mutex_is_free_while_one_waits_and_held_after) {
  scene x;
  const auto all = x.start(scene::waits, "a");
  EXPECT_FALSE(x.m.is_locked());
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  EXPECT_FALSE(x.m.is_locked());
}

TEST(condition_variable, notify_one_wakes_who_has_waited_longest) {
  scene x;
  const auto all = x.start(scene::waits, "abc");
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  x.c.notify_one();
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abc");
  x.c.notify_one();  // nobody: nothing is kept
  const auto late = x.start(scene::waits, "d");
  EXPECT_EQ(x.order, "abc");
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abcd");
}

TEST(condition_variable, notify_all_wakes_all_who_wait_and_nobody_who_comes_later) {
  scene x;
  const auto all = x.start(scene::waits, "abc");
  x.c.notify_all();
  const auto late = x.start(scene::waits, "d");
  EXPECT_EQ(x.order, "abc");
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abcd");
}

TEST(condition_variable, a_predicate_that_is_not_met_waits_on) {
  scene x;
  const auto all = x.start(scene::takes, "abc");
  x.put(1);
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  x.put(2);
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abc");
}

// No stampede: with the mutex held nobody is woken, and then one after the other.
TEST(condition_variable, notify_all_under_the_mutex_wakes_nobody_before_it_is_free) {
  scene x;
  const auto all = x.start(scene::waits, "abcdefgh");
  auto held = x.m.blocking_lock();
  x.c.notify_all();
  EXPECT_EQ(x.s.run_until_idle(), 0);
  held.unlock();
  EXPECT_EQ(x.s.run_until_idle(), 8);
  EXPECT_EQ(x.order, "abcdefgh");
}

TEST(condition_variable, a_hundred_are_notified_at_once) {
  scene x;
  const std::string crowd(100, 'r');
  const auto all = x.start(scene::waits, crowd);
  x.c.notify_all();
  EXPECT_EQ(x.s.run_until_idle(), 100);
  EXPECT_EQ(x.order, crowd);
}

TEST(condition_variable, those_that_wait_may_have_different_mutexes) {
  scene x;
  mutex other;
  auto a = x.s.spawn(scene::waits(x, 'a'));
  auto b = x.s.spawn(
      [](scene& of, mutex& with) -> task<void> {
        auto held = co_await with.lock();
        co_await of.c.wait(held);
        EXPECT_TRUE(with.is_locked());
        of.order += 'b';
      },
      std::ref(x),
      std::ref(other));
  auto c = x.s.spawn(scene::waits(x, 'c'));
  x.s.run_until_idle();
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order.size(), 3U);
  EXPECT_FALSE(other.is_locked());
}

/// Notes, when it goes, whether the mutex was held.
struct leaves_a_note {
  scene* of;
  char name;
  leaves_a_note(scene& x, char n) : of(&x), name(n) {}
  leaves_a_note(const leaves_a_note&) = delete;
  leaves_a_note& operator=(const leaves_a_note&) = delete;
  ~leaves_a_note() { of->order += of->m.is_locked() ? name : '!'; }
};

task<void> is_unwound(scene& x, char name) {
  auto held = co_await x.m.lock();
  const leaves_a_note note(x, name);
  co_await x.c.wait(held, [&x] { return x.items > 0; });
}

TEST(condition_variable, who_is_cancelled_has_the_mutex_while_it_unwinds) {
  scene x;
  auto a = x.s.spawn(is_unwound(x, 'a'));
  x.s.run_until_idle();
  a.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  EXPECT_FALSE(x.m.is_locked());
}

TEST(condition_variable, who_is_cancelled_waits_for_the_mutex_before_it_unwinds) {
  scene x;
  auto a = x.s.spawn(is_unwound(x, 'a'));
  x.s.run_until_idle();
  auto held = x.m.blocking_lock();
  a.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "");
  EXPECT_FALSE(a.is_done());
  held.unlock();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "a");
  EXPECT_TRUE(a.is_done());
}

// Regression row 5: it was notified, and is gone before it runs.
TEST(condition_variable, what_notify_one_told_who_is_cancelled_goes_to_the_next) {
  for (const bool holds : {false, true}) {
    scene x;
    auto first = x.s.spawn(scene::takes(x, 'a'));
    auto second = x.s.spawn(scene::takes(x, 'b'));
    x.s.run_until_idle();
    auto held = std::optional(x.m.blocking_lock());
    x.items = 1;
    x.c.notify_one();
    if (!holds) held.reset();  // it has been called already
    first.cancel();
    x.s.run_until_idle();
    held.reset();
    x.s.run_until_idle();
    EXPECT_EQ(x.order, "b");
    EXPECT_FALSE(x.m.is_locked());
  }
}

TEST(condition_variable, who_is_cancelled_after_notify_all_tells_nobody) {
  scene x;
  auto first = x.s.spawn(scene::waits(x, 'a'));
  x.s.run_until_idle();
  x.c.notify_all();
  const auto late = x.s.spawn(scene::waits(x, 'b'));
  first.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "");
  x.c.notify_all();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "b");
}

TEST(condition_variable, what_a_predicate_throws_is_thrown_with_the_mutex) {
  scene x;
  auto throws = x.s.spawn(
      [](scene& of) -> task<void> {
        auto held = co_await of.m.lock();
        const leaves_a_note note(of, 't');
        co_await of.c.wait(held, [&of]() -> bool {
          if (of.items == 1) throw std::runtime_error("broken");
          return false;
        });
      },
      std::ref(x));
  x.s.run_until_idle();
  x.put(1);
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_THROW(throws.join(), std::runtime_error);
  EXPECT_EQ(x.order, "t");
  EXPECT_FALSE(x.m.is_locked());
  auto at_once = x.s.spawn(
      [](scene& of) -> task<void> {
        auto held = co_await of.m.lock();
        co_await of.c.wait(held, []() -> bool { throw std::runtime_error("broken"); });
      },
      std::ref(x));
  x.s.run_until_idle();
  EXPECT_THROW(at_once.join(), std::runtime_error);
  EXPECT_FALSE(x.m.is_locked());
}

task<bool> waits_5ms(scene& x) {
  auto held = co_await x.m.lock();
  const auto in_time = co_await x.c.wait_for(held, 5ms, [&x] { return x.items > 0; });
  EXPECT_TRUE(x.m.is_locked());
  co_return in_time.has_value();
}

TEST(condition_variable, a_limit_ends_it_with_the_mutex) {
  scene x;
  auto late = x.s.spawn(waits_5ms(x));
  auto plain = x.s.spawn(
      [](scene& of) -> task<bool> {
        auto held = co_await of.m.lock();
        const auto in_time = co_await of.c.wait_until(held, of.s.time + 5ms);
        EXPECT_TRUE(of.m.is_locked());
        co_return in_time.has_value();
      },
      std::ref(x));
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(plain.join());
  EXPECT_FALSE(x.m.is_locked());
}

TEST(condition_variable, a_notification_in_time) {
  scene x;
  auto in_time = x.s.spawn(waits_5ms(x));
  x.s.run_until_idle();
  x.put(1);
  x.c.notify_one();
  x.s.run_until_idle();
  EXPECT_TRUE(in_time.join());
}

// Nobody notifies, or too late; but what counts is what is found with the mutex.
TEST(condition_variable, a_predicate_that_is_met_when_the_limit_passes_is_in_time) {
  scene x;
  auto in_time = x.s.spawn(waits_5ms(x));
  x.s.run_until_idle();
  x.put(1);
  x.s.run_with_time();
  EXPECT_TRUE(in_time.join());
}

TEST(condition_variable, a_late_one_passes_its_notification_on) {
  scene x;
  auto late = x.s.spawn(waits_5ms(x));
  x.s.run_until_idle();
  auto next = x.s.spawn(scene::takes(x, 'b'));
  x.s.run_until_idle();
  auto held = x.m.blocking_lock();
  x.c.notify_one();  // to the first, which cannot have the mutex yet
  x.s.advance(5ms);
  x.s.run_until_idle();
  x.items = 2;
  held.unlock();
  x.s.run_until_idle();
  EXPECT_TRUE(late.join());
  EXPECT_EQ(x.order, "b");
}

TEST(condition_variable_death, a_guard_without_a_lock) {
  mutex m;
  condition_variable c;
  auto held = m.blocking_lock();
  held.unlock();
  EXPECT_DEATH(c.blocking_wait(held), "with a guard that has no lock");
}

TEST(condition_variable_death, destroyed_while_somebody_waits) {
  EXPECT_DEATH(
      {
        manual_scheduler s;
        mutex m;
        std::optional<condition_variable> c(std::in_place);
        auto waits = s.spawn(
            [](mutex& with, condition_variable& in) -> task<void> {
              auto held = co_await with.lock();
              co_await in.wait(held);
            },
            std::ref(m),
            std::ref(*c));
        s.run_until_idle();
        c.reset();
      },
      "destroyed while somebody waits in it");
}

/// A queue of numbers, for whoever likes.
struct queue {
  mutex m;
  condition_variable not_empty;
  std::deque<int> numbers;
  bool ended = false;
  int sum = 0;
  int taken = 0;

  [[nodiscard]] auto changed() {
    return [this] { return !numbers.empty() || ended; };
  }
  /// With the mutex. False: it has ended.
  bool take() {
    if (numbers.empty()) return false;
    sum += numbers.front();
    ++taken;
    numbers.pop_front();
    return true;
  }
  static task<void> consumes(queue& q) {
    for (;;) {
      auto held = co_await q.m.lock();
      co_await q.not_empty.wait(held, q.changed());
      if (!q.take()) co_return;
    }
  }
  void blocks() {
    for (;;) {
      auto held = m.blocking_lock();
      not_empty.blocking_wait(held, changed());
      if (!take()) return;
    }
  }
  void put_all(int n) {
    for (int i = 1; i <= n; ++i) {
      {
        const auto held = m.blocking_lock();
        numbers.push_back(i);
      }
      not_empty.notify_one();
    }
  }
  void end() {
    const auto held = m.blocking_lock();
    ended = true;
    not_empty.notify_all();
  }
};

TEST(condition_variable, is_shared_by_runtimes_a_pool_and_threads) {
  queue q;
  runtime one;
  runtime two;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 2});
  auto a = one.spawn(queue::consumes(q));
  auto b = two.spawn(queue::consumes(q));
  auto c = works.submit([&] { q.blocks(); });
  std::thread d([&] { q.blocks(); });
  std::thread p([&] { q.put_all(1000); });
  q.put_all(1000);
  p.join();
  q.end();
  a.join();
  b.join();
  EXPECT_TRUE(c.wait_for(std::chrono::hours(1)));
  d.join();
  EXPECT_EQ(q.taken, 2000);
  EXPECT_EQ(q.sum, 1001000);
}

TEST(condition_variable, threads_with_a_limit_give_up_with_the_mutex) {
  mutex m;
  condition_variable c;
  auto held = m.blocking_lock();
  EXPECT_FALSE(c.blocking_wait_for(held, 0s).has_value());
  EXPECT_FALSE(c.blocking_wait_for(held, 1ms, [] { return false; }).has_value());
  EXPECT_TRUE(c.blocking_wait_for(held, 0s, [] { return true; }).has_value());
  EXPECT_FALSE(c.blocking_wait_until(held, std::chrono::steady_clock::now()).has_value());
  EXPECT_FALSE(
      c.blocking_wait_until(held, std::chrono::steady_clock::now(), [] { return false; }).has_value());
  EXPECT_TRUE(static_cast<bool>(held));
  EXPECT_FALSE(m.try_lock().has_value());
}

// The pool has one thread: who blocks there counts as absent, so the other work runs.
TEST(condition_variable, a_work_that_blocks_makes_room_for_another) {
  mutex m;
  condition_variable c;
  bool ready = false;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  auto blocked = works.submit([&] {
    auto held = m.blocking_lock();
    c.blocking_wait(held, [&] { return ready; });
  });
  auto frees = works.submit([&] {
    const auto held = m.blocking_lock();
    ready = true;
    c.notify_one();
  });
  EXPECT_TRUE(frees.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
}

// With the mutex: what goes while the work unwinds goes under it.
TEST(condition_variable, a_force_stop_reaches_a_work_that_blocks_with_the_mutex) {
  mutex m;
  condition_variable c;
  struct note {
    mutex* of;
    bool* was_locked;
    note(mutex& with, bool& at) : of(&with), was_locked(&at) {}
    note(const note&) = delete;
    note& operator=(const note&) = delete;
    ~note() { *was_locked = of->is_locked(); }
  };
  bool was_locked = false;
  std::atomic<bool> begun = false;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  auto blocked = works.submit([&] {
    auto held = m.blocking_lock();
    const note at_the_end(m, was_locked);
    begun = true;
    c.blocking_wait(held);
  });
  while (!begun) std::this_thread::yield();
  auto held = m.blocking_lock();  // it waits
  blocked.force_stop();
  held.unlock();
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
  EXPECT_EQ(blocked.status(), pool::work_status::force_stopped);
  EXPECT_TRUE(was_locked);
  EXPECT_FALSE(m.is_locked());
}

TEST(condition_variable, a_task_that_blocks_lends_its_worker) {
  queue q;
  runtime one(runtime_options{.workers = 1});
  auto blocked = one.spawn(
      [](queue& of) -> task<void> {
        of.blocks();
        co_return;
      },
      std::ref(q));
  auto puts = one.spawn(
      [](queue& of) -> task<void> {
        of.put_all(3);
        of.end();
        co_return;
      },
      std::ref(q));
  puts.join();
  blocked.join();
  EXPECT_EQ(q.taken, 3);
}

TEST(condition_variable, works_on_a_testing_runtime) {
  testing::runtime alone;
  queue q;
  alone.block_on(
      [](queue& of) -> task<void> {
        auto consumer = spawn(queue::consumes(of));
        co_await yield();
        of.put_all(3);
        of.end();
        co_await consumer;
      },
      std::ref(q));
  EXPECT_EQ(q.taken, 3);
}

// In its tasks nobody else can run while one blocks.
TEST(condition_variable, a_blocking_wait_with_a_limit_on_a_testing_runtime_is_over_at_once) {
  testing::runtime alone;
  queue q;
  EXPECT_FALSE(alone.block_on(
      [](queue& of) -> task<bool> {
        auto held = of.m.blocking_lock();
        const auto in_time = of.not_empty.blocking_wait_for(held, 1h, of.changed());
        EXPECT_TRUE(of.m.is_locked());
        co_return in_time.has_value();
      },
      std::ref(q)));
  EXPECT_FALSE(q.m.is_locked());
}

// A shutdown cancels who waits; the wait locks the mutex, which a task that goes, too, still has.
TEST(condition_variable, a_shutdown_ends_it) {
  mutex m;
  condition_variable c;
  {
    runtime one;
    for (int i = 0; i < 4; ++i) {
      one.spawn(
             [](mutex& with, condition_variable& in) -> task<void> {
               auto held = co_await with.lock();
               co_await in.wait(held);
             },
             std::ref(m),
             std::ref(c))
          .detach();
    }
    one.spawn(
           [](mutex& with) -> task<void> {
             const auto held = co_await with.lock();
             co_await sleep_for(1h);
           },
           std::ref(m))
        .detach();
  }
  EXPECT_FALSE(m.is_locked());
}

}  // namespace
}  // namespace rota::sync
