#include <rota/inplace_vector.hpp>

#include "flow_support.hpp"

#include <rota/runtime.hpp>
#include <rota/time.hpp>
#include <rota/when.hpp>

#include <array>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace inplace_vector_test {
namespace {

using namespace rota;
using namespace rota::test;

// --- the container

TEST(inplace_vector, keeps_what_is_put_into_it) {
  inplace_vector<std::string, 3> words;
  EXPECT_TRUE(words.empty());
  words.push_back("one");
  const std::string two = "two";
  words.push_back(two);
  EXPECT_EQ(words.emplace_back(3U, 'x'), "xxx");
  EXPECT_EQ(words.size(), 3U);
  EXPECT_EQ(words.capacity(), 3U);
  EXPECT_EQ(words.front() + words[1] + words.back() + words.at(2), "onetwoxxxxxx");
  EXPECT_EQ(std::vector<std::string>(words.begin(), words.end()),
            (std::vector<std::string>{"one", "two", "xxx"}));
  words.pop_back();
  EXPECT_EQ(words, (inplace_vector<std::string, 3>{"one", "two"}));
  EXPECT_FALSE(words == (inplace_vector<std::string, 3>{"one", "too"}));
  EXPECT_FALSE(words == (inplace_vector<std::string, 3>{"one"}));
}

TEST(inplace_vector, throws_bad_alloc_above_its_capacity) {
  inplace_vector<int, 2> numbers{1, 2};
  EXPECT_THROW(numbers.push_back(3), std::bad_alloc);
  EXPECT_THROW(numbers.reserve(3), std::bad_alloc);
  EXPECT_THROW((inplace_vector<int, 2>{1, 2, 3}), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(numbers.at(2)), std::out_of_range);
  EXPECT_EQ(numbers, (inplace_vector<int, 2>{1, 2}));
}

struct counted {
  explicit counted(int* living, bool throws = false) : alive(living) {
    if (throws) throw std::runtime_error("made");
    ++*alive;
  }
  counted(const counted& other) : alive(other.alive) { ++*alive; }
  counted(counted&& other) noexcept : alive(other.alive) { ++*alive; }
  counted& operator=(const counted&) = default;
  counted& operator=(counted&&) = default;
  ~counted() { --*alive; }
  int* alive;
};

TEST(inplace_vector, destroys_each_element_once) {
  int alive = 0;
  {
    inplace_vector<counted, 4> some;
    for (int i = 0; i < 3; ++i) some.emplace_back(&alive);
    EXPECT_THROW(some.emplace_back(&alive, true), std::runtime_error);
    EXPECT_EQ(alive, 3);
    auto copy = some;
    EXPECT_EQ(alive, 6);
    auto moved = std::move(copy);
    EXPECT_EQ(moved.size(), 3U);
    copy = some;
    moved = std::move(copy);
    EXPECT_EQ(moved.size(), 3U);
    some.clear();
    moved.pop_back();
    auto& itself = moved;
    moved = itself;
    EXPECT_EQ(moved.size(), 2U);
  }
  EXPECT_EQ(alive, 0);
}

TEST(inplace_vector, moves_what_cannot_be_copied) {
  inplace_vector<std::unique_ptr<int>, 40> small;  // too large to be moved as bytes
  for (int i = 0; i < 40; ++i) small.push_back(std::make_unique<int>(i));
  const auto taken = std::move(small);
  ASSERT_EQ(taken.size(), 40U);
  EXPECT_EQ(*taken[39], 39);
}

// --- the children of a when_*

using when_in_place = in_every_order;
ROTA_IN_EVERY_ORDER(when_in_place);

task<int> later(int value) {
  co_await sleep_for(std::chrono::milliseconds(10 - value));
  co_return value;
}
task<int> at_once(int value) { co_return value; }
task<int> fails(int value) {
  co_await yield();
  throw failure(value);
}
task<void> nothing() { co_await yield(); }

template <class Work>
std::string run_in_task(manual_scheduler& s, Work work) {
  auto h = s.spawn(work);
  s.run_with_time();
  return end_of(h);
}

TEST_P(when_in_place, values_are_returned_in_the_container_type_of_the_tasks) {
  auto work = []() -> task<int> {
    inplace_vector<task<int>, 8> some;
    for (int i = 0; i < 5; ++i) some.push_back(later(i));
    const inplace_vector<int, 8> values = co_await when_all(std::move(some));
    EXPECT_EQ(values, (inplace_vector<int, 8>{0, 1, 2, 3, 4}));

    std::array<task<int>, 3> three{later(5), at_once(6), later(7)};
    const std::array<int, 3> numbers = co_await when_all(std::move(three));
    EXPECT_EQ(numbers, (std::array{5, 6, 7}));

    std::array<task<void>, 2> two{nothing(), nothing()};
    const std::array<std::monostate, 2> ends = co_await when_all(std::move(two));
    co_return static_cast<int>(ends.size());
  };
  EXPECT_EQ(run_in_task(s, work), "value 2");
}

TEST_P(when_in_place, empty_container_gives_no_values_and_when_any_throws) {
  auto work = []() -> task<int> {
    inplace_vector<task<int>, 8> nobody;
    const auto values = co_await when_all(std::move(nobody));
    std::array<task<int>, 0> none;
    const std::array<int, 0> nothing_there = co_await when_all(std::move(none));
    inplace_vector<task<int>, 8> again;
    EXPECT_THROW(static_cast<void>(when_any(std::move(again))), std::invalid_argument);
    co_return static_cast<int>(values.size() + nothing_there.size());
  };
  EXPECT_EQ(run_in_task(s, work), "value 0");
}

TEST_P(when_in_place, when_all_settled_any_and_any_success_accept_containers) {
  auto work = []() -> task<int> {
    std::array<task<int>, 2> both{fails(1), later(2)};
    const std::array<outcome<int>, 2> ends = co_await when_all_settled(std::move(both));
    EXPECT_TRUE(ends[0].has_exception());
    EXPECT_EQ(ends[1].value(), 2);

    inplace_vector<task<int>, 4> racing;
    for (int i = 0; i < 4; ++i) racing.push_back(later(i));
    const auto first = co_await when_any(std::move(racing));
    EXPECT_EQ(first.index(), 3U);

    std::array<task<int>, 2> hopeful{fails(1), later(8)};
    const auto good = co_await when_any_success(std::move(hopeful));
    EXPECT_EQ(good.value(), 8);

    inplace_vector<task<int>, 4> failing;
    failing.push_back(later(1));
    failing.push_back(fails(9));
    co_await when_all(std::move(failing));
    co_return 1;
  };
  EXPECT_EQ(run_in_task(s, work), "failure 9");
}

TEST_P(when_in_place, span_of_tasks_gives_a_vector_of_values) {
  auto work = []() -> task<int> {
    std::array<task<int>, 2> owned{later(1), at_once(2)};
    const std::vector<int> values = co_await when_all(std::span<task<int>, 2>(owned));
    EXPECT_EQ(values, (std::vector{1, 2}));
    EXPECT_FALSE(owned[0].valid() || owned[1].valid()) << "they were taken out";
    co_return 2;
  };
  EXPECT_EQ(run_in_task(s, work), "value 2");
}

TEST(when_in_place_lifetime, children_that_are_not_awaited_are_destroyed) {
  auto kept = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = kept;
  const auto holds = [](std::shared_ptr<int> value) -> task<int> { co_return *value; };
  inplace_vector<task<int>, 3> some;
  some.push_back(holds(kept));
  some.push_back(holds(std::move(kept)));
  {
    [[maybe_unused]] const auto both = when_all(std::move(some));
    EXPECT_FALSE(seen.expired());
  }
  EXPECT_TRUE(seen.expired());
}

// --- in place, and stolen

task<unsigned> count(unsigned depth) {
  if (depth == 0) co_return 1U;
  inplace_vector<task<unsigned>, 4> children;
  for (unsigned i = 0; i <= depth % 4; ++i) children.push_back(count(depth - 1));
  unsigned total = 0;
  const auto counts = co_await when_all(std::move(children));
  for (const unsigned each : counts) total += each;
  std::array<task<unsigned>, 2> others{count(0), count(0)};
  const auto [a, b] = co_await when_all(std::move(others));
  co_return total + a + b;
}

TEST(when_in_place_of_a_runtime, nested_when_all_of_containers_counts_every_child) {
  for (const unsigned workers : {1U, 3U}) {
    runtime r({.workers = workers});
    // c(0) = 1, c(d) = (d % 4 + 1) c(d - 1) + 2
    unsigned expected = 1;
    for (unsigned d = 1; d <= 10; ++d) expected = (d % 4 + 1) * expected + 2;
    EXPECT_EQ(r.spawn(count(10)).join(), expected);
  }
}

}  // namespace
}  // namespace inplace_vector_test
