#include "flow_support.hpp"

#include <rota/async_scope.hpp>
#include <rota/cancel.hpp>
#include <rota/finally.hpp>
#include <rota/time.hpp>

#include <optional>
#include <string>

namespace async_scope_test {
namespace {

using namespace rota;
using namespace rota::test;

using async_scope_in_order = in_every_order;
ROTA_IN_EVERY_ORDER(async_scope_in_order);

TEST_P(async_scope_in_order, unused_scope_need_not_be_closed) { const async_scope unused; }

TEST_P(async_scope_in_order, close_waits_for_children_of_several_tasks) {
  async_scope scope;
  int sum = 0;
  auto spawning = [&](int n) -> task<void> {
    scope.fork(
        [](int& into, int m) -> task<void> {
          co_await sleep_for(1ms);
          into += m;
        },
        std::ref(sum),
        n);
    co_return;
  };
  auto one = s.spawn(spawning, 1);
  auto two = s.spawn(spawning, 20);
  s.run_until_idle();
  EXPECT_EQ(scope.size(), 2U);
  auto closer = s.spawn([&]() -> task<int> {
    co_await scope.close();
    co_return sum;
  });
  s.run_until_idle();
  EXPECT_FALSE(closer.is_done());
  s.run_with_time();
  EXPECT_EQ(end_of(closer), "value 21");
  EXPECT_EQ(scope.size(), 0U);
}

TEST_P(async_scope_in_order, handles_give_the_values) {
  auto h = s.spawn([]() -> task<int> {
    async_scope scope;
    auto child = scope.spawn(gives, 4);
    const int value = co_await child;
    co_await scope.close();
    co_return value;
  });
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value 4");
}

TEST_P(async_scope_in_order, the_first_failure_stops_the_others_and_is_thrown_by_close) {
  std::string log;
  auto h = s.spawn([&]() -> task<int> {
    async_scope scope;
    scope.fork([&]() -> task<void> {
      const witness w(log, 's');
      co_await forever();
    });
    co_await sleep_for(1ms);
    scope.fork(throws, 3);
    co_await sleep_for(1ms);
    EXPECT_EQ(log, "s");
    auto refused = scope.spawn(gives, 1);
    EXPECT_EQ(end_of(refused), "cancelled sibling failed");
    int caught = 0;
    try {
      co_await scope.close();
    } catch (const failure& f) {
      caught = f.number;
    }
    // The failure was reported: a second close has nothing to report.
    co_await scope.close();
    co_return caught;
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value 3");
}

TEST_P(async_scope_in_order, cancel_stops_the_children_without_a_failure) {
  auto h = s.spawn([]() -> task<int> {
    async_scope scope;
    scope.fork(waits);
    co_await sleep_for(1ms);
    scope.cancel();
    co_await scope.close();
    co_return 1;
  });
  s.run_with_time();
  EXPECT_EQ(end_of(h), "value 1");
}

TEST_P(async_scope_in_order, the_children_survive_the_task_that_spawned_them) {
  async_scope scope;
  held_event go;
  auto spawning = s.spawn([&]() -> task<void> {
    scope.fork(waits_for, std::ref(go));
    co_await forever();
  });
  s.run_until_idle();
  spawning.cancel();
  s.run_until_idle();
  EXPECT_EQ(end_of(spawning), "cancelled user");
  EXPECT_EQ(scope.size(), 1U);
  EXPECT_FALSE(go.is_being_cancelled());
  auto closer = s.spawn([&]() -> task<void> { co_await scope.close(); });
  s.run_until_idle();
  go.set();
  s.run_until_idle();
  EXPECT_EQ(end_of(closer), "value");
}

TEST_P(async_scope_in_order, a_cancelled_close_cancels_the_children_and_waits) {
  async_scope scope;
  held_event slow;
  auto h = s.spawn([&]() -> task<void> {
    scope.fork(waits_for, std::ref(slow));
    co_await scope.close();
  });
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_FALSE(h.is_done());
  EXPECT_TRUE(slow.is_being_cancelled());
  slow.let_go();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(scope.size(), 0U);
}

TEST_P(async_scope_in_order, second_close_throws_while_the_first_waits) {
  async_scope scope;
  held_event go;
  auto one = s.spawn([&]() -> task<void> {
    scope.fork(waits_for, std::ref(go));
    co_await scope.close();
  });
  s.run_until_idle();
  auto two = s.spawn([&]() -> task<void> { co_await scope.close(); });
  s.run_until_idle();
  EXPECT_EQ(end_of(two).find("the end of this scope is awaited already"), 0U);
  go.set();
  s.run_until_idle();
  EXPECT_EQ(end_of(one), "value");
}

TEST_P(async_scope_in_order, finally_closes_the_scope_when_the_task_is_cancelled) {
  std::string log;
  auto h = s.spawn([&]() -> task<int> {
    async_scope scope;
    auto body = [&]() -> task<int> {
      scope.fork([&]() -> task<void> {
        const witness w(log, 'c');
        co_await forever();
      });
      co_return co_await waits();
    };
    auto cleanup = [&]() -> task<void> {
      scope.cancel();
      co_await scope.close();
      log.push_back('x');
    };
    co_return co_await finally(body, cleanup, 1s);
  });
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "cancelled user");
  EXPECT_EQ(log, "cx");
}

TEST(async_scope_death, scope_that_is_not_closed_ends_the_program) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_DEATH(
      {
        manual_scheduler s;
        auto h = s.spawn([]() -> task<void> {
          async_scope scope;
          scope.fork(gives, 1);
          co_await sleep_for(1ms);
        });
        s.run_with_time();
      },
      "ended without a close");
}

TEST(async_scope_death, fork_outside_of_a_task_throws) {
  async_scope scope;
  EXPECT_THROW(scope.fork(gives, 1), error);
}

}  // namespace
}  // namespace async_scope_test
