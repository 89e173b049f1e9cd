// Loops over a pool's threads.
#include <rota/pool/parallel.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <latch>
#include <limits>
#include <numeric>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace parallel_test {
namespace {

using namespace rota;
using namespace rota::pool;

class pool_loops : public ::testing::TestWithParam<chunking> {
 protected:
  thread_pool p{pool_options{.max_threads = 3}};
  const loop_options how{.how = GetParam()};
};
INSTANTIATE_TEST_SUITE_P(how,
                         pool_loops,
                         ::testing::Values(chunking::fixed, chunking::dynamic, chunking::guided),
                         [](const auto& of) {
                           switch (of.param) {
                             case chunking::fixed: return std::string("fixed");
                             case chunking::dynamic: return std::string("dynamic");
                             case chunking::guided: break;
                           }
                           return std::string("guided");
                         });

TEST_P(pool_loops, come_to_each_index_once) {
  std::vector<std::atomic<int>> seen(10'007);
  for_index(p, 0, 10'007, how, [&](int i) { ++seen[static_cast<std::size_t>(i)]; });
  for (const auto& each : seen) EXPECT_EQ(each, 1);
}

TEST_P(pool_loops, use_positive_and_negative_steps) {
  std::atomic<long> sum{0};
  loop_options by = how;
  by.step = 7;
  for_index(p, 3, 100, by, [&](int i) { sum += i; });
  long expected = 0;
  for (int i = 3; i < 100; i += 7) expected += i;
  EXPECT_EQ(sum, expected);
  sum = 0;
  by.step = -7;
  for_index(p, 100, 3, by, [&](int i) { sum += i; });
  expected = 0;
  for (int i = 100; i > 3; i -= 7) expected += i;
  EXPECT_EQ(sum, expected);
  sum = 0;
  for_index(p, 5, 0, how, [&](int i) { sum += i; });
  EXPECT_EQ(sum, 15) << "backwards by itself";
}

TEST_P(pool_loops, run_no_body_for_an_empty_range) {
  for_index(p, 4, 4, how, [](int) { FAIL(); });
  const std::vector<int> none;
  for_each(p, none, how, [](int) { FAIL(); });
  EXPECT_EQ(reduce(p, 0, 0, 7, how, [](int) { return 1; }, std::plus<>()), 7);
}

TEST_P(pool_loops, rethrow_the_exception_of_a_body) {
  EXPECT_THROW(for_index(p,
                         0,
                         1000,
                         how,
                         [](int i) {
                           if (i == 500) throw std::runtime_error("five hundred");
                         }),
               std::runtime_error);
  EXPECT_EQ(p.wait_idle(std::chrono::hours(1)), true);
}

TEST_P(pool_loops, end_early_when_a_body_returns_stop) {
  std::atomic<int> after{0};
  std::atomic<bool> found{false};
  for_index(p, 0, 1'000'000, how, [&](int i) {
    if (found) ++after;
    if (i % 1000 != 999) return loop::go_on;
    found = true;
    return loop::stop;
  });
  EXPECT_TRUE(found);
  EXPECT_LT(after, 1'000'000);
}

TEST_P(pool_loops, reduce_to_a_sum) {
  EXPECT_EQ(reduce(p, 0L, 100'000L, 0L, how, [](long i) { return i; }, std::plus<>()), 4'999'950'000L);
}

TEST_P(pool_loops, can_be_nested) {
  std::atomic<int> done{0};
  for_index(p, 0, 8, how, [&](int) { for_index(p, 0, 50, how, [&](int) { ++done; }); });
  EXPECT_EQ(done, 400);
}

TEST(pool_loop, passes_the_position_of_each_element) {
  thread_pool p({.max_threads = 2});
  std::vector<std::string> words{"a", "bb", "ccc"};
  for_each(p, words, [](std::string& word, std::size_t position) { word += std::to_string(position); });
  EXPECT_EQ(words, (std::vector<std::string>{"a0", "bb1", "ccc2"}));
}

TEST(pool_loop, refuses_a_step_of_the_wrong_sign_and_a_zero_grain) {
  thread_pool p;
  EXPECT_THROW(for_index(p, 0, 9, {.step = -1}, [](int) {}), std::invalid_argument);
  EXPECT_THROW(for_index(p, 0, 9, {.grain = 0}, [](int) {}), std::invalid_argument);
}

TEST(pool_loop, covers_the_whole_range_of_integers) {
  thread_pool p({.max_threads = 2});
  std::atomic<int> seen{0};
  for_index(p,
            std::numeric_limits<std::int64_t>::min(),
            std::numeric_limits<std::int64_t>::max(),
            {.step = std::numeric_limits<std::int64_t>::max()},
            [&](std::int64_t) { ++seen; });
  EXPECT_EQ(seen, 3);
}

TEST(pool_loop, accepts_indices_above_the_signed_range) {
  thread_pool p({.max_threads = 2});
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  std::atomic<std::uint64_t> sum{0};
  const auto add = [&](std::uint64_t i) { sum += last - i; };
  for_index(p, last - 3, last, add);
  EXPECT_EQ(sum, 1U + 2U + 3U);
  for_index(p, last, last - 3, add);
  EXPECT_EQ(sum, 6U + 0U + 1U + 2U);
  for_index(p, std::uint64_t{5}, last, {.step = std::ptrdiff_t{1} << 62}, [&](std::uint64_t) { ++sum; });
  EXPECT_EQ(sum, 9U + 4U);
  EXPECT_THROW(for_index(p, last - 3, last, {.step = -1}, add), std::invalid_argument);
}

TEST(pool_loop, reports_all_of_several_failures) {
  thread_pool p({.max_threads = 2});
  std::latch both(2);
  try {
    for_index(p, 0, 2, {.how = chunking::dynamic}, [&](int i) {
      both.arrive_and_wait();
      throw std::runtime_error(std::to_string(i));
    });
    ADD_FAILURE();
  } catch (const loop_error& all) {
    EXPECT_EQ(all.all().size(), 2U);
  }
}

TEST(pool_loop, ends_when_its_work_is_asked_to_stop) {
  thread_pool p({.max_threads = 2});
  std::promise<void> begun;
  std::atomic<bool> once{false};
  auto w = p.submit([&] {
    for_index(p, 0, 1'000'000'000, {.how = chunking::dynamic}, [&](int) {
      if (!once.exchange(true)) begun.set_value();
      std::this_thread::yield();
    });
  });
  begun.get_future().wait();
  EXPECT_TRUE(w.stop());
  w.wait();
  EXPECT_EQ(w.status(), work_status::stopped);
}

TEST(pool_loop, accepts_the_largest_grain) {
  thread_pool p({.max_threads = 2});
  std::atomic<int> seen{0};
  for_index(p, 0, 100, {.grain = std::numeric_limits<std::size_t>::max()}, [&](int) { ++seen; });
  EXPECT_EQ(seen, 100);
}

TEST(pool_loop, returns_only_after_the_bodies_of_abandoned_jobs_have_ended) {
  std::atomic<int> begun{0};
  std::atomic<int> ended{0};
  thread_pool p({.max_threads = 2, .force_grace = std::chrono::milliseconds(0)});
  for_index(p, 0, 3, {.how = chunking::dynamic}, [&](int) {
    ++begun;
    for (int i = 0; i < 50; ++i) {
      p.force_stop_all();
      std::this_thread::yield();
    }
    ++ended;
  });
  EXPECT_EQ(begun, ended);
}

}  // namespace
}  // namespace parallel_test
