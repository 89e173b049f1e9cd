#include "queue/injector.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

namespace rota::queue::injector_test {
namespace {

struct item {
  int id = 0;
  int producer = 0;
  base::cell<item*> next;
};

std::vector<item> make_items(std::size_t count) {
  std::vector<item> items(count);
  for (std::size_t i = 0; i < count; ++i) items[i].id = static_cast<int>(i);
  return items;
}

/// Links items [from, from + count) into a chain and pushes it.
on_inject push_chain(injector<item>& queue, std::vector<item>& items, std::size_t from, std::size_t count) {
  for (std::size_t i = from; i + 1 < from + count; ++i) items[i].next.set(&items[i + 1]);
  return queue.push_batch(items[from], items[from + count - 1], count);
}

std::vector<int> pop_ids(injector<item>& queue, std::size_t most) {
  std::vector<item*> out(most);
  const std::size_t got = queue.pop_batch(out);
  std::vector<int> ids(got);
  for (std::size_t i = 0; i < got; ++i) ids[i] = out[i]->id;
  return ids;
}

using ids = std::vector<int>;

// fetch_count: the share of one worker, 4 to 32, never more than there are or than fit.
static_assert(fetch_count(0, 4, 257) == 0, "nothing there");
static_assert(fetch_count(3, 4, 257) == 3, "not more than there are");
static_assert(fetch_count(16, 4, 257) == 4, "at least 4");
static_assert(fetch_count(19, 4, 257) == 4);
static_assert(fetch_count(20, 4, 257) == 5, "the share");
static_assert(fetch_count(40, 4, 257) == 10);
static_assert(fetch_count(128, 4, 257) == 32);
static_assert(fetch_count(10'000, 4, 257) == 32, "at most 32");
static_assert(fetch_count(10'000, 1, 257) == 32);
static_assert(fetch_count(10'000, 4096, 257) == 4);
static_assert(fetch_count(10'000, 4, 7) == 7, "not more than fit");
static_assert(fetch_count(10'000, 4, 1) == 1, "a full ring: the one that is run at once");
static_assert(fetch_count(10'000, 4, 0) == 0);
static_assert(fetch_count(SIZE_MAX, 1, SIZE_MAX) == 32);
static_assert(fetch_count(5, 0, 257) == 5, "no division by zero");

TEST(injector, an_empty_injector_hands_out_nothing) {
  injector<item> queue;
  EXPECT_FALSE(queue.has_items());
  EXPECT_EQ(queue.length_guess(), 0U);
  EXPECT_EQ(pop_ids(queue, 4), ids{});
  EXPECT_EQ(queue.drain(), nullptr);
}

TEST(injector, is_first_in_first_out) {
  injector<item> queue;
  auto items = make_items(5);
  for (item& i : items) ASSERT_EQ(queue.push(i), on_inject::accepted);
  EXPECT_TRUE(queue.has_items());
  EXPECT_EQ(queue.length_guess(), 5U);
  EXPECT_EQ(pop_ids(queue, 2), (ids{0, 1}));
  EXPECT_EQ(queue.length_guess(), 3U);
  EXPECT_EQ(pop_ids(queue, 10), (ids{2, 3, 4}));
  EXPECT_FALSE(queue.has_items());
}

TEST(injector, hands_out_items_unlinked) {
  injector<item> queue;
  auto items = make_items(3);
  ASSERT_EQ(push_chain(queue, items, 0, 3), on_inject::accepted);
  EXPECT_EQ(pop_ids(queue, 2), (ids{0, 1}));
  EXPECT_EQ(items[0].next.get(), nullptr);
  EXPECT_EQ(items[1].next.get(), nullptr);
}

TEST(injector, a_batch_stays_together_between_single_items) {
  injector<item> queue;
  auto items = make_items(10);
  ASSERT_EQ(queue.push(items[0]), on_inject::accepted);
  ASSERT_EQ(push_chain(queue, items, 1, 7), on_inject::accepted);
  ASSERT_EQ(queue.push(items[8]), on_inject::accepted);
  ASSERT_EQ(push_chain(queue, items, 9, 1), on_inject::accepted);
  EXPECT_EQ(queue.length_guess(), 10U);
  EXPECT_EQ(pop_ids(queue, 20), (ids{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
}

TEST(injector, goes_on_after_it_was_emptied) {
  injector<item> queue;
  auto items = make_items(1);
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(queue.push(items[0]), on_inject::accepted);
    ASSERT_EQ(pop_ids(queue, 1), (ids{0}));
    ASSERT_EQ(queue.length_guess(), 0U);
  }
}

TEST(injector, pop_batch_without_space_takes_nothing) {
  injector<item> queue;
  auto items = make_items(1);
  ASSERT_EQ(queue.push(items[0]), on_inject::accepted);
  EXPECT_EQ(queue.pop_batch({}), 0U);
  EXPECT_EQ(queue.length_guess(), 1U);
}

TEST(injector, a_closed_injector_refuses_and_keeps_what_it_has) {
  injector<item> queue;
  auto items = make_items(6);
  ASSERT_EQ(queue.push(items[0]), on_inject::accepted);
  queue.close();
  queue.close();
  EXPECT_EQ(queue.push(items[1]), on_inject::closed);
  EXPECT_EQ(push_chain(queue, items, 2, 3), on_inject::closed);
  EXPECT_EQ(items[2].next.get(), &items[3]) << "a refused chain is left as it was";
  EXPECT_EQ(queue.length_guess(), 1U);
  EXPECT_EQ(pop_ids(queue, 9), (ids{0}));
}

TEST(injector, a_drain_hands_out_the_whole_chain_in_order) {
  injector<item> queue;
  auto items = make_items(4);
  ASSERT_EQ(push_chain(queue, items, 0, 4), on_inject::accepted);
  queue.close();
  ids seen;
  for (item* i = queue.drain(); i != nullptr; i = i->next.get()) seen.push_back(i->id);
  EXPECT_EQ(seen, (ids{0, 1, 2, 3}));
  EXPECT_EQ(queue.length_guess(), 0U);
  EXPECT_FALSE(queue.has_items());
  EXPECT_EQ(queue.drain(), nullptr);
  EXPECT_EQ(pop_ids(queue, 1), ids{});
}

TEST(injector, is_usable_after_a_drain) {
  injector<item> queue;
  auto items = make_items(2);
  ASSERT_EQ(queue.push(items[0]), on_inject::accepted);
  ASSERT_EQ(queue.drain(), &items[0]);
  ASSERT_EQ(queue.push(items[1]), on_inject::accepted);
  EXPECT_EQ(pop_ids(queue, 2), (ids{1}));
}

#ifndef NDEBUG
TEST(injector_death, a_chain_that_is_miscounted_aborts) {
  injector<item> queue;
  auto items = make_items(3);
  items[0].next.set(&items[1]);
  EXPECT_DEATH(static_cast<void>(queue.push_batch(items[0], items[1], 3)), "is_chain");
}

TEST(injector_death, an_item_that_is_linked_aborts) {
  injector<item> queue;
  auto items = make_items(2);
  items[0].next.set(&items[1]);
  EXPECT_DEATH(static_cast<void>(queue.push(items[0])), "is_chain");
}
#endif

// Threads: three producers, singly and in batches, two consumers. Each consumer sees each producer's items in
// order, and all are handed out once. Under TSan the plain `id` shows that the injector orders what items
// hold.
struct fan {
  static constexpr int producers = 3;
  static constexpr int each = 20'000;

  void produce(int producer) {
    auto& mine = items[static_cast<std::size_t>(producer)];
    for (std::size_t at = 0; at < each;) {
      const std::size_t count = std::min<std::size_t>(at % 3 + 1, each - at);
      for (std::size_t i = at; i < at + count; ++i) {
        mine[i].producer = producer;
        mine[i].id = static_cast<int>(i) + 1;
      }
      ASSERT_EQ(push_chain(queue, mine, at, count), on_inject::accepted);
      at += count;
    }
  }

  void consume() {
    std::array<int, producers> last{};
    std::array<item*, 5> out;
    while (handed_out.load() < producers * each) {
      const std::size_t got = queue.pop_batch(out);
      if (got == 0) std::this_thread::yield();
      for (const item* i : std::span(out).first(got)) {
        ASSERT_GT(i->id, last[static_cast<std::size_t>(i->producer)]);
        last[static_cast<std::size_t>(i->producer)] = i->id;
        sum.fetch_add(i->id);
      }
      handed_out.fetch_add(static_cast<int>(got));
    }
  }

  injector<item> queue;
  std::array<std::vector<item>, producers> items{
      std::vector<item>(each), std::vector<item>(each), std::vector<item>(each)};
  std::atomic<int> handed_out{0};
  std::atomic<std::int64_t> sum{0};
};

TEST(injector_threads, three_producers_and_two_consumers_lose_nothing) {
  fan f;
  std::vector<std::thread> threads;
  threads.reserve(fan::producers + 1);
  for (int p = 0; p < fan::producers; ++p) threads.emplace_back([&f, p] { f.produce(p); });
  threads.emplace_back([&f] { f.consume(); });
  f.consume();
  for (auto& t : threads) t.join();
  EXPECT_EQ(f.handed_out.load(), fan::producers * fan::each);
  EXPECT_EQ(f.sum.load(), std::int64_t{fan::producers} * fan::each * (fan::each + 1) / 2);
  EXPECT_EQ(f.queue.length_guess(), 0U);
}

TEST(injector_threads, close_loses_nothing_that_was_accepted) {
  injector<item> queue;
  std::vector<item> items(50'000);
  std::atomic<std::size_t> accepted{0};
  std::thread producer([&] {
    for (item& i : items) {
      if (queue.push(i) == on_inject::closed) break;
      accepted.fetch_add(1);
    }
  });
  std::size_t got = 0;
  std::array<item*, 32> out;
  while (got < 1000) got += queue.pop_batch(out);
  queue.close();
  for (item* i = queue.drain(); i != nullptr; i = i->next.get()) ++got;
  producer.join();
  EXPECT_EQ(got, accepted.load());
  EXPECT_EQ(queue.drain(), nullptr);
}

}  // namespace
}  // namespace rota::queue::injector_test
