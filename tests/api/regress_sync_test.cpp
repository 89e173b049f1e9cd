// Locks and signals that are given to a task that does not take them, on real threads.
//
//   row 3   a grant beside a limit, then a lock
//           lock_grant_that_races_a_timeout_goes_to_the_task_or_to_the_next
//   row 4   a signal beside a wait that begins     signal_that_races_the_start_of_a_wait_is_not_lost
//   row 5   a waiter that was woken goes          signal_given_to_a_cancelled_waiter_reaches_another_waiter
//   row 21  a woken task comes back at once       hundred_woken_tasks_wait_again_without_a_lost_wakeup
//   -       ready cases that are neighbours         each_ready_case_of_a_select_wins_as_often_as_the_others
#include "api/scenario_support.hpp"
#include "support/signal_race.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/spawn.hpp>
#include <rota/stream.hpp>
#include <rota/sync/condition_variable.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/semaphore.hpp>
#include <rota/sync/shared_mutex.hpp>
#include <rota/sync/strand.hpp>
#include <rota/time.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <thread>
#include <tuple>
#include <vector>

namespace rota::test {
namespace {

using namespace std::chrono_literals;

constexpr int rounds(int all) { return sanitized ? all / 50 : all; }

// ---- row 3

/// Shared by all kinds of locks here.
struct by_mutex {
  sync::mutex m;
  [[nodiscard]] auto lock() { return m.lock(); }
  [[nodiscard]] auto lock_at_once() { return m.lock_for(0s); }
};
struct by_writing {
  sync::shared_mutex m;
  [[nodiscard]] auto lock() { return m.lock(); }
  [[nodiscard]] auto lock_at_once() { return m.lock_for(0s); }
};
/// The others write: see the test.
struct by_reading : by_writing {
  [[nodiscard]] auto lock_at_once() { return m.lock_shared_for(0s); }
};

template <class Lock>
struct contended {
  Lock by;
  int count = 0;  // under the lock
  std::atomic<bool> done = false;
};

template <class Lock>
task<int> holds(contended<Lock>& x) {
  int times = 0;
  while (!x.done) {
    {
      const auto held = co_await x.by.lock();
      ++x.count;
      ++times;
    }
    if (times % 8 == 0) co_await yield();
  }
  co_return times;
}

/// The limit has passed when it begins to wait: it may be granted between that and its removal.
template <class Lock>
task<int> gives_up(contended<Lock>& x, int attempts) {
  int got = 0;
  for (int i = 0; i < attempts; ++i) {
    const auto held = co_await x.by.lock_at_once();
    if (held.has_value()) ++got;
  }
  x.done = true;
  const auto at_last = co_await x.by.lock();
  ++x.count;
  co_return got;
}

template <class Lock>
void beside_a_limit(int attempts) {
  contended<Lock> x;
  runtime rt({.workers = 2});
  auto a = rt.spawn(holds(x));
  auto b = rt.spawn(gives_up(x, attempts));
  const int got = b.join();
  EXPECT_LE(got, attempts);
  EXPECT_EQ(a.join() + 1, x.count);
}

TEST(regress_sync, lock_grant_that_races_a_timeout_goes_to_the_task_or_to_the_next) {
  beside_a_limit<by_mutex>(rounds(1'000'000));
  beside_a_limit<by_writing>(rounds(300'000));
  beside_a_limit<by_reading>(rounds(300'000));
}

// ---- row 4

// A million; stress/signals makes ten.
TEST(regress_sync, signal_that_races_the_start_of_a_wait_is_not_lost) {
  signal_race race(1);
  runtime rt({.workers = 1});
  race.run(rt, static_cast<std::uint64_t>(rounds(15'625)), [] {});
  EXPECT_EQ(race.left(), 0U) << "each call let one wait pass";
}

task<void> answers(sync::notify& ping, sync::notify& pong, int times) {
  for (int i = 0; i < times; ++i) {
    co_await ping.wait();
    pong.notify_one();
  }
}
task<void> asks(sync::notify& ping, sync::notify& pong, int times) {
  for (int i = 0; i < times; ++i) {
    ping.notify_one();
    co_await pong.wait();
  }
}

TEST(regress_sync, no_signal_between_runtimes_is_lost) {
  sync::notify ping;
  sync::notify pong;
  const int times = rounds(50'000);
  runtime one({.workers = 1});
  runtime two({.workers = 1});
  auto a = one.spawn(answers(ping, pong, times));
  auto b = two.spawn(asks(ping, pong, times));
  b.join();
  a.join();
  EXPECT_FALSE(ping.try_wait());
  EXPECT_FALSE(pong.try_wait());
}

// ---- row 5

/// Items that come one by one, each with one signal.
struct shelf {
  sync::mutex m;
  sync::condition_variable filled;
  int items = 0;  // under the mutex
  int taken = 0;
  bool ended = false;

  [[nodiscard]] auto changed() {
    return [this] { return items > 0 || ended; };
  }
  static task<void> takes(shelf& s) {
    for (;;) {
      auto held = co_await s.m.lock();
      co_await s.filled.wait(held, s.changed());
      if (s.items == 0) co_return;
      --s.items;
      ++s.taken;
    }
  }
  void put() {
    {
      const auto held = m.blocking_lock();
      ++items;
    }
    filled.notify_one();
  }
  void end() {
    const auto held = m.blocking_lock();
    ended = true;
    filled.notify_all();
  }
  /// Blocks until all is taken, without a signal of its own.
  void wait_until_empty() {
    for (;;) {
      {
        const auto held = m.blocking_lock();
        if (items == 0) return;
      }
      std::this_thread::yield();
    }
  }
};

TEST(regress_sync, signal_given_to_a_cancelled_waiter_reaches_another_waiter) {
  shelf s;
  runtime rt({.workers = 2});
  auto stays = rt.spawn(shelf::takes(s));
  const int times = rounds(20'000);
  for (int i = 0; i < times; ++i) {
    auto goes = rt.spawn(shelf::takes(s));
    auto goes_too = rt.spawn(shelf::takes(s));
    s.put();
    goes.cancel();
    s.put();
    goes_too.cancel();
    if (i % 16 == 0) s.wait_until_empty();  // only the task `stays` is sure to be there
  }
  s.wait_until_empty();
  s.end();
  stays.join();
  EXPECT_EQ(s.taken, 2 * times);
}

// ---- row 21

struct comes_back {
  sync::mutex m;
  sync::condition_variable again;
  sync::semaphore permits{0};
  sync::strand line;
  int round = 0;  // under the mutex
  int awake = 0;

  static task<void> waits(comes_back& x, int times) {
    for (int mine = 1; mine <= times; ++mine) {
      {
        auto held = co_await x.m.lock();
        const auto has_begun = [&x, mine] { return x.round >= mine; };
        co_await x.again.wait(held, has_begun);
        ++x.awake;
        x.again.notify_all();  // from inside of those that are woken
      }
      x.permits.release();
      const auto got = co_await x.permits.acquire();
      EXPECT_TRUE(got.has_value());
      co_await x.line.run([] {});
    }
  }
  void next(int n) {
    const auto held = m.blocking_lock();
    round = n;
    again.notify_all();
  }
};

TEST(regress_sync, hundred_woken_tasks_wait_again_without_a_lost_wakeup) {
  comes_back x;
  runtime rt({.workers = 2});
  std::vector<join_handle<void>> all;
  for (int i = 0; i < 100; ++i) all.push_back(rt.spawn(comes_back::waits(x, 5)));
  for (int n = 1; n <= 5; ++n) x.next(n);
  for (auto& each : all) each.join();
  EXPECT_EQ(x.awake, 500);
  EXPECT_EQ(x.permits.available(), 0U);
}

// ---- a start that is drawn, followed by a circle, favours what comes behind a gap

struct eight_events {
  std::array<sync::event, 8> of;

  explicit eight_events(std::initializer_list<std::size_t> ready) {
    for (const std::size_t i : ready) of[i].set();
  }
  [[nodiscard]] std::size_t try_one() {
    return std::apply([](auto&... each) { return channel::try_select(each.wait()...)->index(); }, of);
  }
  [[nodiscard]] task<std::size_t> await_one() {
    const auto select_of = [](auto&... each) -> task<std::size_t> {
      const auto first = co_await channel::select(each.wait()...);
      co_return first.index();
    };
    return std::apply(select_of, of);
  }
};

/// Eight standard deviations of a count of n wins with probability 1/k are less than 8 * sqrt(n / k).
void expect_fair(const std::array<int, 8>& wins, std::initializer_list<std::size_t> ready, int all) {
  int of_ready = 0;
  const auto fair = all / static_cast<int>(ready.size());
  for (const std::size_t i : ready) {
    of_ready += wins[i];
    EXPECT_NEAR(wins[i], fair, 8 * std::sqrt(fair)) << "case " << i;
  }
  EXPECT_EQ(of_ready, all);
}

TEST(regress_sync, each_ready_case_of_a_select_wins_as_often_as_the_others) {
  constexpr int all = 8000;
  const auto try_both = [](std::initializer_list<std::size_t> ready) {
    eight_events x(ready);
    std::array<int, 8> tried{};
    std::array<int, 8> awaited{};
    for (int i = 0; i < all; ++i) ++tried[x.try_one()];
    runtime rt({.workers = 1});
    rt.block_on([](eight_events& of, std::array<int, 8>& wins) -> task<> {
      for (int i = 0; i < all; ++i) {
        const std::size_t winner = co_await of.await_one();
        ++wins[winner];
      }
    }(x, awaited));
    expect_fair(tried, ready, all);
    expect_fair(awaited, ready, all);
  };
  try_both({0, 7});
  try_both({0, 1, 4});
  try_both({2, 3, 4, 5, 6});
}

/// Closed; with so many items.
channel::receiver<int> with_items(int what, int count) {
  auto [to, from] = channel::bounded<int>(static_cast<std::size_t>(count) + 1);
  for (int i = 0; i < count; ++i) EXPECT_EQ(to.try_send(what), channel::send_status::sent);
  return std::move(from);
}

// A source that has ended is a case that is not enabled.
TEST(regress_sync, each_open_source_of_a_merge_comes_as_often_as_the_others) {
  constexpr int all = 8000;
  std::array<int, 8> wins{};
  const auto work = [](std::array<int, 8>& count) -> task<> {
    auto both = stream::merge(with_items(0, all),
                              with_items(1, 0),
                              with_items(2, 0),
                              with_items(3, 0),
                              with_items(4, 0),
                              with_items(5, 0),
                              with_items(6, 0),
                              with_items(7, all));
    for (int i = 0; i < all; ++i) {
      const auto each = co_await both.next();
      ++count[static_cast<std::size_t>(each.value())];
    }
  };
  runtime rt({.workers = 1});
  rt.block_on(work(wins));
  expect_fair(wins, {0, 7}, all);
}

}  // namespace
}  // namespace rota::test
