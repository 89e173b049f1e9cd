// Scopes, sets and when_* with children that run in parallel, mainly for ThreadSanitizer.
#include "flow_support.hpp"
#include "threaded_scheduler.hpp"

#include <rota/async_scope.hpp>
#include <rota/join_set.hpp>
#include <rota/scope.hpp>
#include <rota/task_local.hpp>
#include <rota/when.hpp>

#include <atomic>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace threads_test {
namespace {

using namespace rota;
using namespace rota::test;

constexpr int rounds = 300;

task<void> adds(int& place) {
  co_await yield();
  ++place;
}
task<int> yields_often(int times) {
  for (int i = 0; i < times; ++i) co_await yield();
  co_return times;
}
task<int> throws_after(int times, int number) {
  for (int i = 0; i < times; ++i) co_await yield();
  throw failure(number);
}

/// Spawns a task of a lambda that the test keeps alive.
template <class Work>
auto run_on(threaded_scheduler& s, Work& work) {
  return s.spawn(work());
}

TEST(threads, parent_reads_what_every_child_has_written) {
  threaded_scheduler s(2);
  auto work = []() -> task<int> {
    std::vector<int> places(50);
    co_await with_scope([&](scope& c) -> task<void> {
      for (int& place : places) c.fork(adds, std::ref(place));
      co_return;
    });
    int sum = 0;
    for (const int place : places) sum += place;
    co_return sum;
  };
  for (int i = 0; i < rounds / 10; ++i) EXPECT_EQ(run_on(s, work).join(), 50);
}

TEST(threads, scope_fails_while_handles_are_dropped_and_children_end) {
  threaded_scheduler s(2);
  auto work = []() -> task<int> {
    co_return co_await with_scope([](scope& c) -> task<int> {
      auto kept = c.spawn(throws_after, 2, 1);
      auto dropped = c.spawn(throws_after, 1, 2);
      c.fork(yields_often, 3);
      co_await yield();
      dropped.detach();
      co_await yields_often(2);
      kept.detach();
      co_await forever();
      co_return 0;
    });
  };
  for (int i = 0; i < rounds; ++i) {
    auto h = run_on(s, work);
    EXPECT_THROW(h.join(), failure);
  }
  EXPECT_EQ(s.unhandled, 0);
}

TEST(threads, a_kept_handle_is_dropped_by_another_thread_while_the_scope_closes) {
  threaded_scheduler s(2);
  int failed = 0;
  for (int i = 0; i < rounds; ++i) {
    std::optional<join_handle<int>> kept;
    std::atomic<bool> is_there{false};
    auto work = [&]() -> task<int> {
      co_return co_await with_scope([&](scope& c) -> task<int> {
        kept.emplace(c.spawn(throws_after, 0, 1));
        is_there = true;
        co_return 5;
      });
    };
    auto h = run_on(s, work);
    while (!is_there) std::this_thread::yield();
    kept.reset();
    const std::optional<outcome<int>> end = h.wait_for(1h);
    if (end->has_exception()) ++failed;
  }
  // Each exception was seen exactly once, in either place.
  EXPECT_EQ(s.unhandled + failed, rounds);
  EXPECT_EQ(s.suppressed, 0);
}

TEST(threads, a_parent_is_cancelled_while_its_children_end) {
  threaded_scheduler s(2);
  int alive = 0;
  std::atomic<int> ended{0};
  auto child = [&]() -> task<void> {
    struct at_end {
      std::atomic<int>* n;
      ~at_end() { ++*n; }
    } const end{&ended};
    co_await yields_often(3);
  };
  for (int i = 0; i < rounds; ++i) {
    auto work = [&]() -> task<void> {
      std::string used(50, 'u');
      co_await with_scope([&](scope& c) -> task<void> {
        std::string bodys(50, 'b');
        c.fork(child);
        c.fork(holds, std::ref(used));
        c.fork(child);
        co_await forever();
      });
    };
    auto h = run_on(s, work);
    for (int k = 0; k < i % 20; ++k) std::this_thread::yield();
    h.cancel();
    const std::optional<outcome<void>> end = h.wait_for(1h);
    EXPECT_TRUE(end->is_cancelled());
  }
  EXPECT_EQ(alive, 0);
}

TEST(threads, children_of_children_spawn_while_one_fails) {
  threaded_scheduler s(3);
  struct grower {
    static task<void> grow(scope& c, int depth) {
      co_await yield();
      if (depth == 0) co_return;
      c.fork(grow, std::ref(c), depth - 1);
      c.fork(grow, std::ref(c), depth - 1);
    }
  };
  auto work = []() -> task<int> {
    co_return co_await with_scope([](scope& c) -> task<int> {
      c.fork(grower::grow, std::ref(c), 6);
      c.fork(throws_after, 4, 3);
      co_return 1;
    });
  };
  for (int i = 0; i < rounds / 3; ++i) {
    auto h = run_on(s, work);
    EXPECT_THROW(h.join(), failure);
  }
}

TEST(threads, when_any_and_when_all_give_their_results_on_two_threads) {
  threaded_scheduler s(2);
  auto work = []() -> task<int> {
    const auto first = co_await when_any(yields_often(2), yields_often(2), throws_after(50, 1));
    const auto [a, b] = co_await when_all(yields_often(1), yields_often(3));
    const auto success = co_await when_any_success(throws_after(0, 1), throws_after(2, 2), yields_often(4));
    std::vector<task<int>> many;
    for (int i = 0; i < 20; ++i) many.push_back(yields_often(i % 3));
    const auto settled = co_await when_all_settled(std::move(many));
    co_return (first.index() < 2 ? 0 : 1000) + a + b + static_cast<int>(success.index() + settled.size());
  };
  for (int i = 0; i < rounds; ++i) EXPECT_EQ(run_on(s, work).join(), 26);
}

TEST(threads, task_that_awaits_when_any_and_when_all_is_cancelled) {
  threaded_scheduler s(2);
  auto work = []() -> task<int> {
    for (;;) {
      const auto first = co_await when_any(yields_often(1), yields_often(2));
      const auto all = co_await when_all(yields_often(1), yields_often(static_cast<int>(first.index())));
      static_cast<void>(all);
    }
    co_return 0;
  };
  for (int i = 0; i < rounds; ++i) {
    auto h = run_on(s, work);
    for (int k = 0; k < i % 20; ++k) std::this_thread::yield();
    h.cancel();
    const std::optional<outcome<int>> end = h.wait_for(1h);
    EXPECT_TRUE(end->is_cancelled());
  }
}

TEST(threads, join_set_gives_every_outcome_and_is_destroyed_with_tasks_in_it) {
  threaded_scheduler s(2);
  auto work = []() -> task<int> {
    join_set<int> all;
    join_set<int> some;
    for (int i = 0; i < 10; ++i) {
      all.spawn(yields_often, i % 4);
      some.spawn(yields_often, i % 4);
    }
    int outcomes = 0;
    for (;;) {
      const auto next = co_await all.next();
      if (!next) break;
      ++outcomes;
    }
    const auto one = co_await some.next();
    co_return outcomes + (one.has_value() ? 1 : 0);
  };
  for (int i = 0; i < rounds; ++i) EXPECT_EQ(run_on(s, work).join(), 11);
}

TEST(threads, an_async_scope_is_filled_from_several_tasks) {
  threaded_scheduler s(2);
  for (int i = 0; i < rounds / 3; ++i) {
    async_scope scope;
    auto spawning = [&]() -> task<void> {
      for (int k = 0; k < 5; ++k) {
        scope.fork(yields_often, k);
        co_await yield();
      }
    };
    auto one = run_on(s, spawning);
    auto two = run_on(s, spawning);
    one.join();
    two.join();
    auto closing = [&]() -> task<void> { co_await scope.close(); };
    run_on(s, closing).join();
    EXPECT_EQ(scope.size(), 0U);
  }
}

TEST(threads, circles_of_joins_are_cancelled_from_both_sides) {
  threaded_scheduler s(2);
  for (int i = 0; i < rounds; ++i) {
    std::optional<join_handle<void>> first;
    std::optional<join_handle<void>> second;
    std::atomic<int> made{0};
    auto joins = [&](std::optional<join_handle<void>>& other) -> task<void> {
      while (made < 2) co_await yield();
      join_handle<void> mine = std::move(*other);
      co_await mine;
    };
    first.emplace(s.spawn(joins(second)));
    second.emplace(s.spawn(joins(first)));
    core::header* tasks[2] = {};
    static_assert(sizeof(*first) == sizeof(tasks[0]));
    std::memcpy(&tasks[0], &*first, sizeof(tasks[0]));
    std::memcpy(&tasks[1], &*second, sizeof(tasks[1]));
    for (core::header* t : tasks) t->word.retain();
    made = 2;
    for (int k = 0; k < i % 20; ++k) std::this_thread::yield();
    core::cancel(*tasks[0], cancel_reason::user);
    core::cancel(*tasks[1], cancel_reason::user);
    for (core::header* t : tasks) {
      while (!t->word.load().is(core::lifecycle::complete)) std::this_thread::yield();
      core::release(*t);
    }
  }
}

TEST(threads, inherited_task_locals_are_destroyed_once) {
  static const task_local<std::string> name("none");
  static const std::string too_long_for_the_string_itself(100, 'n');
  threaded_scheduler s(2);
  auto work = []() -> task<int> {
    const auto bound = name.set(too_long_for_the_string_itself);
    int length = 0;
    co_await with_scope([&](scope& c) -> task<void> {
      auto child = []() -> task<int> {
        co_await yield();
        co_return static_cast<int>(name.get().size());
      };
      auto one = c.spawn(child);
      auto two = c.spawn(child);
      length = co_await one;
      length += co_await two;
    });
    co_return length;
  };
  for (int i = 0; i < rounds; ++i) EXPECT_EQ(run_on(s, work).join(), 200);
}

}  // namespace
}  // namespace threads_test
