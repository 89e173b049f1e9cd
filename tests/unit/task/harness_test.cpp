// Running tasks: values, exceptions, awaits, the budget, and the end.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "unit/task/task_support.hpp"

namespace rota::harness_test {
namespace {

using test::after;
using test::counted;
using test::event;
using test::give;
using test::journal;
using test::manual_scheduler;
using test::note;

template <class E>
task<int> fail_with(E what) {
  const int never = 0;
  throw what;
  co_return never;
}

TEST(harness, a_spawned_task_returns_its_value) {
  manual_scheduler s;
  auto h = s.spawn(give(7));
  EXPECT_FALSE(h.is_done());
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_TRUE(h.is_done());
  EXPECT_EQ(h.join(), 7);
  EXPECT_EQ(s.ended, 1);
  EXPECT_EQ(s.live, 0);
}

TEST(harness, spawn_does_not_run_the_task) {
  manual_scheduler s;
  int lines = 0;
  auto h = s.spawn(
      [](int* out) -> task<> {
        ++*out;
        co_return;
      },
      &lines);
  EXPECT_EQ(lines, 0);
  s.run_until_idle();
  EXPECT_EQ(lines, 1);
  h.join();
}

TEST(harness, an_unstarted_task_never_runs) {
  counted::reset();
  int lines = 0;
  {
    const auto never = [](counted, int* out) -> task<> {
      ++*out;
      co_return;
    }(counted(1), &lines);
    EXPECT_TRUE(never.valid());
    EXPECT_EQ(counted::alive, 1);
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(lines, 0);
}

TEST(harness, the_same_exception_object_arrives) {
  manual_scheduler s;
  auto h = s.spawn(fail_with(std::runtime_error("with these words")));
  s.run_until_idle();
  try {
    h.join();
    FAIL() << "it threw";
  } catch (const std::runtime_error& e) {
    EXPECT_STREQ(e.what(), "with these words");
  }
  EXPECT_EQ(s.unhandled_count, 0);
}

TEST(harness, an_int_can_be_thrown) {
  manual_scheduler s;
  auto h = s.spawn(fail_with(7));
  s.run_until_idle();
  try {
    h.join();
    FAIL() << "it threw";
  } catch (int seven) {
    EXPECT_EQ(seven, 7);
  }
}

task<int> sum_of_awaits(event& e) {
  const int first = co_await give(1);
  const int second = co_await after(e, 10);
  const int third = co_await give(100);
  co_return first + second + third;
}

TEST(harness, a_task_goes_on_where_its_child_suspended) {
  manual_scheduler s;
  event e;
  auto h = s.spawn(sum_of_awaits(e));
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_TRUE(e.is_awaited());
  e.fire();
  EXPECT_EQ(s.run_until_idle(), 1);
  EXPECT_EQ(h.join(), 111);
}

TEST(harness, the_root_may_end_after_a_child_that_suspended) {
  manual_scheduler s;
  event e;
  counted::reset();
  auto h = s.spawn(
      [](event* on, counted c) -> task<int> {
        const int got = co_await after(*on, c.value);
        co_return got;
      },
      &e,
      counted(5));
  s.run_until_idle();
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(counted::alive, 0) << "the parameters of the root, and nothing twice";
  EXPECT_EQ(h.join(), 5);
}

task<int> catches(journal& j) {
  int got = 0;
  try {
    got = co_await fail_with(std::string("deep"));
  } catch (const std::string& what) {
    j.add("caught " + what);
    got = -1;
  }
  co_return got;
}

TEST(harness, an_awaiting_task_catches_what_its_child_threw) {
  manual_scheduler s;
  journal j;
  auto h = s.spawn(catches(j));
  s.run_until_idle();
  EXPECT_EQ(h.join(), -1);
  EXPECT_EQ(j.text(), "caught deep");
}

task<int> rethrows_through(journal& j, int levels) {
  const note here(j, std::to_string(levels));
  int got = 0;
  if (levels == 0) {
    got = co_await fail_with(std::out_of_range("far"));
  } else {
    got = co_await rethrows_through(j, levels - 1);
  }
  co_return got;
}

TEST(harness, an_exception_passes_through_every_frame_once) {
  manual_scheduler s;
  journal j;
  auto h = s.spawn(rethrows_through(j, 3));
  s.run_until_idle();
  EXPECT_EQ(j.text(), "0 1 2 3");
  EXPECT_THROW(h.join(), std::out_of_range);
}

TEST(harness, a_child_ends_with_the_expression_that_awaited_it) {
  manual_scheduler s;
  journal j;
  auto h = s.spawn(
      [](journal* in) -> task<> {
        const note mine(*in, "parent");
        co_await [](journal* out) -> task<> {
          const note local(*out, "child");
          co_return;
        }(in);
        in->add("between");
      },
      &j);
  s.run_until_idle();
  h.join();
  EXPECT_EQ(j.text(), "child between parent");
}

TEST(harness, an_awaited_task_object_is_empty_afterwards) {
  manual_scheduler s;
  counted::reset();
  auto h = s.spawn([]() -> task<int> {
    auto child = [](counted c) -> task<int> { co_return c.value; }(counted(3));
    const int got = co_await std::move(child);
    EXPECT_FALSE(child.valid()) << "its frame has gone";
    EXPECT_EQ(counted::alive, 0);
    co_return got;
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), 3);
}

// --- kinds of results

TEST(harness, a_task_returns_results_of_many_kinds) {
  static int target = 5;
  EXPECT_EQ(core::run_on_this_thread(give(1), nullptr), 1);
  EXPECT_EQ(*core::run_on_this_thread(
                []() -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(2); }(), nullptr),
            2);
  EXPECT_EQ(&core::run_on_this_thread([]() -> task<int&> { co_return target; }(), nullptr), &target);
  EXPECT_EQ(core::run_on_this_thread([]() -> task<const std::string> { co_return "s"; }(), nullptr), "s");
  core::run_on_this_thread([]() -> task<> { co_return; }(), nullptr);
  const auto converted =
      core::run_on_this_thread([]() -> task<std::string> { co_return "converted"; }(), nullptr);
  EXPECT_EQ(converted, "converted");
}

using huge = std::array<char, 100'000>;

task<huge> make_huge(char with) {
  huge mine{};
  mine.front() = mine.back() = with;
  co_return mine;
}

TEST(harness, a_result_may_be_larger_than_64_kib) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<huge> {
    huge got = co_await make_huge('x');
    got[1] = 'y';
    co_return got;
  });
  s.run_until_idle();
  const auto got = std::make_unique<huge>(h.join());
  EXPECT_EQ(got->front(), 'x');
  EXPECT_EQ((*got)[1], 'y');
  EXPECT_EQ(got->back(), 'x');
}

struct throws_when_moved {
  throws_when_moved() = default;
  throws_when_moved(throws_when_moved&&) { throw std::logic_error("moved"); }
  throws_when_moved(const throws_when_moved&) = delete;
};

TEST(harness, a_result_that_cannot_be_built_is_an_exception) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<throws_when_moved> { co_return throws_when_moved{}; });
  s.run_until_idle();
  EXPECT_TRUE(h.is_done());
  EXPECT_THROW(static_cast<void>(h.join()), std::logic_error);
}

// --- the end

/// Checks its own task's handle while the root's parameters and locals are destroyed.
struct looks_at_end {
  explicit looks_at_end(join_handle<void>*& h, journal& j) : handle(&h), in(&j) {}
  looks_at_end(looks_at_end&& other) noexcept : handle(std::exchange(other.handle, nullptr)), in(other.in) {}
  looks_at_end& operator=(looks_at_end&&) = delete;
  ~looks_at_end() {
    if (handle != nullptr) in->add((*handle)->is_done() ? "done" : "not-done");
  }
  join_handle<void>** handle;
  journal* in;
};

TEST(harness, locals_and_parameters_are_destroyed_before_the_end_is_visible) {
  manual_scheduler s;
  journal j;
  join_handle<void>* self = nullptr;
  auto h = s.spawn(
      [](looks_at_end, join_handle<void>** me, journal* in) -> task<> {
        const looks_at_end local(*me, *in);
        co_return;
      },
      looks_at_end(self, j),
      &self,
      &j);
  self = &h;
  s.run_until_idle();
  EXPECT_EQ(j.text(), "not-done not-done");
  EXPECT_TRUE(h.is_done());
  h.join();
}

TEST(harness, locals_and_parameters_are_destroyed_before_a_cancelled_end_is_visible) {
  manual_scheduler s;
  journal j;
  event never;
  join_handle<void>* self = nullptr;
  auto h = s.spawn(
      [](looks_at_end, join_handle<void>** me, journal* in, event* on) -> task<> {
        const looks_at_end local(*me, *in);
        co_await (*on)();
      },
      looks_at_end(self, j),
      &self,
      &j,
      &never);
  self = &h;
  s.run_until_idle();
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(j.text(), "not-done not-done");
  EXPECT_THROW(h.join(), cancelled_error);
}

TEST(harness, the_result_outlives_the_frames_until_the_handle_goes) {
  manual_scheduler s;
  counted::reset();
  {
    auto h = s.spawn([]() -> task<counted> { co_return counted(4); });
    s.run_until_idle();
    EXPECT_EQ(counted::alive, 1);
    EXPECT_EQ(s.ended, 1);
    EXPECT_EQ(s.live, 1) << "the memory is still there";
  }
  EXPECT_EQ(counted::alive, 0);
  EXPECT_EQ(s.live, 0);
}

// --- turns

TEST(harness, yield_lets_the_others_run_first) {
  manual_scheduler s;
  journal j;
  const auto talk = [](journal* in, const char* who) -> task<> {
    for (int i = 0; i < 3; ++i) {
      in->add(who);
      co_await yield();
    }
  };
  auto a = s.spawn(talk, &j, "a");
  auto b = s.spawn(talk, &j, "b");
  EXPECT_EQ(s.run_until_idle(), 8);
  EXPECT_EQ(j.text(), "a b a b a b");
  a.join();
  b.join();
}

task<> many_ready(int count, journal* in) {
  for (int i = 0; i < count; ++i) co_await test::ready_leaf();
  in->add("ready-done");
}

TEST(harness, a_hundred_and_twenty_eight_ready_operations_cost_a_turn) {
  for (const auto& [operations, entries] : {std::pair{127, 1}, {128, 2}, {255, 2}, {256, 3}, {1280, 11}}) {
    manual_scheduler s;
    journal j;
    auto h = s.spawn(many_ready(operations, &j));
    EXPECT_EQ(s.run_until_idle(), entries) << operations;
    h.join();
  }
}

TEST(harness, a_task_that_is_always_ready_lets_others_run) {
  manual_scheduler s;
  journal j;
  auto busy = s.spawn(many_ready(1000, &j));
  auto other = s.spawn(
      [](journal* in) -> task<> {
        in->add("other");
        co_return;
      },
      &j);
  s.run_until_idle();
  EXPECT_EQ(j.text(), "other ready-done");
  busy.join();
  other.join();
}

TEST(harness, a_loop_of_spawn_and_await_yields_when_its_budget_is_spent) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler* on) -> task<int> {
        int sum = 0;
        for (int i = 0; i < 1000; ++i) {
          auto child = on->spawn(give(1));
          sum += co_await child;
        }
        co_return sum;
      },
      &s);
  int entries = 0;
  while (s.run_one()) {
    ++entries;
    ASSERT_LT(entries, 10'000);
  }
  EXPECT_EQ(h.join(), 1000);
  // One entry per child, which is stale when popped, one for the start, and one for every 127 or 128 claims.
  EXPECT_GE(entries, 1000 + 1 + 1000 / 128);
}

TEST(harness, an_awaited_child_spends_the_budget_of_its_awaiter) {
  manual_scheduler s;
  journal j;
  // 20 times a claim and 20 operations of the child. With a new budget for each child no task would yield.
  // The seventh and the fourteenth child yield; then child and parent each have a budget of their own.
  auto h = s.spawn(
      [](manual_scheduler* on, journal* in) -> task<> {
        for (int i = 0; i < 20; ++i) {
          auto child = on->spawn(many_ready(20, in));
          co_await child;
        }
      },
      &s,
      &j);
  unsigned runs = 0;
  while (s.run_one()) ++runs;
  EXPECT_EQ(runs, 1U + 20U + 2U);
  h.join();
}

// --- what a task can query of itself

TEST(harness, the_current_task_is_the_innermost_one) {
  manual_scheduler s;
  EXPECT_EQ(this_task::id().value, 0U);
  auto h = s.spawn(
      [](manual_scheduler* on) -> task<bool> {
        const task_id mine = this_task::id();
        auto child = on->spawn([]() -> task<task_id> { co_return this_task::id(); });
        const task_id promised = child.id();
        const task_id its = co_await child;
        co_return mine.value != 0 && its == promised&& its != mine&& this_task::id() == mine;
      },
      &s);
  const task_id known = h.id();
  s.run_until_idle();
  EXPECT_TRUE(h.join());
  EXPECT_NE(known.value, 0U);
  EXPECT_EQ(this_task::id().value, 0U);
}

TEST(harness, a_task_records_the_id_of_its_parent) {
  manual_scheduler s;
  auto h = s.spawn(
      [](manual_scheduler* on) -> task<bool> {
        auto child = on->spawn([]() -> task<std::uint64_t> { co_return core::current_task()->parent_id; });
        const std::uint64_t parent = co_await child;
        co_return parent == this_task::id().value&& core::current_task() -> parent_id == 0;
      },
      &s);
  s.run_until_idle();
  EXPECT_TRUE(h.join());
}

TEST(harness, names_are_kept_cut_at_255_and_without_control_characters) {
  manual_scheduler s;
  auto h = s.spawn([]() -> task<std::size_t> {
    this_task::set_name("first");
    EXPECT_STREQ(core::current_task()->label.name(), "first");
    this_task::set_name("\x1b[31mred\x7f\n and caf\xc3\xa9");
    EXPECT_STREQ(core::current_task()->label.name(), "?[31mred?? and caf\xc3\xa9");
    const std::string longer(300, 'x');
    this_task::set_name(longer);
    co_return std::string(core::current_task()->label.name()).size();
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), 255U);
  this_task::set_name("nobody: does nothing");
}

TEST(harness, only_a_task_that_suspends_is_enrolled_and_says_where) {
  manual_scheduler s;
  event e;
  auto quick = s.spawn(give(1));
  s.run_until_idle();
  EXPECT_EQ(s.enrolled, 0);
  core::header* slow_header = nullptr;
  auto slow = s.spawn(
      [](event* on, core::header** me) -> task<> {
        *me = core::current_task();
        co_await (*on)();
      },
      &e,
      &slow_header);
  s.run_until_idle();
  EXPECT_EQ(s.enrolled, 1);
  ASSERT_NE(slow_header, nullptr);
  EXPECT_STREQ(slow_header->waits_for.load(base::order::relaxed), "test event");
  EXPECT_NE(slow_header->where.load(base::order::relaxed), nullptr);
  e.fire();
  s.run_until_idle();
  EXPECT_EQ(s.enrolled, 0) << "withdrawn at its end";
  quick.join();
  slow.join();
}

TEST(harness, a_scheduler_that_is_closed_cancels_at_once) {
  manual_scheduler s;
  s.closed = true;
  counted::reset();
  int lines = 0;
  auto h = s.spawn(
      [](counted, int* out) -> task<> {
        ++*out;
        co_return;
      },
      counted(1),
      &lines);
  EXPECT_EQ(counted::alive, 0) << "arguments are destroyed before spawn returns";
  EXPECT_TRUE(h.is_done());
  EXPECT_EQ(s.run_until_idle(), 0) << "nothing was queued";
  try {
    h.join();
    FAIL() << "it is cancelled";
  } catch (const cancelled_error& e) {
    EXPECT_EQ(e.reason(), cancel_reason::shutdown);
  }
  EXPECT_EQ(lines, 0);
  EXPECT_EQ(s.live, 0);
}

// --- on the caller's own thread

TEST(harness, a_task_runs_on_the_callers_thread_and_rethrows) {
  EXPECT_THROW(core::run_on_this_thread(fail_with(std::out_of_range("x")), nullptr), std::out_of_range);
  EXPECT_EQ(core::run_on_this_thread(give(9), nullptr), 9);
}

TEST(harness, run_on_this_thread_sleeps_until_its_task_is_woken) {
  for (int round = 0; round < 200; ++round) {
    event e;
    int data = 0;
    std::thread other([&] {
      data = round;
      e.fire();
    });
    const int got = core::run_on_this_thread(
        [](event* on, int* in) -> task<int> {
          co_await (*on)();
          co_await yield();
          co_return *in;
        }(&e, &data),
        nullptr);
    EXPECT_EQ(got, round);
    other.join();
  }
}

TEST(harness, nested_run_on_this_thread_is_refused) {
  const bool refused = core::run_on_this_thread(
      []() -> task<bool> {
        try {
          core::run_on_this_thread(give(1), nullptr);
        } catch (const error& e) {
          co_return e.code() == make_error_code(errc::nested_block_on);
        }
        co_return false;
      }(),
      nullptr);
  EXPECT_TRUE(refused);
}

TEST(harness, a_task_of_another_scheduler_can_be_awaited_here) {
  manual_scheduler s;
  auto h = s.spawn(give(3));
  std::thread runner;
  const int got = core::run_on_this_thread(
      [](join_handle<int>* other, std::thread* on, manual_scheduler* of) -> task<int> {
        *on = std::thread([of] { of->run_until_idle(); });
        const int value = co_await *other;
        co_return value;
      }(&h, &runner, &s),
      nullptr);
  runner.join();
  EXPECT_EQ(got, 3);
}

}  // namespace
}  // namespace rota::harness_test
