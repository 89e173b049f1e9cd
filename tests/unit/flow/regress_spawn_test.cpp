// What a spawned task keeps of its arguments and inherits from its context; empty tasks.
#include "flow_support.hpp"

#include <rota/async_scope.hpp>
#include <rota/inplace_vector.hpp>
#include <rota/join_set.hpp>
#include <rota/runtime.hpp>
#include <rota/scope.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace regress_spawn_test {
namespace {

using namespace rota;
using namespace rota::test;

task<int> counts_x(std::string_view text) {
  co_await yield();
  co_return static_cast<int>(std::ranges::count(text, 'x'));
}

/// Refers to the object that it was made from.
struct view_of_counted {
  view_of_counted(const tally& seen) noexcept : at(&seen) {}
  const tally* at;
};

TEST(spawn_regressions, argument_behind_a_view_parameter_lives_as_long_as_the_task) {
  manual_scheduler s;
  auto h = s.spawn(counts_x, std::string(300, 'x'));
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value 300");
}

TEST(spawn_regressions, an_argument_of_another_type_than_the_parameter_is_kept) {
  manual_scheduler s;
  int alive = 0;
  int seen = 0;
  static int* counts = nullptr;
  counts = &alive;
  auto look = [](view_of_counted, int* into) -> task<void> {
    *into = *counts;
    co_return;
  };
  auto h = s.spawn(look, tally(alive), &seen);
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value");
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(alive, 0);
}

enum class colour : unsigned char { red };
struct base_of_two {};
struct derived : base_of_two {};

TEST(spawn_regressions, only_self_contained_arguments_need_no_keeper) {
  using text = task<int> (*)(std::string, int);
  static_assert(core::needs_no_keeper<text, std::string, int>());
  static_assert(core::needs_no_keeper<text, std::string, short>());
  static_assert(!core::needs_no_keeper<text, const char*, int>());
  static_assert(!core::needs_no_keeper<task<int> (*)(std::string_view), std::string>());
  static_assert(!core::needs_no_keeper<task<int> (*)(const std::string&), std::string>());
  static_assert(core::needs_no_keeper<task<int> (*)(const base_of_two*), derived*>());
  static_assert(!core::needs_no_keeper<task<int> (*)(const char*), std::string>());
  static_assert(core::needs_no_keeper<task<int> (*)(), colour>() == false);
  static_assert(core::needs_no_keeper<task<int> (*)(colour), colour>());
}

TEST(spawn_regressions, passed_deadline_cancels_a_blocking_call_before_it_runs) {
  runtime rt;
  bool ran = false;
  const std::string end = rt.block_on([&]() -> task<std::string> {
    join_handle<void> h;
    auto starts = [&]() -> task<void> {
      h = spawn_blocking([&ran] { ran = true; });
      co_return;
    };
    auto work = starts();
    static_cast<void>(co_await with_deadline(std::chrono::steady_clock::now() - 1s, std::move(work)));
    const auto how = co_await h.result();
    co_return in_words(how);
  });
  EXPECT_EQ(end, "cancelled timeout");
  EXPECT_FALSE(ran);
}

constexpr const char* sentence = "an empty task: moved from, awaited or spawned before";

/// Returns a moved-from task.
task<int> nothing() {
  auto work = gives(1);
  [[maybe_unused]] const auto gone = std::move(work);
  return work;
}

template <class Work>
void run_alone(Work work) {
  manual_scheduler s;
  auto h = s.spawn(work);
  s.run_until_idle();
}

TEST(spawn_regressions_death_test, an_empty_task_ends_the_program_with_a_sentence) {
  EXPECT_DEATH(run_alone([]() -> task<void> {
                 auto h = spawn(nothing());
                 co_return;
               }),
               sentence);
  EXPECT_DEATH(run_alone([]() -> task<void> {
                 join_set<int> set;
                 set.spawn(nothing());
                 co_return;
               }),
               sentence);
  EXPECT_DEATH(run_alone([]() -> task<void> {
                 auto body = [](scope& children) -> task<void> {
                   children.fork(nothing());
                   co_return;
                 };
                 co_await with_scope(body);
               }),
               sentence);
  EXPECT_DEATH(static_cast<void>(when_all(gives(1), nothing())), sentence);
  for (const std::size_t hole : {0U, 1U}) {
    EXPECT_DEATH(run_alone([hole]() -> task<void> {
                   std::vector<task<int>> works;
                   works.push_back(hole == 0 ? nothing() : gives(1));
                   works.push_back(hole == 1 ? nothing() : gives(1));
                   co_await when_all(std::move(works));
                 }),
                 sentence);
    EXPECT_DEATH(run_alone([hole]() -> task<void> {
                   inplace_vector<task<int>, 2> works;
                   works.push_back(hole == 0 ? nothing() : gives(1));
                   works.push_back(hole == 1 ? nothing() : gives(1));
                   co_await when_all_settled(std::move(works));
                 }),
                 sentence);
  }
  EXPECT_DEATH(runtime().block_on(nothing()), sentence);
}

TEST(spawn_regressions_death_test, empty_task_inside_a_timeout_ends_the_program_too) {
  EXPECT_DEATH(run_alone([]() -> task<void> {
                 auto body = []() -> task<void> {
                   auto h = spawn(nothing());
                   co_return;
                 };
                 auto work = body();
                 static_cast<void>(co_await timeout(1s, std::move(work)));
               }),
               sentence);
}

TEST(spawn_regressions, second_await_of_a_when_all_throws) {
  manual_scheduler s;
  auto twice = []() -> task<std::string> {
    auto both = when_all(gives(1), gives(2));
    const auto [one, two] = co_await both;
    EXPECT_EQ(one + two, 3);
    try {
      co_await both;
    } catch (const error& e) {
      co_return e.code() == errc::already_joined ? "already joined" : e.what();
    }
    co_return "awaited twice";
  };
  auto h = s.spawn(twice);
  s.run_until_idle();
  ASSERT_TRUE(h.is_done());
  EXPECT_EQ(h.join(), "already joined");
}

}  // namespace
}  // namespace regress_spawn_test
