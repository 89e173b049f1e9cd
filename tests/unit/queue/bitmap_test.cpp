#include "queue/bitmap.hpp"

#include "base/random.hpp"

#include "bitmap_duel.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstdint>
#include <numeric>
#include <optional>
#include <thread>
#include <vector>

namespace rota::queue::bitmap_test {
namespace {

using maybe = std::optional<std::uint32_t>;

TEST(bitmap, an_empty_bitmap_hands_out_nothing) {
  bitmap bits(4096);
  EXPECT_EQ(bits.take_lowest(), std::nullopt);
  EXPECT_EQ(bits.take_next(4095), std::nullopt);
  EXPECT_FALSE(bits.any());
  EXPECT_EQ(bits.count(), 0U);
}

TEST(bitmap, has_as_many_words_as_it_needs) {
  EXPECT_EQ(bitmap(1).words(), 1U);
  EXPECT_EQ(bitmap(64).words(), 1U);
  EXPECT_EQ(bitmap(65).words(), 2U);
  EXPECT_EQ(bitmap(4095).words(), 64U);
  EXPECT_EQ(bitmap(4096).words(), 64U);
  EXPECT_EQ(bitmap(65).size(), 65U);
}

TEST(bitmap_death, sizes_that_do_not_fit_abort) {
  EXPECT_DEATH(bitmap(0), "a bitmap holds 1 to 4096 bits");
  EXPECT_DEATH(bitmap(4097), "a bitmap holds 1 to 4096 bits");
}

#ifndef NDEBUG
TEST(bitmap_death, numbers_beyond_the_size_abort) {
  bitmap bits(65);
  EXPECT_DEATH(bits.set(65), "index < size_");
  EXPECT_DEATH(static_cast<void>(bits.clear(65)), "index < size_");
  EXPECT_DEATH(bits.set_word(1, 0b10), "used_bits");
  EXPECT_DEATH(static_cast<void>(bits.take_word(2)), "word < words");
}
#endif

TEST(bitmap, every_number_can_be_put_in_and_taken) {
  bitmap bits(4096);
  for (std::uint32_t i = 0; i < 4096; ++i) {
    ASSERT_TRUE(bits.set(i));
    ASSERT_EQ(bits.summary(), std::uint64_t{1} << (i / 64));
    ASSERT_EQ(bits.take_lowest(), maybe(i));
    ASSERT_FALSE(bits.any()) << i;
  }
}

TEST(bitmap, a_number_is_put_in_once) {
  bitmap bits(100);
  EXPECT_TRUE(bits.set(70));
  EXPECT_FALSE(bits.set(70));
  EXPECT_EQ(bits.count(), 1U);
  EXPECT_TRUE(bits.clear(70));
  EXPECT_FALSE(bits.clear(70));
}

TEST(bitmap, the_lowest_is_taken_first) {
  bitmap bits(4096);
  for (const std::uint32_t i : {4095U, 64U, 63U, 1000U, 0U}) bits.set(i);
  for (const std::uint32_t i : {0U, 63U, 64U, 1000U, 4095U}) EXPECT_EQ(bits.take_lowest(), maybe(i));
  EXPECT_EQ(bits.take_lowest(), std::nullopt);
}

TEST(bitmap, take_next_wraps_around_to_the_start) {
  bitmap bits(200);
  for (const std::uint32_t i : {3U, 66U, 70U, 199U}) bits.set(i);
  EXPECT_EQ(bits.take_next(67), maybe(70));
  EXPECT_EQ(bits.take_next(67), maybe(199));
  EXPECT_EQ(bits.take_next(67), maybe(3)) << "from the start again";
  EXPECT_EQ(bits.take_next(67), maybe(66)) << "in the word where the cursor stands, below it";
  EXPECT_EQ(bits.take_next(67), std::nullopt);
}

TEST(bitmap, a_leaf_that_is_not_empty_keeps_its_summary_bit) {
  bitmap bits(64);
  bits.set(1);
  bits.set(2);
  EXPECT_TRUE(bits.clear(1));
  EXPECT_TRUE(bits.any());
  EXPECT_EQ(bits.take_lowest(), maybe(2));
  EXPECT_FALSE(bits.any());
}

TEST(bitmap, a_word_is_taken_whole) {
  bitmap bits(200);
  bits.set(64);
  bits.set(127);
  bits.set(128);
  EXPECT_EQ(bits.take_word(1), (std::uint64_t{1} << 63U) | 1U);
  EXPECT_EQ(bits.summary(), 0b100U);
  EXPECT_EQ(bits.take_word(1), 0U);
  EXPECT_EQ(bits.take_lowest(), maybe(128));
}

TEST(bitmap, a_word_is_given_back) {
  bitmap bits(200);
  EXPECT_EQ(bits.set_word(1, 0b101), 0U);
  EXPECT_EQ(bits.set_word(1, 0b110), 0b101U) << "what it held before";
  EXPECT_EQ(bits.count(), 3U);
  EXPECT_EQ(bits.take_lowest(), maybe(64));
  EXPECT_EQ(bits.take_lowest(), maybe(65));
  EXPECT_EQ(bits.take_lowest(), maybe(66));
}

TEST(bitmap, giving_nothing_back_marks_nothing) {
  bitmap bits(64);
  EXPECT_EQ(bits.set_word(0, 0), 0U);
  EXPECT_FALSE(bits.any());
}

// Random operations, compared with a std::set.
void agrees_with_a_set(std::uint32_t size, std::uint64_t seed) {
  bitmap_duel duel(size);
  base::random random(seed);
  for (int step = 0; step < 20'000 && duel.broken().empty(); ++step) {
    const std::uint32_t i = random.below(size);
    switch (random.below(7)) {
      case 0:
      case 1: duel.set(i); break;
      case 2: duel.clear(i); break;
      case 3: duel.take_lowest(); break;
      case 4: duel.take_next(i); break;
      case 5: duel.set_word(i / 64, std::uint64_t{1} << random.below(64) | 1U); break;
      default: duel.take_word(i / 64);
    }
  }
  EXPECT_EQ(duel.broken(), "");
}

TEST(bitmap, agrees_with_a_set_of_64) { agrees_with_a_set(64, 1); }
TEST(bitmap, agrees_with_a_set_of_130) { agrees_with_a_set(130, 2); }
TEST(bitmap, agrees_with_a_set_of_4096) { agrees_with_a_set(4096, 3); }

// Threads take numbers, write the plain counter of each, and put it in again. If a number had two owners at
// a time, that would be a race on the counter, and a wrong sum. A lost number would be a wrong count.
struct carousel {
  explicit carousel(std::uint32_t size) : bits(size), visits(size) {
    for (std::uint32_t i = 0; i < size; ++i) bits.set(i);
  }

  void visit(std::uint32_t i) {
    ++visits[i];
    total.fetch_add(1);
  }
  void one(maybe got) {
    if (!got) return;
    visit(*got);
    EXPECT_TRUE(bits.set(*got));
  }
  void word(std::uint32_t w) {
    const std::uint64_t got = bits.take_word(w);
    for (std::uint64_t rest = got; rest != 0; rest &= rest - 1) visit(w * 64 + base::lowest_bit(rest));
    EXPECT_EQ(bits.set_word(w, got) & got, 0U);
  }
  void check() {
    EXPECT_EQ(bits.count(), bits.size());
    for (std::uint32_t i = 0; i < bits.size(); ++i) {
      ASSERT_EQ(bits.take_lowest(), maybe(i)) << "all are found when nobody is between the levels";
    }
    EXPECT_EQ(std::accumulate(visits.begin(), visits.end(), 0), total.load());
  }

  bitmap bits;
  std::vector<int> visits;
  std::atomic<int> total{0};
};

void numbers_go_round(std::uint32_t size, std::uint32_t rounds) {
  carousel c(size);
  const auto run = [rounds](auto step) {
    return std::thread([rounds, step] {
      for (std::uint32_t i = 0; i < rounds; ++i) step(i);
    });
  };
  std::thread lowest = run([&c](std::uint32_t) { c.one(c.bits.take_lowest()); });
  std::thread next = run([&c](std::uint32_t i) { c.one(c.bits.take_next(i % c.bits.size())); });
  std::thread words = run([&c](std::uint32_t i) { c.word(i % c.bits.words()); });
  lowest.join();
  next.join();
  words.join();
  c.check();
}

TEST(bitmap_threads, two_numbers_of_one_word_have_one_owner_at_a_time) { numbers_go_round(2, 50'000); }
TEST(bitmap_threads, numbers_of_three_words_have_one_owner_at_a_time) { numbers_go_round(130, 50'000); }

TEST(bitmap_threads, words_and_single_numbers_are_taken_once) {
  bitmap bits(128);
  std::atomic<int> put{0};
  std::atomic<int> taken{0};
  std::thread setter([&] {
    for (std::uint32_t i = 0; i < 60'000; ++i) put.fetch_add(bits.set(i * 7 % 128) ? 1 : 0);
  });
  std::thread words([&] {
    for (std::uint32_t i = 0; i < 20'000; ++i) taken.fetch_add(std::popcount(bits.take_word(i % 2)));
  });
  for (int i = 0; i < 20'000; ++i) taken.fetch_add(bits.take_lowest() ? 1 : 0);
  setter.join();
  words.join();
  while (bits.take_lowest()) taken.fetch_add(1);
  EXPECT_EQ(taken.load(), put.load());
  EXPECT_EQ(bits.count(), 0U) << "nothing is left that a look does not find";
}

}  // namespace
}  // namespace rota::queue::bitmap_test
