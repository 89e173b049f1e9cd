// async_generator: values, ends, exceptions, and what becomes of a body that is abandoned in the middle.
#include "support/manual_scheduler.hpp"
#include "unit/task/counting_new.hpp"

#include <rota/async_generator.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rota::generator_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

struct on_end {
  on_end(std::string& log, char mark) : to(&log), what(mark) {}
  on_end(const on_end&) = delete;
  on_end& operator=(const on_end&) = delete;
  ~on_end() { *to += what; }
  std::string* to;
  char what;
};

async_generator<int> count_to(int n) {
  for (int i = 1; i <= n; ++i) co_yield i;
}
async_generator<int> slowly(int n, std::string& log) {
  const on_end here(log, 'g');
  for (int i = 1; i <= n; ++i) {
    co_await sleep_for(1ms);
    co_yield i;
  }
}
task<int> sum_of(async_generator<int> all) {
  int sum = 0;
  for (;;) {
    const auto each = co_await all.next();
    if (!each) co_return sum;
    sum += *each;
  }
}

TEST(async_generator, gives_one_value_after_the_other_and_then_nothing) {
  manual_scheduler by;
  auto got = by.spawn([]() -> task<std::string> {
    std::string said;
    auto all = count_to(3);
    for (int i = 0; i < 5; ++i) {
      const std::optional<int> each = co_await all.next();
      said += each ? std::to_string(*each) : "-";
    }
    co_return said;
  });
  by.run_until_idle();
  EXPECT_EQ(got.join(), "123--");
}

TEST(async_generator, may_wait_between_its_values) {
  manual_scheduler by;
  std::string log;
  auto got = by.spawn(sum_of(slowly(10, log)));
  by.run_until_idle();
  EXPECT_FALSE(got.is_done());
  by.run_with_time();
  EXPECT_EQ(got.join(), 55);
  EXPECT_EQ(log, "g");
}

TEST(async_generator, runs_only_while_next_is_awaited) {
  manual_scheduler by;
  std::string log;
  auto got = by.spawn(
      [](std::string& to) -> task<void> {
        auto gen = [](std::string& said) -> async_generator<int> {
          said += 'a';
          co_yield 1;
          said += 'b';
          co_yield 2;
          said += 'c';
        }(to);
        to += '0';
        static_cast<void>(co_await gen.next());
        to += '1';
        static_cast<void>(co_await gen.next());
        to += '2';
        static_cast<void>(co_await gen.next());
      },
      std::ref(log));
  by.run_until_idle();
  got.join();
  EXPECT_EQ(log, "0a1b2c");
}

TEST(async_generator, next_throws_the_exception_of_the_body) {
  manual_scheduler by;
  auto got = by.spawn([]() -> task<std::string> {
    auto gen = []() -> async_generator<int> {
      co_yield 1;
      throw std::runtime_error("no more");
    }();
    std::string said;
    const auto first = co_await gen.next();
    said += std::to_string(*first);
    try {
      static_cast<void>(co_await gen.next());
    } catch (const std::runtime_error& e) {
      said += e.what();
    }
    const auto after = co_await gen.next();
    said += after ? "?" : "-";
    co_return said;
  });
  by.run_until_idle();
  EXPECT_EQ(got.join(), "1no more-");
}

TEST(async_generator, destruction_in_the_middle_destroys_its_locals) {
  manual_scheduler by;
  std::string log;
  auto got = by.spawn(
      [](std::string& to) -> task<void> {
        const on_end outer(to, 't');
        {
          auto gen = slowly(10, to);
          static_cast<void>(co_await gen.next());
          const auto moved = std::move(gen);
          static_cast<void>(
              co_await gen.next());  // NOLINT(bugprone-use-after-move): it says that there is nothing
        }
        to += '|';
        const auto never_asked = slowly(1, to);
      },
      std::ref(log));
  by.run_with_time();
  got.join();
  EXPECT_EQ(log, "g|t");
}

TEST(async_generator, a_cancelled_consumer_unwinds_the_body_where_it_waits) {
  manual_scheduler by;
  std::string log;
  auto got = by.spawn(
      [](std::string& to) -> task<void> {
        const on_end outer(to, 't');
        auto gen = [](std::string& said) -> async_generator<int> {
          const on_end here(said, 'g');
          auto inner = slowly(1'000, said);
          for (;;) {
            auto each = co_await inner.next();
            if (!each) co_return;
            co_yield *each;
          }
        }(to);
        for (;;) {
          auto each = co_await gen.next();
          if (!each) co_return;
        }
      },
      std::ref(log));
  by.run_until_idle();
  by.advance(1ms);
  by.run_until_idle();
  got.cancel();
  by.run_until_idle();
  EXPECT_TRUE(got.is_done());
  EXPECT_EQ(log, "ggt");
}

// The consumer is cancelled while it waits for something else.
TEST(async_generator, resting_body_is_destroyed_with_its_cancelled_consumer) {
  manual_scheduler by;
  std::string log;
  auto got = by.spawn(
      [](std::string& to) -> task<void> {
        auto gen = [](std::string& said) -> async_generator<int> {
          const on_end here(said, 'g');
          co_yield 1;
        }(to);
        static_cast<void>(co_await gen.next());
        co_await sleep_for(1h);
      },
      std::ref(log));
  by.run_until_idle();
  got.cancel();
  by.run_until_idle();
  EXPECT_EQ(log, "g");
}

TEST(async_generator, a_timeout_around_next_ends_it) {
  manual_scheduler by;
  std::string log;
  auto got = by.spawn(
      [](std::string& to) -> task<std::string> {
        auto gen = slowly(3, to);
        std::string said;
        for (int i = 0; i < 3; ++i) {
          auto each = co_await timeout(i == 1 ? 1us : 1h, gen.next());
          said += !each ? "late " : *each ? std::to_string(**each) + " " : "end ";
        }
        co_return said;
      },
      std::ref(log));
  by.run_with_time();
  EXPECT_EQ(got.join(), "1 late end ");
  EXPECT_EQ(log, "g");
}

TEST(async_generator, may_be_handed_from_task_to_task) {
  manual_scheduler one;
  manual_scheduler two;
  std::string log;
  std::optional<async_generator<int>> gen(slowly(2, log));
  const auto next = [](async_generator<int>& of) -> task<int> {
    const auto each = co_await of.next();
    co_return each.value_or(-1);
  };
  for (const int expected : {1, 2, -1}) {
    manual_scheduler& by = expected == 2 ? two : one;
    auto got = by.spawn(next, std::ref(*gen));
    by.run_with_time();
    EXPECT_EQ(got.join(), expected);
  }
}

TEST(async_generator, gives_copies_of_what_it_keeps_and_moves_the_rest) {
  manual_scheduler by;
  auto got = by.spawn([]() -> task<std::string> {
    auto gen = []() -> async_generator<std::string> {
      const std::string kept(30, 'k');
      std::string moved(30, 'm');
      co_yield kept;
      co_yield std::move(moved);
      co_yield kept;
      co_yield std::string(30, 't');
      co_yield "chars";
    }();
    std::string all;
    for (;;) {
      auto each = co_await gen.next();
      if (!each) co_return all;
      all += each->back();
    }
  });
  by.run_until_idle();
  EXPECT_EQ(got.join(), "kmkts");
}

TEST(async_generator, yields_move_only_values_and_references) {
  manual_scheduler by;
  auto got = by.spawn([]() -> task<int> {
    auto owned = []() -> async_generator<std::unique_ptr<int>> {
      for (int i = 0; i < 3; ++i) co_yield std::make_unique<int>(i);
    }();
    int sum = 0;
    for (;;) {
      auto each = co_await owned.next();
      if (!each) break;
      sum += **each;
    }
    std::vector<int> numbers(3, 5);
    auto refs = [](std::vector<int>& of) -> async_generator<int&> {
      for (int& each : of) co_yield each;
    }(numbers);
    for (;;) {
      int* const each = co_await refs.next();
      if (each == nullptr) break;
      *each += 1;
    }
    for (const int each : numbers) sum += each;
    co_return sum;
  });
  by.run_until_idle();
  EXPECT_EQ(got.join(), 21);
}

/// A tree of generators, a thousand levels deep.
async_generator<int> nested(int depth) {
  if (depth == 0) {
    co_yield 1;
    co_yield 2;
    co_return;
  }
  auto inner = nested(depth - 1);
  for (;;) {
    auto each = co_await inner.next();
    if (!each) co_return;
    co_yield *each;
  }
}

TEST(async_generator, deeply_nested_generators_use_bounded_stack) {
  manual_scheduler by;
  auto got = by.spawn([]() -> task<int> {
    auto all = nested(20'000);
    const auto first = co_await all.next();
    const auto second = co_await all.next();
    const auto end = co_await all.next();
    auto left = nested(20'000);
    static_cast<void>(co_await left.next());
    co_return *first + *second + (end ? 100 : 0);
  });
  by.run_until_idle();
  EXPECT_EQ(got.join(), 3);
}

TEST(async_generator, yields_a_million_values) {
  manual_scheduler by;
  auto got = by.spawn([]() -> task<long> {
    auto all = count_to(1'000'000);
    long sum = 0;
    for (;;) {
      const auto each = co_await all.next();
      if (!each) co_return sum;
      sum += *each;
    }
  });
  by.run_until_idle();
  EXPECT_EQ(got.join(), 500'000'500'000L);
}

// The generator allocates its frame, and nothing for a value, whether or not it waits in between.
TEST(async_generator, allocates_nothing_for_a_value) {
  manual_scheduler by;
  const auto counted = [](manual_scheduler& on, bool waits) {
    auto got = on.spawn(
        [](bool in_between) -> task<std::size_t> {
          auto all = [](bool pauses) -> async_generator<int> {
            for (int i = 0;; ++i) {
              if (pauses) co_await yield();
              co_yield i;
            }
          }(in_between);
          for (int i = 0; i < 100; ++i) static_cast<void>(co_await all.next());
          test::allocations::reset();
          for (int i = 0; i < 1'000; ++i) static_cast<void>(co_await all.next());
          co_return test::allocations::made();
        },
        waits);
    on.run_until_idle();
    return got.join();
  };
  EXPECT_EQ(counted(by, false), 0U);
  // Each yield is an entry in this scheduler's deque, which allocates blocks of 64 entries.
  EXPECT_LE(counted(by, true), 1'000 / 64 + 1);
}

// A body may do what a task may: fork, join, wait under a deadline.
TEST(async_generator, a_body_forks_and_waits_like_a_task) {
  manual_scheduler by;
  const auto pairs = []() -> async_generator<int> {
    const auto child = [](int n) -> task<int> {
      co_await sleep_for(1ms);
      co_return n;
    };
    for (int i = 0; i < 3; ++i) {
      auto [a, b] = co_await when_all(child(i), child(10));
      co_yield a + b;
      const auto late = co_await timeout(1us, child(0));
      if (late) throw std::logic_error("it waits");
    }
  };
  auto got = by.spawn(sum_of(pairs()));
  by.run_with_time();
  EXPECT_EQ(got.join(), 33);
}

TEST(async_generator, shield_in_the_body_shields_the_consumer_during_next) {
  manual_scheduler by;
  const auto shielded = []() -> async_generator<int> {
    {
      const auto guard = shield(1h);
      co_await sleep_for(1ms);
    }
    co_yield 1;
    co_await sleep_for(1ms);
  };
  auto got = by.spawn(sum_of(shielded()));
  by.run_until_idle();
  got.cancel();
  by.run_until_idle();
  EXPECT_FALSE(got.is_done());
  by.run_with_time();
  EXPECT_THROW(got.join(), cancelled_error);
}

TEST(async_generator_death, shield_is_held_across_a_co_yield) {
  const auto holds = []() -> async_generator<int> {
    const auto guard = shield(1h);
    co_yield 1;
  };
  EXPECT_DEATH(
      {
        manual_scheduler by;
        auto got = by.spawn(sum_of(holds()));
        by.run_until_idle();
      },
      "a shield of an async_generator is held across a co_yield");
}

TEST(async_generator_death, next_is_called_while_another_next_waits) {
  EXPECT_DEATH(
      {
        manual_scheduler by;
        std::string log;
        auto gen = slowly(3, log);
        const auto next = [](async_generator<int>& of) -> task<void> {
          static_cast<void>(co_await of.next());
        };
        auto one = by.spawn(next, std::ref(gen));
        auto two = by.spawn(next, std::ref(gen));
        by.run_until_idle();
      },
      "is asked for the next one already");
}

}  // namespace
}  // namespace rota::generator_test
