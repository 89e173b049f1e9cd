#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "wheel_support.hpp"

namespace wheel_test {
namespace {

using namespace time_test;
using nodes = std::vector<timer_node*>;

constexpr time_point start{1'000'000s};

/// The definition, by search: the finest level on which the two ticks are less than one turn apart.
constexpr unsigned finest_level(std::uint64_t current, std::uint64_t tick) {
  unsigned level = 0;
  while ((tick >> (6 * level)) - (current >> (6 * level)) > 63) ++level;
  return level;
}

TEST(wheel_level, is_the_finest_for_every_distance_on_the_two_lowest_levels) {
  for (std::uint64_t current = 0; current < 64 * 64 + 65; ++current) {
    for (std::uint64_t ahead = 1; ahead < 64 * 64 + 130; ++ahead) {
      if (wheel::level_for(current, current + ahead) != finest_level(current, current + ahead)) {
        FAIL() << current << " + " << ahead;
      }
    }
  }
}

TEST(wheel_level, is_the_finest_for_distances_around_each_wrap_of_each_level) {
  for (unsigned at = 0; at <= 7; ++at) {
    for (unsigned by = 0; by <= 7; ++by) {
      for (std::uint64_t turns : {1U, 63U, 64U, 65U}) {
        for (std::uint64_t i = 0; i < 131; ++i) {
          for (std::uint64_t j = 0; j < 131; ++j) {
            const std::uint64_t current = turns * span_of(at) + i;
            const std::uint64_t ahead = span_of(by) + j;
            if (current < 65 || ahead <= 65) continue;
            ASSERT_EQ(wheel::level_for(current - 65, current - 65 + ahead - 65),
                      finest_level(current - 65, current - 65 + ahead - 65));
          }
        }
      }
    }
  }
}

/// A single timer: the poller wakes once, at the deadline itself, however far it is.
void expect_one_exact_wake(time_point now, time_point deadline) {
  wheel timers(now);
  timer_node node;
  timers.insert(node, deadline);
  ASSERT_EQ(timers.next_deadline(), deadline);
  ASSERT_TRUE(poll(timers, std::max(now, deadline - 1ns)).empty()) << "early";
  ASSERT_EQ(timers.next_deadline(), deadline);
  ASSERT_EQ(poll(timers, deadline), nodes{&node});
  ASSERT_EQ(timers.next_deadline(), never);
  ASSERT_TRUE(poll(timers, never).empty()) << "twice";
}

TEST(wheel, one_to_5000_ms_from_arbitrary_positions_are_exact) {
  std::mt19937_64 random(11);
  std::vector<time_point> positions;
  for (unsigned level = 0; level < 7; ++level) {
    positions.push_back(at_tick(span_of(level)) - 1ns);
    positions.push_back(at_tick(span_of(level) * 64 - 1));
    positions.push_back(at_tick(span_of(level) * (random() % 64) + random() % 5000) + 123'456ns);
  }
  for (const time_point now : positions) {
    for (int ms = 1; ms <= 5000; ++ms) {
      ASSERT_NO_FATAL_FAILURE(expect_one_exact_wake(now, now + std::chrono::milliseconds(ms)))
          << ms << " ms from " << now.time_since_epoch().count();
    }
  }
}

TEST(wheel, one_timer_of_any_length_causes_no_wake_up_before_its_time) {
  for (unsigned from = 0; from <= 6; ++from) {
    for (unsigned level = 0; level <= 6; ++level) {
      for (const auto shift : {-1'000'001ns, -1'000'000ns, -1ns, 0ns, 1ns, 999'999ns, 1'000'000ns}) {
        const time_point now = at_tick(63 * span_of(from) + 62) + 7ns;
        for (std::uint64_t slots : {1U, 2U, 63U, 64U}) {
          const time_point deadline = now + (at_tick(slots * span_of(level)) - time_point{}) + shift;
          if (deadline <= now) continue;
          ASSERT_NO_FATAL_FAILURE(expect_one_exact_wake(now, deadline))
              << from << ' ' << level << ' ' << slots;
        }
      }
    }
  }
  expect_one_exact_wake(start, start + 30 * 24h);
  expect_one_exact_wake(start, never - 1ns);
}

TEST(wheel, a_timer_of_thirty_days_among_many_short_ones_fires_exactly) {
  wheel timers(start);
  timer_node month;
  timer_node brief;
  const time_point deadline = start + 30 * 24h + 17ns;
  timers.insert(month, deadline);
  std::mt19937_64 random(3);
  unsigned fired = 0;
  for (time_point now = start;; ++fired) {
    timers.insert(brief, now + nanoseconds(1 + random() % 50'000'000'000U));
    now = timers.next_deadline();
    if (now == deadline) break;
    ASSERT_EQ(poll(timers, now), nodes{&brief});
  }
  EXPECT_GT(fired, 100'000U);
  timers.remove(brief);
  EXPECT_TRUE(poll(timers, deadline - 1ns).empty());
  EXPECT_EQ(poll(timers, deadline), nodes{&month});
}

TEST(wheel, a_deadline_inside_a_millisecond_is_kept_exactly) {
  wheel timers(start);
  std::array<timer_node, 3> node;
  timers.insert(node[0], start + 900'000ns);
  timers.insert(node[1], start + 100'000ns);
  timers.insert(node[2], start + 500'000ns);
  EXPECT_EQ(timers.next_deadline(), start + 100'000ns);
  EXPECT_TRUE(poll(timers, start + 99'999ns).empty());
  EXPECT_EQ(poll(timers, start + 100'000ns), nodes{&node[1]});
  EXPECT_EQ(timers.next_deadline(), start + 500'000ns);
  EXPECT_EQ(poll(timers, start + 899'999ns), nodes{&node[2]});
  EXPECT_EQ(poll(timers, start + 900'000ns), nodes{&node[0]});
}

TEST(wheel, after_a_stall_of_200_ms_all_due_timers_fire_once_in_order) {
  wheel timers(start);
  std::vector<std::unique_ptr<timer_node>> all;
  std::vector<std::tuple<time_point, int, timer_node*>> expected;
  std::mt19937_64 random(5);
  for (int i = 0; i < 5'000; ++i) {
    all.push_back(std::make_unique<timer_node>());
    const time_point deadline = start + nanoseconds(random() % 400'000'000);
    timers.insert(*all.back(), deadline);
    if (deadline <= start + 200ms) expected.emplace_back(deadline, i, all.back().get());
  }
  std::sort(expected.begin(), expected.end());
  const auto fired = poll(timers, start + 200ms);
  ASSERT_EQ(fired.size(), expected.size());
  for (std::size_t i = 0; i < fired.size(); ++i) ASSERT_EQ(fired[i], std::get<2>(expected[i])) << i;
  EXPECT_EQ(poll(timers, start + 400ms).size(), all.size() - expected.size());
  EXPECT_EQ(timers.next_deadline(), never);
}

TEST(wheel, equal_deadlines_fire_in_the_order_of_arming_at_every_level) {
  for (const auto ahead : {nanoseconds(0),
                           nanoseconds(5),
                           nanoseconds(3ms),
                           nanoseconds(3s),
                           nanoseconds(3h),
                           nanoseconds(24h * 30),
                           nanoseconds(24h * 365 * 5)}) {
    wheel timers(start);
    std::array<timer_node, 100> node;
    for (auto& each : node) timers.insert(each, start + ahead);
    const auto fired = poll(timers, start + ahead);
    ASSERT_EQ(fired.size(), node.size());
    for (std::size_t i = 0; i < node.size(); ++i) ASSERT_EQ(fired[i], &node[i]);
  }
}

TEST(wheel, equal_deadlines_on_different_levels_fire_in_the_order_of_arming) {
  wheel timers(start);
  timer_node far;
  timer_node near;
  timer_node last;
  timers.insert(far, start + 10s);
  ASSERT_TRUE(poll(timers, start + 9'999ms).empty());
  timers.insert(near, start + 10s);
  ASSERT_TRUE(poll(timers, start + 10s - 1ns).empty());
  timers.insert(last, start + 10s);
  EXPECT_EQ(poll(timers, start + 10s), (nodes{&far, &near, &last}));
}

TEST(wheel, the_past_the_present_and_the_beginning_of_time_fire_at_the_next_poll) {
  wheel timers(start);
  std::array<timer_node, 4> node;
  timers.insert(node[0], start);
  timers.insert(node[1], start - 5s);
  timers.insert(node[2], time_point::min());
  timers.insert(node[3], time_point{});
  EXPECT_EQ(timers.next_deadline(), time_point::min());
  EXPECT_EQ(poll(timers, start), (nodes{&node[2], &node[3], &node[1], &node[0]}));
  EXPECT_EQ(timers.next_deadline(), never);
}

TEST(wheel, a_clock_that_starts_below_zero_works) {
  const time_point below{-10s};
  wheel timers(below);
  std::array<timer_node, 3> node;
  timers.insert(node[0], below + 1ms);
  timers.insert(node[1], below + 9s);
  timers.insert(node[2], below + 11s);
  EXPECT_EQ(poll(timers, below + 1ms), nodes{&node[0]});
  EXPECT_TRUE(poll(timers, below + 9s - 1ns).empty());
  EXPECT_EQ(poll(timers, below + 9s), nodes{&node[1]});
  EXPECT_EQ(timers.next_deadline(), below + 11s);
  EXPECT_EQ(poll(timers, below + 11s), nodes{&node[2]});
}

TEST(wheel, a_timer_at_never_does_not_fire_even_when_the_clock_is_at_never) {
  wheel timers(start);
  timer_node no_time;
  timer_node last_time;
  timers.insert(no_time, never);
  EXPECT_EQ(timers.next_deadline(), never);
  timers.insert(last_time, never - 1ns);
  EXPECT_EQ(poll(timers, never), nodes{&last_time});
  EXPECT_TRUE(poll(timers, never).empty());
  timers.remove(no_time);
  timers.insert(no_time, start);
  EXPECT_EQ(poll(timers, never), nodes{&no_time});
}

TEST(wheel, a_wheel_may_begin_at_never) {
  wheel timers(never);
  timer_node node;
  EXPECT_TRUE(poll(timers, never).empty());
  timers.insert(node, never - 1ns);
  EXPECT_EQ(timers.next_deadline(), never - 1ns);
  EXPECT_EQ(poll(timers, never), nodes{&node});
  EXPECT_TRUE(poll(timers, never).empty());
}

TEST(wheel, a_timer_armed_in_the_past_during_a_poll_fires_at_the_next_poll) {
  wheel timers(start);
  timer_node again;
  timer_node other;
  timers.insert(again, start + 1ms);
  timers.insert(other, start + 3ms);
  timers.begin_poll(start + 5ms);
  unsigned effort = plenty;
  ASSERT_EQ(timers.pop(effort), &again);
  timers.insert(again, start + 2ms);
  EXPECT_EQ(timers.pop(effort), &other);
  EXPECT_EQ(timers.pop(effort), nullptr);
  EXPECT_EQ(timers.next_deadline(), start + 2ms);
  EXPECT_EQ(poll(timers, start + 5ms), nodes{&again});
}

TEST(wheel, a_clock_that_goes_back_a_little_fires_nothing_early) {
  wheel timers(start);
  timer_node node;
  ASSERT_TRUE(poll(timers, start + 10ms).empty());
  timers.insert(node, start + 12ms);
  EXPECT_TRUE(poll(timers, start + 9ms).empty());
  EXPECT_EQ(timers.next_deadline(), start + 12ms);
  EXPECT_EQ(poll(timers, start + 12ms), nodes{&node});
}

TEST(wheel, timers_in_the_overflow_list_fire_exactly_after_many_rescans) {
  wheel timers(start);
  constexpr auto year = 365 * 24h;
  std::array<timer_node, 7> node;
  for (int i = 0; i < 7; ++i) timers.insert(node[static_cast<unsigned>(i)], start + 30 * (7 - i) * year);
  sleeper clock{timers};
  for (int i = 6; i >= 0; --i) {
    ASSERT_EQ(clock.sleep(), nodes{&node[static_cast<unsigned>(i)]});
    ASSERT_EQ(clock.now, start + 30 * (7 - i) * year);
  }
  EXPECT_EQ(clock.woken_for_nothing, 0U);
}

TEST(wheel, an_overflow_timer_moves_into_the_wheel_while_others_are_armed) {
  wheel timers(start);
  constexpr auto year = 365 * 24h;
  timer_node third;
  timer_node fourth;
  timer_node later;
  timers.insert(third, start + 3 * year);
  timers.insert(fourth, start + 4 * year);
  ASSERT_EQ(poll(timers, start + 3 * year), nodes{&third});  // `fourth` has come within reach
  timers.insert(later, start + 6 * year);
  EXPECT_EQ(timers.next_deadline(), start + 4 * year);
  timers.remove(fourth);
  EXPECT_EQ(timers.next_deadline(), start + 6 * year);
  EXPECT_EQ(poll(timers, start + 6 * year), nodes{&later});
}

TEST(wheel, next_deadline_is_exact_after_the_earliest_timer_is_cancelled) {
  wheel timers(start);
  std::array<timer_node, 8> node;
  for (unsigned i = 0; i < 8; ++i) timers.insert(node[i], start + 10h + i * 1s);  // one slot of 4.7 h
  for (unsigned i = 0; i < 7; ++i) {
    timers.remove(node[i]);
    ASSERT_EQ(timers.next_deadline(), start + 10h + (i + 1) * 1s);
  }
  EXPECT_EQ(poll(timers, start + 10h + 7s), nodes{&node[7]});
}

TEST(wheel, cancelling_the_earliest_of_many_costs_one_wake_up_at_most) {
  wheel timers(start);
  std::vector<timer_node> node(1'000);
  for (unsigned i = 0; i < 1'000; ++i) timers.insert(node[i], start + 10h + i * 1ms);
  for (unsigned i = 0; i < 500; ++i) timers.remove(node[i]);
  sleeper clock{timers};
  ASSERT_EQ(clock.sleep(), nodes{&node[500]});
  EXPECT_EQ(clock.woken_for_nothing, 1U);
  for (unsigned i = 501; i < 1'000; ++i) ASSERT_EQ(clock.sleep(), nodes{&node[i]});
  EXPECT_EQ(clock.woken_for_nothing, 1U);
}

TEST(wheel, a_poll_that_may_move_one_timer_at_a_time_loses_nothing) {
  wheel timers(start);
  std::vector<timer_node> node(300);
  std::vector<time_point> deadline(300);
  std::mt19937_64 random(9);
  for (unsigned i = 0; i < 300; ++i) {
    deadline[i] = start + nanoseconds(random() % 20'000'000'000U);
    timers.insert(node[i], deadline[i]);
  }
  std::sort(deadline.begin(), deadline.end());
  timers.begin_poll(start + 20s);
  unsigned fired = 0;
  for (int calls = 0; fired < 300; ++calls) {
    ASSERT_LT(calls, 300 * 8) << "no progress";
    unsigned effort = 1;
    if (timers.pop(effort) != nullptr) ++fired;
    ASSERT_EQ(effort, 0U);
    if (fired < 300) {
      ASSERT_LE(timers.next_deadline(), deadline[fired]);
    }
  }
  EXPECT_EQ(timers.next_deadline(), never);
}

TEST(wheel, the_next_poll_completes_a_poll_that_was_cut_short) {
  wheel timers(start);
  std::array<timer_node, 3> node;
  timers.insert(node[0], start - 1ms);
  timers.insert(node[1], start - 2ms);
  timers.begin_poll(start);
  unsigned effort = 1;
  ASSERT_EQ(timers.pop(effort), nullptr);  // one of the two is moved
  timers.insert(node[2], start - 3ms);
  EXPECT_EQ(poll(timers, start), (nodes{&node[1], &node[0]}));
  EXPECT_EQ(poll(timers, start), nodes{&node[2]});
}

TEST(wheel, a_poll_with_an_older_clock_does_not_undo_a_newer_one) {
  wheel timers(start);
  timer_node node;
  timers.insert(node, start + 7ms);
  timers.begin_poll(start + 10ms);
  timers.begin_poll(start + 5ms);
  unsigned effort = plenty;
  EXPECT_EQ(timers.pop(effort), &node);
}

TEST(wheel, timers_armed_after_a_long_poll_get_slots_of_their_own) {
  wheel timers(start);
  timer_node near;
  timer_node far;
  ASSERT_TRUE(poll(timers, start + 1h).empty());
  timers.insert(near, start + 1h + 1ms);
  timers.insert(far, start + 1h + 60ms);
  timers.begin_poll(start + 1h + 1ms);
  unsigned effort = 100;
  ASSERT_EQ(timers.pop(effort), &near);
  EXPECT_EQ(effort, 98U);  // moved once and taken out; `far` has a slot of its own
  timers.remove(far);
}

TEST(wheel, a_timer_just_before_never_fires_although_it_shares_lists_with_never) {
  for (const time_point now : {start, never - 1h, never - 1ms, never - 2ns}) {
    wheel timers(now);
    std::array<timer_node, 3> node;
    timers.insert(node[0], never);
    timers.insert(node[1], never - 1ns);
    timers.insert(node[2], never);
    ASSERT_EQ(timers.next_deadline(), never - 1ns);
    ASSERT_EQ(poll(timers, never), nodes{&node[1]});
    ASSERT_EQ(timers.next_deadline(), never);
    timers.remove(node[0]);
    timers.insert(node[0], never);
    ASSERT_TRUE(poll(timers, never).empty());
    timers.remove(node[2]);
    timers.remove(node[0]);
  }
}

TEST(wheel, removing_from_any_position_of_a_slot_leaves_the_other_timers) {
  for (std::size_t gone = 0; gone < 5; ++gone) {
    wheel timers(start);
    std::array<timer_node, 5> node;
    nodes expected;
    for (auto& each : node) timers.insert(each, start + 70ms);
    timers.remove(node[gone]);
    for (auto& each : node) {
      if (&each != &node[gone]) expected.push_back(&each);
    }
    ASSERT_EQ(poll(timers, start + 70ms), expected);
  }
}

}  // namespace
}  // namespace wheel_test
