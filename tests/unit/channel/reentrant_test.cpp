// A woken task runs inside of the wake, and uses the channel again before the waking call has returned.
//
//  regression row 7    one sends, a receiver registers   a_receiver_registers_inside_of_a_send,
//                                                        a_sender_registers_inside_of_a_receive
//  regression row 21   forty wait                        forty_receivers_..., forty_senders_..., a_close_...
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <vector>

namespace rota::channel::reentrant_test {
namespace {

using test::manual_scheduler;

constexpr int crowd = 40;

template <class Receiver>
task<void> sums(Receiver from, std::vector<int>& into) {
  for (;;) {
    const auto got = co_await from.recv();
    if (!got.has_value()) co_return;
    into.push_back(*got);
  }
}

template <class Pair>
void receiver_registers_inside(Pair made) {
  manual_scheduler by;
  std::vector<int> got;
  auto task = by.spawn(sums(std::move(made.receiver), got));
  by.run_until_idle();
  by.at_once = true;
  for (int i = 0; i < 1'000; ++i) {
    EXPECT_EQ(made.sender.try_send(i), send_status::sent);
    EXPECT_EQ(got.size(), static_cast<std::size_t>(i) + 1);  // and it waits again
  }
  made.sender.close();
  EXPECT_TRUE(task.is_done());
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(got[static_cast<std::size_t>(i)], i);
}

TEST(reentrant, a_receiver_registers_inside_of_a_send) {
  receiver_registers_inside(bounded<int>(1));
  receiver_registers_inside(bounded<int>(3));
  receiver_registers_inside(bounded_by_weight<int>(3, 3, [](const int& /*item*/) noexcept { return 1U; }));
  receiver_registers_inside(unbounded<int>());
}

task<void> sends_many(sender<int> to, int count) {
  for (int i = 0; i < count; ++i) {
    const send_status how = co_await to.send(i);
    EXPECT_EQ(how, send_status::sent);
  }
}

TEST(reentrant, a_sender_registers_inside_of_a_receive) {
  auto [tx, rx] = bounded<int>(1);
  manual_scheduler by;
  auto task = by.spawn(sends_many(tx, 1'000));
  by.run_until_idle();
  by.at_once = true;
  for (int i = 0; i < 1'000; ++i) EXPECT_EQ(rx.try_recv(), i);
  EXPECT_TRUE(task.is_done());
  EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
}

task<void> passes_on(receiver<int> from, sender<int> to, int& hops) {
  const auto got = co_await from.recv();
  if (!got.has_value()) co_return;
  ++hops;
  const send_status how = co_await to.send(*got + 1);
  EXPECT_EQ(how, send_status::sent);
}

TEST(reentrant, forty_receivers_send_inside_of_a_send) {
  auto [tx, rx] = bounded<int>(1);
  manual_scheduler by;
  int hops = 0;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < crowd; ++i) all.push_back(by.spawn(passes_on(rx, tx, hops)));
  by.run_until_idle();
  by.at_once = true;
  EXPECT_EQ(tx.try_send(0), send_status::sent);
  EXPECT_EQ(hops, crowd);
  EXPECT_EQ(by.ended.load(), crowd);
  EXPECT_EQ(rx.try_recv(), crowd);
}

task<void> sends_and_takes(sender<int> to, receiver<int> from, int item, int& sum) {
  const send_status how = co_await to.send(item);
  EXPECT_EQ(how, send_status::sent);
  const auto got = co_await from.recv();
  if (got.has_value()) sum += *got;
}

TEST(reentrant, forty_senders_receive_inside_of_a_receive) {
  auto [tx, rx] = bounded<int>(1);
  EXPECT_EQ(tx.try_send(0), send_status::sent);
  manual_scheduler by;
  int sum = 0;
  std::vector<join_handle<void>> all;
  for (int i = 1; i <= crowd; ++i) all.push_back(by.spawn(sends_and_takes(tx, rx, i, sum)));
  by.run_until_idle();
  by.at_once = true;
  EXPECT_EQ(rx.try_recv(), 0);
  EXPECT_EQ(sum, crowd * (crowd + 1) / 2);
  EXPECT_EQ(by.ended.load(), crowd);
  EXPECT_EQ(rx.size(), 0U);
}

task<void> hears_the_end(receiver<int> from, sender<int> to, int& told) {
  const auto got = co_await from.recv();
  EXPECT_FALSE(got.has_value());
  EXPECT_EQ(to.try_send(1), send_status::closed);
  to.close();
  const auto again = co_await from.recv();
  EXPECT_FALSE(again.has_value());
  ++told;
}

TEST(reentrant, a_close_wakes_forty_receivers_that_receive_again) {
  auto [tx, rx] = bounded<int>(1);
  manual_scheduler by;
  int told = 0;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < crowd; ++i) all.push_back(by.spawn(hears_the_end(rx, tx, told)));
  by.run_until_idle();
  by.at_once = true;
  tx.close();
  EXPECT_EQ(told, crowd);
  EXPECT_EQ(by.ended.load(), crowd);
}

task<void> looks(watch_receiver<int> at, std::vector<int>& seen) {
  for (;;) {
    const auto more = co_await at.changed();
    if (!more.has_value()) co_return;
    seen.push_back(at.get());
  }
}

TEST(reentrant, forty_receivers_of_a_new_value_wait_again_inside_of_the_send) {
  auto [to, at] = watch<int>(0);
  auto [tells, hears] = broadcast<int>(2);
  manual_scheduler by;
  std::vector<int> seen;
  std::vector<int> heard;
  std::vector<join_handle<void>> all;
  for (int i = 0; i < crowd; ++i) {
    all.push_back(by.spawn(looks(at, seen)));
    all.push_back(by.spawn(sums(hears.subscribe(), heard)));
  }
  by.run_until_idle();
  by.at_once = true;
  EXPECT_EQ(to.send(1), send_status::sent);
  EXPECT_EQ(seen, std::vector<int>(crowd, 1));
  EXPECT_EQ(tells.send(2), send_status::sent);
  EXPECT_EQ(heard, std::vector<int>(crowd, 2));
  to.close();
  tells.close();
  EXPECT_EQ(by.ended.load(), 2 * crowd);
}

}  // namespace
}  // namespace rota::channel::reentrant_test
