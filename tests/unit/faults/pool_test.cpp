// A pool without memory, or without threads: neither workers nor the thread that retries can be started.
#include "unit/faults/failing_new.hpp"
#include "unit/faults/failing_threads.hpp"
#include "unit/pool/pool_support.hpp"

#include <rota/pool/parallel.hpp>
#include <rota/pool/watch.hpp>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <memory>
#include <new>
#include <vector>

namespace pool_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;
using rota::test::calls;
using rota::test::memory;
namespace call = rota::test::call;

class pool_without_threads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!calls::can_fail) GTEST_SKIP() << "a sanitizer starts the threads itself";
    calls::reset();
  }
  void TearDown() override { calls::reset(); }

  /// Refuses the next two threads: the one for the work, and the one that retries.
  static void refuse(std::uint64_t times = 2) {
    calls::reset();
    calls::fail(call::create_thread, EAGAIN, 0, times);
  }
};

TEST_F(pool_without_threads, waiter_for_a_job_retries_to_start_a_thread) {
  thread_pool p({.max_threads = 4});
  refuse(10);
  auto w = p.submit([] { return 7; });
  EXPECT_EQ(p.stats().threads, 0U);
  EXPECT_EQ(w.fetch().value(), 7);
  EXPECT_EQ(calls::failed(call::create_thread), 10U);
}

// The only thread that the system grants must run the work: a thread that only retries would fail for ever.
TEST_F(pool_without_threads, only_thread_that_the_system_grants_runs_the_job) {
  thread_pool p({.max_threads = 1});
  refuse();
  auto w = p.submit([] { return 7; });
  EXPECT_EQ(p.stats().threads, 0U);
  calls::reset();
  calls::fail(call::create_thread, EAGAIN, 1, 1'000'000'000);
  EXPECT_EQ(w.fetch().value(), 7);
  EXPECT_EQ(p.stats().threads, 1U);
}

TEST_F(pool_without_threads, wait_idle_wait_and_wait_any_retry_to_start_a_thread) {
  for (int how = 0; how < 3; ++how) {
    thread_pool p({.max_threads = 4});
    refuse();
    const std::array ids{p.submit([] {}, {.group = "g"}).id()};
    if (how == 0) p.wait_idle();
    if (how == 1) p.wait("g");
    if (how == 2) {
      EXPECT_EQ(p.wait_any(ids), ids[0]);
    }
    EXPECT_EQ(p.stats().succeeded, 1U);
  }
}

// The waiters fall asleep before the first refusal.
TEST_F(pool_without_threads, sleeping_waiter_is_woken_to_retry_the_start_of_a_thread) {
  for (int how = 0; how < 4; ++how) {
    thread_pool p({.max_threads = 4, .start = start_mode::suspended});
    auto w = p.submit([] {}, {.group = "g"});
    const std::array ids{w.id()};
    sleeper waits([&] {
      if (how == 0) w.wait();
      if (how == 1) p.wait_idle();
      if (how == 2) p.wait("g");
      if (how == 3) static_cast<void>(p.wait_any(ids));
    });
    waits.until_asleep();
    calls::reset();
    refuse();
    p.start();
    EXPECT_EQ(calls::failed(call::create_thread), 2U);
    waits.join();
    EXPECT_EQ(w.status(), work_status::succeeded);
  }
}

TEST_F(pool_without_threads, timed_wait_times_out_while_no_thread_can_start) {
  thread_pool p({.max_threads = 1});
  refuse(1'000'000'000);
  auto w = p.submit([] {});
  EXPECT_FALSE(w.wait_for(1ms));
  EXPECT_FALSE(p.wait_idle(1ms));
  EXPECT_EQ(w.status(), work_status::queued);
}

// ---- memory -----------------------------------------------------------------------------------------------

// The pool has no memory for the work: it retries, and all waits for the pool include that work.
TEST(pool_without_memory, wait_idle_includes_an_item_that_waits_for_memory) {
  thread_pool p({.max_threads = 1});
  static_cast<void>(p.submit([] {}));
  p.wait_idle();
  source<int> s(8);
  std::atomic<int> runs{0};
  watch_options how;
  how.works.group = "a name that is too long to lie in the string itself";
  const watch w = watch_source(p, s, [&](int) { ++runs; }, how);
  EXPECT_TRUE(p.wait_idle(0s));
  memory::fail_after(1, 1'000'000);
  EXPECT_EQ(s.try_push(1), push_status::pushed);
  EXPECT_FALSE(p.wait_idle(0s));
  EXPECT_GT(memory::stop_failing(), 0U);
  p.wait_idle();
  EXPECT_EQ(runs, 1);
  p.wait(how.works.group);
}

TEST(pool_without_memory, shutdown_reports_abandoned_jobs_once_there_is_memory) {
  struct kept {
    std::atomic<bool> begun{false};
    gate go;
  };
  const auto all = std::make_shared<kept>();
  thread_pool p({.max_threads = 1, .force_grace = 0ns});
  const auto w = p.submit([all] {
    all->begun = true;
    all->go.pass();
  });
  until([&] { return all->begun.load(); });
  EXPECT_TRUE(w.force_stop());
  w.wait();
  memory::fail_after(0, 1'000'000);
  EXPECT_THROW(static_cast<void>(p.shutdown(0ns)), std::bad_alloc);
  EXPECT_GT(memory::stop_failing(), 0U);
  EXPECT_EQ(p.shutdown(0ns).abandoned, std::vector{w.id()});
  all->go.open();
  until([&] { return p.stats().abandoned == 0; });
  EXPECT_EQ(p.shutdown(0ns).abandoned, std::vector{w.id()}) << "as it was";
}

TEST(pool_without_memory, what_the_body_of_a_loop_throws_is_thrown) {
  thread_pool p({.max_threads = 1});
  for (const int count : {1, 100}) {
    try {
      for_index(p, 0, count, {.threads = 1}, [](int /*i*/) {
        memory::fail_after(0, 1'000'000);
        throw 7;
      });
      ADD_FAILURE();
    } catch (const int what) {
      EXPECT_EQ(what, 7);
    }
    static_cast<void>(memory::stop_failing());
  }
}

}  // namespace
}  // namespace pool_test
