// select: which operations may be a case, and what happens to a case that loses or is cancelled.
#include "support/manual_scheduler.hpp"
#include "unit/channel/select_scene.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/sync/once_cell.hpp>
#include <rota/sync/semaphore.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace rota::channel::select_cases_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

TEST(select_cases, timers_are_cases) {
  manual_scheduler by;
  two of;
  auto got = by.spawn(
      [](two& from) -> task<std::string> {
        std::string all;
        interval every(10ms);
        for (int i = 0; i < 5; ++i) {
          auto first = co_await select(from.a.receiver.recv(), every.tick(), sleep_for(25ms));
          all += first.index() == 0 ? 'r' : first.index() == 1 ? 't' : 's';
          if (i == 2) static_cast<void>(from.a.sender.try_send(1));
        }
        co_return all;
      },
      std::ref(of));
  by.run_with_time();
  EXPECT_EQ(got.join(), "tttrt");
}

TEST(select_cases, a_tick_that_loses_is_not_used_up) {
  manual_scheduler by;
  two of;
  auto got = by.spawn(
      [](two& from, manual_scheduler& on) -> task<base::nanoseconds> {
        interval every(10ms);
        const base::time_point begin = on.time;
        for (int i = 0; i < 3; ++i) {
          static_cast<void>(from.a.sender.try_send(1));
          auto first = co_await select_in_order(from.a.receiver.recv(), every.tick());
          EXPECT_EQ(first.index(), 0U);
        }
        auto tick = co_await select(every.tick());
        co_return tick.get<0>() - begin;
      },
      std::ref(of),
      std::ref(by));
  by.run_with_time();
  EXPECT_EQ(got.join(), 10ms);
}

// A sleep of zero lets other tasks run first, once; alone it is a yield.
TEST(select_cases, sleep_of_zero_yields_once) {
  manual_scheduler by;
  two of;
  std::string order;
  auto late = by.spawn(
      [](two& from, std::string& said) -> task<std::size_t> {
        auto first = co_await select_in_order(from.a.receiver.recv(), sleep_for(0s));
        said += 's';
        co_return first.index();
      },
      std::ref(of),
      std::ref(order));
  auto other = by.spawn(
      [](two& from, std::string& said) -> task<void> {
        said += 'o';
        static_cast<void>(from.a.sender.try_send(1));
        co_return;
      },
      std::ref(of),
      std::ref(order));
  by.run_until_idle();
  EXPECT_EQ(order, "os");
  EXPECT_EQ(late.join(), 0U);
  other.join();
}

TEST(select_cases, waits_of_sync_primitives_can_be_cases) {
  manual_scheduler by;
  sync::mutex m;
  sync::semaphore s(0);
  sync::notify n;
  sync::event e;
  sync::once_cell<int> cell;
  std::optional<sync::mutex::guard> held = m.try_lock();
  const auto work = [&]() -> task<std::size_t> {
    auto first = co_await select(m.lock(), s.acquire(2), n.wait(), e.wait(), cell.wait());
    if (first.index() == 0) {
      EXPECT_TRUE(static_cast<bool>(first.get<0>()));
    }
    if (first.index() == 4) {
      EXPECT_EQ(first.get<4>(), 7);
    }
    co_return first.index();
  };
  const auto expect_after = [&](std::size_t index, auto give) {
    auto got = by.spawn(work());
    by.run_until_idle();
    EXPECT_FALSE(got.is_done());
    give();
    by.run_until_idle();
    EXPECT_EQ(got.join(), index);
  };
  expect_after(1, [&] { s.release(2); });
  expect_after(2, [&] { n.notify_one(); });
  expect_after(3, [&] {
    e.set();
    e.reset();
  });
  expect_after(0, [&] { held.reset(); });
  EXPECT_FALSE(m.is_locked());
  held = m.try_lock();
  // The losing case gives back the permits that it has got so far.
  auto parts = by.spawn(work());
  by.run_until_idle();
  s.release(1);
  EXPECT_EQ(s.available(), 0U);
  n.notify_one();
  by.run_until_idle();
  EXPECT_EQ(parts.join(), 2U);
  EXPECT_EQ(s.available(), 1U);
  EXPECT_TRUE(s.try_acquire(1).has_value());
  expect_after(4, [&] { EXPECT_TRUE(cell.set(7).has_value()); });
}

// Both cases are granted before the task runs.
TEST(select_cases, grant_to_a_losing_case_goes_to_the_next_waiter) {
  manual_scheduler by;
  sync::semaphore s(0);
  sync::notify n;
  for (int i = 0; i < 16; ++i) {
    auto got = by.spawn([&]() -> task<std::size_t> {
      auto first = co_await select(s.acquire(), n.wait());
      co_return first.index();
    });
    by.run_until_idle();
    s.release();
    n.notify_one();
    by.run_until_idle();
    const std::size_t won = got.join();
    EXPECT_EQ(s.available(), won == 0 ? 0U : 1U);
    EXPECT_EQ(n.try_wait(), won == 0);
    if (won == 1) {
      EXPECT_TRUE(s.try_acquire().has_value());
    }
  }
}

TEST(select_cases, a_handle_is_a_case_and_its_task_goes_on_if_it_loses) {
  for (const bool claims : {true, false}) {
    manual_scheduler by;
    by.claims = claims;
    two of;
    auto got = by.spawn(
        [](two& from, manual_scheduler& on) -> task<std::string> {
          std::string all;
          auto child = on.spawn(
              [](two& there) -> task<int> {
                const auto item = co_await there.b.receiver.recv();
                co_return *item;
              },
              std::ref(from));
          for (;;) {
            auto first = co_await select(child, from.a.receiver.recv());
            if (first.index() == 0) co_return all + std::to_string(first.get<0>());
            all += std::to_string(*first.get<1>());
          }
        },
        std::ref(of),
        std::ref(by));
    by.run_until_idle();
    for (int i = 1; i <= 3; ++i) {
      EXPECT_EQ(of.a.sender.try_send(i), send_status::sent);
      by.run_until_idle();
    }
    EXPECT_FALSE(got.is_done());
    EXPECT_EQ(of.b.sender.try_send(9), send_status::sent);
    by.run_until_idle();
    EXPECT_EQ(got.join(), "1239");
  }
}

TEST(select_cases, what_the_task_of_a_handle_throws_is_thrown) {
  manual_scheduler by;
  auto got = by.spawn(
      [](manual_scheduler& on) -> task<int> {
        auto fails = on.spawn([]() -> task<int> {
          co_await yield();
          throw std::runtime_error("child");
        });
        auto stays = on.spawn([]() -> task<int> {
          co_await sleep_for(1h);
          co_return 1;
        });
        int thrown = 0;
        try {
          static_cast<void>(co_await select(fails, stays));
        } catch (const std::runtime_error&) {
          thrown = 1;
        }
        auto again = co_await select(stays.result(), sleep_for(1ms));
        EXPECT_EQ(again.index(), 1U);
        stays.cancel();
        auto last = co_await select(stays.result());
        EXPECT_TRUE(last.get<0>().is_cancelled());
        co_return thrown;
      },
      std::ref(by));
  by.run_with_time();
  EXPECT_EQ(got.join(), 1);
}

TEST(select_cases, the_next_of_a_join_set_is_a_case) {
  manual_scheduler by;
  two of;
  auto got = by.spawn(
      [](two& from) -> task<int> {
        join_set<int> children;
        const auto child = [](int n) -> task<int> {
          co_await sleep_for(n * 1ms);
          co_return n;
        };
        for (int n = 1; n <= 3; ++n) children.spawn(child, n);
        int sum = 0;
        for (int i = 0; i < 5; ++i) {
          if (i == 1 || i == 2) static_cast<void>(from.a.sender.try_send(10));
          auto first = co_await select(from.a.receiver.recv(), children.next());
          sum += first.index() == 0 ? *first.get<0>() : first.get<1>()->value();
        }
        const auto end = co_await select(children.next());
        co_return sum;
      },
      std::ref(of));
  by.run_with_time();
  EXPECT_EQ(got.join(), 26);
}

TEST(select_cases, the_same_handle_twice_is_refused_and_nothing_waits) {
  manual_scheduler by;
  two of;
  auto got = by.spawn(
      [](two& from, manual_scheduler& on) -> task<int> {
        auto child = on.spawn([]() -> task<int> {
          co_await sleep_for(1ms);
          co_return 3;
        });
        errc code = errc::closed;
        try {
          static_cast<void>(co_await select(from.a.receiver.recv(), child, child));
        } catch (const error& e) {
          code = static_cast<errc>(e.code().value());
        }
        EXPECT_EQ(code, errc::already_joined);
        EXPECT_EQ(from.a.sender.try_send(1), send_status::sent);
        EXPECT_EQ(from.a.receiver.try_recv(), 1);
        const int value = co_await child;
        co_return value;
      },
      std::ref(of),
      std::ref(by));
  by.run_with_time();
  EXPECT_EQ(got.join(), 3);
}

/// Returns how many of 32 awaits are refused with errc::already_joined.
template <class Select>
task<int> refusals(Select& once) {
  int refused = 0;
  for (int i = 0; i < 32; ++i) {
    try {
      co_await once();
    } catch (const error& e) {
      refused += e.code() == errc::already_joined ? 1 : 0;
    }
  }
  co_return refused;
}

// The order in which cases are polled, and which of them are ready, makes no difference.
TEST(select_cases, repeated_single_waiter_case_is_refused_even_beside_a_ready_case) {
  manual_scheduler by;
  two of;
  EXPECT_EQ(of.a.sender.try_send(1), send_status::sent);
  auto got = by.spawn(
      [](two& from, manual_scheduler& on) -> task<int> {
        auto ended = on.spawn([]() -> task<int> { co_return 3; });
        co_await yield();
        EXPECT_TRUE(ended.is_done());
        const auto beside_an_item = [&]() -> task<void> {
          static_cast<void>(co_await select(ended, from.a.receiver.recv(), ended));
        };
        const int beside = co_await refusals(beside_an_item);
        EXPECT_EQ(beside, 32);
        const auto alone = [&]() -> task<void> {
          static_cast<void>(co_await select_in_order(ended, ended.detached_wait()));
        };
        const int once_ended = co_await refusals(alone);
        EXPECT_EQ(once_ended, 32);
        join_set<int> set;
        const auto of_a_set = [&]() -> task<void> {
          static_cast<void>(co_await select(set.next(), set.next()));
        };
        const int of_set = co_await refusals(of_a_set);
        EXPECT_EQ(of_set, 32);
        EXPECT_EQ(from.a.receiver.size(), 1U);
        const int value = co_await ended;
        co_return value;
      },
      std::ref(of),
      std::ref(by));
  by.run_until_idle();
  EXPECT_EQ(got.join(), 3);
}

TEST(select_cases, an_empty_handle_is_refused_also_beside_what_is_ready) {
  manual_scheduler by;
  two of;
  EXPECT_EQ(of.a.sender.try_send(1), send_status::sent);
  auto got = by.spawn(
      [](two& from) -> task<int> {
        join_handle<int> empty;
        const auto beside_an_item = [&]() -> task<void> {
          static_cast<void>(co_await select(from.a.receiver.recv(), empty));
        };
        const int refused = co_await refusals(beside_an_item);
        // A disabled case is not polled.
        static_cast<void>(co_await select(from.a.receiver.recv(), when(false, empty)));
        co_return refused;
      },
      std::ref(of));
  by.run_until_idle();
  EXPECT_EQ(got.join(), 32);
}

TEST(select_cases, cancelled_select_takes_nothing_and_ends_its_tasks) {
  manual_scheduler by;
  two of;
  std::string ends;
  struct on_end {
    std::string* to;
    char what;
    ~on_end() { *to += what; }
  };
  auto detached = by.spawn(
      [](std::string& to) -> task<void> {
        const on_end mine{&to, 'd'};
        co_await sleep_for(1s);
      },
      std::ref(ends));
  auto got = by.spawn(
      [](two& from, manual_scheduler& on, std::string& to, join_handle<void>& left) -> task<void> {
        const on_end mine{&to, 's'};
        const auto sleeper = [](std::string& there, char what) -> task<void> {
          const on_end own{&there, what};
          const auto sleeps = []() -> task<void> { co_await sleep_for(1h); };
          const auto cleans = [](const outcome<void>&) -> task<void> { co_await sleep_for(1ms); };
          co_await finally(sleeps, cleans, 1s);
        };
        auto first = on.spawn(sleeper, std::ref(to), '1');
        auto second = on.spawn(sleeper, std::ref(to), '2');
        static_cast<void>(co_await select(
            from.a.receiver.recv(), first, second, left.detached_wait(), from.b.receiver.recv()));
      },
      std::ref(of),
      std::ref(by),
      std::ref(ends),
      std::ref(detached));
  by.run_until_idle();
  got.cancel();
  by.run_until_idle();
  EXPECT_EQ(ends, "");
  by.advance(2ms);
  by.run_until_idle();
  EXPECT_EQ(ends, "12s");
  EXPECT_TRUE(got.is_done());
  EXPECT_EQ(of.a.sender.try_send(1), send_status::sent);
  EXPECT_EQ(of.a.receiver.try_recv(), 1);
  by.run_with_time();
  EXPECT_EQ(ends, "12sd");
  detached.join();
}

// A task is called, and cancelled before it runs.
TEST(select_cases, item_granted_to_a_cancelled_select_goes_to_the_next) {
  manual_scheduler by;
  two of;
  auto first = by.spawn(one_of(of));
  auto second = by.spawn(one_of(of));
  by.run_until_idle();
  EXPECT_EQ(of.a.sender.try_send(1), send_status::sent);
  EXPECT_EQ(of.b.sender.try_send(2), send_status::sent);
  first.cancel();
  by.run_until_idle();
  const int got = second.join();
  EXPECT_TRUE(got == 1 || got == 102);
  EXPECT_EQ(of.a.receiver.size() + of.b.receiver.size(), 1U);
}

TEST(select_cases, timeout_around_a_select_takes_nothing) {
  manual_scheduler by;
  two of;
  auto got = by.spawn(
      [](two& from) -> task<bool> {
        auto late = co_await timeout(5ms, select(from.a.receiver.recv(), from.b.receiver.recv()));
        EXPECT_EQ(from.a.sender.try_send(1), send_status::sent);
        auto in_time = co_await timeout(5ms, select(from.a.receiver.recv(), from.b.receiver.recv()));
        EXPECT_EQ(in_time->get<0>(), 1);
        co_return !late.has_value();
      },
      std::ref(of));
  by.run_with_time();
  EXPECT_TRUE(got.join());
}

// The case is always ready: other tasks get their turn, and a cancellation in a yield loses no item.
TEST(select_cases, a_select_that_never_waits_gives_others_their_turn) {
  manual_scheduler by;
  auto a = unbounded<int>();
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(a.sender.try_send(i), send_status::sent);
  int received = 0;
  auto greedy = by.spawn(
      [](unbounded_receiver<int> from, int& count) -> task<void> {
        sync::event never;
        for (;;) {
          auto first = co_await select(from.recv(), never.wait());
          EXPECT_EQ(first.get<0>(), count);
          ++count;
        }
      },
      a.receiver,
      std::ref(received));
  EXPECT_TRUE(by.run_one());
  EXPECT_GT(received, 100);
  EXPECT_LT(received, 200);
  const int before = received;
  greedy.cancel();
  by.run_until_idle();
  EXPECT_EQ(received, before);
  EXPECT_EQ(a.receiver.try_recv(), before);
}

// The yield comes before any case starts. An awaited task is cancelled, and waited for, all the same.
TEST(select_cases, select_that_is_cancelled_in_a_yield_ends_its_tasks) {
  manual_scheduler by;
  by.claims = false;
  auto a = unbounded<int>();
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(a.sender.try_send(i), send_status::sent);
  std::string ends;
  struct on_end {
    std::string* to;
    char what;
    ~on_end() { *to += what; }
  };
  auto greedy = by.spawn(
      [](unbounded_receiver<int> from, manual_scheduler& on, std::string& to) -> task<void> {
        const on_end mine{&to, 'p'};
        auto child = on.spawn(
            [](std::string& there) -> task<void> {
              const on_end own{&there, 'c'};
              co_await sleep_for(1h);
            },
            std::ref(to));
        for (;;) {
          auto first = co_await select_in_order(from.recv(), child);
          EXPECT_EQ(first.index(), 0U);
        }
      },
      a.receiver,
      std::ref(by),
      std::ref(ends));
  EXPECT_TRUE(by.run_one());
  EXPECT_TRUE(by.run_one());  // the child task
  greedy.cancel();
  by.run_until_idle();
  EXPECT_EQ(ends, "cp");
}

}  // namespace
}  // namespace rota::channel::select_cases_test
