// Children that run in their parent's place, on a real runtime: which effects a program can observe.
#include <rota/inplace_vector.hpp>
#include <rota/runtime.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/stop_token.hpp>
#include <rota/task_local.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace fork_test {
namespace {

using namespace rota;
using namespace std::chrono_literals;

/// With one worker no task is stolen; with two workers tasks may be.
class fork_on : public ::testing::TestWithParam<unsigned> {
 protected:
  runtime r{runtime_options{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, fork_on, ::testing::Values(1U, 2U), [](const auto& workers) {
  return workers.param == 1 ? std::string("one_worker") : std::string("two_workers");
});

task<std::uint64_t> fib(unsigned n) {
  if (n < 2) co_return n;
  const auto [a, b] = co_await when_all(fib(n - 1), fib(n - 2));
  co_return a + b;
}

TEST_P(fork_on, recursion_without_a_cut_off_spawns_less_than_half_on_one_worker) {
  EXPECT_EQ(r.spawn(fib(21)).join(), 10946U);
  if (GetParam() == 1) {
    // Each 5 ms, also if this process does not run, the watchdog lets the worker make tasks of some of them.
    EXPECT_LT(r.stats().total_spawned, 28'656U / 2) << "28656 children, none of which needs to be a task";
  }
}

task<int> deep(int levels) {
  if (levels == 0) co_return 0;
  const auto [below, one] = co_await when_all(deep(levels - 1), [](int n) -> task<int> { co_return n; }(1));
  co_return below + one;
}

TEST_P(fork_on, recursion_of_a_hundred_thousand_levels_completes) {
  EXPECT_EQ(r.spawn(deep(100'000)).join(), 100'000);
}

/// Measures the most stack that callers of look() have used on their threads.
class stack_use {
 public:
  [[gnu::noinline]] void look() {
    const auto address = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    static thread_local std::uintptr_t lowest = 0;
    static thread_local std::uintptr_t highest = 0;
    static thread_local const stack_use* whose = nullptr;
    if (std::exchange(whose, this) != this) lowest = highest = address;
    lowest = std::min(lowest, address);
    highest = std::max(highest, address);
    std::uintptr_t seen = most_.load();
    while (highest - lowest > seen && !most_.compare_exchange_weak(seen, highest - lowest)) {
    }
  }
  [[nodiscard]] std::uintptr_t most() const { return most_; }

 private:
  std::atomic<std::uintptr_t> most_ = 0;
};

/// If `fails`, one leaf in three throws.
task<unsigned> wide(unsigned levels, bool fails, stack_use& stack) {
  stack.look();
  if (levels == 0) {
    static std::atomic<unsigned> leaves = 0;
    if (fails && ++leaves % 3 == 0) throw std::runtime_error("a leaf");
    co_return 1U;
  }
  inplace_vector<task<unsigned>, 6> children;
  for (int i = 0; i < 6; ++i) children.push_back(wide(levels - 1, fails, stack));
  unsigned total = 0;
  if (fails) {
    const auto ends = co_await when_all_settled(std::move(children));
    for (const auto& end : ends) total += end.has_value() ? end.value() : 1;
  } else {
    const auto values = co_await when_all(std::move(children));
    for (const unsigned each : values) total += each;
  }
  co_return total;
}

TEST_P(fork_on, a_wide_tree_takes_little_stack) {
  constexpr std::uintptr_t little = 256U * 1024;
  for (const bool fails : {false, true}) {
    stack_use stack;
    EXPECT_EQ(r.spawn(wide(6, fails, stack)).join(), 46'656U);
    EXPECT_LT(stack.most(), little) << "after 55,987 tasks, one in the place of the other; fails: " << fails;
  }
}

task<int> number(int n) { co_return n; }

TEST_P(fork_on, when_all_completes_a_range_larger_than_the_deque) {
  auto sum = []() -> task<std::uint64_t> {
    std::vector<task<int>> numbers;
    for (int n = 0; n < 20'000; ++n) numbers.push_back(number(n));
    std::uint64_t total = 0;
    int expected = 0;
    const std::vector<int> values = co_await when_all(std::move(numbers));
    for (const int n : values) {
      EXPECT_EQ(n, expected++);
      total += static_cast<unsigned>(n);
    }
    co_return total;
  };
  EXPECT_EQ(r.spawn(sum).join(), 199'990'000U);
}

/// Its moves come to an end: the one after `moves` throws.
struct throws_when_moved {
  throws_when_moved(int moves, std::atomic<int>& alive) : left(moves), living(&alive) { ++*living; }
  throws_when_moved(throws_when_moved&& other) : left(other.left - 1), living(other.living) {
    if (left < 0) throw std::runtime_error("moved");
    ++*living;
  }
  throws_when_moved& operator=(throws_when_moved&&) = delete;
  ~throws_when_moved() { --*living; }
  int left;
  std::atomic<int>* living;
};

TEST_P(fork_on, results_with_a_throwing_move_are_returned_and_destroyed) {
  std::atomic<int> alive{0};
  const auto works = [&](int first, int second) -> task<bool> {
    const auto makes = [&alive](int moves) -> task<throws_when_moved> {
      co_return throws_when_moved(moves, alive);
    };
    try {
      const auto both = co_await when_all(makes(first), makes(second));
      EXPECT_GE(std::get<0>(both).left + std::get<1>(both).left, 0);
      co_return true;
    } catch (const std::runtime_error&) {
      co_return false;
    }
  };
  constexpr int enough = 100;
  int thrown = 0;
  for (int moves = 0; moves < 10; ++moves) {
    const bool did_first = r.spawn(works, moves, enough).join();
    const bool did_second = r.spawn(works, enough, moves).join();
    EXPECT_EQ(did_first, did_second) << moves << " moves";
    EXPECT_EQ(alive.load(), 0) << moves << " moves";
    if (!did_first) ++thrown;
  }
  EXPECT_GE(thrown, 2) << "where the child returns it, and where the parent takes it out";
  EXPECT_LT(thrown, 10);
}

TEST_P(fork_on, results_that_own_memory_are_returned) {
  auto work = []() -> task<std::size_t> {
    const auto text = [](std::size_t n) -> task<std::string> { co_return std::string(n, 'x'); };
    const auto pointer = []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(7); };
    const auto [a, b, c] = co_await when_all(text(100), pointer(), text(50));
    co_return a.size() + c.size() + static_cast<unsigned>(*b);
  };
  EXPECT_EQ(r.spawn(work).join(), 157U);
}

/// A parameter that calls `F` when the frame of its child is destroyed.
template <class F>
struct at_end {
  explicit at_end(F f) : does(std::move(f)) {}
  at_end(at_end&& other) noexcept : does(std::move(other.does)), live(std::exchange(other.live, false)) {}
  at_end& operator=(at_end&&) = delete;
  ~at_end() {
    if (live) does();
  }
  F does;
  bool live = true;
};

// A parameter's destructor runs as the ending child, also if it asks for its task, blocks or waits.
TEST_P(fork_on, parameters_are_destroyed_by_the_child) {
  for (int what = 0; what < 4; ++what) {
    std::atomic<int> ends{0};
    auto work = [&](runtime& on) -> task<int> {
      const auto child = [&](int n, auto /*parameter*/) -> task<int> { co_return n; };
      const task_id me = this_task::id();
      const auto ends_so = [&] {
        return at_end([&, me] {
          ends.fetch_add(1);
          if (what == 1) {
            EXPECT_NE(this_task::id().value, me.value);
          }
          if (what == 2) block_in_place([] { std::this_thread::sleep_for(1ms); });
          if (what == 3) {
            auto other = on.spawn(fib(5));
            EXPECT_EQ(std::move(other).join(help), 5U);
          }
        });
      };
      const auto nested = [&]() -> task<int> {
        const auto [a, b, c] =
            co_await when_all(child(1, ends_so()), child(2, ends_so()), child(3, ends_so()));
        co_return a + b + c;
      };
      const auto [a, b] = co_await when_all(nested(), nested());
      co_return a + b;
    };
    EXPECT_EQ(r.spawn(work(r)).join(), 12) << what;
    EXPECT_EQ(ends.load(), 6) << what;
  }
}

// --- what only a task has ----------------------------------------------------------------------------------

TEST_P(fork_on, every_child_has_an_id_of_its_own) {
  auto work = []() -> task<void> {
    const auto who = []() -> task<task_id> { co_return this_task::id(); };
    const task_id me = this_task::id();
    const auto [a, b, c] = co_await when_all(who(), who(), who());
    EXPECT_NE(a.value, b.value);
    EXPECT_NE(b.value, c.value);
    EXPECT_NE(a.value, me.value);
    EXPECT_NE(c.value, me.value);
    EXPECT_EQ(this_task::id().value, me.value);
  };
  r.spawn(work).join();
}

const task_local<int> level{0};

TEST_P(fork_on, task_locals_are_inherited_and_stay_separate) {
  auto work = []() -> task<void> {
    const auto outer = level.set(1);
    const auto changes = [](int to) -> task<int> {
      const int before = level.get();
      const auto mine = level.set(to);
      co_await yield();
      EXPECT_EQ(level.get(), to);
      co_return before;
    };
    const auto nested = [&]() -> task<int> {
      const auto [a, b] = co_await when_all(changes(5), changes(6));
      EXPECT_EQ(a + b, 2);
      co_return level.get();
    };
    const auto [a, b, c] = co_await when_all(changes(2), nested(), changes(3));
    EXPECT_EQ(a, 1);
    EXPECT_EQ(b, 1);
    EXPECT_EQ(c, 1);
    EXPECT_EQ(level.get(), 1);
  };
  r.spawn(work).join();
}

TEST_P(fork_on, deadlines_are_inherited) {
  auto work = []() -> task<void> {
    const auto knows = []() -> task<bool> {
      co_return this_task::deadline() < std::chrono::steady_clock::time_point::max();
    };
    const auto both = [&]() -> task<bool> {
      const auto [a, b] = co_await when_all(knows(), knows());
      co_return a&& b;
    };
    const auto inside = co_await timeout(1h, both());
    EXPECT_TRUE(inside.value());
    const bool outside = co_await both();
    EXPECT_FALSE(outside);
  };
  r.spawn(work).join();
}

TEST_P(fork_on, stop_link_of_a_child_cancels_only_that_child) {
  auto work = []() -> task<void> {
    std::stop_source source;
    const auto linked = [&]() -> task<void> {
      const stop_link link(source.get_token());
      source.request_stop();
      co_await sleep_for(1h);
    };
    const auto fine = []() -> task<void> { co_await yield(); };
    const auto [a, b] = co_await when_all_settled(linked(), fine());
    EXPECT_TRUE(a.is_cancelled());
    EXPECT_TRUE(b.has_value());
    EXPECT_FALSE(this_task::cancel_requested());
  };
  r.spawn(work).join();
}

TEST_P(fork_on, waiting_child_lets_its_sibling_run) {
  auto work = []() -> task<int> {
    std::atomic<bool> told{false};
    const auto waits = [&]() -> task<int> {
      while (!told.load()) co_await yield();
      co_return 1;
    };
    const auto tells = [&]() -> task<int> {
      told.store(true);
      co_return 2;
    };
    const auto [a, b] = co_await when_all(waits(), tells());
    co_return a + b;
  };
  EXPECT_EQ(r.spawn(work).join(), 3);
}

TEST_P(fork_on, a_child_may_block_its_thread) {
  auto work = []() -> task<int> {
    std::latch both(2);
    const auto meets = [&]() -> task<int> {
      block_in_place([&] { both.arrive_and_wait(); });
      co_return 1;
    };
    const auto [a, b] = co_await when_all(meets(), meets());
    co_return a + b;
  };
  EXPECT_EQ(r.spawn(work).join(), 2);
}

TEST(fork, thief_steals_the_sibling_of_a_child_that_blocks_unannounced) {
  runtime r(runtime_options{.workers = 2});
  auto work = []() -> task<int> {
    std::latch both(2);
    const auto meets = [&]() -> task<int> {
      both.arrive_and_wait();
      co_return 1;
    };
    const auto [a, b] = co_await when_all(meets(), meets());
    co_return a + b;
  };
  for (int i = 0; i < 20; ++i) EXPECT_EQ(r.spawn(work).join(), 2);
}

// --- ends --------------------------------------------------------------------------------------------------

struct found : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A search in a tree that is infinite except for the wanted leaf. Counts the living frames.
struct search {
  std::atomic<long> alive{0};
  std::atomic<long> begun{0};
  std::uint64_t goal = 0;

  struct life {
    explicit life(search& s) noexcept : of(&s) {
      of->alive.fetch_add(1);
      of->begun.fetch_add(1);
    }
    life(const life&) = delete;
    life& operator=(const life&) = delete;
    ~life() { of->alive.fetch_sub(1); }
    search* of;
  };

  task<void> below(std::uint64_t node, unsigned depth) {
    const life mine(*this);
    if (depth == 12 && node == goal) throw found("here");
    if (depth == 40) co_return;
    co_await when_all(below(2 * node, depth + 1), below(2 * node + 1, depth + 1));
  }
};

// 2^40 leaves, the answer near the root: the search ends only since the others stop at their next fork.
TEST(fork, search_that_finds_its_answer_cancels_the_other_branches) {
  runtime r(runtime_options{.workers = 2});
  // The first leaf of the left half, then of the right half, which a thief runs: the other half never ends.
  for (const std::uint64_t goal : {std::uint64_t{2} << 11U, std::uint64_t{3} << 11U}) {
    search s;
    s.goal = goal;
    EXPECT_THROW(r.spawn(s.below(1, 0)).join(), found);
    EXPECT_EQ(s.alive.load(), 0) << "every frame is destroyed";
    EXPECT_GT(s.begun.load(), 12);
  }
}

TEST_P(fork_on, a_cancelled_search_ends_at_its_next_fork) {
  search s;
  auto handle = r.spawn(s.below(1, 0));
  while (s.begun.load() < 1000) std::this_thread::yield();
  handle.cancel();
  EXPECT_THROW(handle.join(), cancelled_error);
  EXPECT_EQ(s.alive.load(), 0);
}

TEST_P(fork_on, search_ends_when_its_deadline_passes) {
  search s;
  auto work = [&]() -> task<bool> { co_return (co_await timeout(5ms, s.below(1, 0))).has_value(); };
  EXPECT_FALSE(r.spawn(work).join());
  EXPECT_EQ(s.alive.load(), 0);
}

TEST_P(fork_on, search_ends_when_its_scope_fails) {
  search s;
  auto work = [&]() -> task<void> {
    co_await with_scope([&](scope& c) -> task<void> {
      c.fork([&]() -> task<void> {
        while (s.begun.load() < 1000) co_await sleep_for(1ms);
        throw found("elsewhere");
      });
      co_await s.below(1, 0);
    });
  };
  EXPECT_THROW(r.spawn(work).join(), found);
  EXPECT_EQ(s.alive.load(), 0);
}

TEST_P(fork_on, a_shutdown_ends_a_search) {
  search s;
  auto handle = r.spawn(s.below(1, 0));
  while (s.begun.load() < 1000) std::this_thread::yield();
  static_cast<void>(r.shutdown(10s));
  EXPECT_THROW(handle.join(), cancelled_error);
  EXPECT_EQ(s.alive.load(), 0);
}

TEST_P(fork_on, long_search_does_not_starve_other_tasks) {
  search s;
  auto handle = r.spawn(s.below(1, 0));
  while (s.begun.load() < 1000) std::this_thread::yield();
  for (int i = 0; i < 3; ++i) {
    r.spawn([]() -> task<void> { co_await sleep_for(1ms); }).join();
  }
  handle.cancel();
  EXPECT_THROW(handle.join(), cancelled_error);
}

/// Its destructor waits until `flag` is set.
class until_set {
 public:
  explicit until_set(const std::atomic<bool>& flag) : flag_(flag) {}
  until_set(const until_set&) = delete;
  until_set& operator=(const until_set&) = delete;
  ~until_set() {
    while (!flag_.load()) std::this_thread::yield();
  }

 private:
  const std::atomic<bool>& flag_;
};

// The stop callback of a sibling runs on the failing child's thread, in the middle of that child's end.
TEST_P(fork_on, stop_callback_run_by_a_failing_child_can_query_its_task) {
  for (int i = 0; i < 100; ++i) {
    std::atomic<int> hooks{0};
    std::atomic<int> called{0};
    auto work = [&]() -> task<void> {
      std::atomic<bool> ready{false};
      const auto fails = [&]() -> task<void> {
        while (!ready.load()) co_await yield();
        throw found("first");
      };
      const auto hooked = [&]() -> task<void> {
        std::atomic<bool> mine{false};
        const std::stop_callback hook(this_task::stop_token(), [&] {
          static_cast<void>(this_task::cancel_requested());
          called.fetch_add(1);
          mine.store(true);
        });
        // The cancellation is recorded before the stop is requested: a sleep that finds the first would
        // destroy the hook before the second calls it.
        const until_set last(mine);
        hooks.fetch_add(1);
        ready.store(true);
        co_await sleep_for(1h);
      };
      const auto both = [&]() -> task<void> { co_await when_all(fails(), hooked()); };
      co_await when_all(both(), both());
    };
    EXPECT_THROW(r.spawn(work).join(), found);
    EXPECT_GE(hooks.load(), 1);
    EXPECT_EQ(called.load(), hooks.load());
  }
}

// The same in place, with a sibling that has not started: it is a task then, which nothing else may discard.
TEST(fork, stop_callback_run_by_a_child_failing_in_place_can_query_its_task) {
  runtime r(runtime_options{.workers = 2});
  for (int i = 0; i < 200; ++i) {
    search s;
    std::atomic<int> called{0};
    auto work = [&]() -> task<void> {
      std::atomic<bool> ready{false};
      const auto fails = [&]() -> task<void> {
        while (!ready.load()) std::this_thread::yield();
        throw found("first");
        co_return;
      };
      const auto between = [](std::unique_ptr<search::life> /*parameter*/) -> task<void> { co_return; };
      const auto hooked = [&]() -> task<void> {
        const std::stop_callback hook(this_task::stop_token(), [&] {
          static_cast<void>(this_task::cancel_requested());
          called.fetch_add(1);
        });
        ready.store(true);
        while (called.load() == 0) std::this_thread::yield();  // else this thread would start the sibling
        co_await sleep_for(1h);
      };
      auto life = std::make_unique<search::life>(s);
      co_await when_all(fails(), between(std::move(life)), hooked());
    };
    EXPECT_THROW(r.spawn(work).join(), found);
    EXPECT_EQ(called.load(), 1);
    EXPECT_EQ(s.alive.load(), 0);
  }
}

TEST_P(fork_on, only_a_discarded_exception_is_counted_as_suppressed) {
  auto work = []() -> task<void> {
    const auto fails = [](int n) -> task<void> {
      throw std::runtime_error(std::to_string(n));
      co_return;
    };
    try {
      co_await when_all(fails(1), fails(2));
    } catch (const std::runtime_error&) {
    }
    const auto [a, b] = co_await when_all_settled(fails(3), fails(4));
    EXPECT_TRUE(a.has_exception());
    EXPECT_TRUE(b.has_exception());
  };
  r.spawn(work).join();
  EXPECT_LE(r.stats().total_suppressed, 1U) << "of the first two, at most: the second need not have run";
}

}  // namespace
}  // namespace fork_test
