// A send that lost, timed out or was refused gives its item back.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <utility>

namespace rota::channel::item_back_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

using item = std::unique_ptr<int>;
using halves = pair_of<sender<item>, receiver<item>>;

item number(int n) { return std::make_unique<int>(n); }

/// Returns a channel of one place, which is full.
halves full_one(options how = {}) {
  auto made = bounded<item>(1, how);
  EXPECT_EQ(made.sender.try_send(number(0)), send_status::sent);
  return made;
}

TEST(item_back, send_that_loses_a_select_returns_its_item) {
  manual_scheduler by;
  auto on = full_one();
  sync::event stop;
  auto kept = by.spawn(
      [](halves& of, sync::event& end) -> task<item> {
        auto sending = of.sender.send(number(1));
        auto first = co_await select(sending, end.wait());
        EXPECT_EQ(first.index(), 1U);
        co_return std::move(sending).item();
      },
      std::ref(on),
      std::ref(stop));
  by.run_until_idle();
  stop.set();
  by.run_until_idle();
  const item back = kept.join();
  EXPECT_EQ(*back, 1);
  EXPECT_EQ(**on.receiver.try_recv(), 0);
  EXPECT_EQ(on.receiver.try_recv().error(), recv_status::empty);
}

// A leaf that lost a select is awaited again. After it has won, item() returns null.
TEST(item_back, send_that_wins_a_later_select_returns_no_item) {
  manual_scheduler by;
  auto on = full_one();
  sync::event again(sync::event_reset::automatic);
  auto sends = by.spawn(
      [](halves& of, sync::event& each) -> task<int> {
        int rounds = 0;
        auto sending = of.sender.send(number(1));
        for (;;) {
          ++rounds;
          auto first = co_await select_in_order(sending, each.wait());
          if (first.index() == 1) continue;
          EXPECT_EQ(first.get<0>(), send_status::sent);
          break;
        }
        EXPECT_EQ(std::move(sending).item(), nullptr);
        co_return rounds;
      },
      std::ref(on),
      std::ref(again));
  by.run_until_idle();
  again.set();
  by.run_until_idle();
  EXPECT_EQ(**on.receiver.try_recv(), 0);
  by.run_until_idle();
  EXPECT_EQ(sends.join(), 2);
  EXPECT_EQ(**on.receiver.try_recv(), 1);
}

TEST(item_back, send_that_times_out_returns_its_item) {
  manual_scheduler by;
  auto on = full_one();
  const auto late = [](halves& of, manual_scheduler& at, bool until) -> task<item> {
    if (until) {
      auto sending = of.sender.send_until(at.time + 5ms, number(2));
      const send_status how = co_await sending;
      EXPECT_EQ(how, send_status::timed_out);
      co_return std::move(sending).item();
    }
    auto sending = of.sender.send_for(5ms, number(1));
    const send_status how = co_await sending;
    EXPECT_EQ(how, send_status::timed_out);
    co_return std::move(sending).item();
  };
  auto one = by.spawn(late, std::ref(on), std::ref(by), false);
  auto two = by.spawn(late, std::ref(on), std::ref(by), true);
  by.run_with_time();
  const item first = one.join();
  const item second = two.join();
  EXPECT_EQ(*first + *second, 3);
}

TEST(item_back, send_that_is_refused_or_comes_after_a_close_returns_its_item) {
  const auto offers = [](auto& to, send_status wanted) -> task<int> {
    auto sending = to.send(number(4));
    const send_status how = co_await sending;
    EXPECT_EQ(how, wanted);
    const item back = std::move(sending).item();
    co_return *back;
  };
  for (const auto& [policy, says] : {std::pair(overflow::reject, send_status::full),
                                     std::pair(overflow::drop_newest, send_status::dropped)}) {
    auto on = full_one({.on_full = policy});
    EXPECT_EQ(rota::run(offers(on.sender, says)), 4);
  }
  auto closed = bounded<item>(1);
  closed.receiver.close();
  EXPECT_EQ(rota::run(offers(closed.sender, send_status::closed)), 4);
  auto unlimited = unbounded<item>();
  unlimited.receiver.close();
  EXPECT_EQ(rota::run(offers(unlimited.sender, send_status::closed)), 4);
}

TEST(item_back, send_that_waits_until_the_close_returns_its_item) {
  manual_scheduler by;
  auto on = full_one();
  auto kept = by.spawn(
      [](halves& of) -> task<item> {
        auto sending = of.sender.send(number(5));
        const send_status how = co_await sending;
        EXPECT_EQ(how, send_status::closed);
        co_return std::move(sending).item();
      },
      std::ref(on));
  by.run_until_idle();
  on.receiver.close();
  by.run_until_idle();
  const item back = kept.join();
  EXPECT_EQ(*back, 5);
}

TEST(item_back, failed_blocking_send_does_not_move_its_item) {
  auto on = full_one();
  item mine = number(6);
  EXPECT_EQ(on.sender.blocking_send_for(1ms, std::move(mine)), send_status::timed_out);
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(on.sender.blocking_send_until(std::chrono::steady_clock::now(), std::move(mine)),
            send_status::timed_out);
  ASSERT_NE(mine, nullptr);
  on.sender.close();
  EXPECT_EQ(on.sender.blocking_send(std::move(mine)), send_status::closed);
  ASSERT_NE(mine, nullptr);
  auto unlimited = unbounded<item>();
  unlimited.receiver.close();
  EXPECT_EQ(unlimited.sender.blocking_send(std::move(mine)), send_status::closed);
  ASSERT_NE(mine, nullptr);
  EXPECT_EQ(*mine, 6);
}

TEST(item_back, failed_blocking_send_of_an_lvalue_keeps_no_copy) {
  auto [tx, rx] = bounded<std::shared_ptr<int>>(1);
  const auto mine = std::make_shared<int>(1);
  EXPECT_EQ(tx.blocking_send(mine), send_status::sent);
  EXPECT_EQ(tx.blocking_send_for(0s, mine), send_status::timed_out);
  EXPECT_EQ(tx.blocking_send_until(std::chrono::steady_clock::now(), mine), send_status::timed_out);
  EXPECT_EQ(mine.use_count(), 2);
}

TEST(item_back, failed_try_send_of_a_oneshot_does_not_move_its_item) {
  auto on = oneshot<item>();
  item mine = number(7);
  {
    const auto gone = std::move(on.receiver);
  }
  EXPECT_EQ(std::move(on.sender).try_send(std::move(mine)), send_status::closed);
  ASSERT_NE(mine, nullptr);
  auto other = oneshot<item>();
  EXPECT_EQ(std::move(other.sender).try_send(std::move(mine)), send_status::sent);
  EXPECT_EQ(mine, nullptr);
  EXPECT_EQ(**other.receiver.try_recv(), 7);
}

}  // namespace
}  // namespace rota::channel::item_back_test
