// The unbounded channel: order, ends; no item is lost or duplicated.
#include "support/manual_scheduler.hpp"

#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

namespace rota::channel::unbounded_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

task<int> receives_one(unbounded_receiver<int> from) {
  const std::optional<int> got = co_await from.recv();
  co_return got.value_or(-1);
}

TEST(unbounded, gives_items_in_their_order_and_then_the_end) {
  auto [tx, rx] = unbounded<int>();
  EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(tx.try_send(i), send_status::sent);
  EXPECT_EQ(rx.size(), 1'000U);
  tx.close();
  EXPECT_EQ(tx.try_send(7), send_status::closed);
  EXPECT_EQ(tx.blocking_send(7), send_status::closed);
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(rx.try_recv(), i);
  EXPECT_EQ(rx.try_recv().error(), recv_status::closed);
  EXPECT_EQ(rx.blocking_recv(), std::nullopt);
}

TEST(unbounded, items_are_destroyed_with_the_last_receiver) {
  struct alignas(64) wide {
    std::shared_ptr<int> counts;
  };
  const auto item = std::make_shared<int>(1);
  auto made = unbounded<wide>();
  for (int i = 0; i < 3; ++i) EXPECT_EQ(made.sender.try_send(wide{item}), send_status::sent);
  EXPECT_EQ(item.use_count(), 4);
  {
    const auto gone = std::move(made.receiver);
  }
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_TRUE(made.sender.is_closed());
}

TEST(unbounded, item_sent_after_a_close_is_not_moved) {
  struct unassignable {
    const std::shared_ptr<int> counts;
    explicit unassignable(std::shared_ptr<int> of) noexcept : counts(std::move(of)) {}
    unassignable(unassignable&& other) noexcept : counts(other.counts) {}
  };
  auto pointers = unbounded<std::unique_ptr<int>>();
  pointers.receiver.close();
  auto pointer = std::make_unique<int>(7);
  EXPECT_EQ(pointers.sender.try_send(std::move(pointer)), send_status::closed);
  ASSERT_NE(pointer, nullptr);
  EXPECT_EQ(*pointer, 7);

  const auto counts = std::make_shared<int>(1);
  auto others = unbounded<unassignable>();
  others.receiver.close();
  unassignable item(counts);
  EXPECT_EQ(others.sender.try_send(std::move(item)), send_status::closed);
  EXPECT_EQ(item.counts, counts);
  EXPECT_EQ(counts.use_count(), 2);
}

// As many items as a block holds, one more, and many; with items of several sizes.
template <std::size_t Size>
struct of_size {
  explicit of_size(std::uint64_t n) noexcept : number(n), check(~n) {}
  std::uint64_t number;
  std::array<std::byte, Size> between{};
  std::uint64_t check;
};
template <class T>
class unbounded_of : public ::testing::Test {};
using sizes = ::testing::Types<of_size<1>, of_size<100>, of_size<5'000>>;
TYPED_TEST_SUITE(unbounded_of, sizes);

TYPED_TEST(unbounded_of, items_keep_their_order_across_blocks) {
  auto [tx, rx] = unbounded<TypeParam>();
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  for (const int ahead : {1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 1'000, 1, 1, 200}) {
    for (int i = 0; i < ahead; ++i) EXPECT_EQ(tx.try_send(TypeParam(sent++)), send_status::sent);
    EXPECT_EQ(rx.size(), sent - received);
    for (int i = 0; i < ahead; ++i) {
      const auto got = rx.try_recv();
      ASSERT_TRUE(got.has_value());
      EXPECT_EQ(got->number, received++);
      EXPECT_EQ(got->check, ~got->number);
    }
    EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
  }
}

TEST(unbounded, tasks_send_and_wait) {
  manual_scheduler by;
  auto [tx, rx] = unbounded<int>();
  auto first = by.spawn(receives_one(rx));
  auto second = by.spawn(receives_one(rx));
  by.run_until_idle();
  auto sent = by.spawn(
      [](unbounded_sender<int> to) -> task<send_status> {
        const send_status how = co_await to.send(3);
        co_return how;
      },
      tx);
  by.run_until_idle();
  EXPECT_EQ(sent.join(), send_status::sent);
  EXPECT_EQ(first.join(), 3);
  tx.close();
  by.run_until_idle();
  EXPECT_EQ(second.join(), -1);
}

TEST(unbounded, item_granted_to_a_cancelled_receiver_goes_to_the_next) {
  manual_scheduler by;
  auto [tx, rx] = unbounded<int>();
  auto first = by.spawn(receives_one(rx));
  auto second = by.spawn(receives_one(rx));
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(7), send_status::sent);
  first.cancel();
  by.run_until_idle();
  EXPECT_EQ(second.join(), 7);
  EXPECT_EQ(rx.blocking_recv_for(1ms).error(), recv_status::timed_out);
}

// Both receivers are called, but other calls take both items. They come back, and neither passes the other.
TEST(unbounded, woken_receivers_that_find_no_item_keep_their_order) {
  for (const bool newest_first : {false, true}) {
    manual_scheduler by;
    auto [tx, rx] = unbounded<int>();
    auto first = by.spawn(receives_one(rx));
    auto second = by.spawn(receives_one(rx));
    by.run_until_idle();
    for (int i = 0; i < 2; ++i) EXPECT_EQ(tx.try_send(0), send_status::sent);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(rx.try_recv(), 0);
    by.lifo = newest_first;
    by.run_until_idle();
    EXPECT_EQ(tx.try_send(1), send_status::sent);
    by.run_until_idle();
    EXPECT_TRUE(first.is_done() && !second.is_done());
    EXPECT_EQ(tx.try_send(2), send_status::sent);
    by.run_until_idle();
    EXPECT_EQ(first.join(), 1);
    EXPECT_EQ(second.join(), 2);
  }
}

TEST(unbounded, close_reaches_all_waiting_receivers_after_the_last_item) {
  manual_scheduler by;
  auto [tx, rx] = unbounded<int>();
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 50; ++i) all.push_back(by.spawn(receives_one(rx)));
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  tx.close();
  EXPECT_EQ(rx.try_recv(), 1);
  by.run_until_idle();
  for (auto& each : all) EXPECT_EQ(each.join(), -1);
}

TEST(unbounded, two_senders_and_two_receivers_lose_no_item) {
  static constexpr int each = 20'000;
  {
    auto made = unbounded<int>();
    std::atomic<long> sum = 0;
    std::atomic<int> count = 0;
    std::vector<std::thread> all;
    for (int side = 0; side < 2; ++side) {
      all.emplace_back([tx = made.sender]() mutable {
        for (int i = 1; i <= each; ++i) ASSERT_EQ(tx.blocking_send(i), send_status::sent);
      });
      all.emplace_back([rx = made.receiver, &sum, &count]() mutable {
        while (const auto got = rx.blocking_recv()) {
          sum += *got;
          ++count;
        }
      });
    }
    {
      const auto gone = std::move(made.sender);
    }
    for (auto& thread : all) thread.join();
    EXPECT_EQ(count, 2 * each);
    EXPECT_EQ(sum, 2L * each * (each + 1) / 2);
  }
}

}  // namespace
}  // namespace rota::channel::unbounded_test
