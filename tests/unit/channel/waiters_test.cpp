// The numbers of waiting senders and receivers.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <utility>

namespace rota::channel::waiters_test {
namespace {

using test::manual_scheduler;

template <class T>
concept counts_waiting_senders = requires(const T& half) { half.waiting_senders(); };
static_assert(counts_waiting_senders<sender<int>> && counts_waiting_senders<receiver<int>>);
static_assert(!counts_waiting_senders<unbounded_sender<int>>);  // its senders never wait

TEST(channel_waiters, of_a_full_channel_are_senders) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(1);
  EXPECT_EQ(tx.try_send(0), send_status::sent);
  const auto sends = [](sender<int> to, int n) -> task<void> { static_cast<void>(co_await to.send(n)); };
  auto first = by.spawn(sends, tx, 1);
  auto second = by.spawn(sends, tx, 2);
  by.run_until_idle();
  EXPECT_EQ(tx.waiting_senders(), 2U);
  EXPECT_EQ(rx.waiting_senders(), 2U);
  EXPECT_EQ(rx.waiting_receivers(), 0U);
  first.cancel();
  by.run_until_idle();
  EXPECT_EQ(tx.waiting_senders(), 1U);
  EXPECT_EQ(rx.try_recv(), 0);
  by.run_until_idle();
  EXPECT_EQ(tx.waiting_senders(), 0U);
  EXPECT_EQ(rx.try_recv(), 2);
}

TEST(channel_waiters, of_an_empty_channel_are_receivers_and_cases_of_selects) {
  manual_scheduler by;
  auto a = bounded<int>(1);
  auto b = unbounded<int>();
  auto selects = by.spawn(
      [](receiver<int> from_a, unbounded_receiver<int> from_b) -> task<void> {
        static_cast<void>(co_await select(from_a.recv(), from_b.recv()));
      },
      a.receiver,
      b.receiver);
  auto receives =
      by.spawn([](unbounded_receiver<int> from) -> task<void> { static_cast<void>(co_await from.recv()); },
               b.receiver);
  by.run_until_idle();
  EXPECT_EQ(a.sender.waiting_receivers(), 1U);
  EXPECT_EQ(b.receiver.waiting_receivers(), 2U);
  EXPECT_EQ(a.sender.try_send(1), send_status::sent);
  by.run_until_idle();
  EXPECT_TRUE(selects.is_done());
  EXPECT_EQ(a.sender.waiting_receivers(), 0U);
  EXPECT_EQ(b.receiver.waiting_receivers(), 1U);
  b.receiver.close();
  EXPECT_EQ(b.receiver.waiting_receivers(), 0U);
  by.run_until_idle();
  EXPECT_TRUE(receives.is_done());
}

}  // namespace
}  // namespace rota::channel::waiters_test
