// Wakers: what they wake, how often, and which references they own.
#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "unit/task/task_support.hpp"

namespace rota::waker_test {
namespace {

using test::event;
using test::manual_scheduler;

static_assert(sizeof(waker) == 16, "a pointer and a table");
static_assert(!std::is_copy_constructible_v<waker> && !std::is_copy_assignable_v<waker>,
              "copies are made by clone()");
static_assert(std::is_nothrow_move_constructible_v<waker> && std::is_nothrow_move_assignable_v<waker>);

/// Counts the calls of each operation.
struct counts {
  int wakes = 0;
  int by_ref = 0;
  int clones = 0;
  int drops = 0;

  static counts& of(void* data) noexcept { return *static_cast<counts*>(data); }
  waker make();
};

constexpr waker_vtable counting{
    [](void* data) noexcept { ++counts::of(data).wakes; },
    [](void* data) noexcept { ++counts::of(data).by_ref; },
    [](void* data) noexcept {
      ++counts::of(data).clones;
      return data;
    },
    [](void* data) noexcept { ++counts::of(data).drops; },
};

waker counts::make() { return {this, &counting}; }

TEST(waker, empty_waker_does_nothing) {
  waker w;
  EXPECT_FALSE(static_cast<bool>(w));
  w.wake();
  w.wake_by_ref();
  EXPECT_FALSE(static_cast<bool>(w.clone()));
  EXPECT_TRUE(w.will_wake(waker()));
}

TEST(waker, wake_consumes_the_waker) {
  counts c;
  waker w = c.make();
  w.wake();
  EXPECT_FALSE(static_cast<bool>(w));
  w.wake();
  EXPECT_EQ(c.wakes, 1);
  EXPECT_EQ(c.drops, 0) << "the reference went with the wake";
}

TEST(waker, wake_by_ref_keeps_the_waker) {
  counts c;
  {
    const waker w = c.make();
    w.wake_by_ref();
    w.wake_by_ref();
    EXPECT_TRUE(static_cast<bool>(w));
  }
  EXPECT_EQ(c.by_ref, 2);
  EXPECT_EQ(c.wakes, 0);
  EXPECT_EQ(c.drops, 1);
}

TEST(waker, moved_waker_drops_once) {
  counts c;
  {
    waker a = c.make();
    waker b = std::move(a);
    waker d;
    d = std::move(b);
    EXPECT_FALSE(static_cast<bool>(a));  // NOLINT(bugprone-use-after-move)
    EXPECT_FALSE(static_cast<bool>(b));  // NOLINT(bugprone-use-after-move)
    EXPECT_EQ(c.drops, 0);
  }
  EXPECT_EQ(c.drops, 1);
}

TEST(waker, assignment_drops_the_old_waker) {
  counts first;
  counts second;
  waker w = first.make();
  w = second.make();
  EXPECT_EQ(first.drops, 1);
  EXPECT_EQ(second.drops, 0);
  w = waker();
  EXPECT_EQ(second.drops, 1);
}

TEST(waker, will_wake_is_true_for_a_clone_and_false_for_another) {
  counts c;
  counts other;
  const waker a = c.make();
  const waker b = a.clone();
  const waker strange = other.make();
  EXPECT_EQ(c.clones, 1);
  EXPECT_TRUE(a.will_wake(b));
  EXPECT_FALSE(a.will_wake(strange));
  EXPECT_FALSE(a.will_wake(waker()));
  EXPECT_FALSE(a.will_wake(noop_waker()));
}

TEST(waker, noop_waker_wakes_nothing) {
  const waker a = noop_waker();
  a.wake_by_ref();
  EXPECT_TRUE(static_cast<bool>(a));
  EXPECT_TRUE(a.will_wake(noop_waker()));
  a.clone().wake();
}

TEST(waker, a_callback_is_called_and_destroyed_once) {
  int calls = 0;
  const auto alive = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = alive;
  {
    waker w = callback_waker([&calls, kept = alive]() noexcept { ++calls; });
    waker c = w.clone();
    EXPECT_TRUE(w.will_wake(c));
    w.wake();
    c.wake_by_ref();
    EXPECT_EQ(calls, 2);
    EXPECT_EQ(watched.use_count(), 2);
    c.wake();
    EXPECT_EQ(watched.use_count(), 1) << "gone with the last of them";
  }
  EXPECT_EQ(calls, 3);
}

TEST(waker, callbacks_are_shared_between_threads) {
  std::atomic<int> calls{0};
  const auto alive = std::make_shared<int>(0);
  const std::weak_ptr<int> watched = alive;
  std::vector<std::thread> threads;
  {
    const waker w = callback_waker([&calls, kept = alive]() noexcept { calls.fetch_add(1); });
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([mine = w.clone()]() mutable {
        for (int i = 0; i < 1000; ++i) mine.clone().wake();
        mine.wake();
      });
    }
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(calls.load(), 4 * 1001);
  EXPECT_EQ(watched.use_count(), 1);
}

// --- wakers of tasks

TEST(waker, will_wake_is_true_for_wakers_of_one_task) {
  manual_scheduler s;
  event e;
  event f;
  auto h = s.spawn([](event* on) -> task<> { co_await (*on)(); }, &e);
  auto other = s.spawn([](event* on) -> task<> { co_await (*on)(); }, &f);
  s.run_until_idle();
  const waker a = e.steal_waker();
  const waker b = e.steal_waker();
  const waker strange = f.steal_waker();
  EXPECT_TRUE(a.will_wake(b));
  EXPECT_FALSE(a.will_wake(strange));
  e.fire();
  f.fire();
  s.run_until_idle();
  h.join();
  other.join();
}

TEST(waker, each_waker_owns_a_reference_to_its_task) {
  manual_scheduler s;
  event e;
  core::header* me = nullptr;
  auto h = s.spawn(
      [](event* on, core::header** out) -> task<> {
        *out = core::current_task();
        co_await (*on)();
      },
      &e,
      &me);
  s.run_until_idle();
  EXPECT_EQ(me->word.load().refs(), 3U) << "scheduler, handle, the event's waker";
  {
    const waker a = e.steal_waker();
    const waker b = a.clone();
    EXPECT_EQ(me->word.load().refs(), 5U);
  }
  EXPECT_EQ(me->word.load().refs(), 3U);
  e.wake_for_nothing();
  EXPECT_EQ(me->word.load().refs(), 4U) << "and the entry";
  s.run_until_idle();
  EXPECT_EQ(me->word.load().refs(), 3U);
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(me->word.load().refs(), 1U) << "the handle's is left";
  h.join();
}

TEST(waker, a_consuming_wake_may_be_the_last_reference) {
  manual_scheduler s;
  event e;
  {
    auto h = s.spawn([](event* on) -> task<> { co_await (*on)(); }, &e);
    h.detach();
  }
  s.run_until_idle();
  waker last = e.steal_waker();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(s.ended, 1);
  EXPECT_EQ(s.live, 1);
  last.wake();
  EXPECT_EQ(s.live, 0);
}

/// While the waking thread is inside of schedule(), another thread may run the task to its end.
TEST(waker, the_task_may_end_while_its_waker_is_still_inside_schedule) {
  for (int round = 0; round < 500; ++round) {
    manual_scheduler s;
    event e;
    auto h = s.spawn([](event* on) -> task<> { co_await (*on)(); }, &e);
    h.detach();
    s.run_until_idle();
    std::thread waking([&e] { e.fire(); });
    while (s.ended == 0) {
      if (!s.run_one()) std::this_thread::yield();
    }
    waking.join();
    EXPECT_EQ(s.live, 0);
  }
}

}  // namespace
}  // namespace rota::waker_test
