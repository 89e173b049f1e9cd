// parallel_sort, on a real runtime.
#include <rota/parallel.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/time.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <numeric>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace parallel_sort_test {
namespace {

using namespace rota;
using namespace std::chrono_literals;

class sort_on : public ::testing::TestWithParam<unsigned> {
 protected:
  runtime r{runtime_options{.workers = GetParam()}};
};
INSTANTIATE_TEST_SUITE_P(workers, sort_on, ::testing::Values(1U, 2U), [](const auto& workers) {
  return workers.param == 1 ? std::string("one_worker") : std::string("two_workers");
});

std::vector<int> random_numbers(std::size_t size, int most) {
  std::mt19937 random(static_cast<unsigned>(size));
  std::uniform_int_distribution<int> any(0, most);
  std::vector<int> values(size);
  for (int& each : values) each = any(random);
  return values;
}

TEST_P(sort_on, sorts_every_size_up_to_700) {
  for (std::size_t size = 0; size <= 700; ++size) {
    for (const int most : {1, 5, 1'000'000}) {
      std::vector<int> values = random_numbers(size, most);
      std::vector<int> expected = values;
      std::sort(expected.begin(), expected.end());
      r.spawn(parallel_sort(values.begin(), values.end(), {}, {.grain = 1})).join();
      ASSERT_EQ(values, expected) << size;
    }
  }
}

using pattern = int (*)(int i, int size);
struct named_pattern {
  const char* name;
  pattern at;
};
constexpr named_pattern patterns[] = {
    {"sorted", [](int i, int) { return i; }},
    {"reversed", [](int i, int size) { return size - i; }},
    {"all equal", [](int, int) { return 7; }},
    {"two values", [](int i, int) { return i * 7919 % 2; }},
    {"ten values", [](int i, int) { return i * 7919 % 10; }},
    {"organ pipe", [](int i, int size) { return std::min(i, size - i); }},
    {"saw", [](int i, int) { return i % 1000; }},
    {"sorted but for the last", [](int i, int size) { return i == size - 1 ? 0 : i; }},
};

TEST_P(sort_on, sorts_patterned_inputs_with_few_comparisons) {
  constexpr int size = 150'000;
  for (const named_pattern& each : patterns) {
    std::vector<int> values(size);
    for (int i = 0; i < size; ++i) values[static_cast<std::size_t>(i)] = each.at(i, size);
    std::vector<int> expected = values;
    std::sort(expected.begin(), expected.end());
    std::int64_t comparisons = 0;
    std::vector<int> alone = values;
    const auto less = [&](int a, int b) {
      ++comparisons;
      return a < b;
    };
    core::sort_here(alone.begin(), alone.end(), less, core::most_cuts(alone.begin(), alone.end()));
    EXPECT_EQ(alone, expected) << each.name;
    EXPECT_LT(comparisons, 40LL * size) << each.name << ": n log n is 17 n";
    r.spawn(parallel_sort(values.begin(), values.end())).join();
    EXPECT_EQ(values, expected) << each.name;
  }
}

TEST_P(sort_on, sorts_by_a_given_order) {
  std::vector<int> values = random_numbers(20'000, 1'000);
  r.spawn(parallel_sort(values.begin(), values.end(), std::greater<>())).join();
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), std::greater<>()));
}

TEST_P(sort_on, sorts_strings_in_a_deque) {
  std::deque<std::string> words;
  for (const int n : random_numbers(20'000, 5'000))
    words.push_back("a word that has no room in the object " + std::to_string(n));
  std::deque<std::string> expected = words;
  std::sort(expected.begin(), expected.end());
  r.spawn(parallel_sort(words.begin(), words.end())).join();
  EXPECT_EQ(words, expected);
}

TEST_P(sort_on, sorts_move_only_elements) {
  std::vector<std::unique_ptr<int>> values;
  for (const int n : random_numbers(20'000, 30'000)) values.push_back(std::make_unique<int>(n));
  const auto less = [](const auto& a, const auto& b) { return *a < *b; };
  r.spawn(parallel_sort(values.begin(), values.end(), less)).join();
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), less));
}

/// Has trivially copyable bits, but is not copyable.
struct token {
  explicit token(int n) noexcept : value(n) {}
  token(const token&) = delete;
  token(token&&) = default;
  token& operator=(const token&) = delete;
  token& operator=(token&&) = default;
  ~token() = default;
  int value;
};

TEST_P(sort_on, sorts_trivially_relocated_move_only_elements) {
  std::vector<token> values;
  for (const int n : random_numbers(20'000, 30'000)) values.emplace_back(n);
  const auto less = [](const token& a, const token& b) { return a.value < b.value; };
  r.spawn(parallel_sort(values.begin(), values.end(), less)).join();
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end(), less));
}

TEST_P(sort_on, sorts_on_the_thread_of_block_on) {
  std::vector<int> values = random_numbers(50'000, 1 << 30);
  r.block_on(parallel_sort(values.begin(), values.end()));
  EXPECT_TRUE(std::is_sorted(values.begin(), values.end()));
}

TEST_P(sort_on, comparison_that_throws_is_rethrown_and_no_element_is_lost) {
  std::vector<int> values = random_numbers(100'000, 1 << 30);
  std::vector<int> expected = values;
  std::sort(expected.begin(), expected.end());
  std::atomic<int> left{50'000};
  const auto less = [&](int a, int b) {
    if (left.fetch_sub(1) == 0) throw std::runtime_error("enough");
    return a < b;
  };
  EXPECT_THROW(r.spawn(parallel_sort(values.begin(), values.end(), less)).join(), std::runtime_error);
  // The exception came while the whole was partitioned; between its steps no element is missing.
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, expected);
}

// The deadline passes before the first check, which finds it, on any thread.
TEST_P(sort_on, a_deadline_that_has_passed_ends_it) {
  for (const bool on_a_worker : {true, false}) {
    std::vector<int> values = random_numbers(100'000, 1 << 30);
    std::atomic<int> comparisons{0};
    const auto late_once = [&](int a, int b) {
      if (comparisons.fetch_add(1) == 0) std::this_thread::sleep_for(5ms);
      return a < b;
    };
    auto work = [&]() -> task<bool> {
      const auto ended = co_await timeout(1ms, parallel_sort(values.begin(), values.end(), late_once));
      co_return ended.has_value();
    };
    EXPECT_FALSE(on_a_worker ? r.spawn(work).join() : r.block_on(work())) << on_a_worker;
    EXPECT_LT(comparisons.load(), 50'000) << "the first cut alone takes 100000";
  }
}

TEST_P(sort_on, a_cancelled_sort_leaves_all_elements) {
  std::vector<int> values = random_numbers(1'000'000, 1 << 30);
  std::vector<int> expected = values;
  std::sort(expected.begin(), expected.end());
  std::atomic<bool> began{false};
  const auto less = [&](int a, int b) {
    began.store(true, std::memory_order_relaxed);
    return a < b;
  };
  auto sorting = r.spawn(parallel_sort(values.begin(), values.end(), less));
  while (!began.load()) {
  }
  sorting.cancel();
  try {
    sorting.join();
  } catch (const cancelled_error&) {
  }
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, expected);
}

/// Makes each pivot bad, by values that comparisons fix (M. D. McIlroy: A Killer Adversary for Quicksort).
class adversary {
 public:
  explicit adversary(std::size_t size) : values_(size, undecided_) {}
  bool less(std::size_t a, std::size_t b) {
    ++comparisons;
    if (values_[a] == undecided_ && values_[b] == undecided_) values_[a == candidate_ ? a : b] = next_++;
    if (values_[a] == undecided_) candidate_ = a;
    if (values_[b] == undecided_) candidate_ = b;
    return values_[a] < values_[b];
  }
  std::int64_t comparisons = 0;

 private:
  static constexpr std::size_t undecided_ = SIZE_MAX;
  std::vector<std::size_t> values_;
  std::size_t next_ = 0;
  std::size_t candidate_ = 0;
};

TEST(parallel_sort, no_order_of_the_elements_makes_it_quadratic) {
  constexpr std::size_t size = 100'000;
  runtime r{runtime_options{.workers = 1}};
  adversary against(size);
  std::vector<std::size_t> positions(size);
  std::iota(positions.begin(), positions.end(), std::size_t{0});
  const auto less = [&](std::size_t a, std::size_t b) { return against.less(a, b); };
  r.spawn(parallel_sort(positions.begin(), positions.end(), less)).join();
  EXPECT_TRUE(std::is_sorted(positions.begin(), positions.end(), less));
  EXPECT_LT(against.comparisons, 150LL * static_cast<std::int64_t>(size)) << "n squared is 100000 n";
}

}  // namespace
}  // namespace parallel_sort_test
