// The decisions of the chaos build. This code is the same in every build.
#include "base/chaos.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace rota::base::chaos_test {
namespace {

constexpr std::uint64_t longest = chaos::waits.back();

std::vector<std::uint64_t> decisions(std::uint64_t seed, std::uint64_t thread, std::size_t count) {
  chaos c(seed, thread, longest);
  std::vector<std::uint64_t> made(count);
  for (std::uint64_t& each : made) each = c.next();
  return made;
}

bool is_wait(std::uint64_t decision) { return decision > chaos::give_way; }

TEST(chaos, the_same_seed_and_thread_decide_the_same) {
  EXPECT_EQ(decisions(7, 3, 100'000), decisions(7, 3, 100'000));
  EXPECT_NE(decisions(7, 3, 100'000), decisions(7, 4, 100'000));
  EXPECT_NE(decisions(7, 3, 100'000), decisions(8, 3, 100'000));
}

TEST(chaos, a_wait_is_one_of_twelve_and_no_longer_than_allowed) {
  chaos c(1, 1, 60'000);
  for (int i = 0; i < 1'000'000; ++i) {
    const std::uint64_t decision = c.next();
    if (!is_wait(decision)) continue;
    const bool is_known = std::ranges::find(chaos::waits, decision) != chaos::waits.end();
    EXPECT_TRUE(is_known || decision == 60'000) << decision;
    EXPECT_LE(decision, 60'000U);
  }
}

/// A thread earns its delays: their sum is limited by its steps, plus a first credit of at most 10 ms.
TEST(chaos, total_wait_is_limited_by_the_number_of_steps) {
  for (std::uint64_t thread = 0; thread < 100; ++thread) {
    chaos c(1, thread, longest);
    std::uint64_t waited = 0;
    for (std::uint64_t i = 1; i <= 200'000; ++i) {
      const std::uint64_t decision = c.next();
      if (is_wait(decision)) waited += decision;
      ASSERT_LE(waited, i * chaos::earned + chaos::waits[7]);
    }
  }
}

TEST(chaos, all_but_the_longest_waits_come) {
  std::vector<std::uint64_t> seen;
  for (std::uint64_t thread = 0; thread < 200; ++thread)
    for (const std::uint64_t each : decisions(5, thread, 200'000))
      if (is_wait(each)) seen.push_back(each);
  for (std::size_t i = 0; i < 7; ++i) EXPECT_GT(std::ranges::count(seen, chaos::waits[i]), 0) << i;
}

TEST(chaos, a_thread_gives_way_once_in_128_points) {
  const std::vector<std::uint64_t> made = decisions(9, 1, 1'000'000);
  const auto times = std::ranges::count(made, chaos::give_way);
  EXPECT_GT(times, 1'000'000 / 150);
  EXPECT_LT(times, 1'000'000 / 110);
}

}  // namespace
}  // namespace rota::base::chaos_test
