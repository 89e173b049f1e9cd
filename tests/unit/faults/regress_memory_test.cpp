// Regressions: operations that must succeed without memory, and once did not.
#include "unit/faults/allocation_support.hpp"

#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <semaphore>

namespace rota::regress_memory_test {
namespace {

using namespace std::chrono_literals;
using test::guest;
using test::memory;
using test::short_of_memory;

constexpr std::size_t for_good = 1'000'000;

TEST(regress_memory, runtime_can_be_destroyed_without_memory) {
  {
    runtime rt(short_of_memory());
    rt.spawn([](guest) -> task<> { co_await sleep_for(1h); }, guest()).detach();
    memory::fail_after(0, for_good);
  }
  memory::stop_failing();
  EXPECT_EQ(guest::count(), 0);
}

/// A closure that does not return is a survivor, so there is something to report.
TEST(regress_memory, shutdown_completes_although_its_report_cannot_be_allocated) {
  std::optional<runtime> rt(short_of_memory());
  std::binary_semaphore begun(0);
  std::binary_semaphore may_end(0);
  join_handle<void> stuck = rt->spawn_blocking([&] {
    begun.release();
    may_end.acquire();
  });
  join_handle<void> sleeper = rt->spawn([]() -> task<> { co_await sleep_for(1h); });
  begun.acquire();

  memory::fail_after(0, for_good);
  EXPECT_THROW(rt->shutdown(0s), std::bad_alloc);
  memory::stop_failing();
  EXPECT_TRUE(sleeper.is_done());
  EXPECT_TRUE(rt->shutdown(0s).survivors.empty()) << "there is one shutdown, and it was over";

  may_end.release();
  stuck.join();
  rt.reset();
}

/// The only thread is a worker for good, and never takes blocking work.
TEST(regress_memory, blocking_work_waits_for_a_thread_that_could_not_be_started) {
  test::forgo_frame_cache();
  // One of these allocations fails each time: the frame, the record of the thread, its slot.
  for (std::size_t nth = 0; nth < 6; ++nth) {
    runtime fresh(short_of_memory());
    memory::fail_after(nth, 1);
    try {
      join_handle<int> h = fresh.spawn_blocking([] { return 7; });
      memory::stop_failing();
      EXPECT_EQ(h.join(), 7);
    } catch (const std::bad_alloc&) {
      memory::stop_failing();
    }
  }
}

/// The watchdog sleeps in an idle runtime. A shortage must wake it, and keep it awake until it has passed.
TEST(regress_memory, blocking_work_runs_after_a_lasting_shortage_of_threads) {
  test::forgo_frame_cache();
  runtime rt(short_of_memory());
  test::wait_until([&rt] { return rt.stats().total_parked != 0; });
  memory::fail_after(1, for_good);  // all but the allocation of the frame
  join_handle<int> waiting = rt.spawn_blocking([] { return 7; });
  EXPECT_FALSE(waiting.wait_for(20ms).has_value());
  memory::stop_failing();
  EXPECT_EQ(waiting.join(), 7);
}

/// The outer root uses the one slot that every runtime has. A root without a slot is not watched.
TEST(regress_memory, a_root_runs_without_memory_for_what_the_watchdog_reads) {
  runtime_options o = short_of_memory();
  o.watchdog = 1h;
  runtime rt(o);
  int got = 0;
  std::size_t failed = 0;
  rt.block_on([&]() -> task<> {
    block_in_place([&] {
      task<int> inner = test::number(3);
      memory::fail_after(0, 1);
      got = rt.block_on(std::move(inner));
      failed = memory::stop_failing();
    });
    co_return;
  });
  EXPECT_EQ(got, 3);
  EXPECT_EQ(failed, 1U);
}

TEST(regress_memory, shutdown_cancels_blocking_work_during_a_shortage_of_threads) {
  test::forgo_frame_cache();
  std::optional<runtime> rt(short_of_memory());
  memory::fail_after(1, for_good);
  join_handle<int> waiting = rt->spawn_blocking([](const guest&) { return 7; }, guest());
  rt.reset();
  memory::stop_failing();
  const auto end = waiting.wait_for(std::chrono::hours::max());
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled());
  EXPECT_EQ(guest::count(), 0);
}

}  // namespace
}  // namespace rota::regress_memory_test
