// The once_cell: one task makes the value. If it fails, the next one does.
#include "support/manual_scheduler.hpp"

#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/once_cell.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace rota::sync::once_cell_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

/// One cell, and an event that holds back the task that makes its value.
struct scene {
  manual_scheduler by;
  once_cell<std::string> cell;
  event go;
  int made = 0;
  std::string order;

  static task<std::string> makes(scene& s, char name, bool throws) {
    ++s.made;
    co_await s.go.wait();
    if (throws) throw std::runtime_error("cannot");
    co_return std::string(1, name);
  }
  static task<void> gets(scene& s, char name, bool throws) {
    const auto make = [&s, name, throws] { return makes(s, name, throws); };
    const std::string& got = co_await s.cell.get_or_init(make);
    s.order += name + got;
  }
  static task<void> looks(scene& s, char name) {
    const std::string& got = co_await s.cell.wait();
    s.order += name + got;
  }
};

TEST(once_cell, is_set_once) {
  once_cell<std::string> c;
  EXPECT_EQ(c.get(), nullptr);
  EXPECT_TRUE(c.set("one"));
  EXPECT_EQ(c.set("two").error(), set_refusal::full);
  ASSERT_NE(c.get(), nullptr);
  EXPECT_EQ(*c.get(), "one");
  const auto& same = c;
  EXPECT_EQ(same.get(), c.get());
}

TEST(once_cell, a_value_that_is_refused_is_not_touched) {
  once_cell<std::unique_ptr<int>> c;
  EXPECT_TRUE(c.set(std::make_unique<int>(1)));
  auto two = std::make_unique<int>(2);
  EXPECT_FALSE(c.set(std::move(two)));
  ASSERT_NE(two, nullptr);  // NOLINT(bugprone-use-after-move): that is the promise
  EXPECT_EQ(**c.get(), 1);
}

TEST(once_cell, destroys_its_value_once_and_nothing_if_empty) {
  const auto counted = std::make_shared<int>(0);
  {
    once_cell<std::shared_ptr<int>> full;
    const once_cell<std::shared_ptr<int>> empty;
    EXPECT_TRUE(full.set(counted));
    EXPECT_EQ(counted.use_count(), 2);
  }
  EXPECT_EQ(counted.use_count(), 1);
}

TEST(once_cell, a_constructor_that_throws_leaves_it_empty) {
  struct picky {
    explicit picky(int n) {
      if (n < 0) throw std::invalid_argument("negative");
    }
  };
  once_cell<picky> c;
  EXPECT_THROW(static_cast<void>(c.set(-1)), std::invalid_argument);
  EXPECT_EQ(c.get(), nullptr);
  EXPECT_TRUE(c.set(1));
}

TEST(once_cell, one_task_makes_the_value_and_all_get_it) {
  scene s;
  auto l = s.by.spawn(scene::looks(s, 'l'));
  auto a = s.by.spawn(scene::gets(s, 'a', false));
  auto b = s.by.spawn(scene::gets(s, 'b', false));
  s.by.run_until_idle();
  EXPECT_EQ(s.cell.set("x").error(), set_refusal::busy);
  s.go.set();
  s.by.run_until_idle();
  EXPECT_EQ(s.made, 1);
  EXPECT_EQ(s.order, "aalaba");
}

TEST(once_cell, next_task_makes_the_value_when_one_throws) {
  scene s;
  auto l = s.by.spawn(scene::looks(s, 'l'));
  auto a = s.by.spawn(scene::gets(s, 'a', true));
  auto b = s.by.spawn(scene::gets(s, 'b', false));
  s.by.run_until_idle();
  s.go.set();
  s.by.run_until_idle();
  EXPECT_THROW(a.join(), std::runtime_error);
  EXPECT_EQ(s.made, 2);
  EXPECT_EQ(s.order, "bblb");
}

TEST(once_cell, is_empty_again_when_the_only_initializer_throws) {
  scene s;
  s.go.set();
  auto l = s.by.spawn(scene::looks(s, 'l'));
  auto a = s.by.spawn(scene::gets(s, 'a', true));
  s.by.run_until_idle();
  EXPECT_THROW(a.join(), std::runtime_error);
  EXPECT_EQ(s.cell.get(), nullptr);
  EXPECT_EQ(s.order, "");
  EXPECT_TRUE(s.cell.set("x"));
  s.by.run_until_idle();
  EXPECT_EQ(s.order, "lx");
}

TEST(once_cell, next_task_makes_the_value_when_one_is_cancelled) {
  scene s;
  auto a = s.by.spawn(scene::gets(s, 'a', false));
  auto b = s.by.spawn(scene::gets(s, 'b', false));
  s.by.run_until_idle();
  a.cancel();
  s.by.run_until_idle();
  EXPECT_EQ(s.made, 2);
  s.go.set();
  s.by.run_until_idle();
  EXPECT_EQ(s.order, "bb");
}

// Regression row 5: the waiter gets the turn and is cancelled before it runs.
TEST(once_cell, turn_granted_to_a_cancelled_task_goes_to_the_next) {
  scene s;
  auto a = s.by.spawn(scene::gets(s, 'a', true));
  auto b = s.by.spawn(scene::gets(s, 'b', false));
  auto c = s.by.spawn(scene::gets(s, 'c', false));
  s.by.run_until_idle();
  s.go.set();
  EXPECT_TRUE(s.by.run_one());  // a throws; b is next
  b.cancel();
  s.by.run_until_idle();
  EXPECT_EQ(s.made, 2);
  EXPECT_EQ(s.order, "cc");
}

TEST(once_cell, cancelled_waiter_does_not_affect_the_others) {
  scene s;
  auto a = s.by.spawn(scene::gets(s, 'a', false));
  auto b = s.by.spawn(scene::gets(s, 'b', false));
  auto l = s.by.spawn(scene::looks(s, 'l'));
  s.by.run_until_idle();
  b.cancel();
  l.cancel();
  s.by.run_until_idle();
  s.go.set();
  s.by.run_until_idle();
  EXPECT_EQ(s.order, "aa");
}

TEST(once_cell, timed_wait_ends_at_its_deadline) {
  scene s;
  const auto within = [](scene& of, bool until) -> task<bool> {
    if (until) co_return (co_await of.cell.wait_until(of.by.time + 5ms)).has_value();
    co_return (co_await of.cell.wait_for(5ms)).has_value();
  };
  auto late = s.by.spawn(within, std::ref(s), false);
  auto too = s.by.spawn(within, std::ref(s), true);
  s.by.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  auto good = s.by.spawn(within, std::ref(s), false);
  s.by.run_until_idle();
  EXPECT_TRUE(s.cell.set("x"));
  s.by.run_with_time();
  EXPECT_TRUE(good.join());
}

struct raced {
  once_cell<std::string> cell;
  std::atomic<int> made = 0;

  std::string make() {
    ++made;
    return "made";
  }
  void get() {
    const std::string& got = cell.blocking_get_or_init([this] { return make(); });
    EXPECT_EQ(got, "made");
  }
  void run() {
    EXPECT_FALSE(cell.blocking_wait_until(std::chrono::steady_clock::now()));
    std::vector<std::thread> all;
    for (int i = 0; i < 3; ++i) all.emplace_back([this] { get(); });
    EXPECT_EQ(cell.blocking_wait(), "made");
    EXPECT_EQ(**cell.blocking_wait_for(1h), "made");
    for (auto& each : all) each.join();
    EXPECT_EQ(made, 1);
  }
};

TEST(once_cell, threads_make_it_once) {
  for (int round = 0; round < 200; ++round) raced().run();
}

int cannot() { throw std::runtime_error("cannot"); }

TEST(once_cell, next_thread_makes_the_value_when_one_throws) {
  once_cell<int> c;
  EXPECT_THROW(c.blocking_get_or_init(cannot), std::runtime_error);
  EXPECT_EQ(c.blocking_get_or_init([] { return 7; }), 7);
}

// A timeout ends both the task that makes the value, which leaves the cell empty, and one that waits for it.
TEST(once_cell, timed_get_or_init_times_out_for_the_maker_and_for_a_waiter) {
  scene s;
  const auto within = [](scene& of, bool until) -> task<bool> {
    const auto make = [&of] { return scene::makes(of, 'a', false); };
    if (until) {
      auto work = of.cell.get_or_init_until(of.by.time + 5ms, make);
      const std::expected<std::string*, timed_out> got = co_await std::move(work);
      co_return got.has_value() && **got == "a";
    }
    auto work = of.cell.get_or_init_for(5ms, make);
    const std::expected<std::string*, timed_out> got = co_await std::move(work);
    co_return got.has_value() && **got == "a";
  };
  auto makes = s.by.spawn(within, std::ref(s), false);
  auto waits = s.by.spawn(within, std::ref(s), true);
  s.by.run_with_time();
  EXPECT_FALSE(makes.join());
  EXPECT_FALSE(waits.join());
  EXPECT_EQ(s.cell.get(), nullptr);
  auto later = s.by.spawn(within, std::ref(s), false);
  s.by.run_until_idle();
  s.go.set();
  auto last = s.by.spawn(within, std::ref(s), true);
  s.by.run_with_time();
  EXPECT_TRUE(later.join());
  EXPECT_TRUE(last.join());
}

// A timeout around what yields a reference yields a pointer.
TEST(once_cell, a_timeout_around_it_yields_a_pointer) {
  scene s;
  const auto looks = [](scene& of) -> task<bool> {
    const std::expected<std::string*, timed_out> got = co_await timeout(5ms, of.cell.wait());
    co_return got.has_value() && *got == of.cell.get();
  };
  const auto gets = [](scene& of) -> task<bool> {
    auto work = of.cell.get_or_init([] { return std::string("now"); });
    const std::expected<std::string*, timed_out> got = co_await timeout(5ms, std::move(work));
    co_return got.has_value() && *got == of.cell.get();
  };
  auto late = s.by.spawn(looks, std::ref(s));
  s.by.run_with_time();
  EXPECT_FALSE(late.join());
  auto good = s.by.spawn(looks, std::ref(s));
  auto got = s.by.spawn(gets, std::ref(s));
  s.by.run_with_time();
  EXPECT_TRUE(good.join());
  EXPECT_TRUE(got.join());
}

TEST(once_cell, timed_blocking_get_or_init_times_out_while_another_thread_makes_it) {
  once_cell<int> c;
  c.blocking_get_or_init([&c] {
    std::thread([&c] {
      const auto make = []() -> int { throw std::runtime_error("it is another's to make"); };
      EXPECT_FALSE(c.blocking_get_or_init_for(1ms, make).has_value());
      EXPECT_FALSE(c.blocking_get_or_init_until(std::chrono::steady_clock::now(), make).has_value());
    }).join();
    return 1;
  });
  EXPECT_EQ(*c.blocking_get_or_init_for(0s, [] { return 2; }).value(), 1);
  once_cell<int> other;
  EXPECT_EQ(*other.blocking_get_or_init_for(0s, [] { return 2; }).value(), 2);
}

TEST(once_cell_death, destroyed_in_use) {
  const auto by_who_makes_it = [] {
    std::optional<once_cell<int>> c(std::in_place);
    c->blocking_get_or_init([&] {
      c.reset();
      return 1;
    });
  };
  const auto while_it_is_waited_for = [] {
    manual_scheduler by;
    std::optional<once_cell<std::string>> c(std::in_place);
    auto waits = [](once_cell<std::string>& of) -> task<void> { static_cast<void>(co_await of.wait()); };
    auto a = by.spawn(waits, std::ref(*c));
    by.run_until_idle();
    c.reset();
  };
  EXPECT_DEATH(by_who_makes_it(), "a sync::once_cell was destroyed while its value is being made");
  EXPECT_DEATH(while_it_is_waited_for(), "a sync::once_cell was destroyed while a task or a thread waits");
}

}  // namespace
}  // namespace rota::sync::once_cell_test
