#include "flow_support.hpp"

#include <rota/async_generator.hpp>
#include <rota/runtime.hpp>
#include <rota/scope.hpp>
#include <rota/task_local.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <memory>
#include <string>
#include <tuple>

namespace task_local_test {
namespace {

using namespace rota;
using namespace rota::test;

using task_local_in_order = in_every_order;
ROTA_IN_EVERY_ORDER(task_local_in_order);

const task_local<std::string> user("nobody");
const task_local<int> level;

task<std::string> who() {
  co_await yield();
  co_return user.get() + std::to_string(level.get());
}

TEST_P(task_local_in_order, has_its_default_where_nothing_is_bound) {
  EXPECT_EQ(user.get(), "nobody");
  EXPECT_EQ(user.find(), nullptr);
  auto h = s.spawn(who);
  s.run_until_idle();
  EXPECT_EQ(h.join(), "nobody0");
}

TEST_P(task_local_in_order, is_bound_until_the_end_of_the_block) {
  auto h = s.spawn([]() -> task<std::string> {
    std::string all;
    {
      const auto outer = user.set("anna");
      {
        const auto inner = user.set("bert");
        const auto other = level.set(2);
        all += co_await who();
      }
      all += co_await who();
    }
    all += co_await who();
    co_return all;
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), "bert2anna0nobody0");
}

TEST_P(task_local_in_order, scope_binds_for_one_await) {
  auto h = s.spawn([]() -> task<std::string> {
    auto inside = co_await user.scope("carl", who());
    inside += co_await who();
    co_await user.scope("dora", sleep_for(1ms));
    co_return inside;
  });
  s.run_with_time();
  EXPECT_EQ(h.join(), "carl0nobody0");
}

TEST_P(task_local_in_order, children_inherit_what_is_bound_where_they_are_spawned) {
  auto h = s.spawn([&]() -> task<std::string> {
    join_handle<std::string> outlives;
    std::string all;
    {
      const auto bound = user.set("emil");
      outlives = s.spawn([]() -> task<std::string> {
        co_await sleep_for(1ms);
        co_return co_await who();
      });
      co_await with_scope([&](scope& c) -> task<void> {
        auto child = c.spawn(who);
        all += co_await child;
      });
      auto [left, right] = co_await when_all(who(), user.scope("fritz", who()));
      all += left + right;
    }
    all += co_await outlives;
    co_return all;
  });
  s.run_with_time();
  EXPECT_EQ(h.join(), "emil0emil0fritz0emil0");
}

TEST_P(task_local_in_order, binding_of_a_child_is_not_seen_by_its_parent) {
  auto h = s.spawn([&]() -> task<std::string> {
    const auto bound = user.set("gerd");
    auto child = s.spawn([]() -> task<std::string> {
      const auto own = user.set("hans");
      co_return co_await who();
    });
    auto all = co_await child;
    all += co_await who();
    co_return all;
  });
  s.run_until_idle();
  EXPECT_EQ(h.join(), "hans0gerd0");
}

TEST_P(task_local_in_order, value_is_destroyed_with_the_last_task_that_can_see_it) {
  static const task_local<std::shared_ptr<int>> shared;
  const auto value = std::make_shared<int>(1);
  held_event go;
  join_handle<void> child;
  auto h = s.spawn([&]() -> task<void> {
    const auto bound = shared.set(value);
    child = s.spawn([&]() -> task<void> {
      co_await go.wait();
      EXPECT_EQ(*shared.get(), 1);
    });
    co_await yield();
  });
  s.run_until_idle();
  EXPECT_EQ(end_of(h), "value");
  EXPECT_EQ(value.use_count(), 2);
  go.set();
  s.run_until_idle();
  EXPECT_EQ(end_of(child), "value");
  EXPECT_EQ(value.use_count(), 1);
}

TEST_P(task_local_in_order, a_cancelled_task_unbinds) {
  static const task_local<std::shared_ptr<int>> shared;
  const auto value = std::make_shared<int>(1);
  auto h = s.spawn([&]() -> task<void> {
    const auto outer = shared.set(value);
    auto deeper = [&]() -> task<void> {
      const auto inner = shared.set(value);
      co_await forever();
    };
    co_await deeper();
  });
  s.run_until_idle();
  EXPECT_EQ(value.use_count(), 3);
  h.cancel();
  s.run_until_idle();
  EXPECT_EQ(value.use_count(), 1);
}

TEST_P(task_local_in_order, cannot_be_bound_outside_of_a_task) {
  EXPECT_THROW(static_cast<void>(user.set("ida")), error);
}

/// Returns its name four times: twice with its own binding, twice with that of its consumer.
async_generator<std::string> names() {
  for (int i = 0; i < 2; ++i) {
    std::string now;
    {
      const auto own = user.set("generator");
      now = co_await who();
    }
    co_yield now;
    co_yield user.get();
  }
}
task<std::string> all_names() {
  std::string all;
  auto given = names();
  for (int i = 0; i < 4; ++i) {
    // A different name in each round.
    const auto bound = user.set("consumer" + std::to_string(i));
    const auto each = co_await given.next();
    all += *each + " ";
  }
  co_return all;
}
constexpr const char* what_they_say = "generator0 consumer1 generator0 consumer3 ";

TEST_P(task_local_in_order, generator_sees_the_bindings_of_its_consumer_and_its_own) {
  auto h = s.spawn(all_names);
  s.run_until_idle();
  EXPECT_EQ(h.join(), what_they_say);
}

task<std::string> first_names() {
  auto given = names();
  const auto first = co_await given.next();
  const auto second = co_await given.next();
  co_return *first + *second;
}
task<std::string> names_of_children() {
  const auto bound = user.set("parent");
  const auto all = co_await when_all(first_names(), all_names(), first_names());
  co_return std::get<0>(all) + " " + std::get<1>(all) + std::get<2>(all);
}

// Children in place become tasks when they, or their generators, bind.
TEST(task_local, generator_in_a_child_in_place_sees_both_bindings) {
  EXPECT_EQ(run(names_of_children(), {.workers = 1}),
            std::string("generator0parent ") + what_they_say + "generator0parent");
}

async_generator<int> binds_across() {
  const auto bound = user.set("kim");
  co_yield 1;
}
task<int> consumes(async_generator<int> from) {
  const auto first = co_await from.next();
  co_return first.value_or(0);
}
constexpr const char* what_is_wrong = "a task_local that an async_generator has set is set across a co_yield";

// Between two values the generator belongs to no task, and may continue in another one.
TEST(task_local_death, binding_of_a_generator_across_a_co_yield_ends_the_program) {
  EXPECT_DEATH(
      {
        manual_scheduler by;
        auto h = by.spawn(consumes(binds_across()));
        by.run_until_idle();
      },
      what_is_wrong);
}
TEST(task_local_death, binding_across_a_co_yield_in_place_ends_the_program) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto parent = []() -> task<> {
    static_cast<void>(co_await when_all(consumes(binds_across()), consumes(binds_across())));
  };
  EXPECT_DEATH(run(parent(), {.workers = 1}), what_is_wrong);
}

}  // namespace
}  // namespace task_local_test
