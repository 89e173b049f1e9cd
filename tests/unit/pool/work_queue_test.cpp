#include "pool/work_queue.hpp"

#include "base/random.hpp"

#include "queue_support.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <climits>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <vector>

namespace rota::pool::detail::work_queue_test {
namespace {

using namespace std::chrono_literals;
using ids = std::vector<std::uint64_t>;

constexpr std::array orders{queue_order::fifo, queue_order::lifo, queue_order::deque};
constexpr std::array ways{way::get, way::steal, way::discard};

/// Inserts items 1, 2, 3 ... with these priorities. Returns the order in which they come out.
ids order_of(queue_order order, way by, const std::vector<int>& priorities) {
  items made;
  priority_queue queue(order);
  for (const int priority : priorities) queue.set(made.make(priority));
  return drain(queue, by);
}

TEST(work_queue, empty_queue_gives_nothing) {
  for (const queue_order order : orders) {
    priority_queue queue(order);
    for (const way by : ways) EXPECT_EQ(take(queue, by), nullptr);
    EXPECT_EQ(queue.size(), 0U);
    EXPECT_EQ(queue.highest({}), std::nullopt);
  }
}

TEST(work_queue, fifo_gives_the_oldest_to_get_steal_and_discard) {
  for (const way by : ways) EXPECT_EQ(order_of(queue_order::fifo, by, {0, 0, 0, 0}), (ids{1, 2, 3, 4}));
}

TEST(work_queue, lifo_gives_the_newest_to_get_steal_and_discard) {
  for (const way by : ways) EXPECT_EQ(order_of(queue_order::lifo, by, {0, 0, 0, 0}), (ids{4, 3, 2, 1}));
}

TEST(work_queue, a_deque_gives_its_owner_the_newest_and_a_thief_the_oldest) {
  EXPECT_EQ(order_of(queue_order::deque, way::get, {0, 0, 0, 0}), (ids{4, 3, 2, 1}));
  EXPECT_EQ(order_of(queue_order::deque, way::steal, {0, 0, 0, 0}), (ids{1, 2, 3, 4}));
  EXPECT_EQ(order_of(queue_order::deque, way::discard, {0, 0, 0, 0}), (ids{4, 3, 2, 1}));
}

TEST(work_queue, larger_priority_comes_first_in_any_insertion_order) {
  for (const queue_order order : orders) {
    for (const way by : {way::get, way::steal}) {
      EXPECT_EQ(order_of(order, by, {1, 2, 3, 4}), (ids{4, 3, 2, 1}));
      EXPECT_EQ(order_of(order, by, {4, 3, 2, 1}), (ids{1, 2, 3, 4}));
      EXPECT_EQ(order_of(order, by, {-2, 0, -1, 1}), (ids{4, 2, 3, 1}));
      EXPECT_EQ(order_of(order, by, {0, INT_MIN, INT_MAX, -1, 1}), (ids{3, 5, 1, 4, 2}));
    }
    EXPECT_EQ(order_of(order, way::discard, {0, INT_MIN, INT_MAX, -1, 1}), (ids{2, 4, 1, 5, 3}));
  }
}

TEST(work_queue, equal_priorities_come_out_in_the_order_of_the_queue) {
  const std::vector<int> mixed{5, -5, 5, -5, 5, -5};
  EXPECT_EQ(order_of(queue_order::fifo, way::get, mixed), (ids{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(order_of(queue_order::lifo, way::get, mixed), (ids{5, 3, 1, 6, 4, 2}));
  EXPECT_EQ(order_of(queue_order::deque, way::get, mixed), (ids{5, 3, 1, 6, 4, 2}));
  EXPECT_EQ(order_of(queue_order::fifo, way::steal, mixed), (ids{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(order_of(queue_order::lifo, way::steal, mixed), (ids{5, 3, 1, 6, 4, 2}));
  EXPECT_EQ(order_of(queue_order::deque, way::steal, mixed), (ids{1, 3, 5, 2, 4, 6}));
  EXPECT_EQ(order_of(queue_order::fifo, way::discard, mixed), (ids{2, 4, 6, 1, 3, 5}));
  EXPECT_EQ(order_of(queue_order::lifo, way::discard, mixed), (ids{6, 4, 2, 5, 3, 1}));
  EXPECT_EQ(order_of(queue_order::deque, way::discard, mixed), (ids{6, 4, 2, 5, 3, 1}));
}

TEST(work_queue, an_owner_and_a_thief_meet_in_the_middle) {
  items made;
  priority_queue queue(queue_order::deque);
  for (int i = 0; i < 4; ++i) queue.set(made.make(7));
  EXPECT_EQ(queue.get({})->id, 4U);
  EXPECT_EQ(queue.steal({})->id, 1U);
  EXPECT_EQ(queue.get({})->id, 3U);
  EXPECT_EQ(queue.steal({})->id, 2U);
  EXPECT_EQ(queue.get({}), nullptr);
}

TEST(work_queue, the_highest_priority_is_known) {
  items made;
  priority_queue queue(queue_order::fifo);
  queue.set(made.make(-3));
  EXPECT_EQ(queue.highest({}), -3);
  queue.set(made.make(INT_MAX));
  EXPECT_EQ(queue.highest({}), INT_MAX);
  EXPECT_EQ(queue.get({})->id, 2U);
  EXPECT_EQ(queue.highest({}), -3);
  EXPECT_EQ(queue.get({})->id, 1U);
  EXPECT_EQ(queue.highest({}), std::nullopt);
}

TEST(work_queue, any_item_can_be_taken_out) {
  for (const queue_order order : orders) {
    for (std::uint64_t gone = 1; gone <= 4; ++gone) {
      items made;
      priority_queue queue(order);
      for (int i = 0; i < 4; ++i) queue.set(made.make(0));
      queue.remove(made[gone]);
      EXPECT_EQ(made[gone].in, nullptr);
      EXPECT_EQ(queue.size(), 3U);
      ids left = order == queue_order::fifo ? ids{1, 2, 3, 4} : ids{4, 3, 2, 1};
      std::erase(left, gone);
      EXPECT_EQ(drain(queue, way::get), left);
    }
  }
}

TEST(work_queue, the_only_item_of_a_priority_can_be_taken_out) {
  for (std::uint64_t gone = 1; gone <= 5; ++gone) {
    items made;
    priority_queue queue(queue_order::fifo);
    for (const int priority : {5, 4, 3, 2, 1}) queue.set(made.make(priority));
    queue.remove(made[gone]);
    ids left{1, 2, 3, 4, 5};
    std::erase(left, gone);
    EXPECT_EQ(drain(queue, way::get), left);
  }
}

TEST(work_queue, item_that_was_taken_out_can_enter_another_queue) {
  items made;
  priority_queue one(queue_order::fifo);
  priority_queue other(queue_order::lifo);
  for (const int priority : {1, 1, 2}) one.set(made.make(priority));
  while (queue_item* const item = one.steal({})) other.set(*item);
  EXPECT_EQ(one.size(), 0U);
  EXPECT_EQ(drain(other, way::get), (ids{3, 2, 1}));
}

// --- against a reference

/// The simplest implementation of the queue.
class reference_queue {
 public:
  explicit reference_queue(queue_order order) : order_(order) {}

  void set(int priority, std::uint64_t id) { in_[priority].push_back(id); }
  std::uint64_t take(way by) {
    if (in_.empty()) return 0;
    const auto bucket = by == way::discard ? in_.begin() : std::prev(in_.end());
    std::deque<std::uint64_t>& of_one = bucket->second;
    const bool oldest = order_ == queue_order::fifo || (order_ == queue_order::deque && by == way::steal);
    const std::uint64_t id = oldest ? of_one.front() : of_one.back();
    oldest ? of_one.pop_front() : of_one.pop_back();
    if (of_one.empty()) in_.erase(bucket);
    return id;
  }
  void remove(int priority, std::uint64_t id) {
    std::deque<std::uint64_t>& of_one = in_.at(priority);
    std::erase(of_one, id);
    if (of_one.empty()) in_.erase(priority);
  }

 private:
  queue_order order_;
  std::map<int, std::deque<std::uint64_t>> in_;
};

/// 10^5 random calls; priorities below `count`, spread over all ints.
void compare(queue_order order, std::uint32_t count, std::uint64_t seed) {
  constexpr std::uint32_t most = 300;
  base::random chance(seed);
  items made;
  std::vector<queue_item*> out;
  for (std::uint32_t i = 0; i < most; ++i) out.push_back(&made.make(0));
  std::vector<queue_item*> in;
  priority_queue queue(order);
  reference_queue reference(order);

  const auto leaves = [&](queue_item& item) {
    std::erase(in, &item);
    out.push_back(&item);
  };
  for (int step = 0; step < 100'000; ++step) {
    const bool fills = (step / 1000) % 2 == 0;  // it becomes full and empty in turns
    const std::uint32_t dice = chance.below(10);
    if (dice < (fills ? 7U : 3U) && !out.empty()) {
      const std::uint32_t which = chance.below(static_cast<std::uint32_t>(out.size()));
      queue_item& item = *out[which];
      out.erase(out.begin() + which);
      item.priority = static_cast<int>(chance.below(count) * (UINT32_MAX / count));
      queue.set(item);
      reference.set(item.priority, item.id);
      in.push_back(&item);
    } else if (dice == 9 && !in.empty()) {
      queue_item& item = *in[chance.below(static_cast<std::uint32_t>(in.size()))];
      queue.remove(item);
      reference.remove(item.priority, item.id);
      leaves(item);
    } else {
      const way by = ways[chance.below(3)];
      queue_item* const item = take(queue, by);
      ASSERT_EQ(item == nullptr ? 0 : item->id, reference.take(by)) << "step " << step;
      if (item != nullptr) leaves(*item);
    }
    ASSERT_EQ(queue.size(), in.size());
  }
  while (queue_item* const item = queue.get({})) ASSERT_EQ(item->id, reference.take(way::get));
  ASSERT_EQ(reference.take(way::get), 0U);
}

TEST(work_queue, behaves_like_a_reference_queue) {
  for (const queue_order order : orders) {
    for (const std::uint32_t priorities : {1U, 3U, 40U, 1'000'000U})
      compare(order, priorities, priorities + 1);
  }
}

// --- aging

constexpr base::time_point at(std::chrono::seconds since_start) {
  return base::time_point(std::chrono::hours(1)) + since_start;
}

TEST(work_queue, waiting_item_gains_one_priority_per_whole_aging_period) {
  items made;
  priority_queue queue(queue_order::fifo, 10s);
  queue.set(made.make(0, at(0s)));
  queue.set(made.make(2, at(15s)));
  EXPECT_EQ(queue.highest(at(15s)), 2);
  EXPECT_EQ(queue.highest(at(29s)), 3);   // the second: 2 and one period
  EXPECT_EQ(queue.highest(at(30s)), 3);   // both
  EXPECT_EQ(queue.get(at(29s))->id, 2U);  // 2 against 3
  queue.set(made[2]);
  EXPECT_EQ(queue.get(at(30s))->id, 1U);  // 3 against 3: it has waited longer
  EXPECT_EQ(queue.get(at(30s))->id, 2U);
}

TEST(work_queue, without_aging_waiting_does_not_change_the_order) {
  items made;
  priority_queue queue(queue_order::fifo);
  queue.set(made.make(0, at(0s)));
  queue.set(made.make(1, at(1000s)));
  EXPECT_EQ(queue.highest(at(2000s)), 1);
  EXPECT_EQ(drain(queue, way::get, at(2000s)), (ids{2, 1}));
}

TEST(work_queue, steal_respects_age_and_discard_ignores_it) {
  for (const queue_order order : orders) {
    items made;
    priority_queue queue(order, 1s);
    queue.set(made.make(0, at(0s)));
    queue.set(made.make(1, at(50s)));
    EXPECT_EQ(queue.steal(at(50s))->id, 1U);
    queue.set(made[1]);
    EXPECT_EQ(queue.discard()->id, 1U);
    EXPECT_EQ(queue.discard()->id, 2U);
  }
}

TEST(work_queue, aging_moves_the_oldest_item_of_a_lifo_or_deque_to_the_front) {
  for (const queue_order order : {queue_order::lifo, queue_order::deque}) {
    items made;
    priority_queue queue(order, 10s);
    queue.set(made.make(0, at(0s)));
    queue.set(made.make(0, at(5s)));
    queue.set(made.make(0, at(9s)));
    EXPECT_EQ(queue.get(at(9s))->id, 3U);   // no age gained yet
    EXPECT_EQ(queue.get(at(12s))->id, 1U);  // counts one more than the newest
    EXPECT_EQ(queue.get(at(12s))->id, 2U);
  }
}

TEST(work_queue, age_neither_overflows_nor_goes_back) {
  items made;
  priority_queue queue(queue_order::fifo, 1ns);
  queue.set(made.make(INT_MAX, base::time_point{}));
  queue.set(made.make(INT_MIN, base::never));
  EXPECT_GT(queue.highest(base::never).value(), std::int64_t{INT_MAX});
  EXPECT_EQ(drain(queue, way::get, base::never), (ids{1, 2}));
}

/// The rule of aging on random items: none comes out before an item that counts more.
TEST(work_queue, with_aging_the_item_of_the_highest_aged_priority_comes_first) {
  for (const queue_order order : orders) {
    base::random chance(7);
    items made;
    std::vector<queue_item*> in;
    priority_queue queue(order, 10s);
    for (int second = 0; second < 5'000; ++second) {
      const base::time_point now = at(std::chrono::seconds(second));
      const auto counts = [&](const queue_item& item) { return item.priority + (now - item.since) / 10s; };
      if (chance.below(100) < 55) {
        in.push_back(&made.make(static_cast<int>(chance.below(50)) - 25, now));
        queue.set(*in.back());
      } else {
        queue_item* const item = take(queue, chance.below(2) == 0 ? way::get : way::steal, now);
        ASSERT_EQ(item == nullptr, in.empty());
        if (item == nullptr) continue;
        for (const queue_item* other : in) ASSERT_LE(counts(*other), counts(*item));
        std::erase(in, item);
      }
    }
    for (queue_item* const item : in) queue.remove(*item);
  }
}

// --- cost, counted in nodes visited or rotated

/// Returns the steps of a fixed number of sets and gets with `count` items in the queue.
std::uint64_t steps_with(std::size_t count, way by) {
  constexpr int priorities = 8;
  std::deque<queue_item> made(count);
  priority_queue queue(queue_order::fifo);
  for (std::size_t i = 0; i < count; ++i) {
    made[i].priority = static_cast<int>(i % priorities);
    queue.set(made[i]);
  }
  const std::uint64_t before = queue.tree().steps();
  for (int i = 0; i < 100; ++i) {
    queue_item* const item = take(queue, by);
    queue.set(*item);
  }
  const std::uint64_t after = queue.tree().steps();
  while (queue.get({}) != nullptr) continue;
  return after - before;
}

TEST(work_queue, a_pop_costs_the_same_with_a_thousand_and_with_a_million) {
  for (const way by : ways) EXPECT_EQ(steps_with(1'000, by), steps_with(1'000'000, by));
  EXPECT_EQ(steps_with(1'000'000, way::get), 0U) << "the highest priority is known";
}

/// Returns the most steps of one call while `count` priorities come and go.
std::uint64_t most_steps(int count, int stride) {
  items made;
  priority_queue queue(queue_order::fifo);
  std::uint64_t most = 0;
  const auto measured = [&](auto&& call) {
    const std::uint64_t before = queue.tree().steps();
    call();
    most = std::max(most, queue.tree().steps() - before);
  };
  for (int i = 0; i < count; ++i) measured([&] { queue.set(made.make((i - count / 2) * stride)); });
  for (int i = 0; i < count; ++i) {
    measured([&] { EXPECT_NE(take(queue, ways[static_cast<unsigned>(i) % 3]), nullptr); });
  }
  EXPECT_EQ(queue.size(), 0U);
  return most;
}

TEST(work_queue, the_tree_stays_flat) {
  // log2 of 65536 is 16. The depth of a treap is about twice that, seldom three times.
  for (const int stride : {1, 2, 10, 1'000, 4'096, 32'000})
    EXPECT_LE(most_steps(65'536, stride), 60U) << stride;
}

/// Returns the steps to each of the priorities -count .. count - 1, all of which are in the queue.
std::vector<std::uint64_t> depths(priority_queue& queue, items& made, int count) {
  std::vector<std::uint64_t> found;
  for (int priority = -count; priority < count; ++priority) {
    queue_item& item = made.make(priority);
    const std::uint64_t before = queue.tree().steps();
    queue.set(item);
    found.push_back(queue.tree().steps() - before);
    queue.remove(item);
  }
  return found;
}

TEST(work_queue, tree_shape_is_independent_of_earlier_inserts_and_removals) {
  constexpr int count = 100;
  items made;
  priority_queue plain(queue_order::fifo);
  priority_queue stirred(queue_order::fifo);
  std::vector<queue_item*> in;
  for (int priority = -count; priority < count; ++priority) {
    plain.set(made.make(priority));
    stirred.set(*in.emplace_back(&made.make(priority)));
  }
  base::random chance(3);
  for (int round = 0; round < 1'000; ++round) {
    std::vector<queue_item*> out;
    for (int i = 0; i < 50; ++i) {
      queue_item& item = *in[chance.below(2 * count)];
      if (item.in == nullptr) continue;
      stirred.remove(item);
      out.push_back(&item);
    }
    for (queue_item* const item : out) stirred.set(*item);
  }
  EXPECT_EQ(depths(stirred, made, count), depths(plain, made, count));
  EXPECT_EQ(drain(stirred, way::get).size(), drain(plain, way::get).size());
}

TEST(work_queue, pop_with_aging_costs_at_most_two_steps_per_priority) {
  items made;
  priority_queue queue(queue_order::fifo, 1s);
  for (int i = 0; i < 10'000; ++i) queue.set(made.make(i % 100, at(0s)));
  const std::uint64_t before = queue.tree().steps();
  queue.remove(*queue.tree().top());
  EXPECT_NE(queue.get(at(1s)), nullptr);
  EXPECT_LE(queue.tree().steps() - before, 2U * 100U);
  EXPECT_EQ(drain(queue, way::get, at(1s)).size(), 9'998U);
}

#ifndef NDEBUG
TEST(work_queue_death, an_item_is_in_one_queue_at_a_time) {
  EXPECT_DEATH(
      {
        items made;
        priority_queue queue(queue_order::fifo);
        queue.set(made.make(1));
        queue.set(made[1]);
      },
      "item.in == nullptr");
}

TEST(work_queue_death, destruction_of_a_queue_that_is_not_empty_aborts) {
  EXPECT_DEATH(
      {
        items made;
        priority_queue queue(queue_order::fifo);
        queue.set(made.make(1));
      },
      "size_ == 0");
}
#endif

}  // namespace
}  // namespace rota::pool::detail::work_queue_test
