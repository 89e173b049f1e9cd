// The two-level bitmap: setters, clearers and takers of single bits and of words. Each bit is taken once.
// When no thread is between the two levels, every bit is found.
#include <rota/testing/explore.hpp>
#include "model/exploring.hpp"
#include "queue/bitmap.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string_view>

namespace rota::queue {
namespace {

using model::at_random;
using model::exhaustive;
using model::expect_holds;
using testing::check;
using testing::execution;

/// Bits 0, 1 and 2 share a leaf, 64 has its own. Each has a cell that belongs to the holder of the bit: its
/// setter until set(), its taker after the take. Two holders at a time are a race.
struct board {
  void set(std::uint32_t index) {
    note(index);
    ++sets;
    check(bits.set(index), "who holds a bit puts it in");
  }

  void took(std::uint32_t index) {
    note(index);
    ++takes;
  }

  bool clear(std::uint32_t index) {
    const bool mine = bits.clear(index);
    if (mine) took(index);
    return mine;
  }

  bool take() {
    const auto index = bits.take_lowest();
    if (index) took(*index);
    return index.has_value();
  }

  void take_word(std::uint32_t word) {
    for (std::uint64_t rest = bits.take_word(word); rest != 0; rest &= rest - 1) {
      took(word * 64 + base::lowest_bit(rest));
    }
  }

  void note(std::uint32_t index) { held[index % 61].set(held[index % 61].get() + 1); }

  /// No thread is between the levels: every set bit is found.
  void check_end() {
    const auto left = bits.count();
    check(sets == takes + static_cast<int>(left), "what was put in is in, or was taken once");
    for (std::uint32_t i = 0; i < left; ++i) check(take(), "what is in is found");
    check(!take(), "nothing is found twice");
  }

  bitmap bits{128};
  std::array<base::cell<int>, 4> held{};
  int sets = 0;
  int takes = 0;
};

// The race that the re-check prevents: the last bit of a leaf is cleared while another is set.
TEST(bitmap_model, set_that_races_the_clear_of_the_last_bit_of_a_leaf_is_found) {
  const auto body = [](execution& e) {
    auto& b = e.make<board>();
    b.set(0);
    e.thread("clearer", [&b] { check(b.clear(0), "nobody else takes it"); });
    e.thread("setter", [&b] { b.set(1); });
    e.finally([&b] { b.check_end(); });
  };
  expect_holds(exhaustive("bitmap_pair", 4), body);
  // The re-check must see the bit of a setter after the clearer has removed that setter's mark.
  testing::options stale = exhaustive("bitmap_pair_stale", 3);
  stale.stale_reads = 1;
  expect_holds(stale, body);
}

// Idle workers, as in the scheduler: they park (set), are claimed (take) or find work themselves (clear).
TEST(bitmap_model, workers_that_park_while_others_take_are_claimed_at_most_once) {
  const auto body = [](execution& e) {
    auto& b = e.make<board>();
    b.set(2);
    e.thread("parks", [&b] { b.set(0); });
    e.thread("comes back", [&b] {
      b.set(1);
      b.clear(1);
    });
    e.thread("taker", [&b] { b.take(); });
    e.thread("taker", [&b] { b.take(); });
    e.finally([&b] { b.check_end(); });
  };
  expect_holds(exhaustive("bitmap_park", 3), body);
}

TEST(bitmap_model, a_bit_has_one_taker) {
  const auto body = [](execution& e) {
    auto& b = e.make<board>();
    b.set(1);
    int& winners = e.make<int>(0);
    e.thread([&] { winners += b.take() ? 1 : 0; });
    e.thread([&] { winners += b.clear(1) ? 1 : 0; });
    e.thread([&] { winners += b.take() ? 1 : 0; });
    e.finally([&] {
      check(winners == 1, "exactly one takes it");
      b.check_end();
    });
  };
  expect_holds(exhaustive("bitmap_one", 3), body);
}

// Two bits, two takers: a taker that loses one bit goes on to the next, in the same leaf or in another.
void both_find_one(std::uint32_t second, std::string_view name) {
  const auto body = [second](execution& e) {
    auto& b = e.make<board>();
    b.set(0);
    b.set(second);
    for (int i = 0; i < 2; ++i) e.thread([&b] { check(b.take(), "there is one for each"); });
    e.finally([&b] { b.check_end(); });
  };
  expect_holds(exhaustive(name, 4), body);
}

TEST(bitmap_model, two_takers_find_two_bits_of_a_leaf) { both_find_one(1, "bitmap_two_near"); }

TEST(bitmap_model, two_takers_find_bits_of_two_leaves) { both_find_one(64, "bitmap_two_far"); }

// A bit is cleared and set again, while its neighbours are.
TEST(bitmap_model, bits_are_found_when_their_leaf_is_emptied_twice) {
  const auto body = [](execution& e) {
    auto& b = e.make<board>();
    b.set(0);
    e.thread([&b] {
      if (b.clear(0)) b.set(0);
    });
    e.thread([&b] {
      b.set(1);
      b.clear(1);
    });
    e.thread([&b] { b.set(2); });
    e.finally([&b] { b.check_end(); });
  };
  expect_holds(exhaustive("bitmap_twice", 3), body);
}

// Gates take whole words: summary first, then the leaf.
TEST(bitmap_model, take_word_that_races_setters_loses_no_bit) {
  const auto body = [](execution& e) {
    auto& b = e.make<board>();
    b.set(2);
    e.thread("words", [&b] {
      b.take_word(0);
      b.take_word(0);
    });
    e.thread("setter", [&b] {
      b.set(0);
      b.clear(0);
    });
    e.thread("setter", [&b] { b.set(1); });
    e.finally([&b] { b.check_end(); });
  };
  expect_holds(exhaustive("bitmap_word", 3), body);
}

TEST(bitmap_model, word_taker_and_bit_taker_get_each_bit_once) {
  const auto body = [](execution& e) {
    auto& b = e.make<board>();
    b.set(0);
    e.thread("words", [&b] { b.take_word(0); });
    e.thread("taker", [&b] { b.take(); });
    e.thread("setter", [&b] { b.set(1); });
    e.finally([&b] { b.check_end(); });
  };
  expect_holds(exhaustive("bitmap_mixed", 3), body);
}

/// Parks and comes back, until another thread has claimed it.
void park_three_times(board& b, std::uint32_t mine) {
  for (int round = 0; round < 3; ++round) {
    b.set(mine);
    if (!b.clear(mine)) return;
  }
}

TEST(bitmap_model, four_workers_that_park_lose_no_bit_in_random_schedules) {
  const auto body = [](execution& e) {
    auto& b = e.make<board>();
    for (const std::uint32_t mine : {0U, 1U, 2U, 64U}) {
      e.thread("worker", [&b, mine] { park_three_times(b, mine); });
    }
    e.thread("taker", [&b] {
      b.take();
      b.take();
    });
    e.thread("words", [&b] { b.take_word(0); });
    e.finally([&b] { b.check_end(); });
  };
  expect_holds(at_random("bitmap_random"), body);
}

}  // namespace
}  // namespace rota::queue
