// The references of a task near the maximum that its word can count.
#include <gtest/gtest.h>

#include <csignal>
#include <optional>

#include "unit/task/task_support.hpp"

namespace rota::waker_count_test {
namespace {

using test::event;
using test::manual_scheduler;

class waker_count : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

/// Calls `act` with a waker of a waiting task that is one reference below the limit.
void with_a_waker_near_the_limit(void (*act)(const waker& of)) {
  manual_scheduler s;
  event e;
  core::header* task = nullptr;
  auto h = s.spawn(
      [](event* of, core::header** me) -> rota::task<> {
        *me = core::current_task();
        co_await (*of)();
      },
      &e,
      &task);
  s.run_until_idle();
  const waker w = e.steal_waker();
  const std::uint64_t more = core::snapshot::max_refs - task->word.load().refs() - 1;
  task->word.force_references(more);
  act(w);
  task->word.force_references(0 - more);
  e.fire();
  s.run_until_idle();
  h.join();
}

TEST_F(waker_count, up_to_the_limit_a_waker_is_cloned) {
  with_a_waker_near_the_limit([](const waker& of) {
    const waker last = of.clone();
    EXPECT_TRUE(last.will_wake(of));
  });
}

TEST_F(waker_count, a_clone_beyond_the_limit_ends_the_program) {
  EXPECT_EXIT(with_a_waker_near_the_limit([](const waker& of) {
                const waker last = of.clone();
                const waker one_too_many = of.clone();
              }),
              ::testing::KilledBySignal(SIGABRT),
              "task refcount overflow");
}

TEST_F(waker_count, a_wake_near_the_limit_still_queues_the_task) {
  with_a_waker_near_the_limit([](const waker& of) { of.wake_by_ref(); });
}

}  // namespace
}  // namespace rota::waker_count_test
