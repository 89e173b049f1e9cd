// The strand: one at a time, in order, and nobody else suffers from who throws, gives up or goes.
#include "support/manual_scheduler.hpp"

#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/strand.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace rota::sync {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

struct scene {
  manual_scheduler s;
  strand line;
  event go;  // what the first waits for in its turn
  std::string order;

  static task<void> holds(scene& x, char name) {
    x.order += name;
    co_await x.go.wait();
    x.order += name;
  }
  static task<void> runs(scene& x, char name) {
    const auto visit = [&x, name] { x.order += name; };
    co_await x.line.run(visit);
  }
  static task<void> holds_in_turn(scene& x, char name) { co_await x.line.run(holds, std::ref(x), name); }
  std::vector<join_handle<void>> start(const std::string& names) {
    std::vector<join_handle<void>> all;
    for (const char name : names) all.push_back(s.spawn(runs(*this, name)));
    s.run_until_idle();
    return all;
  }
};

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

TEST(strand, one_after_the_other_in_the_order_in_which_they_came) {
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

// Nobody overtakes: the turn is handed over, and who comes by before the next one has run stands behind it.
TEST(strand, nobody_overtakes_who_is_on_its_way) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  auto waits = x.s.spawn(scene::runs(x, 'a'));
  x.s.run_until_idle();
  x.go.set();
  EXPECT_TRUE(x.s.run_one());  // the first ends its turn
  x.s.lifo = true;
  const auto late = x.start("b");
  EXPECT_EQ(x.order, "hhab");
}

TEST(strand, what_is_thrown_goes_to_who_awaits_and_the_next_has_its_turn) {
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

TEST(strand, who_is_cancelled_before_its_turn_leaves_the_others_alone) {
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

TEST(strand, who_is_cancelled_in_its_turn_ends_it) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto all = x.start("ab");
  first.cancel();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hab");
  EXPECT_FALSE(x.line.is_busy());
}

// Regression row 5: it has its turn, and is gone before it runs.
TEST(strand, a_turn_of_who_is_cancelled_goes_to_the_next) {
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

TEST(strand, a_limit_around_a_run) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  auto late = x.s.spawn(
      [](scene& of) -> task<bool> {
        auto work = of.line.run([&of] { of.order += 'l'; });
        const auto in_time = co_await timeout(5ms, std::move(work));
        co_return in_time.has_value();
      },
      std::ref(x));
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hh");
}

TEST(strand, a_limit_for_the_turn_alone) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto tries = [](scene& of, bool until) -> task<bool> {
    const auto visit = [&of] {
      of.order += 'v';
      return 1;
    };
    if (until) {
      auto work = of.line.run_until(of.s.time + 5ms, visit);
      const std::expected<int, timed_out> got = co_await std::move(work);
      co_return got.has_value();
    }
    auto work = of.line.run_for(5ms, visit);
    const std::expected<int, timed_out> got = co_await std::move(work);
    co_return got.has_value();
  };
  auto late = x.s.spawn(tries, std::ref(x), false);
  auto too = x.s.spawn(tries, std::ref(x), true);
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  x.go.set();
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hh");
  auto one = x.s.spawn(tries, std::ref(x), false);
  auto other = x.s.spawn(tries, std::ref(x), true);
  x.s.run_with_time();
  EXPECT_TRUE(one.join());
  EXPECT_TRUE(other.join());
  EXPECT_EQ(x.order, "hhvv");
}

// What has begun runs to its end, however long that takes.
TEST(strand, a_limit_for_the_turn_ends_nothing_that_has_begun) {
  scene x;
  auto work = x.s.spawn(
      [](scene& of) -> task<bool> {
        auto long_one = of.line.run_for(5ms, [&of]() -> task<void> {
          co_await sleep_for(1h);
          of.order += 'e';
        });
        const std::expected<void, timed_out> got = co_await std::move(long_one);
        co_return got.has_value();
      },
      std::ref(x));
  x.s.run_with_time();
  EXPECT_TRUE(work.join());
  EXPECT_EQ(x.order, "e");
}

TEST(strand, a_limit_yields_what_timeout_would) {
  rota::run([]() -> task<void> {
    strand line;
    int there = 1;
    auto refers = line.run_for(1h, [&there]() -> int& { return there; });
    const std::expected<int*, timed_out> reference = co_await std::move(refers);
    EXPECT_EQ(reference.value(), &there);
    using or_error = std::expected<int, std::error_code>;
    auto of_a_task = line.run_for(1h, []() -> task<or_error> { co_return 2; });
    const or_error two = co_await std::move(of_a_task);
    EXPECT_EQ(two.value(), 2);
    auto moved = line.run_for(1h, [](std::unique_ptr<int> n) { return n; }, std::make_unique<int>(3));
    const auto three = co_await std::move(moved);
    EXPECT_EQ(**three, 3);
    auto nested = line.run_for(1h, [&line]() -> task<int> {
      auto inner = line.run_for(0s, [] { return 4; });
      const auto got = co_await std::move(inner);
      co_return got.value_or(0);
    });
    const auto four = co_await std::move(nested);
    EXPECT_EQ(four.value_or(0), 4);
    line.close();
    auto closed = line.run_for(1h, [] {});
    try {
      static_cast<void>(co_await std::move(closed));
      ADD_FAILURE();
    } catch (const error& e) {
      EXPECT_EQ(e.code(), make_error_code(errc::closed));
    }
  });
}

TEST(strand, a_try_calls_now_or_says_why_not) {
  strand line;
  int there = 1;
  EXPECT_EQ(line.try_run([](int n) { return n; }, 2).value(), 2);
  EXPECT_EQ(line.try_run([&there]() -> int& { return there; }).value(), &there);
  line.blocking_run([&] {
    EXPECT_TRUE(line.try_run([&there] { ++there; }).has_value()) << "it is its turn";
    std::thread([&line] {
      const auto got = line.try_run([] { ADD_FAILURE(); });
      EXPECT_EQ(got.error(), turn_refusal::busy);
    }).join();
  });
  EXPECT_EQ(there, 2);
  EXPECT_FALSE(line.is_busy());
  line.close();
  EXPECT_EQ(line.try_run([] { return 1; }).error(), turn_refusal::closed);
}

TEST(strand, threads_wait_for_their_turn_with_a_limit) {
  strand line;
  int there = 1;
  line.blocking_run([&] {
    std::thread([&line] {
      EXPECT_FALSE(line.blocking_run_for(1ms, [] { return 1; }).has_value());
      EXPECT_FALSE(line.blocking_run_until(std::chrono::steady_clock::now(), [] {}).has_value());
      EXPECT_FALSE(line.blocking_join_for(1ms).has_value());
      EXPECT_TRUE(line.is_closed());
    }).join();
    EXPECT_EQ(line.blocking_run_for(0s, [&there]() -> int& { return there; }).value(), &there);
  });
  EXPECT_THROW(static_cast<void>(line.blocking_run_for(1ms, [] {})), error);
  EXPECT_TRUE(line.blocking_join_until(std::chrono::steady_clock::now() + 1h).has_value());
  EXPECT_TRUE(line.blocking_join_for(0s).has_value()) << "again";
  EXPECT_FALSE(line.is_busy());
}

TEST(strand, a_join_with_a_limit_closes) {
  scene x;
  auto first = x.s.spawn(scene::holds_in_turn(x, 'h'));
  x.s.run_until_idle();
  const auto joins = [](scene& of, bool until) -> task<bool> {
    if (until) co_return (co_await of.line.join_until(of.s.time + 5ms)).has_value();
    co_return (co_await of.line.join_for(5ms)).has_value();
  };
  auto late = x.s.spawn(joins, std::ref(x), false);
  auto too = x.s.spawn(joins, std::ref(x), true);
  x.s.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  EXPECT_TRUE(x.line.is_closed());
  x.go.set();
  x.s.run_until_idle();
  EXPECT_FALSE(x.line.is_busy());
  auto good = x.s.spawn(joins, std::ref(x), false);
  x.s.run_with_time();
  EXPECT_TRUE(good.join());
  EXPECT_FALSE(x.line.is_busy());
}

TEST(strand, who_has_its_turn_runs_more_at_once) {
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

// A child is another task, although it may run in its parent's place: it stands in line.
TEST(strand, a_child_of_who_has_its_turn_does_not_share_it) {
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
  d.cancel();  // it has the turn already
  x.s.run_until_idle();
  EXPECT_EQ(x.order, "hhc");
  EXPECT_FALSE(x.line.is_busy());
}

TEST(strand, a_post_outside_of_a_task_says_so_and_takes_no_place) {
  strand line;
  EXPECT_THROW(line.post([] {}), error);
  EXPECT_FALSE(line.is_busy());
}

TEST(strand, a_join_comes_after_all_and_closes) {
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

TEST(strand, a_closed_strand_serves_who_is_in_line) {
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

TEST(strand, a_join_in_a_turn_would_wait_for_itself) {
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
      "destroyed while somebody waits for it");
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

/// What only the strand's functions use, in a capture or an argument: it needs no lock, nor does its end.
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

TEST(strand, captures_and_arguments_end_in_the_turn) {
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

/// Only the strand orders it.
struct counted {
  strand line;
  int count = 0;
  static void add(counted& c) { ++c.count; }
  static task<void> adds(counted& c) {
    const int before = c.count;
    co_await yield();
    c.count = before + 1;
  }
  static task<void> many(counted& c) {
    for (int i = 0; i < 200; ++i) {
      co_await c.line.run(add, std::ref(c));
      co_await c.line.run(adds, std::ref(c));
      c.line.post(add, std::ref(c));
    }
  }
  void blocks() {
    for (int i = 0; i < 200; ++i) line.blocking_run(add, *this);
  }
};

TEST(strand, is_shared_by_runtimes_a_pool_and_a_thread) {
  counted c;
  runtime one;
  runtime two;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 2});
  auto a = one.spawn(counted::many(c));
  auto b = two.spawn(counted::many(c));
  auto d = works.submit([&] { c.blocks(); });
  std::thread e([&] {
    c.blocks();
    for (int i = 0; i < 100; ++i) c.line.post_on(one, counted::add, std::ref(c));
    const auto other = two.handle();
    for (int i = 0; i < 100; ++i) c.line.post_on(other, counted::add, std::ref(c));
  });
  a.join();
  b.join();
  EXPECT_TRUE(d.wait_for(std::chrono::hours(1)));
  e.join();
  c.line.blocking_join();
  EXPECT_EQ(c.count, 2 * 200 * 3 + 2 * 200 + 200);
}

// The pool has one thread: who blocks there counts as absent, so the other work runs.
TEST(strand, a_work_that_blocks_makes_room_for_another) {
  strand line;
  std::atomic<bool> begun = false;
  std::atomic<bool> go = false;
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 1});
  std::thread holds([&] {
    line.blocking_run([&] {
      begun = true;
      while (!go) std::this_thread::yield();
    });
  });
  while (!begun) std::this_thread::yield();
  auto blocked = works.submit([&] { line.blocking_run([] {}); });
  auto frees = works.submit([&] { go = true; });
  EXPECT_TRUE(frees.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(blocked.wait_for(std::chrono::hours(1)));
  holds.join();
}

// Tasks that hold the turn, wait for it, and are posted, go with their runtime; the strand stays usable.
TEST(strand, a_shutdown_leaves_it_free) {
  strand line;
  std::atomic<bool> begun = false;
  {
    runtime one;
    one.spawn(
           [](strand& of, std::atomic<bool>& at) -> task<void> {
             co_await of.run([&at]() -> task<void> {
               at = true;
               co_await sleep_for(1h);
             });
           },
           std::ref(line),
           std::ref(begun))
        .detach();
    while (!begun) std::this_thread::yield();
    one.spawn([](strand& of) -> task<void> { co_await of.run([] {}); }, std::ref(line)).detach();
    line.post_on(one, [] {});
  }
  EXPECT_FALSE(line.is_busy());
  EXPECT_EQ(line.blocking_run([] { return 1; }), 1);
}

TEST(strand, works_on_a_testing_runtime_and_in_a_scope) {
  testing::runtime alone;
  std::string order;
  alone.block_on(
      [](std::string& to) -> task<void> {
        strand line;
        co_await with_scope([&](scope& children) -> task<void> {
          for (const char name : std::string("abc")) {
            line.post_on(children, [&to, name]() -> task<void> {
              co_await sleep_for(1s);
              to += name;
            });
          }
          co_return;
        });
      },
      std::ref(order));
  EXPECT_EQ(order, "abc");
}

}  // namespace
}  // namespace rota::sync
