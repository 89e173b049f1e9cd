// Senders that wait until their channel has no receiver.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <expected>
#include <functional>
#include <optional>
#include <thread>
#include <utility>

namespace rota::channel::closed_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

struct of_bounded {
  static auto make() { return bounded<int>(1); }
};
struct of_weighed {
  static auto make() {
    return bounded_by_weight<int>(1, 1, [](const int& /*item*/) noexcept { return 1U; });
  }
};
struct of_unbounded {
  static auto make() { return unbounded<int>(); }
};
struct of_oneshot {
  static auto make() { return oneshot<int>(); }
};
struct of_watch {
  static auto make() { return watch(1); }
};
struct of_broadcast {
  static auto make() { return broadcast<int>(2); }
};

template <class Sender>
task<void> waits(Sender& tx) {
  co_await tx.closed();
}
template <class Sender>
task<bool> waits_for(Sender& tx, manual_scheduler& by, bool until) {
  std::expected<void, timed_out> told;
  if (until) {
    told = co_await tx.closed_until(by.time + 5ms);
  } else {
    told = co_await tx.closed_for(5ms);
  }
  co_return told.has_value();
}

template <class T>
class closed_of : public ::testing::Test {};
using all_kinds = ::testing::Types<of_bounded, of_weighed, of_unbounded, of_oneshot, of_watch, of_broadcast>;
TYPED_TEST_SUITE(closed_of, all_kinds);

TYPED_TEST(closed_of, wait_ends_when_the_last_receiver_is_destroyed) {
  manual_scheduler by;
  auto made = TypeParam::make();
  auto told = by.spawn(waits(made.sender));
  by.run_until_idle();
  EXPECT_FALSE(told.is_done());
  {
    const auto gone = std::move(made.receiver);
  }
  by.run_until_idle();
  EXPECT_TRUE(told.is_done());
  auto again = by.spawn(waits(made.sender));
  by.run_until_idle();
  EXPECT_TRUE(again.is_done());
  made.sender.blocking_closed();
}

TYPED_TEST(closed_of, timed_wait_times_out_while_a_receiver_exists) {
  manual_scheduler by;
  auto made = TypeParam::make();
  auto late = by.spawn(waits_for(made.sender, by, false));
  auto too = by.spawn(waits_for(made.sender, by, true));
  by.run_with_time();
  EXPECT_FALSE(late.join());
  EXPECT_FALSE(too.join());
  EXPECT_FALSE(made.sender.blocking_closed_for(1ms).has_value());
  EXPECT_FALSE(made.sender.blocking_closed_until(std::chrono::steady_clock::now()).has_value());
  {
    const auto gone = std::move(made.receiver);
  }
  auto told = by.spawn(waits_for(made.sender, by, false));
  by.run_with_time();
  EXPECT_TRUE(told.join());
  EXPECT_TRUE(made.sender.blocking_closed_for(0s).has_value());
  EXPECT_TRUE(made.sender.blocking_closed_until(std::chrono::steady_clock::now()).has_value());
}

TYPED_TEST(closed_of, cancelled_wait_does_not_affect_the_next_wait) {
  manual_scheduler by;
  auto made = TypeParam::make();
  auto first = by.spawn(waits(made.sender));
  by.run_until_idle();
  first.cancel();
  by.run_until_idle();
  EXPECT_EQ(by.cancelled, 1);
  auto second = by.spawn(waits(made.sender));
  by.run_until_idle();
  {
    const auto gone = std::move(made.receiver);
  }
  by.run_until_idle();
  EXPECT_TRUE(second.is_done());
}

TYPED_TEST(closed_of, blocked_thread_is_woken_when_the_receiver_is_destroyed) {
  for (int round = 0; round < 200; ++round) {
    auto made = TypeParam::make();
    std::thread goes([rx = std::move(made.receiver)]() mutable { const auto gone = std::move(rx); });
    made.sender.blocking_closed();
    goes.join();
  }
}

// Work ends once its result has no receiver.
TYPED_TEST(closed_of, wait_can_be_a_case_of_a_select) {
  manual_scheduler by;
  auto made = TypeParam::make();
  auto work = by.spawn([](auto& tx) -> task<int> {
    int rounds = 0;
    for (;;) {
      auto first = co_await select(tx.closed(), sleep_for(1ms));
      if (first.index() == 0) break;
      ++rounds;
    }
    co_return rounds;
  }(made.sender));
  by.run_until_idle();
  {
    const auto gone = std::move(made.receiver);
  }
  by.run_until_idle();
  EXPECT_EQ(work.join(), 0);
}

template <class T>
class closed_by : public ::testing::Test {};
using who_close = ::testing::Types<of_bounded, of_weighed, of_unbounded, of_oneshot>;
TYPED_TEST_SUITE(closed_by, who_close);

TYPED_TEST(closed_by, wait_ends_when_a_live_receiver_closes_the_channel) {
  manual_scheduler by;
  auto made = TypeParam::make();
  auto told = by.spawn(waits(made.sender));
  by.run_until_idle();
  made.receiver.close();
  by.run_until_idle();
  EXPECT_TRUE(told.is_done());
}

template <class T>
class closed_of_multicast : public ::testing::Test {};
using news_kinds = ::testing::Types<of_watch, of_broadcast>;
TYPED_TEST_SUITE(closed_of_multicast, news_kinds);

TYPED_TEST(closed_of_multicast, wait_ends_without_receivers_and_blocks_again_after_a_subscribe) {
  manual_scheduler by;
  auto made = TypeParam::make();
  EXPECT_EQ(made.sender.receiver_count(), 1U);
  std::optional other(made.sender.subscribe());
  EXPECT_EQ(made.sender.receiver_count(), 2U);
  auto told = by.spawn(waits(made.sender));
  {
    const auto gone = std::move(made.receiver);
  }
  by.run_until_idle();
  EXPECT_FALSE(told.is_done());
  other.reset();
  by.run_until_idle();
  EXPECT_TRUE(told.is_done());
  EXPECT_EQ(made.sender.receiver_count(), 0U);
  EXPECT_FALSE(made.sender.is_closed());
  other.emplace(made.sender.subscribe());
  auto again = by.spawn(waits(made.sender));
  by.run_until_idle();
  EXPECT_FALSE(again.is_done());
  made.sender.close();  // while a receiver exists
  by.run_until_idle();
  EXPECT_TRUE(again.is_done());
}

TEST(closed, oneshot_receiver_is_closed_when_no_item_can_arrive) {
  auto made = oneshot<int>();
  EXPECT_FALSE(made.receiver.is_closed());
  EXPECT_EQ(std::move(made.sender).send(1), send_status::sent);
  EXPECT_FALSE(made.receiver.is_closed());
  EXPECT_EQ(made.receiver.try_recv(), 1);
  EXPECT_TRUE(made.receiver.is_closed());
  auto other = oneshot<int>();
  {
    const auto gone = std::move(other.sender);
  }
  EXPECT_TRUE(other.receiver.is_closed());
}

// Both ends of a oneshot may wait at once; each wait ends by the other side's action.
TEST(closed, sender_and_receiver_of_a_oneshot_may_wait_at_once) {
  manual_scheduler by;
  auto made = oneshot<int>();
  auto told = by.spawn(waits(made.sender));
  auto gets = by.spawn(
      [](oneshot_receiver<int>& rx) -> task<int> {
        const auto got = co_await rx.recv();
        co_return got.value_or(-1);
      },
      std::ref(made.receiver));
  by.run_until_idle();
  told.cancel();
  by.run_until_idle();
  EXPECT_EQ(std::move(made.sender).send(3), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(gets.join(), 3);
}

}  // namespace
}  // namespace rota::channel::closed_test
