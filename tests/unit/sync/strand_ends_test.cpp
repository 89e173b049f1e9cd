// The strand: its end, and the destruction of what its functions own.
#include "strand_scene.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

namespace rota::sync::strand_ends_test {
namespace {

using namespace std::chrono_literals;
using scene = strand_scene;

TEST(strand, join_closes_it_and_waits_for_all_that_is_queued) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto all = x.start("ab");
  auto posted = x.line.post_on(x.s, [&x] { x.order += 'p'; });
  auto joins = x.s.spawn(
      [](scene& of) -> task<void> {
        co_await of.line.join();
        of.order += 'j';
      },
      std::ref(x));
  x.s.run_until_idle();
  EXPECT_TRUE(x.line.is_closed());
  EXPECT_THROW(x.line.post_on(x.s, [] {}), error);
  auto late = x.s.spawn(scene::runs(x, 'x'));
  x.s.run_until_idle();
  EXPECT_THROW(late.join(), error);
  EXPECT_THROW(x.line.blocking_run([] {}), error);
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hhabpj");
  x.line.blocking_join();  // again
  EXPECT_FALSE(x.line.is_busy());
}

TEST(strand, closed_strand_runs_what_is_already_queued) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto all = x.start("ab");
  x.line.close();
  x.line.close();
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hhab");
  try {
    x.line.blocking_run([] {});
    ADD_FAILURE();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), make_error_code(errc::closed));
  }
}

TEST(strand, join_inside_a_turn_throws_would_deadlock) {
  strand line;
  line.blocking_run([&line] {
    try {
      line.blocking_join();
      ADD_FAILURE();
    } catch (const error& e) {
      EXPECT_EQ(e.code(), make_error_code(errc::would_deadlock));
    }
    EXPECT_THROW(static_cast<void>(line.join()), error);
  });
  EXPECT_FALSE(line.is_closed());
}

TEST(strand, a_join_that_is_cancelled_leaves_it_closed) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  auto joins = x.s.spawn([](strand& of) -> task<void> { co_await of.join(); }, std::ref(x.line));
  x.s.run_until_idle();
  joins.cancel();
  x.go.set();
  x.s.run_until_idle();
  EXPECT_TRUE(x.line.is_closed());
  EXPECT_FALSE(x.line.is_busy());
}

TEST(strand_death, destroyed_while_something_runs_or_waits) {
  EXPECT_DEATH(
      {
        std::optional<strand> line(std::in_place);
        line->blocking_run([&line] { line.reset(); });
      },
      "destroyed while something runs in it");
  EXPECT_DEATH(
      {
        manual_scheduler s;
        std::optional<strand> line(std::in_place);
        line->blocking_run([&] {
          auto waits = line->post_on(s, [] {});
          line.reset();
        });
      },
      "destroyed while a task or a thread waits for it");
}

TEST(strand, arguments_are_moved_in_and_destroyed_once) {
  const auto counted = std::make_shared<int>(0);
  rota::run(
      [](std::shared_ptr<int> c) -> task<void> {
        strand line;
        const auto take = [](const std::shared_ptr<int>& got) { return got.use_count(); };
        auto work = line.run(take, c);
        const auto count = co_await std::move(work);
        EXPECT_EQ(count, 3);
        auto posted = line.post(take, c);
        const auto later = co_await posted;
        EXPECT_GE(later, 3);
        co_await line.join();
      },
      counted);
  EXPECT_EQ(counted.use_count(), 1);
}

/// A capture or argument that only the strand's functions use. It and its destructor need no lock.
class guarded_end {
 public:
  guarded_end(strand& of, int& good, int& bad) noexcept : of_(&of), good_(&good), bad_(&bad) {}
  guarded_end(guarded_end&& other) noexcept
      : of_(std::exchange(other.of_, nullptr)), good_(other.good_), bad_(other.bad_) {}
  guarded_end& operator=(guarded_end&&) = delete;
  guarded_end(const guarded_end&) = delete;
  guarded_end& operator=(const guarded_end&) = delete;
  ~guarded_end() {
    if (of_ != nullptr) ++(of_->running_here() ? *good_ : *bad_);
  }

 private:
  strand* of_;
  int* good_;
  int* bad_;
};

TEST(strand, captures_and_arguments_are_destroyed_inside_the_turn) {
  int good = 0;
  int bad = 0;
  rota::run(
      [](int& in, int& out) -> task<void> {
        strand line;
        const auto one = [&] { return guarded_end(line, in, out); };
        auto with_capture = line.run([held = one()] {});
        co_await std::move(with_capture);
        co_await line.run([](const guarded_end&) {}, one());
        auto task_with_capture = line.run([held = one()]() -> task<void> { co_await yield(); });
        co_await std::move(task_with_capture);
        const auto of_a_task = [](const guarded_end&) -> task<void> { co_await yield(); };
        co_await line.run(of_a_task, one());
        auto throws = line.run([held = one()] { throw std::runtime_error("broken"); });
        try {
          co_await std::move(throws);
          ADD_FAILURE();
        } catch (const std::runtime_error&) {
        }
        auto posted = line.post([held = one()] {});
        co_await posted;
        auto with_argument = line.post([](const guarded_end&) {}, one());
        co_await with_argument;
        co_await line.join();
      },
      std::ref(good),
      std::ref(bad));
  EXPECT_EQ(good, 7);
  EXPECT_EQ(bad, 0);
}

}  // namespace
}  // namespace rota::sync::strand_ends_test
