#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "shard_support.hpp"

namespace shard_test {
namespace {

using namespace time_test;

TEST(timer_shard, arming_an_earlier_timer_asks_for_an_announcement) {
  shard timers(start);
  std::array<timer_node, 4> node;
  const auto arm_at = [&](unsigned i, time_point deadline) { return timers.arm(node[i], deadline, {}); };

  const arm_result first = arm_at(0, start + 10ms);
  EXPECT_EQ(first.duty, on_arm::announce_earlier);
  EXPECT_EQ(first.earliest, start + 10ms);
  const arm_result later = arm_at(1, start + 20ms);
  EXPECT_EQ(later.duty, on_arm::nothing);
  EXPECT_EQ(later.earliest, start + 10ms);
  EXPECT_EQ(arm_at(2, start + 10ms).duty, on_arm::nothing);
  const arm_result past = arm_at(3, start - 1s);
  EXPECT_EQ(past.duty, on_arm::announce_earlier);
  EXPECT_EQ(past.earliest, start - 1s);
  for (auto& each : node) EXPECT_EQ(shard::cancel(each), cancel_result::cancelled);
}

TEST(timer_shard, earliest_is_exact_after_each_cancel) {
  shard timers(start);
  std::array<timer_node, 3> node;
  arm(timers, node[0], start + 10ms);
  arm(timers, node[1], start + 20h);
  arm(timers, node[2], start + 30 * 24h);
  EXPECT_EQ(timers.earliest(), start + 10ms);
  EXPECT_EQ(shard::cancel(node[0]), cancel_result::cancelled);
  EXPECT_EQ(timers.earliest(), start + 20h);
  EXPECT_EQ(shard::cancel(node[1]), cancel_result::cancelled);
  EXPECT_EQ(timers.earliest(), start + 30 * 24h);
  EXPECT_EQ(shard::cancel(node[2]), cancel_result::cancelled);
  EXPECT_EQ(timers.earliest(), never);
}

TEST(timer_shard, a_timer_that_fires_wakes_once_and_drops_nothing) {
  shard timers(start);
  timer_node node;
  listener heard;
  arm(timers, node, start + 1ms, heard.waker());
  EXPECT_EQ(node.state(), node_state::armed);
  EXPECT_EQ(timers.poll(start + 1ms - 1ns, plenty), 0U);
  EXPECT_EQ(timers.poll(start + 1ms, plenty), 1U);
  EXPECT_EQ(node.state(), node_state::fired);
  EXPECT_EQ(timers.poll(start + 1h, plenty), 0U);
  EXPECT_EQ(shard::cancel(node), cancel_result::already_fired);
  EXPECT_EQ(heard.woken, 1U);
  EXPECT_EQ(heard.dropped, 0U);
}

TEST(timer_shard, a_cancelled_timer_drops_its_waker_and_never_wakes) {
  shard timers(start);
  timer_node node;
  listener heard;
  arm(timers, node, start + 1ms, heard.waker());
  EXPECT_EQ(shard::cancel(node), cancel_result::cancelled);
  EXPECT_EQ(heard.dropped, 1U);
  EXPECT_EQ(node.state(), node_state::cancelled);
  EXPECT_EQ(shard::cancel(node), cancel_result::was_not_armed);
  EXPECT_EQ(timers.poll(start + 1h, plenty), 0U);
  EXPECT_EQ(heard.woken, 0U);
}

TEST(timer_shard, a_timer_that_was_never_armed_cannot_be_cancelled) {
  timer_node node;
  EXPECT_EQ(shard::cancel(node), cancel_result::was_not_armed);
  EXPECT_EQ(node.state(), node_state::unarmed);
}

TEST(timer_shard, a_deadline_of_never_only_ends_by_cancel) {
  shard timers(start);
  timer_node node;
  listener heard;
  const arm_result armed = timers.arm(node, never, heard.waker());
  EXPECT_EQ(armed.duty, on_arm::nothing);
  EXPECT_EQ(armed.earliest, never);
  EXPECT_EQ(timers.poll(never, plenty), 0U);
  EXPECT_EQ(timers.poll(never - 1ns, plenty), 0U);
  EXPECT_EQ(shard::cancel(node), cancel_result::cancelled);
  EXPECT_EQ(heard.dropped, 1U);
  EXPECT_EQ(heard.woken, 0U);
}

TEST(timer_shard, arming_again_replaces_deadline_and_waker) {
  shard timers(start);
  timer_node node;
  listener first;
  listener second;
  arm(timers, node, start + 1ms, first.waker());
  arm(timers, node, start + 5s, second.waker());
  EXPECT_EQ(first.dropped, 1U);
  EXPECT_EQ(timers.earliest(), start + 5s);
  EXPECT_EQ(timers.poll(start + 1ms, plenty), 0U);
  EXPECT_EQ(timers.poll(start + 5s, plenty), 1U);
  EXPECT_EQ(first.woken, 0U);
  EXPECT_EQ(second.woken, 1U);
}

TEST(timer_shard, arming_on_another_shard_leaves_the_first) {
  timers all(2, start);
  timer_node node;
  listener heard;
  arm(all.at(0), node, start + 1ms, heard.waker());
  arm(all.at(1), node, start + 2ms, heard.waker());
  EXPECT_EQ(heard.dropped, 1U);
  EXPECT_EQ(all.at(0).earliest(), never);
  EXPECT_EQ(all.earliest(), start + 2ms);
  EXPECT_EQ(shard::cancel(node), cancel_result::cancelled);
  EXPECT_EQ(all.earliest(), never);
}

TEST(timer_shard, a_fired_timer_may_be_armed_again) {
  shard timers(start);
  timer_node node;
  listener heard;
  for (unsigned i = 1; i <= 100; ++i) {
    arm(timers, node, start + i * 7ms, heard.waker());
    ASSERT_EQ(timers.poll(start + i * 7ms, plenty), 1U);
  }
  EXPECT_EQ(heard.woken, 100U);
}

TEST(timer_shard, every_arm_is_accounted_for_once) {
  shard timers(start);
  std::array<timer_node, 4> node;
  for (auto& each : node) arm(timers, each, start + 1ms);
  arm(timers, node[0], start + 2ms);  // replaces
  static_cast<void>(shard::cancel(node[1]));
  EXPECT_EQ(timers.poll(start + 1ms, plenty), 2U);
  const auto counts = timers.counts();
  EXPECT_EQ(counts.armed, 5U);
  EXPECT_EQ(counts.cancelled, 2U);
  EXPECT_EQ(counts.fired, 2U);
  EXPECT_EQ(timers.poll(start + 2ms, plenty), 1U);
}

TEST(timer_shard, a_poll_wakes_no_more_than_its_limit_and_the_earliest_first) {
  shard timers(start);
  std::vector<timer_node> node(100);
  std::vector<listener> heard(100);
  for (unsigned i = 0; i < 100; ++i) arm(timers, node[i], start + (100 - i) * 1us, heard[i].waker());
  EXPECT_EQ(timers.poll(start + 1ms, 0), 0U);
  EXPECT_EQ(timers.poll(start + 1ms, 40), 40U);
  EXPECT_EQ(timers.earliest(), start + 41us);
  for (unsigned i = 0; i < 100; ++i) EXPECT_EQ(heard[i].woken, i >= 60 ? 1U : 0U);
  EXPECT_EQ(timers.poll(start + 1ms, plenty), 60U);
}

TEST(timer_shard, timers_of_several_batches_wake_in_the_order_of_their_deadlines) {
  shard timers(start);
  constexpr unsigned count =
      3'000;  // more than one batch of wakers, and more than may be moved in one hold of the lock
  std::vector<std::unique_ptr<timer_node>> node;
  std::vector<time_point> woken;
  std::mt19937_64 random(2);
  for (unsigned i = 0; i < count; ++i) {
    const time_point deadline = start + nanoseconds(random() % 10'000'000'000U);
    node.push_back(std::make_unique<timer_node>());
    arm(timers, *node.back(), deadline, rota::callback_waker([&woken, deadline]() noexcept {
          woken.push_back(deadline);
        }));
  }
  EXPECT_EQ(timers.poll(start + 10s, plenty), count);
  EXPECT_EQ(woken.size(), count);
  EXPECT_TRUE(std::is_sorted(woken.begin(), woken.end()));
}

TEST(timer_shard, a_waker_that_rearms_in_the_past_does_not_make_the_poll_endless) {
  shard timers(start);
  timer_node node;
  unsigned woken = 0;
  struct again {
    shard* timers;
    timer_node* node;
    unsigned* woken;
    void operator()() const noexcept {
      if (++*woken < 3) arm(*timers, *node, start, rota::callback_waker(again(*this)));
    }
  };
  arm(timers, node, start + 1ms, rota::callback_waker(again{&timers, &node, &woken}));
  EXPECT_EQ(timers.poll(start + 1s, plenty), 1U);
  EXPECT_EQ(timers.poll(start + 1s, plenty), 1U);
  EXPECT_EQ(timers.poll(start + 1s, plenty), 1U);
  EXPECT_EQ(timers.poll(start + 1s, plenty), 0U);
  EXPECT_EQ(woken, 3U);
}

TEST(timer_shard, a_waker_may_cancel_timers_that_are_due_in_the_same_poll) {
  shard timers(start);
  std::vector<timer_node> node(40);
  std::vector<listener> heard(40);
  cancel_result same_batch{};
  cancel_result next_batch{};
  arm(timers, node[0], start, rota::callback_waker([&]() noexcept {
        same_batch = shard::cancel(node[1]);   // its waker is out already
        next_batch = shard::cancel(node[39]);  // still in the wheel
      }));
  for (unsigned i = 1; i < 40; ++i) arm(timers, node[i], start + i * 1us, heard[i].waker());
  EXPECT_EQ(timers.poll(start + 1ms, plenty), 39U);
  EXPECT_EQ(same_batch, cancel_result::already_fired);
  EXPECT_EQ(next_batch, cancel_result::cancelled);
  EXPECT_EQ(heard[1].woken, 1U);
  EXPECT_EQ(heard[39].woken, 0U);
  EXPECT_EQ(heard[39].dropped, 1U);
}

TEST(timer_shard, a_waker_may_destroy_its_own_timer_and_the_others_of_its_batch) {
  shard timers(start);
  std::vector<std::unique_ptr<timer_node>> node;
  listener heard;
  for (unsigned i = 0; i < 10; ++i) node.push_back(std::make_unique<timer_node>());
  arm(timers, *node[0], start, rota::callback_waker([&]() noexcept { node.clear(); }));
  for (unsigned i = 1; i < 10; ++i) arm(timers, *node[i], start + i * 1us, heard.waker());
  EXPECT_EQ(timers.poll(start + 1ms, plenty), 10U);
  EXPECT_EQ(heard.woken, 9U);
  EXPECT_TRUE(node.empty());
}

TEST(timer_shard, dropping_a_waker_may_arm_and_cancel_on_the_same_shard) {
  shard timers(start);
  timer_node node;
  timer_node other;
  struct reentrant {
    shard& timers;
    timer_node& other;
  } target{timers, other};
  static constexpr rota::waker_vtable vtable{[](void*) noexcept {},
                                             [](void*) noexcept {},
                                             [](void* data) noexcept { return data; },
                                             [](void* data) noexcept {
                                               auto& to = *static_cast<reentrant*>(data);
                                               arm(to.timers, to.other, start + 1ms);
                                             }};
  arm(timers, node, start + 1s, rota::waker(&target, &vtable));
  EXPECT_EQ(shard::cancel(node), cancel_result::cancelled);
  EXPECT_EQ(other.state(), node_state::armed);
  arm(timers, node, start + 1s, rota::waker(&target, &vtable));
  arm(timers, node, start + 2s);  // replaces: the waker is dropped inside of arm()
  EXPECT_EQ(timers.poll(start + 2s, plenty), 2U);
}

TEST(timer_shard, poll_of_many_shards_starts_at_the_given_one_and_shares_the_limit) {
  timers all(3, start);
  std::array<timer_node, 4> node;
  std::array<listener, 4> heard;
  const std::array<unsigned, 4> on{0, 1, 2, 2};
  for (unsigned i = 0; i < 4; ++i) arm(all.at(on[i]), node[i], start + (4 - i) * 1ms, heard[i].waker());
  EXPECT_EQ(all.earliest(), start + 1ms);
  EXPECT_EQ(all.poll(1, start + 4ms, 2), 2U);
  EXPECT_EQ(heard[0].woken, 0U);
  EXPECT_EQ(heard[1].woken, 1U);
  EXPECT_EQ(heard[2].woken, 0U);
  EXPECT_EQ(heard[3].woken, 1U);
  EXPECT_EQ(all.earliest(), start + 2ms);
  EXPECT_EQ(all.poll(1, start + 4ms, plenty), 2U);
  EXPECT_EQ(all.earliest(), never);
  const auto counts = all.counts();
  EXPECT_EQ(counts.armed, 4U);
  EXPECT_EQ(counts.fired, 4U);
  EXPECT_EQ(counts.cancelled, 0U);
}

using timer_death_test = ::testing::Test;

TEST(timer_death_test, a_timer_that_is_destroyed_while_armed_stops_the_program) {
  EXPECT_DEATH(
      {
        shard timers(start);
        auto node = std::make_unique<timer_node>();
        arm(timers, *node, start + 1s);
        node.reset();
      },
      "a timer was destroyed while armed");
}

TEST(timer_death_test, a_shard_that_is_destroyed_with_timers_armed_stops_the_program) {
  timer_node node;
  EXPECT_DEATH(
      {
        auto timers = std::make_unique<shard>(start);
        arm(*timers, node, start + 1s);
        timers.reset();
      },
      "a timer shard was destroyed with timers armed");
}

}  // namespace
}  // namespace shard_test
