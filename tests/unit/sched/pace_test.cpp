// How often the injector is asked, how much is fetched, and how slots and parkers behave on one thread.
#include "sched/pace.hpp"
#include "queue/idle.hpp"
#include "queue/injector.hpp"
#include "sched/lifo_slot.hpp"
#include "sched/parker.hpp"

#include <gtest/gtest.h>

namespace rota::sched::pace_test {
namespace {

TEST(pace, the_interval_is_a_millisecond_in_tasks) {
  EXPECT_EQ(injector_interval(1'000), 255U);
  EXPECT_EQ(injector_interval(10'000), 100U);
  EXPECT_EQ(injector_interval(50'000), 20U);
  EXPECT_EQ(injector_interval(100'000), 10U);
  EXPECT_EQ(injector_interval(1'000'000), 8U);
}

TEST(pace, the_interval_stays_within_its_limits) {
  EXPECT_EQ(injector_interval(0), 255U);
  EXPECT_EQ(injector_interval(UINT64_MAX), 8U);
}

TEST(pace, a_new_measurement_counts_a_tenth) {
  pace p;
  const std::uint64_t before = p.average();
  p.measured(10 * (before + 1'000), 10);
  EXPECT_EQ(p.average(), before + 100);
  p.measured(7, 0);
  EXPECT_EQ(p.average(), before + 100) << "no task, no measurement";
}

TEST(pace, interval_converges_to_the_time_of_the_tasks) {
  pace p;
  for (int i = 0; i < 200; ++i) p.measured(1'000 * 128, 128);
  EXPECT_EQ(p.interval(), 255U);
  for (int i = 0; i < 200; ++i) p.measured(1'000'000, 1);
  EXPECT_EQ(p.interval(), 8U);
}

TEST(fetch, a_worker_takes_its_share_within_4_and_32) {
  EXPECT_EQ(queue::fetch_count(100, 4, 257), 25U);
  EXPECT_EQ(queue::fetch_count(1'000, 4, 257), 32U);
  EXPECT_EQ(queue::fetch_count(8, 8, 257), 4U) << "at least four";
  EXPECT_EQ(queue::fetch_count(3, 8, 257), 3U) << "but no more than there are";
  EXPECT_EQ(queue::fetch_count(1'000, 4, 2), 2U) << "nor more than it has room for";
}

TEST(idle, half_of_the_workers_may_search) {
  queue::idle four(4);
  EXPECT_TRUE(four.try_search());
  EXPECT_TRUE(four.try_search());
  EXPECT_FALSE(four.try_search());
  EXPECT_FALSE(four.leave_with_work());
  EXPECT_TRUE(four.try_search());
  EXPECT_FALSE(four.leave_with_work());
  EXPECT_FALSE(four.leave_with_work()) << "nobody sleeps, so nobody needs to be looked for";
}

TEST(idle, last_searcher_scans_again_if_a_worker_is_parked) {
  queue::idle four(4);
  four.announce_park(0, false);
  EXPECT_TRUE(four.try_search());
  EXPECT_TRUE(four.try_search());
  EXPECT_FALSE(four.leave_with_work());
  EXPECT_TRUE(four.leave_with_work());
}

TEST(idle, one_worker_alone_may_search) {
  queue::idle one(1);
  EXPECT_TRUE(one.try_search());
  EXPECT_FALSE(one.try_search());
}

TEST(idle, claims_and_forced_searches_may_exceed_the_searcher_limit) {
  queue::idle two(2);
  ASSERT_TRUE(two.try_search());
  two.force_search();
  EXPECT_EQ(two.guess().searching, 2U);
  EXPECT_FALSE(two.leave_with_work());
  two.announce_park(0, true);
  const auto claimed = two.after_ring();
  ASSERT_TRUE(claimed.has_value());
  EXPECT_EQ(claimed->worker, 0U);
  EXPECT_FALSE(claimed->first_awake) << "the other one never slept";
  EXPECT_EQ(two.guess().searching, 1U);
  EXPECT_EQ(two.guess().parked, 0);
}

TEST(idle, no_worker_is_claimed_while_another_searches) {
  queue::idle two(2);
  two.announce_park(0, false);
  ASSERT_TRUE(two.try_search());
  EXPECT_FALSE(two.after_ring().has_value());
  EXPECT_FALSE(two.after_injector().has_value());
  EXPECT_TRUE(two.leave_with_work());
  EXPECT_TRUE(two.after_injector().has_value());
}

TEST(idle, worker_that_wakes_by_itself_counts_as_searching) {
  queue::idle one(1);
  one.announce_park(0, false);
  EXPECT_TRUE(one.all_parked());
  bool first_awake = false;
  EXPECT_EQ(one.rise(0, first_awake), queue::idle::on_rise::alone);
  EXPECT_TRUE(first_awake);
  EXPECT_EQ(one.guess().searching, 1U);
  one.announce_park(0, true);
  ASSERT_TRUE(one.after_ring().has_value());
  EXPECT_EQ(one.rise(0, first_awake), queue::idle::on_rise::claimed);
  EXPECT_FALSE(first_awake);
  EXPECT_EQ(one.guess().searching, 1U) << "the claim has counted it";
}

TEST(idle, claim_by_number_works_while_another_worker_searches) {
  queue::idle two(2);
  two.announce_park(1, false);
  ASSERT_TRUE(two.try_search());
  EXPECT_FALSE(two.claim_parked(0).has_value()) << "it does not sleep";
  EXPECT_TRUE(two.claim_parked(1).has_value());
  EXPECT_FALSE(two.claim_parked(1).has_value()) << "once";
  EXPECT_EQ(two.guess().searching, 2U);
}

TEST(idle, four_thousand_workers_are_all_found) {
  constexpr unsigned n = 4096;
  queue::idle many(n);
  for (unsigned i = 0; i < n; ++i) many.announce_park(i, false);
  EXPECT_TRUE(many.all_parked());
  for (unsigned i = 0; i < n; ++i) {
    const auto claimed = many.after_ring();
    ASSERT_TRUE(claimed.has_value());
    EXPECT_EQ(claimed->worker, i);
    EXPECT_EQ(claimed->first_awake, i == 0);
    static_cast<void>(many.leave_with_work());
  }
  EXPECT_FALSE(many.after_ring().has_value());
  EXPECT_EQ(many.guess().parked, 0);
}

TEST(parker, a_notification_that_came_first_is_consumed) {
  parker bed;
  EXPECT_EQ(bed.unpark(), on_unpark::nothing);
  bed.park();
  EXPECT_EQ(bed.enter_driver(), on_enter::entered) << "once";
  EXPECT_EQ(bed.unpark(), on_unpark::interrupt_driver);
  EXPECT_TRUE(bed.leave_driver());
  EXPECT_EQ(bed.unpark(), on_unpark::nothing);
  EXPECT_EQ(bed.enter_driver(), on_enter::notified);
  EXPECT_EQ(bed.enter_driver(), on_enter::entered);
  EXPECT_FALSE(bed.leave_driver());
}

TEST(lifo_slot, the_newest_displaces_the_one_before) {
  lifo_slot<int> slot;
  int a = 0;
  int b = 0;
  EXPECT_EQ(slot.put(a), nullptr);
  EXPECT_EQ(slot.put(b), &a);
  EXPECT_FALSE(slot.take_if(a));
  EXPECT_TRUE(slot.take_if(b));
  EXPECT_TRUE(slot.is_empty());
  EXPECT_FALSE(slot.ripen()) << "nothing to give away";
}

TEST(lifo_slot, thief_takes_only_a_ripe_task) {
  lifo_slot<int> slot;
  int a = 0;
  static_cast<void>(slot.put(a));
  EXPECT_FALSE(slot.is_ripe());
  EXPECT_EQ(slot.steal(), nullptr);
  EXPECT_TRUE(slot.ripen());
  EXPECT_TRUE(slot.is_ripe());
  EXPECT_EQ(slot.steal(), &a);
  EXPECT_EQ(slot.steal(), nullptr);
}

TEST(lifo_slot, take_by_the_owner_ends_the_permission_to_steal) {
  lifo_slot<int> slot;
  int a = 0;
  static_cast<void>(slot.put(a));
  ASSERT_TRUE(slot.ripen());
  EXPECT_EQ(slot.take(), &a);
  static_cast<void>(slot.put(a));
  EXPECT_EQ(slot.steal(), nullptr);
  EXPECT_EQ(slot.take(), &a);
}

}  // namespace
}  // namespace rota::sched::pace_test
