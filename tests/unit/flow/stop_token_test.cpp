// Cancellation and std::stop_token, in both directions.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "unit/task/task_support.hpp"

#include <rota/cancel.hpp>
#include <rota/stop_token.hpp>
#include <rota/time.hpp>

namespace rota::stop_token_test {
namespace {

using namespace std::chrono_literals;
using test::event;
using test::manual_scheduler;

TEST(stop_token, outside_of_a_task_is_empty) { EXPECT_FALSE(this_task::stop_token().stop_possible()); }

TEST(stop_token, is_requested_on_the_thread_that_cancels_the_task) {
  manual_scheduler s;
  event never;
  std::stop_token token;
  auto h = s.spawn(
      [](event& n, std::stop_token& out) -> task<> {
        out = this_task::stop_token();
        EXPECT_EQ(out, this_task::stop_token());
        co_await n();
      },
      std::ref(never),
      std::ref(token));
  s.run_until_idle();
  EXPECT_TRUE(token.stop_possible());
  EXPECT_FALSE(token.stop_requested());
  std::thread::id called_on;
  int calls = 0;
  {
    const std::stop_callback callback(token, [&] {
      called_on = std::this_thread::get_id();
      ++calls;
    });
    std::thread other([&] {
      h.cancel();
      EXPECT_EQ(called_on, std::this_thread::get_id());
    });
    other.join();
  }
  EXPECT_EQ(calls, 1);
  EXPECT_TRUE(token.stop_requested());
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

TEST(stop_token, of_a_task_that_is_cancelled_already_is_requested) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<bool> {
    static_cast<void>(core::cancel(*core::current_task(), cancel_reason::user));
    co_return this_task::stop_token().stop_requested();
  });
  s.run_until_idle();
  EXPECT_TRUE(h.join());
}

TEST(stop_token, is_not_held_off_by_a_shield) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(
      [](event& ev) -> task<bool> {
        auto guard = shield(1s);
        auto token = this_task::stop_token();
        co_await ev();
        co_return token.stop_requested();
      },
      std::ref(e));
  s.run_until_idle();
  h.cancel();
  e.fire();
  s.run_until_idle();
  EXPECT_TRUE(h.join());
}

TEST(stop_token, outlives_its_task_and_is_not_requested_by_its_end) {
  manual_scheduler s;
  std::stop_token token;
  {
    auto h = s.spawn(
        [](std::stop_token& out) -> task<> {
          out = this_task::stop_token();
          co_return;
        },
        std::ref(token));
    s.run_until_idle();
    EXPECT_TRUE(h.is_done());
    EXPECT_FALSE(h.cancel());
    EXPECT_TRUE(token.stop_possible());
  }
  EXPECT_EQ(s.live, 0);
  EXPECT_FALSE(token.stop_requested());
  EXPECT_FALSE(token.stop_possible());
}

TEST(stop_token, is_not_requested_by_a_timeout_inside_of_the_task) {
  manual_scheduler s;
  event never;
  auto h = s.spawn(
      [](event& n) -> task<bool> {
        auto token = this_task::stop_token();
        auto r = co_await timeout(10ms, n());
        EXPECT_FALSE(r.has_value());
        co_return token.stop_requested();
      },
      std::ref(never));
  s.run_with_time();
  EXPECT_FALSE(h.join());
}

TEST(stop_token, a_cancellation_that_races_the_first_token_is_never_lost) {
  int requested = 0;
  constexpr int rounds = 2000;
  for (int i = 0; i < rounds; ++i) {
    manual_scheduler s;
    std::stop_token token;
    std::atomic<bool> go{false};
    auto h = s.spawn(
        [](std::stop_token& out, std::atomic<bool>& ready) -> task<> {
          ready.store(true, std::memory_order_relaxed);
          out = this_task::stop_token();
          while (!this_task::cancel_requested()) std::this_thread::yield();
          co_return;
        },
        std::ref(token),
        std::ref(go));
    std::thread canceller([&] {
      while (!go.load(std::memory_order_relaxed)) std::this_thread::yield();
      h.cancel();
    });
    s.run_until_idle();
    canceller.join();
    requested += token.stop_requested() ? 1 : 0;
  }
  EXPECT_EQ(requested, rounds);
}

TEST(stop_link, cancels_the_task) {
  manual_scheduler s;
  event never;
  std::stop_source source;
  auto h = s.spawn(
      [](event& n, std::stop_token token) -> task<> {
        const auto linked = link(std::move(token));
        co_await n();
      },
      std::ref(never),
      source.get_token());
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  std::thread other([&] { source.request_stop(); });
  other.join();
  s.run_until_idle();
  const auto end = h.wait_for(0s);
  EXPECT_EQ(end->reason(), cancel_reason::user);
}

TEST(stop_link, to_a_token_that_is_requested_already_cancels_at_once) {
  manual_scheduler s;
  std::stop_source source;
  source.request_stop();
  auto h = s.spawn(
      [](std::stop_token token) -> task<> {
        const auto linked = link(std::move(token));
        EXPECT_TRUE(this_task::cancel_requested());
        co_await checkpoint();
        ADD_FAILURE() << "went on";
      },
      source.get_token());
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
  EXPECT_TRUE(h.is_done());
}

TEST(stop_link, does_not_cancel_the_task_after_it_is_destroyed) {
  manual_scheduler s;
  event e;
  std::stop_source source;
  auto h = s.spawn(
      [](event& ev, std::stop_token token) -> task<int> {
        {
          const auto linked = link(std::move(token));
        }
        co_await ev();
        co_return 1;
      },
      std::ref(e),
      source.get_token());
  s.run_until_idle();
  source.request_stop();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(h.join(), 1);
}

TEST(stop_link, outside_of_a_task_is_refused) {
  std::stop_source source;
  try {
    const auto linked = link(source.get_token());
    ADD_FAILURE() << "accepted";
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::no_runtime);
  }
}

/// Nested calls of this depth would overflow a thread's stack.
TEST(stop_link, a_long_chain_of_tasks_is_cancelled_from_its_head_in_bounded_stack) {
  constexpr std::size_t length = 100'000;
  manual_scheduler s;
  std::vector<event> nevers(length);
  std::stop_source head;
  std::stop_token last = head.get_token();
  std::vector<join_handle<void>> handles;
  for (std::size_t i = 0; i < length; ++i) {
    handles.push_back(s.spawn(
        [](event& n, std::stop_token& previous) -> task<> {
          const auto linked = link(previous);
          previous = this_task::stop_token();
          co_await n();
        },
        std::ref(nevers[i]),
        std::ref(last)));
    s.run_until_idle();
  }
  head.request_stop();
  EXPECT_TRUE(last.stop_requested());
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, length);
}

TEST(stop_link, nested_cancellation_runs_its_callbacks_after_the_outer_callback) {
  manual_scheduler s;
  event never_a;
  event never_b;
  std::stop_token token_a;
  std::stop_token token_b;
  const auto waits = [](event& n, std::stop_token& out) -> task<> {
    out = this_task::stop_token();
    co_await n();
  };
  auto a = s.spawn(waits, std::ref(never_a), std::ref(token_a));
  auto b = s.spawn(waits, std::ref(never_b), std::ref(token_b));
  s.run_until_idle();
  test::journal j;
  {
    const std::stop_callback of_b(token_b, [&] { j.add("b"); });
    const std::stop_callback of_a(token_a, [&] {
      EXPECT_TRUE(b.cancel());
      j.add("a");
    });
    a.cancel();
    EXPECT_EQ(j.text(), "a b");
  }
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 2);
}

TEST(stop_link, to_its_own_token_changes_nothing) {
  manual_scheduler s;
  event never;
  auto h = s.spawn(
      [](event& n) -> task<> {
        const auto linked = link(this_task::stop_token());
        co_await n();
      },
      std::ref(never));
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(s.cancelled, 1);
}

}  // namespace
}  // namespace rota::stop_token_test
