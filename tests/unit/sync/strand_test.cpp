// The strand: one at a time, in order; a task that throws, gives up or is destroyed does not affect others.
#include "strand_scene.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <thread>
#include <utility>

namespace rota::sync::strand_test {
namespace {

using namespace std::chrono_literals;
using scene = strand_scene;

TEST(strand, gives_the_result_of_a_function_and_of_a_task) {
  const int got = rota::run([]() -> task<int> {
    strand line;
    const int a = co_await line.run([] { return 1; });
    const int b = co_await line.run([](int n) -> task<int> { co_return n; }, 2);
    const auto c = co_await line.run([](std::unique_ptr<int> n) { return n; }, std::make_unique<int>(3));
    int d = 0;
    int& same = co_await line.run([&d]() -> int& { return d; });
    same = 4;
    co_await line.run([] {});
    EXPECT_EQ(line.blocking_run([](int n) { return n; }, 5), 5);
    co_return a + b + *c + d;
  });
  EXPECT_EQ(got, 10);
}

TEST(strand, runs_functions_one_at_a_time_in_fifo_order) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto all = x.start("abcde");
  EXPECT_EQ(x.order, "h");
  EXPECT_TRUE(x.line.is_busy());
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hhabcde");
  EXPECT_FALSE(x.line.is_busy());
}

// No overtaking: the turn is handed over, so a newcomer queues even if the next task has not run yet.
TEST(strand, newcomer_does_not_overtake_a_task_that_was_handed_the_turn) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  auto waits = x.s.spawn(scene::runs(x, 'a'));
  x.s.run_until_idle();
  x.go.set();
  EXPECT_TRUE(x.s.run_one());  // the first task ends its turn
  x.s.lifo = true;
  const auto late = x.start("b");
  EXPECT_EQ(x.order, "hhab");
}

TEST(strand, exception_goes_to_the_awaiter_and_the_next_task_gets_its_turn) {
  scene x;
  auto throws = x.s.spawn(
      [](scene& of) -> task<void> {
        co_await of.line.run([]() -> int { throw std::runtime_error("broken"); });
      },
      std::ref(x));
  auto later = x.s.spawn(
      [](scene& of) -> task<void> {
        co_await of.line.run([]() -> task<void> {
          co_await yield();
          throw std::runtime_error("broken later");
        });
      },
      std::ref(x));
  const auto all = x.start("a");
  EXPECT_THROW(throws.join(), std::runtime_error);
  EXPECT_THROW(later.join(), std::runtime_error);
  EXPECT_EQ(x.order, "a");
  EXPECT_THROW(x.line.blocking_run([] { throw std::runtime_error("broken"); }), std::runtime_error);
  EXPECT_FALSE(x.line.is_busy());
}

TEST(strand, task_cancelled_before_its_turn_does_not_affect_the_others) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  auto all = x.start("abc");
  all[1].cancel();
  x.s.run_until_idle();
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hhac");
}

TEST(strand, task_cancelled_during_its_turn_ends_the_turn) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto all = x.start("ab");
  first.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hab");
  EXPECT_FALSE(x.line.is_busy());
}

// Regression row 5: the task gets its turn and is cancelled before it runs.
TEST(strand, turn_granted_to_a_cancelled_task_goes_to_the_next) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  auto all = x.start("ab");
  x.go.set();
  EXPECT_TRUE(x.s.run_one());
  all[0].cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hhb");
  EXPECT_FALSE(x.line.is_busy());
}

TEST(strand, run_inside_a_turn_runs_at_once) {
  scene x;
  auto nested = x.s.spawn(
      [](scene& of) -> task<void> {
        EXPECT_FALSE(of.line.running_here());
        co_await of.line.run([&of]() -> task<void> {
          EXPECT_TRUE(of.line.running_here());
          co_await yield();
          co_await of.line.run([&of] { of.order += 'b'; });
          of.order += static_cast<char>(of.line.blocking_run([] { return 'c'; }));
          EXPECT_TRUE(of.line.running_here());
        });
        EXPECT_FALSE(of.line.running_here());
      },
      std::ref(x));
  x.s.run_until_idle();
  EXPECT_TRUE(nested.is_done());
  EXPECT_EQ(x.order, "bc");
  x.line.blocking_run([&x] {
    EXPECT_TRUE(x.line.running_here());
    x.line.blocking_run([&x] { x.order += 'd'; });
    EXPECT_TRUE(x.line.running_here());
    std::thread([&x] { EXPECT_FALSE(x.line.running_here()); }).join();
  });
  EXPECT_EQ(x.order, "bcd");
  EXPECT_FALSE(x.line.running_here());
}

// A child is another task, although it may run in its parent's place: it queues for its own turn.
TEST(strand, child_does_not_share_the_turn_of_its_parent) {
  scene x;
  x.s.forks_in_place = true;
  auto parent = x.s.spawn(
      [](scene& of) -> task<void> {
        co_await of.line.run([&of]() -> task<void> {
          const auto both = [&of]() -> task<void> {
            co_await when_all(scene::runs(of, 'a'), scene::runs(of, 'b'));
          };
          auto children = both();
          const auto in_time = co_await timeout(5ms, std::move(children));
          of.order += in_time.has_value() ? '!' : 'l';
        });
      },
      std::ref(x));
  x.s.run_with_time();
  EXPECT_EQ(x.order, "l");
  EXPECT_FALSE(x.line.is_busy());
}

TEST(strand, posts_take_their_place_when_they_are_posted) {
  scene x;
  auto posts = x.s.spawn(
      [](scene& of) -> task<void> {
        co_await of.line.run([&of] {
          of.line.post([&of] { of.order += 'b'; });
          of.line.post([&of]() -> task<void> {
            co_await yield();
            of.order += 'c';
          });
          of.order += 'a';  // a post never runs at once
        });
        co_await of.line.run([&of] { of.order += 'd'; });
      },
      std::ref(x));
  x.s.lifo = true;  // the tasks begin in another order
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "abcd");
}

TEST(strand, a_post_gives_a_handle) {
  const int got = rota::run([]() -> task<int> {
    strand line;
    auto one = line.post([](int n) { return n; }, 1);
    auto two = line.post([]() -> task<int> { co_return 2; });
    auto throws = line.post([] { throw std::runtime_error("broken"); });
    const auto failed = co_await throws.result();
    EXPECT_TRUE(failed.exception() != nullptr);
    const int a = co_await one;
    const int b = co_await two;
    co_return a + b;
  });
  EXPECT_EQ(got, 3);
}

TEST(strand, a_post_that_is_cancelled_gives_its_place_up) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  auto a = x.line.post_on(x.s, [&x] { x.order += 'a'; });
  auto b = x.line.post_on(x.s, [&x] { x.order += 'b'; });
  auto c = x.line.post_on(x.s, [&x] { x.order += 'c'; });
  a.cancel();  // before it has begun
  x.s.run_until_idle();
  b.cancel();  // while it waits in its place
  x.s.run_until_idle();
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hhc");
  auto d = x.line.post_on(x.s, [&x] { x.order += 'd'; });
  d.cancel();  // it already has the turn
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hhc");
  EXPECT_FALSE(x.line.is_busy());
}

TEST(strand, post_outside_of_a_task_throws_and_takes_no_place) {
  strand line;
  EXPECT_THROW(line.post([] {}), error);
  EXPECT_FALSE(line.is_busy());
}

}  // namespace
}  // namespace rota::sync::strand_test
