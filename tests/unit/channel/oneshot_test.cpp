// The channel for a single item.
#include "support/manual_scheduler.hpp"

#include <rota/channel/oneshot.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <thread>
#include <utility>

namespace rota::channel::oneshot_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

task<int> awaits(oneshot_receiver<int>& from) {
  const std::optional<int> got = co_await from.recv();
  co_return got.value_or(-1);
}

TEST(oneshot, gives_one_item_once) {
  auto [tx, rx] = oneshot<int>();
  EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
  EXPECT_EQ(std::move(tx).send(4), send_status::sent);
  EXPECT_EQ(rx.try_recv(), 4);
  EXPECT_EQ(rx.try_recv().error(), recv_status::closed);
  EXPECT_EQ(rx.blocking_recv(), std::nullopt);
}

TEST(oneshot, a_sender_that_goes_without_sending_closes_it) {
  manual_scheduler by;
  auto made = oneshot<int>();
  auto waits = by.spawn(awaits(made.receiver));
  by.run_until_idle();
  {
    const auto gone = std::move(made.sender);
  }
  by.run_until_idle();
  EXPECT_EQ(waits.join(), -1);
  EXPECT_EQ(made.receiver.try_recv().error(), recv_status::closed);
}

TEST(oneshot, send_fails_when_the_receiver_closes_or_is_destroyed) {
  auto made = oneshot<std::unique_ptr<int>>();
  made.receiver.close();
  EXPECT_TRUE(made.sender.is_closed());
  EXPECT_EQ(std::move(made.sender).send(std::make_unique<int>(1)), send_status::closed);
  auto again = oneshot<std::unique_ptr<int>>();
  {
    const auto gone = std::move(again.receiver);
  }
  EXPECT_EQ(std::move(again.sender).send(std::make_unique<int>(1)), send_status::closed);
}

TEST(oneshot, unreceived_item_is_destroyed_with_the_channel_and_survives_a_close) {
  auto item = std::make_shared<int>(1);
  {
    auto [tx, rx] = oneshot<std::shared_ptr<int>>();
    EXPECT_EQ(std::move(tx).send(item), send_status::sent);
    EXPECT_EQ(item.use_count(), 2);
  }
  EXPECT_EQ(item.use_count(), 1);
  auto [tx, rx] = oneshot<std::shared_ptr<int>>();
  EXPECT_EQ(std::move(tx).send(item), send_status::sent);
  rx.close();
  EXPECT_EQ(rx.try_recv().value(), item);
}

TEST(oneshot, cancelled_receive_leaves_the_item_to_the_next_receive) {
  manual_scheduler by;
  auto [tx, rx] = oneshot<int>();
  auto first = by.spawn(awaits(rx));
  by.run_until_idle();
  EXPECT_EQ(std::move(tx).send(5), send_status::sent);
  first.cancel();
  by.run_until_idle();
  EXPECT_EQ(by.cancelled, 1);
  auto second = by.spawn(awaits(rx));
  by.run_until_idle();
  EXPECT_EQ(second.join(), 5);
}

TEST(oneshot, timed_receive_that_times_out_takes_nothing) {
  manual_scheduler by;
  auto [tx, rx] = oneshot<int>();
  auto late = by.spawn(
      [](oneshot_receiver<int>& from) -> task<recv_status> {
        const auto got = co_await from.recv_for(5ms);
        co_return got.error();
      },
      std::ref(rx));
  by.run_with_time();
  EXPECT_EQ(late.join(), recv_status::timed_out);
  EXPECT_EQ(rx.blocking_recv_for(1ms).error(), recv_status::timed_out);
  EXPECT_EQ(std::move(tx).send(6), send_status::sent);
  EXPECT_EQ(rx.blocking_recv_until(std::chrono::steady_clock::now()), 6);
}

TEST(oneshot, items_may_need_more_alignment_than_memory_has) {
  struct alignas(128) wide {
    int value;
  };
  auto [tx, rx] = oneshot<wide>();
  EXPECT_EQ(std::move(tx).send(wide{3}), send_status::sent);
  EXPECT_EQ(rx.try_recv()->value, 3);
}

TEST(oneshot, thread_receives_the_item_of_another_thread) {
  for (int round = 0; round < 2'000; ++round) {
    auto made = oneshot<int>();
    std::thread sends([tx = std::move(made.sender), round]() mutable {
      EXPECT_EQ(std::move(tx).send(round), send_status::sent);
    });
    EXPECT_EQ(made.receiver.blocking_recv(), round);
    {
      const auto gone = std::move(made.receiver);
    }
    sends.join();
  }
}

}  // namespace
}  // namespace rota::channel::oneshot_test
