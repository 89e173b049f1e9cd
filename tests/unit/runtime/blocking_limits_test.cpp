// The runtime's own pool: closures beyond its limits, the names of its threads, and works of other pools.
#include "unit/runtime/runtime_support.hpp"

#include <rota/error.hpp>
#include <rota/pool/this_work.hpp>
#include <rota/pool/thread_pool.hpp>

#include <fstream>
#include <latch>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <vector>

namespace rota::test::blocking_limits_test {
namespace {

using pool::rejection;

/// One thread for closures, and one place in the queue.
runtime_options narrow(rejection on_full) {
  runtime_options o = with_workers(1);
  o.blocking.max_threads = 1;
  o.blocking.queue_limit = 1;
  o.blocking.on_full = on_full;
  return o;
}

/// Occupies the only thread until it is let go.
class occupant {
 public:
  explicit occupant(runtime& rt)
      : handle_(rt.spawn_blocking([this] {
          begun_.count_down();
          go_.acquire();
          left_ = true;
        })) {
    begun_.wait();
  }
  void release() { go_.release(); }
  [[nodiscard]] bool has_left() const { return left_; }
  void join() { handle_.join(); }

 private:
  std::latch begun_{1};
  std::binary_semaphore go_{0};
  std::atomic<bool> left_ = false;
  join_handle<void> handle_;
};

void expect_refused(join_handle<int>& closure) {
  ASSERT_TRUE(closure.is_done()) << "it is over before its handle is here";
  const auto end = closure.wait_for(0s);
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled());
  EXPECT_EQ(end->reason(), cancel_reason::queue_full);
}

TEST(blocking_limits, closure_is_refused_at_once_if_the_queue_is_full) {
  runtime rt(narrow(rejection::abort));
  occupant first(rt);
  auto waits = rt.spawn_blocking([] { return 2; });
  const auto kept = std::make_shared<int>(0);
  auto refused = rt.spawn_blocking([kept] { return ++*kept; });
  expect_refused(refused);
  EXPECT_EQ(kept.use_count(), 1) << "its arguments are gone";
  EXPECT_EQ(rt.stats().blocking_queued, 1U);
  rt.spawn_blocking([kept] { ++*kept; }).detach();
  EXPECT_EQ(kept.use_count(), 1) << "nobody has to look";
  first.release();
  EXPECT_EQ(waits.join(), 2);
  EXPECT_EQ(*kept, 0);
}

TEST(blocking_limits, await_of_a_refused_closure_throws_with_reason_queue_full) {
  runtime rt(narrow(rejection::abort));
  occupant first(rt);
  auto waits = rt.spawn_blocking([] {});
  const auto body = []() -> task<cancel_reason> {
    auto refused = spawn_blocking([] { return 3; });
    try {
      co_await refused;
    } catch (const cancelled_error& e) {
      co_return e.reason();
    }
    co_return cancel_reason::none;
  };
  EXPECT_EQ(rt.block_on(body), cancel_reason::queue_full);
  EXPECT_EQ(rt.spawn(body).join(), cancel_reason::queue_full);
  EXPECT_STREQ(to_string(cancel_reason::queue_full), "queue full");
  first.release();
  waits.join();
}

TEST(blocking_limits, closures_beyond_threads_and_queue_places_are_refused) {
  runtime_options o = with_workers(2);
  o.blocking.max_threads = 3;
  o.blocking.queue_limit = 4;
  runtime rt(o);
  std::counting_semaphore<16> go(0);
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 10; ++i) {
    all.push_back(rt.spawn_blocking([&go] {
      go.acquire();
      return 1;
    }));
  }
  for (std::size_t i = 7; i < 10; ++i) expect_refused(all[i]);
  wait_until([&rt] { return rt.stats().blocking_queued == 4; });
  go.release(7);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(all[i].join(), 1);
}

TEST(blocking_limits, any_number_of_closures_waits_without_a_limit) {
  runtime_options o = narrow(rejection::abort);
  o.blocking.queue_limit = 0;
  runtime rt(o);
  occupant first(rt);
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 1'000; ++i) all.push_back(rt.spawn_blocking([i] { return i; }));
  EXPECT_EQ(rt.stats().blocking_queued, 1'000U);
  first.release();
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].join(), i);
}

TEST(blocking_limits, largest_queue_limit_means_no_limit) {
  runtime_options o = narrow(rejection::abort);
  o.blocking.queue_limit = std::numeric_limits<std::size_t>::max();
  runtime rt(o);
  occupant first(rt);
  auto one = rt.spawn_blocking([] { return 1; });
  auto two = rt.spawn_blocking([] { return 2; });
  first.release();
  EXPECT_EQ(one.join() + two.join(), 3);
}

TEST(blocking_limits, a_task_that_blocks_takes_its_thread_from_the_closures) {
  runtime rt(narrow(rejection::abort));
  std::latch in(1);
  std::binary_semaphore go(0);
  auto blocks = rt.spawn([&]() -> task<int> {
    co_return block_in_place([&] {
      in.count_down();
      go.acquire();
      return 7;
    });
  });
  in.wait();
  auto waits = rt.spawn_blocking([] { return 1; });
  auto refused = rt.spawn_blocking([] { return 2; });
  expect_refused(refused);
  go.release();
  EXPECT_EQ(blocks.join(), 7);
  EXPECT_EQ(waits.join(), 1);
}

TEST(blocking_limits, a_plain_thread_waits_for_a_place) {
  runtime rt(narrow(rejection::block));
  occupant first(rt);
  auto waits = rt.spawn_blocking([] { return 2; });
  std::atomic<bool> too_early = false;
  std::jthread third([&] {
    auto mine = rt.spawn_blocking([] { return 3; });
    too_early = !first.has_left();
    EXPECT_EQ(mine.join(), 3);
  });
  wait_until([&rt] { return rt.stats().blocking_queued == 2; });
  first.release();
  third.join();
  EXPECT_FALSE(too_early);
  EXPECT_EQ(waits.join(), 2);
}

TEST(blocking_limits, a_task_does_not_wait_for_a_place) {
  runtime rt(narrow(rejection::block));
  occupant first(rt);
  auto waits = rt.spawn_blocking([] { return 2; });
  const auto body = [](bool in_place) -> task<cancel_reason> {
    const auto spawns = [] { return spawn_blocking([] { return 3; }); };
    auto refused = in_place ? block_in_place(spawns) : spawns();
    const auto end = co_await refused.result();
    co_return end.reason();
  };
  EXPECT_EQ(rt.block_on(body, false), cancel_reason::queue_full) << "the root of block_on is a task";
  EXPECT_EQ(rt.spawn(body, false).join(), cancel_reason::queue_full);
  EXPECT_EQ(rt.spawn(body, true).join(), cancel_reason::queue_full) << "what it does in place is its own";
  first.release();
  waits.join();
}

TEST(blocking_limits, a_closure_does_not_wait_for_a_place) {
  runtime rt(narrow(rejection::block));
  std::latch filled(1);
  auto spawner = rt.spawn_blocking([&] {
    filled.wait();
    return spawn_blocking([] { return 3; }).wait_for(std::chrono::hours::max())->reason();
  });
  auto waits = rt.spawn_blocking([] { return 2; });
  filled.count_down();
  EXPECT_EQ(spawner.join(), cancel_reason::queue_full) << "it would wait for itself";
  EXPECT_EQ(waits.join(), 2);
}

TEST(blocking_limits, thread_that_waits_for_a_place_is_released_by_shutdown) {
  std::optional<runtime> rt(narrow(rejection::block));
  std::optional<occupant> first(*rt);
  auto waits = rt->spawn_blocking([] { return 2; });
  std::jthread third([from = rt->handle()] {
    auto mine = from.spawn_blocking([] { return 3; });
    const auto end = mine.wait_for(std::chrono::hours::max());
    EXPECT_EQ(end->reason(), cancel_reason::shutdown);
  });
  wait_until([&rt] { return rt->stats().blocking_queued == 2; });
  rt.reset();
  third.join();
  first->release();
  first->join();
}

TEST(blocking_limits, plain_thread_runs_its_closure_itself_if_the_queue_is_full) {
  runtime rt(narrow(rejection::caller_runs));
  occupant first(rt);
  auto waits = rt.spawn_blocking([] { return std::this_thread::get_id(); });
  bool ran = false;
  auto mine = rt.spawn_blocking([&ran] {
    ran = true;
    EXPECT_NE(this_task::id().value, 0U);
    return std::this_thread::get_id();
  });
  EXPECT_TRUE(ran) << "before spawn_blocking returned";
  EXPECT_EQ(mine.join(), std::this_thread::get_id());
  auto throws = rt.spawn_blocking([]() -> int { throw std::runtime_error("mine"); });
  EXPECT_THROW(throws.join(), std::runtime_error);
  first.release();
  EXPECT_NE(waits.join(), std::this_thread::get_id());
}

TEST(blocking_limits, task_runs_its_closure_itself_if_the_queue_is_full) {
  runtime rt(narrow(rejection::caller_runs));
  occupant first(rt);
  auto waits = rt.spawn_blocking([] {});
  const auto body = []() -> task<bool> {
    const task_id outer = this_task::id();
    const auto here = std::this_thread::get_id();
    auto mine = spawn_blocking([outer] {
      EXPECT_NE(this_task::id().value, outer.value);
      return std::this_thread::get_id();
    });
    EXPECT_EQ(this_task::id().value, outer.value);
    EXPECT_TRUE(mine.is_done());
    const auto there = co_await mine;
    co_return there == here;
  };
  EXPECT_TRUE(rt.block_on(body));
  EXPECT_TRUE(rt.spawn(body).join());
  first.release();
  waits.join();
}

TEST(blocking_limits, closure_runs_its_closure_itself_if_the_queue_is_full) {
  runtime rt(narrow(rejection::caller_runs));
  std::latch filled(1);
  auto spawner = rt.spawn_blocking([&] {
    filled.wait();
    return spawn_blocking([] { return std::this_thread::get_id(); }).join() == std::this_thread::get_id();
  });
  auto waits = rt.spawn_blocking([] {});
  filled.count_down();
  EXPECT_TRUE(spawner.join());
  waits.join();
}

TEST(blocking_limits, every_thread_calls_the_start_and_end_hooks) {
  std::mutex lock;
  std::multiset<unsigned> there;
  unsigned began = 0;
  unsigned ended = 0;
  {
    runtime_options o = with_workers(2);
    o.blocking.min_threads = 1;
    o.blocking.on_thread_start = [&](unsigned index) {
      const std::lock_guard guard(lock);
      EXPECT_EQ(there.count(index), 0U) << "no two threads have the same number";
      there.insert(index);
      ++began;
    };
    o.blocking.on_thread_end = [&](unsigned index) {
      const std::lock_guard guard(lock);
      EXPECT_EQ(there.erase(index), 1U);
      ++ended;
    };
    runtime rt(o);
    rt.spawn_blocking([] {}).join();
    EXPECT_TRUE(rt.shutdown(std::chrono::seconds(0)).survivors.empty());
  }
  EXPECT_TRUE(there.empty());
  EXPECT_EQ(began, ended);
  EXPECT_GE(began, 3U) << "two workers, and one for closures";
}

TEST(blocking_limits, threads_have_the_configured_niceness) {
  runtime_options o = with_workers(1);
  o.blocking.nice = 3;
  runtime rt(o);
  const auto niceness = [] {
    std::ifstream stat("/proc/thread-self/stat");
    std::string word;
    for (int field = 1; field <= 19; ++field) stat >> word;  // the name of these threads is one word
    return word;
  };
  const std::string of_caller = niceness();
  EXPECT_EQ(rt.spawn_blocking(niceness).join(), "3");
  EXPECT_EQ(rt.spawn([niceness]() -> task<std::string> { co_return niceness(); }).join(), "3");
  EXPECT_EQ(niceness(), of_caller);
}

// The worker lends its role. To mark its thread as blocked in the pool is not enough.
TEST(blocking_limits, a_task_that_waits_for_a_work_of_another_pool_lends_its_role) {
  runtime rt(with_workers(1));
  pool::thread_pool other({.max_threads = 1});
  std::binary_semaphore go(0);
  auto waits = rt.spawn([&]() -> task<int> {
    auto work = other.submit([&go] {
      go.acquire();
      return 5;
    });
    co_return work.fetch().value();
  });
  rt.spawn([&go]() -> task<> {
      go.release();
      co_return;
    }).join();
  EXPECT_EQ(waits.join(), 5);
}

TEST(blocking_limits, blocking_region_outside_of_a_job_does_nothing) {
  runtime rt(narrow(rejection::abort));
  std::latch in(1);
  std::binary_semaphore go(0);
  auto first = rt.spawn_blocking([&] {
    const pool::blocking_region region;
    in.count_down();
    go.acquire();
  });
  in.wait();
  auto waits = rt.spawn_blocking([] { return 1; });
  auto refused = rt.spawn_blocking([] { return 2; });
  expect_refused(refused);
  EXPECT_EQ(rt.stats().blocking_threads, 2U);
  go.release();
  EXPECT_EQ(waits.join(), 1);
}

}  // namespace
}  // namespace rota::test::blocking_limits_test
