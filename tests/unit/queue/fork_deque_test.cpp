#include "queue/fork_deque.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

namespace rota::queue::fork_deque_test {

namespace {

using deque = fork_deque<int, 8>;
using thief = fork_thief<int, 8>;

/// Returns false if the deque is full.
bool push(deque& d, int& item) {
  if (!d.has_room(1) && d.look_again().items == 0) return false;
  d.push(1, [&item](std::uint32_t) -> int& { return item; });
  return true;
}

class fork_deque_of : public ::testing::TestWithParam<pop_barrier> {};

std::vector<pop_barrier> barriers_here() {
  if (best_pop_barrier() == pop_barrier::light) return {pop_barrier::light, pop_barrier::exchange};
  return {pop_barrier::exchange};
}

INSTANTIATE_TEST_SUITE_P(barriers,
                         fork_deque_of,
                         ::testing::ValuesIn(barriers_here()),
                         [](const auto& barrier) {
                           return std::string(barrier.param == pop_barrier::light ? "light" : "exchange");
                         });

TEST_P(fork_deque_of, the_owner_gets_the_newest_and_a_thief_the_oldest) {
  deque d(GetParam());
  std::array<int, 3> items{};
  for (int& i : items) ASSERT_TRUE(push(d, i));
  EXPECT_TRUE(thief(d).has_items());
  EXPECT_EQ(thief(d).steal().item, &items[0]);
  EXPECT_EQ(d.pop(), &items[2]);
  EXPECT_EQ(d.pop(), &items[1]);
  EXPECT_EQ(d.pop(), nullptr);
  EXPECT_EQ(thief(d).steal().status, on_fork_steal::empty);
  EXPECT_TRUE(d.is_empty());
}

TEST_P(fork_deque_of, full_deque_refuses_until_an_item_is_taken) {
  deque d(GetParam());
  std::array<int, 9> items{};
  for (std::size_t i = 0; i < 8; ++i) ASSERT_TRUE(push(d, items[i]));
  EXPECT_FALSE(push(d, items[8]));
  EXPECT_EQ(thief(d).steal().status, on_fork_steal::stolen);
  EXPECT_TRUE(push(d, items[8]));
  EXPECT_EQ(d.pop(), &items[8]);
}

TEST_P(fork_deque_of, first_item_of_a_batch_is_popped_next) {
  deque d(GetParam());
  std::array<int, 5> items{};
  ASSERT_TRUE(d.has_room(5));
  d.push(5, [&items](std::uint32_t i) -> int& { return items.at(i); });
  EXPECT_EQ(thief(d).steal().item, &items[4]);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(d.pop(), &items.at(i));
  EXPECT_EQ(d.pop(), nullptr);
}

TEST_P(fork_deque_of, free_space_is_exact_after_the_owner_checks_again) {
  deque d(GetParam());
  std::array<int, 8> items{};
  EXPECT_TRUE(d.has_room(8));
  EXPECT_FALSE(d.has_room(9));
  for (int& i : items) ASSERT_TRUE(push(d, i));
  EXPECT_FALSE(d.has_room(1));
  EXPECT_EQ(d.look_again().items, 0U);
  EXPECT_EQ(thief(d).steal().status, on_fork_steal::stolen);
  EXPECT_FALSE(d.has_room(1)) << "it does not know yet";
  EXPECT_EQ(d.look_again().items, 1U);
  EXPECT_TRUE(d.has_room(1));
}

TEST_P(fork_deque_of, call_is_reported_to_the_owner_once) {
  deque d(GetParam());
  EXPECT_FALSE(d.look_again().called);
  d.call();
  EXPECT_FALSE(d.has_room(0)) << "so that the owner looks";
  const auto found = d.look_again();
  EXPECT_TRUE(found.called);
  EXPECT_EQ(found.items, 8U);
  EXPECT_FALSE(d.look_again().called);
  EXPECT_TRUE(d.has_room(8));
}

TEST_P(fork_deque_of, its_slots_are_used_again_and_again) {
  deque d(GetParam());
  std::array<int, 5> items{};
  for (int round = 0; round < 1000; ++round) {
    for (int& i : items) ASSERT_TRUE(push(d, i));
    ASSERT_EQ(thief(d).steal().item, &items[0]);
    for (std::size_t i = 4; i > 0; --i) ASSERT_EQ(d.pop(), &items[i]);
    ASSERT_EQ(d.pop(), nullptr);
  }
}

/// Pushes and pops as nested forks do. An item is popped unless a thief has taken it.
void nest(deque& d, std::vector<int>& taken, std::array<int, 8>& items, std::size_t at) {
  const bool pushed = push(d, items[at]);
  if (at + 1 < items.size()) nest(d, taken, items, at + 1);
  if (!pushed) return;
  if (int* const mine = d.pop()) taken[static_cast<std::size_t>(mine - items.data())]++;
}

TEST_P(fork_deque_of, each_item_goes_to_one_of_the_owner_and_two_thieves) {
  deque d(GetParam());
  constexpr int rounds = 20'000;
  std::array<int, 8> items{};
  std::vector<int> own(8);
  std::atomic<int> stolen{0};
  std::atomic<bool> over{false};
  const auto steals = [&] {
    while (!over.load()) {
      if (thief(d).steal().status == on_fork_steal::stolen) stolen.fetch_add(1);
    }
  };
  {
    const std::jthread one(steals);
    const std::jthread two(steals);
    for (int round = 0; round < rounds; ++round) nest(d, own, items, 0);
    over.store(true);
  }
  int popped = 0;
  for (const int n : own) popped += n;
  EXPECT_EQ(popped + stolen.load(), rounds * 8);
}

}  // namespace
}  // namespace rota::queue::fork_deque_test
