// Scenario 35 for a thread pool: a process with a pool forks. The child, without the pool's threads, starts
// and awaits nothing in that pool, and destroys handles, guards and watches at once. A job may fork.
#include "api/fork_support.hpp"
#include "api/scenario_support.hpp"

#include <rota/pool/events.hpp>
#include <rota/pool/fetch_if.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/pool/watch.hpp>
#include <rota/rota.hpp>
#include <rota/testing/runtime.hpp>

#include <array>
#include <chrono>
#include <latch>
#include <optional>
#include <thread>
#include <utility>

namespace rota::test {
namespace {

/// A job that is over at the fork, and one that runs until the parent lets it go.
struct jobs {
  explicit jobs(pool::thread_pool& in) : works(in) {}
  std::latch begun{1};
  std::latch end{1};
  pool::thread_pool& works;
  pool::work<int> over = works.submit([] { return 3; });
  pool::work<int> open = works.submit(
      [this] {
        begun.count_down();
        end.wait();
        return 4;
      },
      {.group = "group"});
};

void expect_pool_waits_refused(claims& all, jobs& of) {
  using std::chrono::hours;
  const pool::work_id id = of.open.id();
  const std::array ids{id};
  pool::thread_pool& works = of.works;
  all.expect_refused([&] { of.open.wait(); }, "wait of a handle fails");
  all.expect_refused([&] { static_cast<void>(of.open.wait_for(hours(1))); }, "wait_for of a handle fails");
  all.expect_refused([&] { of.open.wait(help); }, "wait(help) of a handle fails");
  all.expect_refused([&] { static_cast<void>(of.open.fetch()); }, "fetch of a handle fails");
  all.expect_refused([&] { works.wait(id); }, "wait for an id fails");
  all.expect_refused([&] { works.wait(ids); }, "wait for a list fails");
  all.expect_refused([&] { works.wait("group"); }, "wait for a group fails");
  all.expect_refused([&] { static_cast<void>(works.wait_for("group", hours(1))); }, "wait_for a group fails");
  all.expect_refused([&] { static_cast<void>(works.wait_any(ids)); }, "wait_any fails");
  all.expect_refused([&] { works.wait_idle(); }, "wait_idle fails");
  all.expect_refused([&] { static_cast<void>(works.wait_idle(hours(1))); }, "wait_idle with a limit fails");
  all.expect_refused([&] { works.wait_idle(help); }, "wait_idle(help) fails");
  all.expect_refused([&] { static_cast<void>(works.fetch<int>(id)); }, "fetch by id fails");
  all.expect_refused([&] { static_cast<void>(works.fetch<int>(ids)); }, "fetch of a list fails");
  all.expect_refused([&] { static_cast<void>(works.fetch<int>("group")); }, "fetch of a group fails");
  all.expect_refused([&] { const pool::thread_pool::busy_guard busy(works); }, "a busy_guard fails");
  all.expect_refused([&] { static_cast<void>(works.shutdown(hours(1))); }, "shutdown fails");
  all.expect(!of.open.cancel() && !of.open.stop() && !works.cancel(id) && works.stop_all() == 0,
             "nothing is cancelled");
}

task<> expect_pool_awaits_refused(claims& all, jobs& of) {
  bool refused = false;
  try {
    static_cast<void>(co_await of.open);
  } catch (const error& e) {
    refused = e.code() == errc::forked;
  }
  all.expect(refused, "co_await of a work fails");
  const std::array ids{of.open.id()};
  pool::thread_pool& works = of.works;
  all.expect_refused([&] { static_cast<void>(works.async_wait(ids[0])); }, "async_wait for an id fails");
  all.expect_refused([&] { static_cast<void>(works.async_wait(ids)); }, "async_wait for a list fails");
  all.expect_refused([&] { static_cast<void>(works.async_wait("group")); }, "async_wait for a group fails");
  all.expect_refused([&] { static_cast<void>(works.async_wait_any(ids)); }, "async_wait_any fails");
  all.expect_refused([&] { static_cast<void>(works.async_wait_idle()); }, "async_wait_idle fails");
  all.expect_refused([&] { static_cast<void>(works.async_fetch<int>(ids[0])); }, "async_fetch fails");
}

/// A job that is a coroutine, on a thread of the pool.
task<pid_t> forks_in_a_job() {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(20);
    claims all;
    all.expect_refused([] { spawn(number(1)).detach(); }, "spawn in a job fails");
    if (may_start_threads) {
      pool::thread_pool own;
      all.expect(own.submit([] { return 4; }).fetch().value() == 4, "a pool of the child's is waited for");
    }
    ::_exit(all.code());
  }
  co_return child;
}

TEST(scenario, no_35_job_that_continues_in_a_forked_child_starts_nothing) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  pool::thread_pool works;
  EXPECT_EQ(code_of(works.submit(forks_in_a_job).fetch().value()), 0);
  EXPECT_EQ(works.submit([] { return 4; }).fetch().value(), 4) << "the parent's pool goes on";
}

TEST(scenario, no_35_forked_child_cannot_wait_for_a_job_of_its_parent) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  pool::thread_pool works(pool::pool_options{.max_threads = 1});
  jobs of(works);
  of.begun.wait();
  const auto body = [&](claims& all) {
    expect_pool_waits_refused(all, of);
    testing::runtime tasks;
    tasks.block_on(expect_pool_awaits_refused(all, of));
    all.expect(of.over.fetch().value() == 3, "what was over at the fork has its value");
  };
  EXPECT_EQ(in_a_child(body), 0);
  of.end.count_down();
  EXPECT_EQ(of.open.fetch().value(), 4) << "the parent's pool goes on";
}

// ---- guards and watches -----------------------------------------------------------------------------------

TEST(scenario, no_35_pool_guards_are_destroyed_in_a_forked_child_without_a_wait) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  pool::thread_pool works(pool::pool_options{.max_threads = 1});
  jobs of(works);
  of.begun.wait();
  std::optional<pool::thread_pool::busy_guard> busy(std::in_place, works);
  std::optional<pool::work_guard> guard(std::in_place, std::move(of.open));
  const auto destroys = [&](claims& /*all*/) {
    guard.reset();
    busy.reset();
  };
  EXPECT_EQ(in_a_child(destroys), 0);
  of.end.count_down();
  guard.reset();
  EXPECT_FALSE(works.wait_idle(std::chrono::seconds(0))) << "the parent's busy_guard counts as before";
  busy.reset();
  works.wait_idle();
}

TEST(scenario, no_35_forked_child_cannot_watch_a_source_of_its_parent) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  pool::thread_pool works(pool::pool_options{.max_threads = 1});
  std::latch begun(1);
  std::latch end(1);
  pool::source<int> items(4);
  pool::source<int> others(4);
  int handled = 0;
  std::optional<pool::watch> watch = pool::watch_source(works, items, [&](int n) {
    handled += n;
    begun.count_down();
    end.wait();
  });
  int first = 1;
  ASSERT_EQ(items.try_push(std::move(first)), pool::push_status::pushed);
  begun.wait();
  const auto body = [&](claims& all) {
    all.expect_refused([&] { watch->wait(); }, "wait of a watch fails");
    all.expect_refused([&] { static_cast<void>(watch->wait_for(std::chrono::hours(1))); },
                       "wait_for of a watch fails");
    all.expect_refused([&] { static_cast<void>(pool::watch_source(works, others, [](int /*n*/) {})); },
                       "watch_source fails");
    const auto every = [](const pool::work_end& /*end*/) { return true; };
    all.expect_refused([&] { static_cast<void>(pool::fetch_if<int>(works, every)); }, "fetch_if fails");
    watch.reset();
  };
  EXPECT_EQ(in_a_child(body), 0);
  end.count_down();
  watch->wait();
  EXPECT_EQ(handled, 1) << "the parent's watch goes on";
}

/// Holds the pool's thread while it reports a job's end.
class held_observer final : public pool::observer {
 public:
  std::latch entered{1};
  std::latch opened{1};
  void work_ended(const pool::work_end& /*end*/) override {
    entered.count_down();
    opened.wait();
  }
};

TEST(scenario, no_35_subscription_is_destroyed_in_a_forked_child_without_a_wait) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  pool::thread_pool works(pool::pool_options{.max_threads = 1});
  held_observer held;
  std::optional<pool::subscription> told = works.subscribe(held);
  pool::work<void> job = works.submit([] {});
  held.entered.wait();
  EXPECT_EQ(in_a_child([&](claims& /*all*/) { told.reset(); }), 0);
  held.opened.count_down();
  told.reset();
  job.wait();
}

// ---- a job blocks in the child ----------------------------------------------------------------------------

/// On the pool's only thread, with another job in the queue.
pid_t forks_and_blocks(std::latch& queued, int& runs) {
  queued.wait();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(20);
  claims all;
  {
    const pool::blocking_region blocks;
    // A thread that came to this one's place would run the parent's queue a second time.
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  all.expect(runs == 0, "no job of the parent's runs in the child");
  ::_exit(all.code());
}

TEST(scenario, no_35_job_that_blocks_in_a_forked_child_starts_no_other_thread) {
  if (!may_fork_beside_allocations) GTEST_SKIP() << "the child may find this allocator locked";
  pool::thread_pool works(pool::pool_options{.max_threads = 1});
  std::latch queued(1);
  int runs = 0;
  auto forks = works.submit([&] { return forks_and_blocks(queued, runs); });
  auto next = works.submit([&runs] { ++runs; });
  queued.count_down();
  EXPECT_EQ(code_of(forks.fetch().value()), 0);
  next.wait();
  EXPECT_EQ(runs, 1) << "the parent's queue is run once";
}

}  // namespace
}  // namespace rota::test
