// A million awaits, in sequence and nested, on a small stack: in every build, however they end.
#include <gtest/gtest.h>
#include <pthread.h>

#include <cstddef>
#include <stdexcept>

#include "unit/task/task_support.hpp"

namespace rota::deep_test {
namespace {

using test::event;
using test::manual_scheduler;

constexpr int million = 1'000'000;
constexpr std::size_t small_stack = 256 * 1024;

/// Runs `f` on a thread with a stack of a quarter of a byte for each level of a million.
template <class F>
void on_a_small_stack(F f) {
  pthread_attr_t attributes;
  ASSERT_EQ(pthread_attr_init(&attributes), 0);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, small_stack), 0);
  pthread_t thread{};
  const auto entry = [](void* data) -> void* {
    (*static_cast<F*>(data))();
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, entry, &f), 0);
  pthread_attr_destroy(&attributes);
  pthread_join(thread, nullptr);
}

task<int> give_one() {
  const int one = 1;
  co_return one;
}

TEST(deep, a_million_awaited_tasks_in_a_loop_use_bounded_stack) {
  on_a_small_stack([] {
    const int sum = core::run_on_this_thread(
        []() -> task<int> {
          int total = 0;
          for (int i = 0; i < million; ++i) total += co_await give_one();
          co_return total;
        }(),
        nullptr);
    EXPECT_EQ(sum, million);
  });
}

TEST(deep, a_million_ready_leaves_in_a_loop_use_bounded_stack) {
  on_a_small_stack([] {
    manual_scheduler s;
    auto h = s.spawn([]() -> task<int> {
      int total = 0;
      for (int i = 0; i < million; ++i) {
        co_await test::ready_leaf();
        ++total;
      }
      co_return total;
    });
    const int entries = s.run_until_idle();
    EXPECT_EQ(entries, 1 + million / 128);
    EXPECT_EQ(h.join(), million);
  });
}

/// Each task awaits the next one, and the last one waits for `e`.
task<int> chain(event& e, int left, bool fails) {
  int below = 0;
  if (left > 0) {
    below = co_await chain(e, left - 1, fails);
  } else {
    co_await e();
    if (fails) throw std::runtime_error("from the bottom");
  }
  co_return below + 1;
}

TEST(deep, a_chain_returns_a_value) {
  on_a_small_stack([] {
    manual_scheduler s;
    event e;
    auto h = s.spawn(chain(e, million, false));
    s.run_until_idle();
    EXPECT_FALSE(h.is_done());
    e.fire();
    EXPECT_EQ(s.run_until_idle(), 1);
    EXPECT_EQ(h.join(), million + 1);
  });
}

TEST(deep, a_chain_passes_an_exception_up) {
  on_a_small_stack([] {
    manual_scheduler s;
    event e;
    auto h = s.spawn(chain(e, million, true));
    s.run_until_idle();
    e.fire();
    s.run_until_idle();
    EXPECT_THROW(static_cast<void>(h.join()), std::runtime_error);
  });
}

TEST(deep, a_chain_is_cancelled_at_the_bottom) {
  on_a_small_stack([] {
    manual_scheduler s;
    event e;
    auto h = s.spawn(chain(e, million, false));
    s.run_until_idle();
    h.cancel();
    s.run_until_idle();
    EXPECT_EQ(s.cancelled, 1);
    EXPECT_THROW(static_cast<void>(h.join()), cancelled_error);
  });
}

TEST(deep, a_chain_that_never_suspends_uses_bounded_stack) {
  on_a_small_stack([] {
    event e;
    e.fire();
    EXPECT_EQ(core::run_on_this_thread(chain(e, million, false), nullptr), million + 1);
  });
}

// --- tasks as parameters of tasks

int destroyed = 0;

struct counts_its_end {
  counts_its_end() = default;
  counts_its_end(counts_its_end&& other) noexcept : armed(std::exchange(other.armed, false)) {}
  counts_its_end& operator=(counts_its_end&&) = delete;
  ~counts_its_end() { destroyed += armed ? 1 : 0; }
  bool armed = true;
};

task<int> wrap(task<int> inner, counts_its_end /*end*/) {
  const int got = co_await std::move(inner);
  co_return got + 1;
}

task<int> innermost_of(event* e) {
  const int one = 1;
  if (e != nullptr) co_await (*e)();
  co_return one;
}

task<int> wrapped(int levels, event* e) {
  destroyed = 0;
  task<int> work = innermost_of(e);
  for (int i = 0; i < levels; ++i) work = wrap(std::move(work), counts_its_end());
  return work;
}

TEST(deep, tasks_in_tasks_that_never_start_are_destroyed_without_recursion) {
  on_a_small_stack([] {
    {
      [[maybe_unused]] const task<int> never = wrapped(million, nullptr);
    }
    EXPECT_EQ(destroyed, million);
  });
}

TEST(deep, tasks_in_tasks_that_ran_are_destroyed_without_recursion) {
  on_a_small_stack([] {
    EXPECT_EQ(core::run_on_this_thread(wrapped(million, nullptr), nullptr), million + 1);
    EXPECT_EQ(destroyed, million);
  });
}

TEST(deep, nested_tasks_cancelled_before_they_start_are_all_destroyed) {
  on_a_small_stack([] {
    manual_scheduler s;
    auto h = s.spawn(wrapped(million, nullptr));
    h.cancel();
    s.run_until_idle();
    EXPECT_EQ(destroyed, million);
    EXPECT_TRUE(h.is_done());
  });
}

TEST(deep, nested_tasks_cancelled_at_the_bottom_are_all_destroyed) {
  on_a_small_stack([] {
    manual_scheduler s;
    event e;
    auto h = s.spawn(wrapped(million, &e));
    s.run_until_idle();
    EXPECT_EQ(destroyed, 0);
    h.cancel();
    s.run_until_idle();
    EXPECT_EQ(destroyed, million);
  });
}

task<int> ignores(task<int> /*inner*/, counts_its_end /*end*/) {
  const int zero = 0;
  co_return zero;
}

TEST(deep, nested_tasks_ignored_by_the_outermost_task_are_all_destroyed) {
  on_a_small_stack([] {
    const int got = core::run_on_this_thread(ignores(wrapped(million, nullptr), counts_its_end()), nullptr);
    EXPECT_EQ(got, 0);
    EXPECT_EQ(destroyed, million + 1);
  });
}

// Compilers destroy a frame's parameters in different orders. A task among them does not change the order.
template <class Inner>
task<> owns(test::note /*first*/, Inner /*inner*/, test::note /*last*/) {
  co_return;
}
task<> owns_one(test::note /*only*/) { co_return; }

TEST(deep, nested_tasks_keep_the_compilers_order_of_destruction) {
  test::journal expected;
  {
    [[maybe_unused]] const task<> never =
        owns(test::note(expected, "first"), test::note(expected, "inner"), test::note(expected, "last"));
  }
  test::journal j;
  {
    auto inner = owns_one(test::note(j, "inner"));
    [[maybe_unused]] const task<> never =
        owns(test::note(j, "first"), std::move(inner), test::note(j, "last"));
  }
  EXPECT_EQ(j.text(), expected.text());
}

// --- tasks that join tasks

task<int> join_chain(manual_scheduler& s, event& e, int left) {
  int below = 0;
  if (left > 0) {
    auto child = s.spawn(join_chain(s, e, left - 1));
    below = co_await child;
  } else {
    co_await e();
  }
  co_return below + 1;
}

TEST(deep, a_chain_of_joins_uses_bounded_stack) {
  on_a_small_stack([] {
    manual_scheduler s;
    event e;
    e.fire();
    auto h = s.spawn(join_chain(s, e, million / 10));
    s.run_until_idle();
    EXPECT_EQ(h.join(), million / 10 + 1);
  });
}

TEST(deep, a_suspended_chain_of_joins_is_cancelled_as_a_whole) {
  on_a_small_stack([] {
    manual_scheduler s;
    event e;
    auto h = s.spawn(join_chain(s, e, million / 10));
    s.run_until_idle();
    h.cancel();
    s.run_until_idle();
    EXPECT_EQ(s.cancelled, million / 10 + 1);
    EXPECT_TRUE(h.is_done());
  });
}

}  // namespace
}  // namespace rota::deep_test
