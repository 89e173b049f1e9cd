// parallel_for and parallel_reduce, on a real runtime.
#include <rota/parallel.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/testing/runtime.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <ostream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace parallel_test {
namespace {

using namespace rota;
using namespace std::chrono_literals;

constexpr std::int64_t no_end = std::int64_t{1} << 60;

struct shape {
  unsigned workers;
  std::size_t grain;
};
std::ostream& operator<<(std::ostream& out, const shape& s) {
  return out << s.workers << " workers, grain " << s.grain;
}

class loops_on : public ::testing::TestWithParam<shape> {
 protected:
  runtime r{runtime_options{.workers = GetParam().workers}};
  const parallel_options options{.grain = GetParam().grain};
};
INSTANTIATE_TEST_SUITE_P(each,
                         loops_on,
                         ::testing::Values(shape{1, 0}, shape{2, 0}, shape{1, 1}, shape{2, 1}, shape{2, 7}),
                         [](const auto& each) {
                           return std::to_string(each.param.workers) + "_workers_grain_" +
                                  std::to_string(each.param.grain);
                         });

// --- for ---------------------------------------------------------------------------------------------------

TEST_P(loops_on, body_is_called_once_for_each_index) {
  for (const int items : {0, 1, 2, 3, 100, 4096, 10'007}) {
    std::vector<std::atomic<int>> calls(static_cast<std::size_t>(items));
    const auto count = [&calls](int i) { calls[static_cast<std::size_t>(i)].fetch_add(1); };
    r.spawn(parallel_for(0, items, count, options)).join();
    for (const auto& each : calls) EXPECT_EQ(each.load(), 1) << items;
  }
}

TEST_P(loops_on, loop_runs_on_the_thread_of_block_on) {
  std::vector<std::atomic<int>> calls(1000);
  r.block_on(parallel_for(0, 1000, [&](int i) { calls[static_cast<std::size_t>(i)].fetch_add(1); }, options));
  for (const auto& each : calls) EXPECT_EQ(each.load(), 1);
}

TEST_P(loops_on, body_is_called_with_the_elements_of_iterators) {
  std::vector<int> values(5000, 1);
  r.spawn(parallel_for(values.begin(), values.end(), [](int& each) { each += 1; }, options)).join();
  EXPECT_EQ(std::accumulate(values.begin(), values.end(), 0), 10'000);
}

TEST_P(loops_on, reversed_bounds_give_no_items) {
  std::atomic<int> calls{0};
  const auto count = [&](auto /*item*/) { calls.fetch_add(1); };
  std::vector<int> values(3);
  r.spawn(parallel_for(5, 5, count, options)).join();
  r.spawn(parallel_for(7, -7, count, options)).join();
  r.spawn(parallel_for(7U, 0U, count, options)).join();
  r.spawn(parallel_for(values.end(), values.begin(), count, options)).join();
  EXPECT_EQ(calls.load(), 0);
}

TEST_P(loops_on, loop_covers_the_whole_range_of_a_small_type) {
  std::vector<std::atomic<int>> calls(255);
  const auto count = [&](std::int8_t i) { calls[static_cast<std::size_t>(i + 128)].fetch_add(1); };
  r
      .spawn(parallel_for(
          std::numeric_limits<std::int8_t>::min(), std::numeric_limits<std::int8_t>::max(), count, options))
      .join();
  for (const auto& each : calls) EXPECT_EQ(each.load(), 1);
}

TEST_P(loops_on, bounds_of_two_types_are_converted_or_refused) {
  std::vector<std::atomic<int>> calls(300);
  const auto count = [&](std::size_t i) { calls[i].fetch_add(1); };
  r.spawn(parallel_for(0, calls.size(), count, options)).join();
  for (const auto& each : calls) EXPECT_EQ(each.load(), 1);
  EXPECT_THROW(static_cast<void>(parallel_for(-1, calls.size(), count, options)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(parallel_for(std::size_t{1}, -1, count, options)), std::invalid_argument);
}

/// Counts the living objects.
struct counted {
  explicit counted(std::atomic<int>& of) : live(&of) { live->fetch_add(1); }
  counted(counted&& other) noexcept : live(other.live) { live->fetch_add(1); }
  counted(const counted& other) noexcept : live(other.live) { live->fetch_add(1); }
  counted& operator=(const counted&) = delete;
  counted& operator=(counted&&) = delete;
  ~counted() { live->fetch_sub(1); }
  std::atomic<int>* live;
};

TEST_P(loops_on, the_body_is_kept_until_the_end_and_not_longer) {
  std::atomic<int> live{0};
  std::atomic<bool> was_there{true};
  {
    auto loop = parallel_for(
        0,
        1000,
        [held = counted(live), &was_there](int) {
          if (held.live->load() == 0) was_there = false;
        },
        options);
    EXPECT_EQ(live.load(), 1) << "one copy, in the loop's frame";
    r.spawn(std::move(loop)).join();
  }
  EXPECT_TRUE(was_there.load());
  EXPECT_EQ(live.load(), 0);
}

TEST_P(loops_on, body_can_be_move_only) {
  std::atomic<int> sum{0};
  r.spawn(parallel_for(
              0, 100, [one = std::make_unique<int>(1), &sum](int) { sum.fetch_add(*one); }, options))
      .join();
  EXPECT_EQ(sum.load(), 100);
}

TEST_P(loops_on, an_exception_stops_the_others_and_is_rethrown) {
  std::atomic<std::int64_t> calls{0};
  const auto fails_soon = [&](std::int64_t i) {
    calls.fetch_add(1);
    if (i == 3000) throw std::runtime_error("three thousand");
  };
  auto loop = r.spawn(parallel_for(std::int64_t{0}, no_end, fails_soon, options));
  EXPECT_THROW(loop.join(), std::runtime_error);
  EXPECT_LT(calls.load(), no_end);
}

TEST_P(loops_on, a_cancellation_stops_it) {
  std::atomic<bool> began{false};
  auto loop =
      r.spawn(parallel_for(std::int64_t{0}, no_end, [&](std::int64_t) { began.store(true); }, options));
  while (!began.load()) {
  }
  EXPECT_TRUE(loop.cancel());
  EXPECT_THROW(loop.join(), cancelled_error);
}

TEST_P(loops_on, a_timeout_stops_it) {
  std::atomic<std::int64_t> calls{0};
  // A part may be cancelled before its first item if the machine is slow.
  for (auto limit = 1ms; calls.load() == 0; limit *= 2) {
    auto work = [&]() -> task<bool> {
      const auto ended = co_await timeout(
          limit, parallel_for(std::int64_t{0}, no_end, [&](std::int64_t) { calls.fetch_add(1); }, options));
      co_return ended.has_value();
    };
    EXPECT_FALSE(r.spawn(work).join());
  }
}

TEST_P(loops_on, a_shutdown_stops_it) {
  std::atomic<bool> began{false};
  auto loop =
      r.spawn(parallel_for(std::int64_t{0}, no_end, [&](std::int64_t) { began.store(true); }, options));
  while (!began.load()) {
  }
  const shutdown_report report = r.shutdown(0s);
  EXPECT_TRUE(report.survivors.empty());
  EXPECT_THROW(loop.join(), cancelled_error);
}

// The loop ends only if the other task gets a turn.
TEST_P(loops_on, endless_loop_lets_other_tasks_run) {
  std::atomic<bool> told{false};
  std::atomic<bool> began{false};
  auto loop = r.spawn(parallel_for(
      std::int64_t{0},
      no_end,
      [&](std::int64_t) {
        began.store(true);
        if (told.load()) throw std::runtime_error("told");
      },
      options));
  while (!began.load()) {
  }
  auto tells = [&]() -> task<void> {
    told.store(true);
    co_return;
  };
  r.spawn(tells).join();
  EXPECT_THROW(loop.join(), std::runtime_error);
}

TEST_P(loops_on, nested_loops_call_the_body_for_every_item) {
  std::atomic<int> calls{0};
  const auto row = [&](int) -> task<void> {
    co_await parallel_for(0, 50, [&](int) { calls.fetch_add(1); }, options);
  };
  r.spawn(parallel_for(0, 40, row, options)).join();
  EXPECT_EQ(calls.load(), 2000);
}

/// Ends once the given number of tasks wait in it.
class meeting {
 public:
  explicit meeting(int missing) : missing_(missing) {}
  task<void> join() {
    missing_.fetch_sub(1);
    while (missing_.load() > 0) co_await yield();
  }

 private:
  std::atomic<int> missing_;
};

TEST(parallel_for, tasks_of_the_body_wait_concurrently) {
  runtime r{runtime_options{.workers = 1}};
  meeting all(500);
  r.spawn(parallel_for(0, 500, [&](int) -> task<void> { return all.join(); })).join();
}

TEST(parallel_for, tasks_of_one_chunk_run_in_sequence_if_a_grain_is_set) {
  runtime r{runtime_options{.workers = 2}};
  std::vector<int> last(4, -1);
  const auto step = [&](int i) -> task<void> {
    int& before = last[static_cast<std::size_t>(i / 25)];
    co_await yield();
    EXPECT_EQ(before, i % 25 == 0 ? -1 : i - 1);
    before = i;
  };
  r.spawn(parallel_for(0, 100, step, {.grain = 25})).join();
}

TEST(parallel_for, a_task_of_the_body_that_fails_cancels_those_that_wait) {
  runtime r{runtime_options{.workers = 2}};
  const auto one_fails = [](int i) -> task<void> {
    if (i == 70) throw std::runtime_error("seventy");
    co_await sleep_for(1h);
  };
  auto loop = r.spawn(parallel_for(0, 100, one_fails));
  EXPECT_THROW(loop.join(), std::runtime_error);
}

// The watchdog calls a worker after 5 ms; the loop must be split all the same.
TEST(parallel_for, slow_items_are_shared_between_workers) {
  runtime r{runtime_options{.workers = 2}};
  std::mutex guard;
  std::set<std::thread::id> threads;
  const auto lasts = [&](int) {
    std::this_thread::sleep_for(8ms);
    const std::lock_guard lock(guard);
    threads.insert(std::this_thread::get_id());
  };
  // The other worker may have no processor for a whole loop, but not each time.
  for (int i = 0; i < 5 && threads.size() < 2; ++i) r.spawn(parallel_for(0, 40, lasts)).join();
  EXPECT_EQ(threads.size(), 2U);
}

// While parts wait for a turn, no new parts are started. Otherwise they would starve later tasks.
TEST(parallel_for, long_loop_does_not_starve_later_tasks) {
  runtime r{runtime_options{.workers = 1}};
  std::atomic<std::int64_t> calls{0};
  auto loop = r.spawn(parallel_for(std::int64_t{0}, no_end, [&](std::int64_t) { calls.fetch_add(1); }));
  const auto nothing = []() -> task<void> { co_return; };
  for (int i = 0; i < 10; ++i) r.spawn(nothing).join();
  loop.cancel();
  EXPECT_THROW(loop.join(), cancelled_error);
  EXPECT_LT(r.stats().total_spawned, 1000U);
}

TEST(parallel_for, one_seed_gives_one_order_under_a_test_runtime) {
  const auto order = [] {
    rota::testing::runtime r(7);
    std::vector<int> items;
    const auto lasts = [&](int i) {
      items.push_back(i);
      const auto end = std::chrono::steady_clock::now() + 3us;
      while (std::chrono::steady_clock::now() < end) {
      }
    };
    r.block_on(parallel_for(0, 256, lasts));
    return items;
  };
  const std::vector<int> first = order();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(order(), first);
}

TEST(parallel_for, accepts_bounds_of_a_character_type) {
  runtime r{runtime_options{.workers = 1}};
  std::atomic<int> calls{0};
  r.spawn(parallel_for('a', 100, [&](int i) { calls.fetch_add(i); })).join();
  EXPECT_EQ(calls.load(), 97 + 98 + 99);
}

TEST(parallel_for, loop_on_one_worker_spawns_fewer_tasks_than_chunks) {
  runtime r{runtime_options{.workers = 1}};
  const std::uint64_t before = r.stats().total_spawned;
  std::atomic<int> calls{0};
  r.spawn(parallel_for(0, 1000, [&](int) { calls.fetch_add(1); }, {.grain = 1})).join();
  EXPECT_EQ(calls.load(), 1000);
  EXPECT_LT(r.stats().total_spawned - before, 100U) << "of about ten parts";
}

// --- reduce ------------------------------------------------------------------------------------------------

TEST_P(loops_on, reduce_computes_a_sum) {
  std::vector<std::uint64_t> values(20'000);
  std::iota(values.begin(), values.end(), 1U);
  const auto sum =
      r.spawn(parallel_reduce(values.begin(), values.end(), std::uint64_t{5}, std::plus<>(), options)).join();
  EXPECT_EQ(sum, 200'010'005U);
}

TEST_P(loops_on, reduce_keeps_the_order_of_the_items) {
  std::string expected = ">";
  for (int i = 0; i < 3000; ++i) expected += std::to_string(i) + ",";
  const auto text = [](int i) { return std::to_string(i) + ","; };
  const std::string got =
      r.spawn(parallel_reduce(0, 3000, std::string(">"), std::plus<>(), text, options)).join();
  EXPECT_EQ(got, expected);
}

TEST_P(loops_on, reduce_of_no_items_is_the_initial_value) {
  EXPECT_EQ(r.spawn(parallel_reduce(3, 3, 7, std::plus<>(), options)).join(), 7);
  EXPECT_EQ(r.spawn(parallel_reduce(3, 4, 7, std::plus<>(), options)).join(), 10);
}

TEST_P(loops_on, items_are_converted_before_they_are_combined) {
  const auto half = [](int i) { return i % 2 == 0 ? 1.5 : -0.5; };
  EXPECT_EQ(r.spawn(parallel_reduce(0, 3000, 0, std::plus<>(), half, options)).join(), 1500);
  const auto larger = [](auto a, decltype(a) b) { return a < b ? b : a; };
  EXPECT_EQ(r.spawn(parallel_reduce(0, 10, 0L, larger, options)).join(), 9L);
}

TEST_P(loops_on, reduce_accepts_move_only_values) {
  const auto boxed = [](int i) { return std::make_unique<int>(i); };
  const auto add = [](std::unique_ptr<int> a, std::unique_ptr<int> b) {
    *a += *b;
    return a;
  };
  const auto sum = r.spawn(parallel_reduce(0, 1000, std::make_unique<int>(1), add, boxed, options)).join();
  EXPECT_EQ(*sum, 499'501);
}

TEST_P(loops_on, reduce_rethrows_the_exception_of_an_item) {
  const auto fails = [](int i) {
    if (i == 4000) throw std::out_of_range("four thousand");
    return i;
  };
  EXPECT_THROW(r.spawn(parallel_reduce(
                           0, 10'000, 0, [](int a, int b) { return a ^ b; }, fails, options))
                   .join(),
               std::out_of_range);
}

TEST_P(loops_on, cancellation_stops_a_reduction) {
  std::atomic<bool> began{false};
  const auto look = [&](std::int64_t i) {
    began.store(true);
    return i;
  };
  auto sum = r.spawn(parallel_reduce(
      std::int64_t{0}, no_end, std::int64_t{0}, [](auto a, auto b) { return a ^ b; }, look, options));
  while (!began.load()) {
  }
  EXPECT_TRUE(sum.cancel());
  EXPECT_THROW(sum.join(), cancelled_error);
}

// The last check of a loop must not consume a signal that is meant for later code.
TEST(loops, failure_stops_siblings_between_loops_of_one_chunk) {
  constexpr int children = 900;
  runtime r(runtime_options{.workers = 2});
  std::atomic<bool> failing{false};
  std::atomic<int> begun{0};
  const auto first = [&]() -> task<void> {
    while (!failing.load()) std::this_thread::yield();  // a thief runs the last child
    co_return;
  };
  const auto loop = [&]() -> task<void> {
    begun.fetch_add(1);
    const auto body = [](int i) {
      if (i == 0) std::this_thread::sleep_for(1ms);
    };
    constexpr parallel_options one_chunk{.grain = 100};
    co_await parallel_for(0, 100, body, one_chunk);
  };
  const auto last = [&]() -> task<void> {
    failing.store(true);
    throw std::out_of_range("first");
    co_return;
  };
  const auto work = [&]() -> task<void> {
    std::vector<task<void>> all;
    all.push_back(first());
    for (int i = 2; i < children; ++i) all.push_back(loop());
    all.push_back(last());
    co_await when_all(std::move(all));
  };
  EXPECT_THROW(r.spawn(work).join(), std::out_of_range);
  EXPECT_LT(begun.load(), children / 2);
}

}  // namespace
}  // namespace parallel_test
