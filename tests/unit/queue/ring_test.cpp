#include "queue/ring.hpp"

#include "support/ring_access.hpp"

#include <gtest/gtest.h>

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota::queue::ring_test {

namespace {

using access = ring_test_access;

constexpr std::uint32_t near_wrap = 0xFFFF'FFFE;

struct item {
  int id = 0;
};

/// A ring, its owner's end, and items numbered from 0.
template <std::uint32_t Capacity = 256>
struct bench {
  using ring_type = ring<item, Capacity>;

  explicit bench(std::uint32_t start = 0, int count = 1024)
      : items(static_cast<std::size_t>(count)), words(start) {
    for (int i = 0; i < count; ++i) items[static_cast<std::size_t>(i)].id = i;
  }

  on_push push(int id) { return mine.push(items[static_cast<std::size_t>(id)], moved); }
  void fill(int from, int count) {
    for (int i = 0; i < count; ++i) ASSERT_EQ(push(from + i), on_push::stored) << from + i;
  }
  int pop() {
    const item* got = mine.pop();
    return got == nullptr ? -1 : got->id;
  }
  std::vector<int> pop_all() {
    std::vector<int> ids;
    for (int id = pop(); id >= 0; id = pop()) ids.push_back(id);
    return ids;
  }

  std::vector<item> items;
  ring_type words;
  ring_type::owner mine = words.take_owner_end();
  ring_type::thief other = words.thief_end();
  ring_type::batch moved{};
};

std::vector<int> numbers(int from, int count) {
  std::vector<int> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), from);
  return all;
}

// The rules of the head, on every small ring and across the wrap, without threads.
constexpr bool rules_hold_from(std::uint32_t start) {
  for (std::uint32_t claimed = 0; claimed <= 4; ++claimed) {
    for (std::uint32_t queued = 0; queued <= 8; ++queued) {
      const ring_head head{start, start + claimed};
      const std::uint32_t tail = head.real + queued;
      if (ring_head::of(head.word()) != head) return false;
      if (head.is_stealing() != (claimed != 0)) return false;
      if (head.queued(tail) != queued || head.used(tail) != queued + claimed) return false;
      if (head.half(tail) != (queued + 1) / 2) return false;
      if (head.taken(1).queued(tail) != queued - 1) return false;
      if (head.taken(1).is_stealing() != head.is_stealing()) return false;
      if (head.released().is_stealing() || head.released().queued(tail) != queued) return false;
      if (claimed == 0 && head.claimed(3).steal != start) return false;
      if (claimed == 0 && head.claimed(3).real != start + 3) return false;
    }
  }
  return true;
}
static_assert(rules_hold_from(0));
static_assert(rules_hold_from(1000));
static_assert(rules_hold_from(0xFFFF'FFF8));
static_assert(rules_hold_from(0xFFFF'FFFE));
static_assert(rules_hold_from(0xFFFF'FFFF));
static_assert(ring_head{5, 9}.taken(1) == ring_head{5, 10}, "a pop leaves a thief's claim alone");
static_assert(ring_head{9, 9}.taken(2) == ring_head{11, 11}, "nobody steals: both move");

// An operation through the wrong end does not compile.
template <class End>
concept can_pop = requires(End end) { end.pop(); };
template <class End>
concept can_push = requires(End end, item& i, ring<item>::batch& out) { end.push(i, out); };
template <class End>
concept can_steal = requires(End end, ring<item>::owner& mine) { end.steal_into(mine); };
static_assert(can_pop<ring<item>::owner> && can_push<ring<item>::owner> && !can_steal<ring<item>::owner>);
static_assert(!can_pop<ring<item>::thief> && !can_push<ring<item>::thief> && can_steal<ring<item>::thief>);
static_assert(!can_pop<ring<item>> && !can_push<ring<item>> && !can_steal<ring<item>>);
static_assert(!std::copyable<ring<item>::owner> && std::movable<ring<item>::owner>);
static_assert(std::copyable<ring<item>::thief>);
static_assert(!std::is_constructible_v<ring<item>::owner, ring<item>&>);
static_assert(alignof(ring<item>) == 128 && sizeof(ring<item>) == 2 * 128 + 256 * sizeof(void*));

TEST(ring, an_empty_ring_pops_nothing) {
  bench<> b;
  EXPECT_EQ(b.pop(), -1);
  EXPECT_FALSE(b.other.has_items());
  EXPECT_EQ(b.mine.length_guess(), 0U);
  EXPECT_EQ(b.mine.free_space(), 256U);
}

TEST(ring, is_first_in_first_out) {
  bench<> b;
  b.fill(0, 5);
  EXPECT_TRUE(b.other.has_items());
  EXPECT_EQ(b.other.length_guess(), 5U);
  EXPECT_EQ(b.pop_all(), numbers(0, 5));
  EXPECT_FALSE(b.other.has_items());
}

TEST(ring, a_full_ring_moves_half) {
  bench<> b;
  b.fill(0, 256);
  EXPECT_EQ(b.mine.free_space(), 0U);
  ASSERT_EQ(b.push(256), on_push::moved_half);
  std::vector<int> moved;
  for (const item* i : b.moved) moved.push_back(i->id);
  auto expected = numbers(0, 128);
  expected.push_back(256);
  EXPECT_EQ(moved, expected) << "the older half in order, then the new one";
  EXPECT_EQ(b.mine.free_space(), 128U);
  EXPECT_EQ(b.pop_all(), numbers(128, 128));
}

TEST(ring, a_ring_that_is_not_full_writes_no_batch) {
  bench<4> b;
  b.moved.fill(nullptr);
  b.fill(0, 4);
  for (const item* i : b.moved) EXPECT_EQ(i, nullptr);
}

TEST(ring, the_smallest_ring_moves_one_of_two) {
  bench<2> b;
  b.fill(0, 2);
  ASSERT_EQ(b.push(2), on_push::moved_half);
  EXPECT_EQ(b.moved[0]->id, 0);
  EXPECT_EQ(b.moved[1]->id, 2);
  EXPECT_EQ(b.pop_all(), numbers(1, 1));
}

TEST(ring, a_batch_is_published_in_order) {
  bench<> b;
  b.fill(0, 3);
  std::vector<item*> more;
  for (int i = 3; i < 33; ++i) more.push_back(&b.items[static_cast<std::size_t>(i)]);
  b.mine.push_batch(more);
  b.mine.push_batch({});
  EXPECT_EQ(b.mine.length_guess(), 33U);
  EXPECT_EQ(b.pop_all(), numbers(0, 33));
}

TEST(ring, a_batch_fills_the_last_slot) {
  bench<4> b(near_wrap);
  b.mine.push_batch(std::array{&b.items[0], &b.items[1], &b.items[2], &b.items[3]});
  EXPECT_EQ(b.mine.free_space(), 0U);
  EXPECT_EQ(b.pop_all(), numbers(0, 4));
}

TEST(ring_death, a_batch_that_does_not_fit_aborts) {
  bench<4> b;
  b.fill(0, 2);
  std::vector<item*> three(3, &b.items[9]);
  EXPECT_DEATH(b.mine.push_batch(three), "a batch does not fit into the ring");
}

TEST(ring_death, a_second_owner_aborts) {
  bench<4> b;
  EXPECT_DEATH(static_cast<void>(b.words.take_owner_end()), "the owner's end of a ring was taken twice");
}

TEST(ring, the_owners_end_moves_with_the_role) {
  bench<4> b;
  b.fill(0, 2);
  auto successor = std::move(b.mine);
  EXPECT_EQ(successor.pop()->id, 0);
  b.mine = std::move(successor);
  EXPECT_EQ(b.pop(), 1);
}

// How many a thief takes, for every length.
TEST(ring, a_thief_takes_half_rounded_up) {
  for (int length = 0; length <= 256; ++length) {
    bench<> victim;
    bench<> thief;
    victim.fill(0, length);
    const auto got = victim.other.steal_into(thief.mine);
    const int half = length - length / 2;
    ASSERT_EQ(got.count, static_cast<std::uint32_t>(half));
    if (length == 0) {
      EXPECT_EQ(got.status, on_steal::empty);
      EXPECT_EQ(got.first, nullptr);
      continue;
    }
    ASSERT_EQ(got.status, on_steal::stolen);
    EXPECT_EQ(got.first->id, 0) << "the oldest is run at once";
    EXPECT_EQ(thief.pop_all(), numbers(1, half - 1));
    EXPECT_EQ(victim.pop_all(), numbers(half, length - half));
  }
}

TEST(ring, a_stolen_item_alone_is_not_published) {
  bench<4> victim;
  bench<4> thief;
  victim.fill(0, 1);
  EXPECT_EQ(victim.other.steal_into(thief.mine).first, &victim.items[0]);
  EXPECT_EQ(access::tail(thief.words), 0U);
  EXPECT_FALSE(thief.other.has_items());
}

TEST(ring, indices_wrap) {
  for (std::uint32_t start = 0xFFFF'FFF0; start != 16; ++start) {
    bench<4> b(start);
    bench<4> thief(start + 2);
    b.fill(0, 4);
    ASSERT_EQ(b.push(4), on_push::moved_half);
    ASSERT_EQ(b.moved[0]->id, 0);
    ASSERT_EQ(b.moved[1]->id, 1);
    ASSERT_EQ(b.push(5), on_push::stored);
    const auto got = b.other.steal_into(thief.mine);  // 2 3 5
    ASSERT_EQ(got.count, 2U);
    ASSERT_EQ(got.first->id, 2);
    ASSERT_EQ(thief.pop_all(), numbers(3, 1));
    ASSERT_EQ(b.pop(), 5);
    ASSERT_EQ(b.pop(), -1);
    ASSERT_EQ(b.mine.free_space(), 4U);
    ASSERT_FALSE(b.other.has_items());
  }
}

TEST(ring, push_is_refused_while_a_thief_copies_from_a_full_ring) {
  bench<4> b(near_wrap);
  bench<4> thief;
  b.fill(0, 4);
  const auto claim = access::claim(b.other, 5);
  ASSERT_EQ(claim.count, 2U);
  EXPECT_EQ(b.push(4), on_push::refused) << "the two slots are still being copied";
  EXPECT_EQ(b.mine.free_space(), 0U);
  EXPECT_EQ(b.pop(), 2) << "the owner goes on beside the thief";
  EXPECT_EQ(b.push(4), on_push::refused) << "a pop frees nothing while a thief copies";
  EXPECT_EQ(access::copy(b.other, claim, thief.mine)->id, 0);
  access::release(b.other);
  EXPECT_EQ(b.mine.free_space(), 3U);
  EXPECT_EQ(b.push(4), on_push::stored);
  EXPECT_EQ(b.pop(), 3);
  EXPECT_EQ(b.pop(), 4);
}

TEST(ring, steal_returns_busy_while_another_thief_copies) {
  bench<4> b;
  bench<4> second;
  b.fill(0, 4);
  ASSERT_EQ(access::claim(b.other, 5).count, 2U);
  const auto got = b.other.steal_into(second.mine);
  EXPECT_EQ(got.status, on_steal::busy);
  EXPECT_EQ(got.count, 0U);
  EXPECT_TRUE(b.other.has_items());
  access::release(b.other);
  EXPECT_EQ(b.other.steal_into(second.mine).count, 1U);
}

TEST(ring, claimed_items_are_not_seen_by_the_re_scan) {
  bench<4> b;
  b.fill(0, 1);
  ASSERT_EQ(access::claim(b.other, 5).count, 1U);
  EXPECT_FALSE(b.other.has_items()) << "the thief is a searcher, and publishes them itself";
  EXPECT_EQ(b.pop(), -1);
  access::release(b.other);
  EXPECT_EQ(b.mine.free_space(), 4U);
}

TEST(ring, release_of_a_claim_keeps_pops_made_meanwhile) {
  bench<8> b(near_wrap);
  b.fill(0, 8);
  ASSERT_EQ(access::claim(b.other, 5).count, 4U);
  EXPECT_EQ(b.pop(), 4);
  EXPECT_EQ(b.pop(), 5);
  EXPECT_EQ(access::head(b.words), (ring_head{near_wrap, near_wrap + 6}));
  access::release(b.other);
  EXPECT_EQ(access::head(b.words), (ring_head{near_wrap + 6, near_wrap + 6}));
  EXPECT_EQ(b.pop_all(), numbers(6, 2));
}

// The thief's own ring is empty for its owner but has no free slot: another thief is still copying out of it.
TEST(ring, thief_without_free_space_takes_only_the_item_it_runs) {
  bench<4> victim;
  bench<4> thief;
  thief.fill(100, 4);
  ASSERT_EQ(access::claim(thief.other, 5).count, 2U);
  EXPECT_EQ(thief.pop(), 102);
  EXPECT_EQ(thief.pop(), 103);
  ASSERT_EQ(thief.mine.free_space(), 0U);
  victim.fill(0, 4);
  const auto got = victim.other.steal_into(thief.mine);
  EXPECT_EQ(got.count, 1U);
  EXPECT_EQ(got.first->id, 0);
  EXPECT_EQ(thief.pop(), -1);
  EXPECT_EQ(victim.pop_all(), numbers(1, 3));
}

TEST(ring, thief_with_little_free_space_takes_what_fits) {
  bench<8> victim;
  bench<8> thief;
  thief.fill(100, 7);
  victim.fill(0, 8);
  const auto got = victim.other.steal_into(thief.mine);
  EXPECT_EQ(got.count, 2U) << "one slot is free, and one is run";
  EXPECT_EQ(got.first->id, 0);
  EXPECT_EQ(thief.mine.free_space(), 0U);
}

}  // namespace
}  // namespace rota::queue::ring_test
