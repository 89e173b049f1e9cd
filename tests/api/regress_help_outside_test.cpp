// join(help) on threads without a worker's role, while every worker is held by a task that does not return.
#include "support/sanitized.hpp"

#include <rota/abort_handle.hpp>
#include <rota/error.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <latch>
#include <optional>
#include <semaphore>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

namespace rota {
namespace {

using namespace std::chrono_literals;
using sync::event;

constexpr int rounds = test::sanitized ? 50 : 500;

/// A runtime with each worker inside a task that blocks its thread, and lends nothing, until release().
class held_runtime {
 public:
  explicit held_runtime(unsigned workers = 2)
      : rt({.workers = workers, .watchdog = {}}), inside_(workers + 1) {
    for (unsigned i = 0; i < workers; ++i) holders_.push_back(rt.spawn(hold(inside_, go_)));
    inside_.arrive_and_wait();
  }
  held_runtime(const held_runtime&) = delete;
  held_runtime& operator=(const held_runtime&) = delete;
  ~held_runtime() { release(); }

  void release() {
    go_.release(static_cast<std::ptrdiff_t>(holders_.size()));
    for (auto& each : holders_) each.join();
    holders_.clear();
  }

  runtime rt;

 private:
  static task<> hold(std::latch& inside, std::counting_semaphore<>& go) {
    inside.arrive_and_wait();
    go.acquire();
    co_return;
  }

  std::latch inside_;
  std::counting_semaphore<> go_{0};
  std::vector<join_handle<void>> holders_;
};

task<int> value_of(int n) { co_return n; }

task<int> sum_of(join_handle<int> one, join_handle<int> two) {
  const int first = co_await one;
  const int second = co_await two;
  co_return first + second;
}

TEST(help_outside, a_foreign_thread_runs_the_tasks_that_its_target_depends_on) {
  held_runtime held;
  auto one = held.rt.spawn(value_of(1));
  auto two = held.rt.spawn(value_of(2));
  auto target = held.rt.spawn(sum_of(std::move(one), std::move(two)));
  EXPECT_EQ(target.join(help), 3);
}

TEST(help_outside, children_and_yielding_tasks_run_on_the_helping_thread) {
  held_runtime held;
  auto target = held.rt.spawn([]() -> task<bool> {
    const auto mine = std::this_thread::get_id();
    bool is_same = true;
    for (int i = 0; i < 100; ++i) {
      auto child = spawn([]() -> task<std::thread::id> {
        co_await yield();
        co_return std::this_thread::get_id();
      });
      const std::thread::id ran_on = co_await child;
      is_same = is_same && ran_on == mine;
    }
    co_return is_same;
  });
  EXPECT_TRUE(target.join(help));
}

// The closure is no task of the injector, but what it waits for is.
TEST(help_outside, a_closure_that_waits_for_queued_tasks_is_helped) {
  held_runtime held;
  auto one = held.rt.spawn(value_of(1));
  auto target = held.rt.spawn_blocking([&one] { return one.join() + 1; });
  EXPECT_EQ(target.join(help), 2);
}

TEST(help_outside, a_thread_inside_a_closure_helps) {
  held_runtime held;
  auto closure = held.rt.spawn_blocking([&held] {
    auto one = held.rt.spawn(value_of(1));
    auto two = held.rt.spawn(value_of(2));
    return held.rt.spawn(sum_of(std::move(one), std::move(two))).join(help);
  });
  EXPECT_EQ(closure.join(), 3);
}

TEST(help_outside, the_root_of_block_on_helps) {
  held_runtime held;
  const int sum = held.rt.block_on([]() -> task<int> {
    auto one = spawn(value_of(1));
    auto two = spawn(value_of(2));
    auto target = spawn(sum_of(std::move(one), std::move(two)));
    co_return target.join(help);
  });
  EXPECT_EQ(sum, 3);
}

// The helper sleeps, or is about to, when the task that sets the event comes: a lost wakeup hangs.
TEST(help_outside, a_helper_that_finds_nothing_is_woken_by_the_next_task) {
  held_runtime held;
  for (int i = 0; i < rounds; ++i) {
    event gate;
    auto target = held.rt.spawn([](event& opens) -> task<> { co_await opens.wait(); }, std::ref(gate));
    std::thread helper([&] { target.join(help); });
    auto opener = held.rt.spawn(
        [](event& opens) -> task<> {
          opens.set();
          co_return;
        },
        std::ref(gate));
    helper.join();
    EXPECT_TRUE(opener.is_done());
  }
}

// Each target needs a later task from a sleeping thread. A helper that is woken and leaves wakes another one.
TEST(help_outside, woken_helper_that_leaves_wakes_another_helper) {
  held_runtime held;
  constexpr int helpers = 4;
  for (int i = 0; i < rounds / 4; ++i) {
    std::vector<event> gates(helpers);
    std::vector<std::thread> threads;
    for (event& gate : gates) {
      threads.emplace_back([&held, &gate] {
        held.rt.spawn([](event& opens) -> task<> { co_await opens.wait(); }, std::ref(gate)).join(help);
      });
    }
    for (event& gate : gates) {
      held.rt
          .spawn(
              [](event& opens) -> task<> {
                opens.set();
                co_return;
              },
              std::ref(gate))
          .detach();
    }
    for (std::thread& each : threads) each.join();
  }
}

TEST(help_outside, an_exception_and_a_cancellation_reach_the_helper) {
  held_runtime held;
  auto throws = held.rt.spawn([]() -> task<> {
    co_await yield();
    throw std::runtime_error("of the target");
  });
  EXPECT_THROW(throws.join(help), std::runtime_error);

  event never;
  auto waits = held.rt.spawn([](event& opens) -> task<> { co_await opens.wait(); }, std::ref(never));
  const abort_handle stop = waits.abort_handle();
  std::thread canceller([&stop] { stop.cancel(); });
  EXPECT_THROW(waits.join(help), cancelled_error);
  canceller.join();
}

// Deeper than 16 a join waits. The tasks below that depth need a worker.
TEST(help_outside, help_inside_of_help_runs_sixteen_deep) {
  held_runtime held;
  struct body {
    static task<int> nest(runtime& on, int left) {
      if (left == 0) co_return 0;
      co_return 1 + on.spawn(nest(on, left - 1)).join(help);
    }
  };
  EXPECT_EQ(held.rt.spawn(body::nest(held.rt, 15)).join(help), 15);
}

TEST(help_outside, a_shutdown_ends_what_a_helper_waits_for) {
  std::optional<held_runtime> held(std::in_place);
  event never;
  std::latch inside(2);
  auto target = held->rt.spawn([&]() -> task<> {
    inside.count_down();
    co_await never.wait();
  });
  std::thread helper([&] { EXPECT_THROW(target.join(help), cancelled_error); });
  inside.arrive_and_wait();
  held->release();
  static_cast<void>(held->rt.shutdown(0s));
  held.reset();
  helper.join();
}

// The queue of the child's copy holds the tasks of its parent.
TEST(help_outside, a_forked_child_is_refused) {
  held_runtime held;
  std::atomic<int> ran{0};
  auto target = held.rt.spawn([&]() -> task<> {
    ++ran;
    co_return;
  });
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    int code = 1;
    try {
      target.join(help);
    } catch (const error& refused) {
      code = refused.code() == errc::forked && ran == 0 ? 0 : 2;
    }
    ::_exit(code);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
  target.join(help);
  EXPECT_EQ(ran, 1);
}

}  // namespace
}  // namespace rota
