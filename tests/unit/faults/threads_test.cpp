// The system refuses to create threads.
#include "unit/faults/failing_threads.hpp"
#include "unit/runtime/runtime_support.hpp"

#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <cerrno>
#include <optional>
#include <system_error>
#include <vector>

namespace rota::threads_test {
namespace {

using namespace std::chrono_literals;
namespace call = test::call;
using test::calls;
using test::with_workers;

task<int> number(int n) { co_return n; }

class missing_threads : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!calls::can_fail) GTEST_SKIP() << "a sanitizer starts the threads itself";
    calls::reset();
  }
  void TearDown() override { calls::reset(); }

  static void until_alone() {
    test::wait_until([] { return test::threads_of_process() == 1; });
  }
};

/// The runtime needs the watchdog's thread and one for each worker.
TEST_F(missing_threads, constructor_throws_and_leaves_nothing_behind) {
  constexpr unsigned workers = 3;
  for (unsigned nth = 0; nth <= workers; ++nth) {
    const std::size_t files = test::open_files();
    calls::fail(call::create_thread, EAGAIN, nth);
    try {
      const runtime rt(with_workers(workers));
      ADD_FAILURE() << "thread " << nth << " is missing";
    } catch (const std::system_error& e) {
      EXPECT_EQ(e.code(), std::errc::resource_unavailable_try_again);
    }
    until_alone();
    EXPECT_EQ(test::open_files(), files);
  }
  runtime rt(with_workers(workers));
  EXPECT_EQ(rt.spawn(number(7)).join(), 7);
}

TEST_F(missing_threads, runtime_starts_with_fewer_blocking_threads_than_its_minimum) {
  runtime_options o = with_workers(1);
  o.blocking.min_threads = 3;
  calls::fail(call::create_thread, EAGAIN, 3);  // the calls: watchdog, worker, the first of three
  runtime rt(o);
  EXPECT_EQ(calls::failed(call::create_thread), 1U);
  EXPECT_EQ(rt.stats().blocking_threads, 2U);
  EXPECT_EQ(rt.spawn_blocking([] { return 7; }).join(), 7);
}

TEST_F(missing_threads, threads_for_blocking_work_are_retried_until_they_start) {
  runtime rt(with_workers(1));
  constexpr std::uint64_t refusals = 20;
  calls::fail(call::create_thread, EAGAIN, 0, refusals);
  std::vector<join_handle<int>> waiting;
  for (int i = 0; i < 5; ++i) waiting.push_back(rt.spawn_blocking([](int n) { return n; }, i));
  for (int i = 0; i < 5; ++i) EXPECT_EQ(waiting[static_cast<std::size_t>(i)].join(), i);
  EXPECT_EQ(calls::failed(call::create_thread), refusals);
}

TEST_F(missing_threads, thread_for_a_blocked_worker_is_retried_while_it_blocks) {
  runtime rt(with_workers(1));
  calls::fail(call::create_thread, EAGAIN, 0, 2);
  const auto blocks = []() -> task<int> {
    const int in_place = block_in_place([] { return 3; });
    join_handle<int> child = spawn(number(4));
    co_return in_place + child.join();  // join() runs the child here
  };
  EXPECT_EQ(test::join_on_worker(rt.spawn(blocks())), 7);
  EXPECT_EQ(calls::failed(call::create_thread), 2U);
  EXPECT_EQ(rt.stats().total_shortages, 1U);
}

TEST_F(missing_threads, shutdown_does_not_wait_for_threads_that_never_start) {
  std::optional<runtime> rt(with_workers(2));
  calls::fail(call::create_thread, EAGAIN, 0, 1'000'000'000);
  join_handle<int> never = rt->spawn_blocking([] { return 7; });
  rt.reset();
  const auto end = never.wait_for(std::chrono::hours::max());
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled());
  until_alone();
}

}  // namespace
}  // namespace rota::threads_test
