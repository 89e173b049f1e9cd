// Waits and fetches: none is lost, each sees all effects of the work, and one of several fetches succeeds.
#include "unit/pool/pool_support.hpp"

#include <rota/error.hpp>
#include <rota/pool/work.hpp>
#include <rota/this_task.hpp>

#include <functional>
#include <memory>

namespace regress_wait_test {
namespace {

using namespace rota;
using namespace rota::pool;
using namespace rota::pool::test;

// Many threads become the first waiter at the same moment.
TEST(regress_wait, many_threads_may_become_the_first_waiter_at_once) {
  thread_pool p({.max_threads = 1});
  for (int round = 0; round < 500; ++round) {
    int value = 0;  // plain: each wait orders it
    auto w = p.submit([&] { value = round; });
    std::vector<std::thread> callers;
    for (int t = 0; t < 4; ++t) {
      callers.emplace_back([&, t] {
        if (t == 0) w.wait(help);
        if (t == 1) {
          EXPECT_TRUE(w.wait_for(1h));
        }
        if (t == 2) {
          EXPECT_TRUE(p.wait(w.id()));
        }
        w.wait();
        EXPECT_EQ(value, round);
      });
    }
    for (std::thread& each : callers) each.join();
  }
}

// No lost wakeup between the check and the sleep.
TEST(regress_wait, wait_that_races_with_the_end_of_a_job_loses_no_wakeup) {
  thread_pool p({.max_threads = 1});
  for (int i = 0; i < 20'000; ++i) {
    int value = 0;
    auto w = p.submit([&] { value = i; });
    if (i % 2 == 0) {
      w.wait();
    } else {
      while (!w.wait_for(1us)) {
      }
    }
    ASSERT_EQ(value, i);
  }
}

// A coroutine waits for a work of another pool that ends at once.
TEST(regress_wait, coroutine_resumes_in_its_own_pool_after_a_wait) {
  thread_pool home({.max_threads = 1});
  thread_pool away({.max_threads = 1});
  auto w = home.submit([&]() -> task<int> {
    int sum = 0;
    for (int i = 0; i < 2'000; ++i) {
      const work_id before = this_work::id();
      auto one = away.submit([] { return 1; });
      sum += co_await one;
      EXPECT_EQ(this_work::id(), before)
          << "its own thread goes on with it, and not the one that ended the other";
    }
    co_return sum;
  });
  EXPECT_EQ(w.fetch().value(), 2'000);
}

TEST(regress_wait, failed_job_stays_stored_when_fetched_with_a_wrong_type) {
  std::vector<work_status> seen;
  std::mutex lock;
  thread_pool p({.max_threads = 1, .default_callback = [&](const work_end& e) {
                   const std::lock_guard guard(lock);
                   seen.push_back(e.status);
                   EXPECT_EQ(e.value<std::string>(), nullptr);
                   EXPECT_TRUE(e.exception);
                 }});
  auto w = p.submit([]() -> std::string { throw std::runtime_error("no"); }, {.store_result = true});
  w.wait();
  EXPECT_EQ(seen, std::vector{work_status::failed});
  EXPECT_THROW(static_cast<void>(p.fetch<int>(w.id())), std::invalid_argument);
  EXPECT_TRUE(p.fetch<std::string>(w.id()).value().has_exception()) << "still there";
}

TEST(regress_wait, cancelled_outcome_is_fetched_once) {
  thread_pool p({.max_threads = 1});
  const blocker first(p);
  auto w = p.submit([] { return 1; }, {.store_result = true});
  EXPECT_TRUE(w.cancel());
  EXPECT_THROW(static_cast<void>(p.fetch<long>(w.id())), std::invalid_argument);
  EXPECT_TRUE(p.fetch<int>(w.id())->is_cancelled());
  try {
    static_cast<void>(w.fetch());
    ADD_FAILURE();
  } catch (const error& e) {
    EXPECT_EQ(e.code(), errc::already_joined);
  }
}

TEST(regress_wait, one_of_several_concurrent_fetches_gets_the_outcome) {
  thread_pool p({.max_threads = 2});
  for (int round = 0; round < 2'000; ++round) {
    auto w = p.submit([] { return std::make_unique<int>(5); }, {.store_result = round % 2 == 0});
    std::atomic<int> got{0};
    const auto fetch = [&] {
      const auto o = p.fetch<std::unique_ptr<int>>(w.id());
      if (o.has_value() && o->has_value()) got += *o->value();
    };
    std::thread other(fetch);
    fetch();
    try {
      got += *w.fetch().value();
    } catch (const error& e) {
      EXPECT_EQ(e.code(), errc::already_joined);
    }
    other.join();
    ASSERT_EQ(got, 5);
  }
}

TEST(regress_wait, results_that_are_stored_stay_until_they_are_fetched_or_cleared) {
  thread_pool p({.max_threads = 1});
  std::vector<work_id> ids;
  for (int i = 0; i < 5; ++i)
    ids.push_back(p.submit([i] { return i; }, {.group = "g", .store_result = true}).id());
  p.wait_idle();
  EXPECT_TRUE(p.members("g").empty());
  EXPECT_EQ(p.stop("g"), 0U);
  EXPECT_EQ(p.status(ids[1]), work_status::succeeded);
  EXPECT_EQ(p.fetch<int>(ids[2])->value(), 2);
  EXPECT_FALSE(p.fetch<int>(ids[2]).has_value());
  EXPECT_EQ(p.clear_results(), 4U);
  EXPECT_FALSE(p.fetch<int>(ids[0]).has_value());
  EXPECT_EQ(p.clear_results(), 0U);
}

TEST(regress_wait, wait_for_a_list_returns_the_unknown_ids) {
  thread_pool p({.max_threads = 2});
  auto a = p.submit([] {});
  auto b = p.submit([] {});
  const work_id gone{a.id().value + (std::uint64_t{1} << 40U)};
  const std::vector<work_id> ids{a.id(), gone, b.id()};
  EXPECT_EQ(p.wait(ids), std::vector{gone});
  EXPECT_EQ(p.stop(ids).size(), 3U);
}

TEST(regress_wait, wait_any_returns_the_job_that_ended_first) {
  thread_pool p({.max_threads = 2});
  for (int round = 0; round < 1'000; ++round) {
    gate go;
    auto slow = p.submit([&] { go.pass(); });
    auto fast = p.submit([] {});
    const std::vector<work_id> ids{slow.id(), fast.id()};
    ASSERT_EQ(p.wait_any(ids), fast.id());
    go.open();
    slow.wait();
  }
  EXPECT_THROW(static_cast<void>(p.wait_any({})), std::invalid_argument);
}

TEST(regress_wait, nested_waits_complete_on_a_pool_with_one_thread) {
  thread_pool p({.max_threads = 1});
  const std::function<int(int)> tree = [&](int depth) -> int {
    if (depth == 0) return 1;
    auto left = p.submit([&, depth] { return tree(depth - 1); });
    auto right = p.submit([&, depth] { return tree(depth - 1); });
    return left.fetch().value() + right.fetch().value();
  };
  EXPECT_EQ(p.submit([&] { return tree(8); }).fetch().value(), 256);
  expect_idle(p);
}

TEST(regress_wait, helping_waits_complete_at_a_nesting_depth_of_sixty) {
  thread_pool p({.max_threads = 2, .queue = queue_order::lifo});
  const std::function<int(int)> chain = [&](int depth) -> int {
    if (depth == 0) return 0;
    auto next = p.submit([&, depth] { return chain(depth - 1); });
    return 1 + next.fetch(help).value();
  };
  EXPECT_EQ(p.submit([&] { return chain(60); }).fetch(help).value(), 60);
  expect_idle(p);
}

TEST(regress_wait, helping_fetches_complete_a_divide_and_conquer_sum) {
  for (const queue_order order : {queue_order::lifo, queue_order::deque}) {
    for (const placement where : {placement::local, placement::idle_then_local}) {
      thread_pool p({.max_threads = 2, .queue = order, .steal = steal_amount::one});
      const std::function<std::int64_t(int, int)> sum = [&](int from, int to) -> std::int64_t {
        if (to - from < 200) {
          std::int64_t total = 0;
          for (int i = from; i < to; ++i) total += i;
          return total;
        }
        const int middle = from + (to - from) / 2;
        auto left = p.submit([&, from, middle] { return sum(from, middle); }, {.where = where});
        const std::int64_t right = sum(middle, to);
        return left.fetch(help).value() + right;
      };
      EXPECT_EQ(p.submit([&] { return sum(0, 100'000); }).fetch().value(), 4'999'950'000);
      expect_idle(p);
    }
  }
}

TEST(regress_wait, job_that_waits_for_itself_gets_an_error) {
  thread_pool p({.max_threads = 1});
  auto w = p.submit([&] { EXPECT_THROW(static_cast<void>(p.wait(this_work::id())), error); });
  EXPECT_TRUE(w.fetch().has_value());
}

TEST(regress_wait, a_thread_that_waits_is_replaced) {
  thread_pool p({.max_threads = 1});
  thread_pool other({.max_threads = 1});
  gate go;
  auto gated = other.submit([&] { go.pass(); });
  auto waits = p.submit([&] { gated.wait(); });
  until(waits, work_status::running);
  EXPECT_EQ(p.submit([] { return 1; }).fetch().value(), 1) << "somebody else is there";
  go.open();
  waits.wait();
  expect_idle(p);
}

// Each waits for the one queued before it. Waits run works inside of one another, to a bounded depth only.
TEST(regress_wait, chain_of_100000_nested_waits_does_not_overflow_the_stack) {
  constexpr int count = 100'000;
  thread_pool p({.max_threads = 1, .queue = queue_order::lifo, .start = start_mode::suspended});
  std::vector<work<int>> all;
  all.reserve(count);
  for (int i = 0; i < count; ++i) {
    all.push_back(p.submit([&all, i] {
      if (i != 0) all[static_cast<std::size_t>(i) - 1].wait();
      return i;
    }));
  }
  p.start();
  EXPECT_EQ(all.back().fetch().value(), count - 1);
  expect_idle(p);
  EXPECT_EQ(p.stats().succeeded, static_cast<std::uint64_t>(count));
}

}  // namespace
}  // namespace regress_wait_test
