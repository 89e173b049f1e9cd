// The ring under threads; run it under ThreadSanitizer, too.
#include "queue/ring.hpp"

#include "support/ring_access.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

namespace rota::queue::ring_threads_test {
namespace {

using access = ring_test_access;

constexpr std::uint32_t near_wrap = 0xFFFF'FFFE;

// Every item is handed out once. Under TSan the plain `value` shows that the ring orders the items' contents.
struct counted {
  int value = 0;
  std::atomic<int> taken{0};
};

struct stress {
  static constexpr int total = 60'000;

  void take(counted* c) {
    ASSERT_EQ(c->value, 1 + static_cast<int>(c - items.data()));
    ASSERT_EQ(c->taken.fetch_add(1), 0);
    handed_out.fetch_add(1);
  }
  void check() const {
    EXPECT_EQ(handed_out.load(), total);
    EXPECT_TRUE(
        std::all_of(items.begin(), items.end(), [](const counted& c) { return c.taken.load() == 1; }));
  }

  std::vector<counted> items{total};
  std::atomic<int> handed_out{0};
};

template <std::uint32_t Capacity>
void steal_until_done(stress& s, typename ring<counted, Capacity>::thief victim, std::uint32_t start) {
  ring<counted, Capacity> own(start);
  auto mine = own.take_owner_end();
  while (s.handed_out.load() < stress::total) {
    const auto got = victim.steal_into(mine);
    if (got.count == 0) std::this_thread::yield();
    if (got.first != nullptr) s.take(got.first);
    for (counted* c = mine.pop(); c != nullptr; c = mine.pop()) s.take(c);
  }
}

/// Pushes item `id`. Items that the ring refuses or moves out are handed out here.
template <std::uint32_t Capacity>
void push(stress& s, typename ring<counted, Capacity>::owner& mine, int id) {
  typename ring<counted, Capacity>::batch moved;
  counted& c = s.items[static_cast<std::size_t>(id)];
  c.value = id + 1;
  const on_push done = mine.push(c, moved);
  if (done == on_push::refused) s.take(&c);
  if (done == on_push::moved_half) std::for_each(moved.begin(), moved.end(), [&](counted* m) { s.take(m); });
}

template <std::uint32_t Capacity>
void own_and_push(stress& s, typename ring<counted, Capacity>::owner mine) {
  for (int id = 0; id < stress::total; ++id) {
    push<Capacity>(s, mine, id);
    if (id % 3 != 0) continue;
    if (counted* c = mine.pop(); c != nullptr) s.take(c);
  }
  for (counted* c = mine.pop(); c != nullptr; c = mine.pop()) s.take(c);
}

template <std::uint32_t Capacity>
void nothing_is_lost() {
  stress s;
  ring<counted, Capacity> words(near_wrap - stress::total / 2);
  std::thread first([&] { steal_until_done<Capacity>(s, words.thief_end(), near_wrap); });
  std::thread second([&] { steal_until_done<Capacity>(s, words.thief_end(), 0); });
  own_and_push<Capacity>(s, words.take_owner_end());
  first.join();
  second.join();
  s.check();
  EXPECT_FALSE(access::head(words).is_stealing());
}

TEST(ring_threads, two_thieves_and_a_ring_of_4_lose_nothing) { nothing_is_lost<4>(); }
TEST(ring_threads, two_thieves_and_a_ring_of_256_lose_nothing) { nothing_is_lost<256>(); }

using small_ring = ring<counted, 8>;

void rob_and_push(stress& s, small_ring& own, small_ring& other, int first) {
  auto mine = own.take_owner_end();
  int next = first;
  while (s.handed_out.load() < stress::total) {
    for (int i = 0; i < 5 && next < first + stress::total / 2; ++i) push<8>(s, mine, next++);
    if (counted* c = mine.pop(); c != nullptr) s.take(c);
    if (const auto got = other.thief_end().steal_into(mine); got.first != nullptr) s.take(got.first);
  }
}

// Two workers steal from each other, so a thief's ring is stolen from while it steals.
TEST(ring_threads, workers_that_steal_from_each_other_lose_nothing) {
  stress s;
  small_ring left(near_wrap);
  small_ring right(near_wrap - 3);
  std::thread peer([&] { rob_and_push(s, right, left, stress::total / 2); });
  rob_and_push(s, left, right, 0);
  peer.join();
  s.check();
}

/// Waits by spinning, so that both sides go on at the same moment. Yields on a busy machine.
void spin_until(const std::atomic<int>& word, int value) {
  for (int spins = 0; word.load() < value; ++spins) {
    if (spins > 1000) std::this_thread::yield();
  }
}

// Form (b) of the parking rule on the real machine. Store buffering: if the publish were only a release, both
// sides could miss each other on x86 (a hundred times in these rounds, on two free cores).
TEST(ring_threads, a_publish_and_a_park_do_not_miss_each_other) {
  constexpr int rounds = 20'000;
  ring<counted, 4> words(near_wrap);
  alignas(128) base::atomic<int> parked{0};
  alignas(128) std::atomic<int> started{0};
  alignas(128) std::atomic<int> ended{0};
  bool parker_saw = false;
  std::thread parker([&] {
    const auto look = words.thief_end();
    for (int round = 1; round <= rounds; ++round) {
      spin_until(started, round);
      parked.exchange(1, base::order::seq_cst);
      parker_saw = look.has_items();
      ended.store(round);
    }
  });
  auto mine = words.take_owner_end();
  ring<counted, 4>::batch moved;
  counted thing;
  int both_missed = 0;
  for (int round = 1; round <= rounds; ++round) {
    parked.store(0, base::order::relaxed);
    started.store(round);
    for (int i = 0; i < round % 20; ++i) base::cpu_relax();
    static_cast<void>(mine.push(thing, moved));
    const bool producer_saw = parked.load(base::order::seq_cst) != 0;
    spin_until(ended, round);
    both_missed += producer_saw || parker_saw ? 0 : 1;
    static_cast<void>(mine.pop());
  }
  parker.join();
  EXPECT_EQ(both_missed, 0);
}

}  // namespace
}  // namespace rota::queue::ring_threads_test
