// The task-locals that a coroutine job inherits from the task that submits it.
#include "support/manual_scheduler.hpp"
#include "unit/pool/pool_support.hpp"

#include <rota/pool/watch.hpp>
#include <rota/spawn.hpp>
#include <rota/task_local.hpp>
#include <rota/time.hpp>

#include <memory>
#include <string>

namespace inherited_locals_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;
using rota::test::manual_scheduler;

task_local<std::string> user("no user");

task<std::string> says_user() {
  co_await yield();
  co_return user.get();
}

/// Its own local, and that of a task that it spawns.
task<std::string> says_users() {
  const std::string own = user.get();
  auto child = spawn(says_user());
  const std::string of_child = co_await child;
  co_return own + ", " + of_child;
}

TEST(inherited_locals, are_those_of_the_submitting_task_though_its_binding_has_ended) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  auto busy = std::make_unique<blocker>(p);
  work<std::string> of_task;
  work<std::string> of_function;
  auto submitter = s.spawn([&]() -> task<> {
    const auto bound = user.set("alice");
    of_task = p.submit(says_users());
    of_function = p.submit([] { return says_users(); });
    co_await yield();
  });
  s.run_until_idle();
  ASSERT_TRUE(submitter.is_done());
  busy.reset();
  EXPECT_EQ(of_task.fetch().value(), "alice, alice");
  EXPECT_EQ(of_function.fetch().value(), "alice, alice");
}

TEST(inherited_locals, are_there_in_each_attempt_and_in_jobs_that_a_job_submits) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  std::vector<std::string> seen;
  work<std::string> job;
  auto submitter = s.spawn([&]() -> task<> {
    const auto bound = user.set("bob");
    const work_options how{.retry = {.limit = 2}};
    const auto body = [&]() -> task<std::string> {
      seen.push_back(user.get());
      if (seen.size() < 3) throw std::runtime_error("not yet");
      const auto hidden = user.set("carol");
      auto inner = p.submit(says_user());
      co_return co_await inner;
    };
    job = p.submit(body, how);
    co_return;
  });
  s.run_until_idle();
  EXPECT_EQ(job.fetch().value(), "carol");
  EXPECT_EQ(seen, std::vector<std::string>(3, "bob"));
}

TEST(inherited_locals, are_absent_in_functions_items_and_jobs_not_submitted_by_a_task) {
  manual_scheduler s;
  thread_pool p({.max_threads = 1});
  EXPECT_EQ(p.submit(says_users()).fetch().value(), "no user, no user");
  source<int> from(4);
  std::string of_item;
  work<std::string> function;
  {
    auto watching = watch_source(p, from, [&](int /*item*/) -> task<> { of_item = co_await says_user(); });
    auto submitter = s.spawn([&]() -> task<> {
      const auto bound = user.set("dora");
      function = p.submit([] { return user.get(); });
      static_cast<void>(from.try_push(1));
      co_return;
    });
    s.run_until_idle();
    EXPECT_EQ(function.fetch().value(), "no user");
    watching.wait();
  }
  EXPECT_EQ(of_item, "no user");
}

/// An inherited value is destroyed with the last job that inherited it, be that retried or never begun.
TEST(inherited_locals, live_as_long_as_the_job_and_no_longer) {
  static const task_local<std::shared_ptr<int>> token;
  manual_scheduler s;
  std::weak_ptr<int> alive;
  {
    thread_pool p({.max_threads = 1});
    auto busy = std::make_unique<blocker>(p);
    auto submitter = s.spawn([&]() -> task<> {
      auto made = std::make_shared<int>(1);
      alive = made;
      const auto bound = token.set(std::move(made));
      const auto body = []() -> task<int> { co_return *token.get(); };
      p | body;
      static_cast<void>(p.submit(body, {.name = "taken back"}));
      co_return;
    });
    s.run_until_idle();
    EXPECT_FALSE(alive.expired());
    EXPECT_TRUE(p.cancel(p.find("taken back")));
    EXPECT_FALSE(alive.expired());
    busy.reset();
    p.wait_idle();
  }
  EXPECT_TRUE(alive.expired());
}

}  // namespace
}  // namespace inherited_locals_test
