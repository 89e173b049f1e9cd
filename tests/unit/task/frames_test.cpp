// The memory of tasks: the number of allocations, their source, failures, and that all is destroyed once.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "support/sanitized.hpp"
#include "unit/task/counting_new.hpp"
#include "unit/task/task_support.hpp"

namespace rota::frames_test {
namespace {

using test::allocations;
using test::counted;
using test::event;
using test::manual_scheduler;

// Larger than the cache of free frames keeps, so that operator new sees every frame.
using ballast = std::array<char, 4096>;

/// Keeps an optimiser from removing an object that is never read.
void touch(ballast& weight) noexcept { asm volatile("" : : "r"(weight.data()) : "memory"); }

task<int> large(counted c, int value) {
  ballast weight{};
  touch(weight);
  weight.back() = static_cast<char>(value);
  co_await yield();
  touch(weight);
  co_return c.value + weight.back();
}

/// A scheduler with free capacity in its queue, so that a spawn allocates nothing in the scheduler.
struct warm {
  warm() {
    for (int i = 0; i < 8; ++i) s.spawn([]() -> task<> { co_return; }).detach();
    s.run_until_idle();
    s.ended = 0;
  }
  manual_scheduler s;
};

TEST(frames, spawning_a_task_is_one_allocation) {
  warm w;
  allocations::reset();
  auto h = w.s.spawn(large(counted(1), 2));
  EXPECT_EQ(allocations::made(), 1U);
  w.s.run_until_idle();
  EXPECT_EQ(h.join(), 3);
  EXPECT_EQ(allocations::made() - allocations::freed(), 0U);
}

TEST(frames, spawning_a_stateless_callable_is_one_allocation) {
  warm w;
  allocations::reset();
  auto h = w.s.spawn(large, counted(1), 2);
  EXPECT_EQ(allocations::made(), 1U);
  w.s.run_until_idle();
  EXPECT_EQ(h.join(), 3);

  allocations::reset();
  auto lambda = w.s.spawn(
      [](ballast weight) -> task<int> {
        touch(weight);
        co_await yield();
        touch(weight);
        co_return weight[0];
      },
      ballast{});
  EXPECT_EQ(allocations::made(), 1U);
  w.s.run_until_idle();
  EXPECT_EQ(lambda.join(), 0);
}

TEST(frames, spawning_a_closure_is_at_most_two_allocations) {
  warm w;
  const ballast weight{};
  const auto closure = [weight](int value) -> task<int> {
    const int mine = weight[0] + value;
    co_await yield();
    co_return mine;
  };
  allocations::reset();
  auto h = w.s.spawn(closure, 4);
  EXPECT_LE(allocations::made(), 2U);
  w.s.run_until_idle();
  EXPECT_EQ(h.join(), 4);
  EXPECT_LE(allocations::made(), 2U);
}

TEST(frames, small_frames_come_from_the_threads_own_list) {
  const auto small = []() -> task<int> { co_return 1; };
  static_cast<void>(core::run_on_this_thread(small(), nullptr));
  allocations::reset();
  for (int i = 0; i < 1000; ++i) static_cast<void>(core::run_on_this_thread(small(), nullptr));
  // Builds with AddressSanitizer keep no free frames.
  EXPECT_EQ(allocations::made(), test::with_address_sanitizer ? allocations::freed() : 0U);
}

// --- arguments live in the task

task<std::string> takes_a_reference(const std::string& text) {
  std::string copy;
  co_await yield();
  copy = text;
  co_return copy;
}

task<std::string> takes_an_rvalue(std::string&& text) {
  std::string copy;
  co_await yield();
  copy = std::move(text);
  co_return copy;
}

TEST(frames, arguments_live_in_the_task_also_when_it_takes_references) {
  manual_scheduler s;
  const std::string lasting = "a string that does not fit into the object itself";
  auto by_pointer = s.spawn(takes_a_reference, lasting + " 1");
  auto by_rvalue = s.spawn(takes_an_rvalue, lasting + " 2");
  auto by_lambda = s.spawn(
      [](const std::string& text) -> task<std::string> {
        std::string copy;
        co_await yield();
        copy = text;
        co_return copy;
      },
      lasting + " 3");
  auto by_generic_lambda = s.spawn(
      [](const auto& text) -> task<std::string> {
        std::string copy;
        co_await yield();
        copy = text;
        co_return copy;
      },
      lasting + " 4");
  s.run_until_idle();
  EXPECT_EQ(by_pointer.join(), lasting + " 1");
  EXPECT_EQ(by_rvalue.join(), lasting + " 2");
  EXPECT_EQ(by_lambda.join(), lasting + " 3");
  EXPECT_EQ(by_generic_lambda.join(), lasting + " 4");
}

// --- failure

TEST(frames, failed_frame_allocation_starts_nothing) {
  warm w;
  counted::reset();
  allocations::fail_after(0);
  EXPECT_THROW(static_cast<void>(w.s.spawn(large, counted(1), 2)), std::bad_alloc);
  allocations::stop_failing();
  EXPECT_EQ(counted::alive, 0) << "arguments are destroyed, once";
  EXPECT_GT(counted::made, 0);
  EXPECT_EQ(w.s.live, 0);
  EXPECT_EQ(w.s.run_until_idle(), 0);
  EXPECT_EQ(w.s.ended, 0);
}

TEST(frames, failed_second_frame_of_a_closure_is_the_tasks_exception) {
  warm w;
  counted::reset();
  const ballast weight{};
  const auto closure = [weight](counted c) -> task<int> {
    ballast mine = weight;
    touch(mine);
    co_await yield();
    touch(mine);
    co_return mine[0] + c.value;
  };
  std::vector<int> outcomes;
  outcomes.reserve(3);
  for (std::size_t nth = 0; nth < 3; ++nth) {
    allocations::fail_after(nth);
    try {
      auto h = w.s.spawn(closure, counted(4));
      w.s.run_until_idle();
      outcomes.push_back(h.join());
    } catch (const std::bad_alloc&) {
      outcomes.push_back(-1);
    }
    allocations::stop_failing();
    EXPECT_EQ(counted::alive, 0);
    EXPECT_EQ(w.s.live, 0);
  }
  ASSERT_EQ(outcomes.size(), 3U);
  EXPECT_EQ(outcomes[0], -1);
  EXPECT_TRUE(outcomes[1] == -1 || outcomes[1] == 4)
      << "an optimiser may put the inner frame into the outer one";
  EXPECT_EQ(outcomes[2], 4);
}

task<int> awaits_large(int levels) {
  ballast weight{};
  touch(weight);
  int below = 0;
  if (levels > 0) below = co_await awaits_large(levels - 1);
  touch(weight);
  co_return below + 1 + weight[0];
}

TEST(frames, every_failing_allocation_in_a_chain_of_awaits_is_an_exception_and_leaks_nothing) {
  for (std::size_t nth = 0; nth < 12; ++nth) {
    manual_scheduler s;
    allocations::reset();
    bool threw = false;
    {
      join_handle<int> h;
      try {
        auto work = awaits_large(9);
        h = s.spawn(std::move(work));
      } catch (const std::bad_alloc&) {
        ADD_FAILURE() << "nothing fails yet";
      }
      allocations::fail_after(nth);
      s.run_until_idle();
      allocations::stop_failing();
      auto got = h.wait_for(std::chrono::nanoseconds(0));
      if (!got.has_value()) {
        ADD_FAILURE() << "it has ended";
        continue;
      }
      threw = got->has_exception();
    }
    EXPECT_EQ(threw, nth < 9) << nth;
    EXPECT_EQ(s.live, 0);
  }
}

// --- std::allocator_arg

struct bank {
  std::size_t given = 0;
  std::size_t taken = 0;
  int blocks = 0;
};

template <class T>
struct account {
  using value_type = T;
  bank* at;

  explicit account(bank& b) noexcept : at(&b) {}
  template <class U>
  account(const account<U>& other) noexcept : at(other.at) {}  // NOLINT(google-explicit-constructor)

  T* allocate(std::size_t n) {
    at->given += n * sizeof(T);
    ++at->blocks;
    return static_cast<T*>(::operator new(n * sizeof(T)));
  }
  void deallocate(T* memory, std::size_t n) noexcept {
    at->taken += n * sizeof(T);
    ::operator delete(memory);
  }
  friend bool operator==(const account& a, const account& b) noexcept { return a.at == b.at; }
};

task<int> paid_by(std::allocator_arg_t /*tag*/, account<std::byte> /*from*/, counted c, event* on) {
  const int mine = c.value;
  if (on != nullptr) co_await (*on)();
  co_return mine;
}

TEST(frames, a_frame_comes_from_the_allocator_that_is_given) {
  bank b;
  counted::reset();
  {
    manual_scheduler s;
    auto h = s.spawn(paid_by(std::allocator_arg, account<std::byte>(b), counted(3), nullptr));
    EXPECT_EQ(b.blocks, 1);
    EXPECT_GT(b.given, sizeof(core::header));
    s.run_until_idle();
    EXPECT_EQ(b.taken, 0U) << "the handle keeps the result";
    EXPECT_EQ(h.join(), 3);
    EXPECT_EQ(b.taken, b.given);
  }
  EXPECT_EQ(counted::alive, 0);
}

TEST(frames, allocator_gets_frames_back_if_awaited_unstarted_or_cancelled) {
  bank b;
  counted::reset();
  {
    [[maybe_unused]] const auto never =
        paid_by(std::allocator_arg, account<std::byte>(b), counted(3), nullptr);
  }
  EXPECT_EQ(b.taken, b.given);
  {
    manual_scheduler s;
    event e;
    auto awaits = s.spawn(
        [](bank* of, event* on) -> task<int> {
          auto child = paid_by(std::allocator_arg, account<std::byte>(*of), counted(4), nullptr);
          const int first = co_await std::move(child);
          auto stuck = paid_by(std::allocator_arg, account<std::byte>(*of), counted(5), on);
          const int second = co_await std::move(stuck);
          co_return first + second;
        },
        &b,
        &e);
    s.run_until_idle();
    EXPECT_EQ(b.blocks, 3);
    awaits.cancel();
    s.run_until_idle();
    EXPECT_EQ(b.taken, b.given);
  }
  EXPECT_EQ(counted::alive, 0);
}

struct member_coroutine {
  int base;
  // The object is the first argument that operator new receives.
  task<int> run(std::allocator_arg_t /*tag*/, account<std::byte> /*from*/, int more) const {
    const int mine = base + more;
    co_return mine;
  }
};

TEST(frames, member_functions_may_take_an_allocator_too) {
  bank b;
  const member_coroutine object{40};
  auto work = object.run(std::allocator_arg, account<std::byte>(b), 2);
  EXPECT_EQ(b.blocks, 1);
  EXPECT_EQ(core::run_on_this_thread(std::move(work), nullptr), 42);
  EXPECT_EQ(b.taken, b.given);
}

TEST(frames, failing_allocator_throws_in_the_caller) {
  counted::reset();
  bank b;
  allocations::fail_after(0);
  EXPECT_THROW(static_cast<void>(paid_by(std::allocator_arg, account<std::byte>(b), counted(1), nullptr)),
               std::bad_alloc);
  allocations::stop_failing();
  EXPECT_EQ(counted::alive, 0);
}

// --- each object is destroyed once

TEST(frames, every_frame_is_destroyed_once_however_it_ends) {
  enum class end { returns, throws, cancelled, never_run };
  for (const end how : {end::returns, end::throws, end::cancelled, end::never_run}) {
    counted::reset();
    {
      manual_scheduler s;
      event e;
      struct chain {
        static task<> run(counted c, event* on, end last, int left) {
          const counted local(c.value);
          if (left > 0) {
            auto below = run(counted(left), on, last, left - 1);
            co_await std::move(below);
          } else {
            co_await (*on)();
            if (last == end::throws) throw 1;
          }
        }
      };
      auto h = s.spawn(chain::run(counted(9), &e, how, 9));
      if (how != end::never_run) s.run_until_idle();
      if (how == end::cancelled || how == end::never_run) h.cancel();
      e.fire();
      s.run_until_idle();
      EXPECT_EQ(s.ended, 1);
      static_cast<void>(h.wait_for(std::chrono::nanoseconds(0)));
    }
    EXPECT_EQ(counted::alive, 0) << static_cast<int>(how);
  }
}

}  // namespace
}  // namespace rota::frames_test
