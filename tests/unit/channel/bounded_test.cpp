// The bounded channel: order, limits, ends; no item is lost or duplicated.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::channel::bounded_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

task<send_status> sends(sender<int> to, int item) {
  const send_status how = co_await to.send(item);
  co_return how;
}
task<int> receives(receiver<int> from) {
  const std::optional<int> got = co_await from.recv();
  co_return got.value_or(-1);
}

/// Counts the living objects.
struct counted {
  explicit counted(int& alive) noexcept : alive_(&alive) { ++*alive_; }
  counted(counted&& other) noexcept : alive_(other.alive_) { ++*alive_; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --*alive_; }

 private:
  int* alive_;
};

TEST(bounded, gives_items_in_their_order_for_any_capacity) {
  for (std::uint64_t n = 1; n <= 9; ++n) {
    auto [tx, rx] = bounded<int>(n);
    int in = 0;
    int out = 0;
    for (int round = 0; round < 50; ++round) {
      while (tx.try_send(in) == send_status::sent) ++in;
      EXPECT_EQ(rx.size(), n);
      EXPECT_EQ(tx.try_send(in), send_status::full);
      for (std::uint64_t i = 0; i <= n / 2; ++i) EXPECT_EQ(rx.try_recv(), out++);
      EXPECT_EQ(tx.size(), n - n / 2 - 1);
    }
    while (out < in) EXPECT_EQ(rx.try_recv(), out++);
    EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
    EXPECT_EQ(rx.size(), 0U);
    EXPECT_EQ(tx.capacity(), n);
  }
}

TEST(bounded, refuses_capacities_that_it_cannot_have) {
  EXPECT_THROW(static_cast<void>(bounded<int>(0)), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(bounded<int>((std::uint64_t{1} << 31U) + 1)), std::invalid_argument);
  try {
    static_cast<void>(bounded<int>(0));
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "channel::bounded: capacity is 0: must be 1..2147483648");
  }
}

TEST(bounded, moves_an_item_only_if_it_is_sent) {
  auto [tx, rx] = bounded<std::unique_ptr<int>>(1);
  auto first = std::make_unique<int>(1);
  auto second = std::make_unique<int>(2);
  EXPECT_EQ(tx.try_send(std::move(first)), send_status::sent);
  EXPECT_EQ(tx.try_send(std::move(second)), send_status::full);
  EXPECT_EQ(*second, 2);
  tx.close();
  EXPECT_EQ(tx.try_send(std::move(second)), send_status::closed);
  EXPECT_EQ(*second, 2);
  EXPECT_EQ(**rx.try_recv(), 1);
}

TEST(bounded, items_may_need_more_alignment_than_memory_has) {
  struct alignas(256) wide {
    int value;
  };
  auto [tx, rx] = bounded<wide>(3);
  for (int i = 0; i < 7; ++i) {
    EXPECT_EQ(tx.try_send(wide{i}), send_status::sent);
    EXPECT_EQ(rx.try_recv()->value, i);
  }
  auto [small_tx, small_rx] = bounded<char>(3);
  EXPECT_EQ(small_tx.try_send('x'), send_status::sent);
  EXPECT_EQ(small_rx.try_recv(), 'x');
}

TEST(bounded, what_was_sent_before_the_close_is_received) {
  auto [tx, rx] = bounded<int>(4);
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  EXPECT_EQ(tx.try_send(2), send_status::sent);
  rx.close();
  tx.close();
  EXPECT_TRUE(tx.is_closed() && rx.is_closed());
  EXPECT_EQ(tx.try_send(3), send_status::closed);
  EXPECT_EQ(rx.try_recv(), 1);
  EXPECT_EQ(rx.blocking_recv(), 2);
  EXPECT_EQ(rx.try_recv().error(), recv_status::closed);
  EXPECT_EQ(rx.blocking_recv(), std::nullopt);
  EXPECT_EQ(rx.blocking_recv_for(1ms).error(), recv_status::closed);
  EXPECT_EQ(tx.blocking_send(3), send_status::closed);
}

TEST(bounded, closes_when_the_last_sender_is_destroyed) {
  auto made = bounded<int>(2);
  std::optional<sender<int>> one(std::move(made.sender));
  std::optional<sender<int>> two(*one);
  EXPECT_EQ(two->try_send(5), send_status::sent);
  one.reset();
  EXPECT_FALSE(made.receiver.is_closed());
  two.reset();
  EXPECT_TRUE(made.receiver.is_closed());
  EXPECT_EQ(made.receiver.try_recv(), 5);
  EXPECT_EQ(made.receiver.try_recv().error(), recv_status::closed);
}

TEST(bounded, halves_are_copied_and_assigned) {
  auto a = bounded<int>(1);
  auto b = bounded<int>(1);
  a.sender = b.sender;  // destroys the only sender of a
  EXPECT_TRUE(a.receiver.is_closed());
  a.receiver = b.receiver;
  EXPECT_EQ(a.sender.try_send(3), send_status::sent);
  EXPECT_EQ(a.receiver.try_recv(), 3);
  b.sender = std::move(a.sender);
  EXPECT_FALSE(b.receiver.is_closed());
}

TEST(bounded, items_are_destroyed_with_the_last_receiver) {
  int alive = 0;
  auto made = bounded<counted>(3);
  std::optional<receiver<counted>> rx(std::move(made.receiver));
  EXPECT_EQ(made.sender.try_send(counted(alive)), send_status::sent);
  EXPECT_EQ(made.sender.try_send(counted(alive)), send_status::sent);
  EXPECT_EQ(alive, 2);
  rx.reset();
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(made.sender.try_send(counted(alive)), send_status::closed);
  EXPECT_EQ(alive, 0);
}

TEST(bounded, tasks_wait_for_an_item_and_for_space) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(1);
  auto got = by.spawn(receives(rx));
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(got.join(), 1);
  auto first = by.spawn(sends(tx, 2));
  auto second = by.spawn(sends(tx, 3));
  by.run_until_idle();
  EXPECT_EQ(rx.try_recv(), 2);
  by.run_until_idle();
  EXPECT_EQ(rx.try_recv(), 3);
  EXPECT_EQ(first.join(), send_status::sent);
  EXPECT_EQ(second.join(), send_status::sent);
}

TEST(bounded, waiting_receivers_are_served_in_order) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(8);
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 5; ++i) all.push_back(by.spawn(receives(rx)));
  by.run_until_idle();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tx.try_send(i), send_status::sent);
  by.run_until_idle();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(all[static_cast<std::size_t>(i)].join(), i);
}

TEST(bounded, close_wakes_more_receivers_than_one_batch_holds) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(1);
  std::vector<join_handle<int>> all;
  for (int i = 0; i < 100; ++i) all.push_back(by.spawn(receives(rx)));
  by.run_until_idle();
  tx.close();
  by.run_until_idle();
  for (auto& each : all) EXPECT_EQ(each.join(), -1);
}

TEST(bounded, close_tells_senders_and_keeps_what_is_there) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(1);
  EXPECT_EQ(tx.try_send(0), send_status::sent);
  std::vector<join_handle<send_status>> all;
  for (int i = 0; i < 40; ++i) all.push_back(by.spawn(sends(tx, i)));
  by.run_until_idle();
  rx.close();
  by.run_until_idle();
  for (auto& each : all) EXPECT_EQ(each.join(), send_status::closed);
  EXPECT_EQ(rx.try_recv(), 0);
}

// Regression row 22: a receiver is called, and cancelled before it runs. The item goes to the next receiver.
TEST(bounded, item_granted_to_a_cancelled_receiver_goes_to_the_next) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(1);
  auto first = by.spawn(receives(rx));
  auto second = by.spawn(receives(rx));
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(7), send_status::sent);
  first.cancel();
  by.run_until_idle();
  EXPECT_EQ(second.join(), 7);
  EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
}

TEST(bounded, space_granted_to_a_cancelled_sender_goes_to_the_next) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(1);
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  auto first = by.spawn(sends(tx, 2));
  auto second = by.spawn(sends(tx, 3));
  by.run_until_idle();
  EXPECT_EQ(rx.try_recv(), 1);
  first.cancel();
  by.run_until_idle();
  EXPECT_EQ(second.join(), send_status::sent);
  EXPECT_EQ(rx.try_recv(), 3);
}

TEST(bounded, cancelled_wait_keeps_the_order_of_the_other_waiters) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(4);
  auto first = by.spawn(receives(rx));
  auto second = by.spawn(receives(rx));
  auto third = by.spawn(receives(rx));
  by.run_until_idle();
  first.cancel();
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  EXPECT_EQ(tx.try_send(2), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(second.join(), 1);
  EXPECT_EQ(third.join(), 2);
}

// The first receiver is called, but another call takes the item: it waits on, at the front of the line.
TEST(bounded, woken_receiver_waits_again_when_another_call_takes_the_item) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(2);
  auto first = by.spawn(receives(rx));
  auto second = by.spawn(receives(rx));
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  EXPECT_EQ(rx.try_recv(), 1);
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(2), send_status::sent);
  EXPECT_EQ(tx.try_send(3), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(first.join(), 2);
  EXPECT_EQ(second.join(), 3);
}

// Both receivers are called, because another one begins to wait between the sends. Other calls take both
// items. The two come back one after the other, and neither passes the other.
TEST(bounded, woken_receivers_that_find_no_item_keep_their_order) {
  for (const bool newest_first : {false, true}) {
    manual_scheduler by;
    by.lifo = newest_first;
    auto [tx, rx] = bounded<int>(2);
    auto first = by.spawn(receives(rx));
    by.run_until_idle();
    auto second = by.spawn(receives(rx));
    by.run_until_idle();
    EXPECT_EQ(tx.try_send(0), send_status::sent);
    EXPECT_EQ(rx.try_recv(), 0);
    EXPECT_EQ(rx.blocking_recv_for(0ms).error(),
              recv_status::timed_out);  // leaves the mark of a waiter
    EXPECT_EQ(tx.try_send(0), send_status::sent);
    EXPECT_EQ(rx.try_recv(), 0);
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

// The same for senders that wait for a free place.
TEST(bounded, woken_senders_that_find_no_space_keep_their_order) {
  for (const bool newest_first : {false, true}) {
    manual_scheduler by;
    by.lifo = newest_first;
    auto [tx, rx] = bounded<int>(1);
    EXPECT_EQ(tx.try_send(0), send_status::sent);
    auto first = by.spawn(sends(tx, 1));
    by.run_until_idle();
    auto second = by.spawn(sends(tx, 2));
    by.run_until_idle();
    EXPECT_EQ(rx.try_recv(), 0);
    EXPECT_EQ(tx.try_send(0), send_status::sent);
    EXPECT_EQ(tx.blocking_send_for(0ms, 7), send_status::timed_out);
    EXPECT_EQ(rx.try_recv(), 0);
    EXPECT_EQ(tx.try_send(0), send_status::sent);
    by.run_until_idle();
    EXPECT_EQ(rx.try_recv(), 0);
    by.run_until_idle();
    EXPECT_EQ(rx.try_recv(), 1);
    by.run_until_idle();
    EXPECT_EQ(rx.try_recv(), 2);
    EXPECT_EQ(first.join(), send_status::sent);
    EXPECT_EQ(second.join(), send_status::sent);
  }
}

/// The first move stops until the test sets `goes_on`.
struct slow_to_move {
  explicit slow_to_move(std::atomic<int>& at) noexcept : stop(&at) {}
  slow_to_move(slow_to_move&& other) noexcept : stop(std::exchange(other.stop, nullptr)) {
    if (stop == nullptr || stop->load() != armed) return;
    stop->store(moving);
    stop->notify_all();
    while (stop->load() == moving) std::this_thread::yield();
  }
  slow_to_move(const slow_to_move&) = delete;
  ~slow_to_move() = default;

  static constexpr int armed = 1;
  static constexpr int moving = 2;
  static constexpr int goes_on = 3;
  std::atomic<int>* stop;
};

/// Lets the move go on once `does` has had time to fail.
template <class F>
auto beside_a_move(std::atomic<int>& stop, F does) {
  std::jthread helper([&stop] {
    for (int i = 0; i < 200; ++i) std::this_thread::yield();
    stop = slow_to_move::goes_on;
  });
  return does();
}

TEST(bounded, slot_that_another_thread_is_emptying_counts_as_free) {
  for (const overflow on_full : {overflow::wait, overflow::reject, overflow::drop_newest}) {
    std::atomic<int> stop = 0;
    auto c = bounded<slow_to_move>(1, {.on_full = on_full});
    ASSERT_EQ(c.sender.try_send(slow_to_move(stop)), send_status::sent);
    stop = slow_to_move::armed;
    const std::jthread receiver([&c] { EXPECT_TRUE(c.receiver.try_recv().has_value()); });
    stop.wait(slow_to_move::armed);
    EXPECT_EQ(beside_a_move(stop, [&c, &stop] { return c.sender.try_send(slow_to_move(stop)); }),
              send_status::sent);
    EXPECT_EQ(c.sender.stats().refused + c.sender.stats().dropped_newest, 0U);
  }
}

template <class Channel>
void expect_an_item_beside_a_move(Channel c) {
  std::atomic<int> stop = slow_to_move::armed;
  const std::jthread sender(
      [&c, &stop] { EXPECT_EQ(c.sender.try_send(slow_to_move(stop)), send_status::sent); });
  stop.wait(slow_to_move::armed);
  // This item is queued behind the one that is being moved in.
  EXPECT_EQ(c.sender.try_send(slow_to_move(stop)), send_status::sent);
  EXPECT_TRUE(beside_a_move(stop, [&c] { return c.receiver.try_recv(); }).has_value());
  std::vector<slow_to_move> more;
  EXPECT_EQ(c.receiver.try_recv_many(more, 2).value_or(0), 1U);
  EXPECT_EQ(c.receiver.try_recv_many(more, 2), std::unexpected(recv_status::empty));
}

TEST(bounded, item_that_another_thread_is_inserting_counts_as_present) {
  expect_an_item_beside_a_move(bounded<slow_to_move>(2));
  expect_an_item_beside_a_move(unbounded<slow_to_move>());
}

TEST(bounded, close_reaches_all_waiting_receivers_after_the_last_item) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(2);
  auto first = by.spawn(receives(rx));
  auto second = by.spawn(receives(rx));
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  tx.close();
  EXPECT_EQ(rx.try_recv(), 1);
  by.run_until_idle();
  EXPECT_EQ(first.join(), -1);
  EXPECT_EQ(second.join(), -1);
}

TEST(bounded, timed_calls_report_a_timeout_a_close_or_the_item) {
  manual_scheduler by;
  auto [tx, rx] = bounded<int>(1);
  auto late = by.spawn(
      [](receiver<int> from) -> task<recv_status> {
        const auto got = co_await from.recv_for(5ms);
        co_return got.error();
      },
      rx);
  by.run_with_time();
  EXPECT_EQ(late.join(), recv_status::timed_out);
  auto in_time = by.spawn(
      [](receiver<int> from, manual_scheduler& on) -> task<int> {
        const auto got = co_await from.recv_until(on.time + 5ms);
        co_return *got;
      },
      rx,
      std::ref(by));
  by.run_until_idle();
  EXPECT_EQ(tx.try_send(4), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(in_time.join(), 4);
  EXPECT_EQ(tx.try_send(5), send_status::sent);
  auto no_room = by.spawn(
      [](sender<int> to, manual_scheduler& on) -> task<send_status> {
        const send_status first = co_await to.send_for(5ms, 6);
        const send_status second = co_await to.send_until(on.time + 5ms, 6);
        co_return first == second ? first : send_status::sent;
      },
      tx,
      std::ref(by));
  by.run_with_time();
  EXPECT_EQ(no_room.join(), send_status::timed_out);
  auto around = by.spawn(
      [](sender<int> to) -> task<send_status> {
        const send_status how = co_await timeout(5ms, to.send(7));
        co_return how;
      },
      tx);
  by.run_with_time();
  EXPECT_EQ(around.join(), send_status::timed_out);
  EXPECT_EQ(rx.try_recv(), 5);
  EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
}

TEST(bounded, a_send_that_waits_holds_its_item_and_gives_it_up_when_cancelled) {
  manual_scheduler by;
  int alive = 0;
  auto [tx, rx] = bounded<counted>(1);
  EXPECT_EQ(tx.try_send(counted(alive)), send_status::sent);
  auto waits =
      by.spawn([](sender<counted> to,
                  int& number) -> task<void> { static_cast<void>(co_await to.send(counted(number))); },
               tx,
               std::ref(alive));
  by.run_until_idle();
  EXPECT_GE(alive, 2);
  waits.cancel();
  by.run_until_idle();
  EXPECT_EQ(alive, 1);
}

// An awaited temporary destroys its item exactly once, in each form.
TEST(bounded, strings_arrive_whole) {
  manual_scheduler by;
  auto [tx, rx] = bounded<std::string>(1);
  auto sent = by.spawn(
      [](sender<std::string> to) -> task<int> {
        int count = 0;
        for (int i = 0; i < 20; ++i) {
          const send_status how = co_await to.send(std::string(40, static_cast<char>('a' + i)));
          count += how == send_status::sent ? 1 : 0;
        }
        co_return count;
      },
      std::move(tx));
  auto got = by.spawn(
      [](receiver<std::string> from) -> task<std::string> {
        std::string all;
        for (;;) {
          const auto item = co_await from.recv();
          if (!item) co_return all;
          all += item->back();
        }
      },
      std::move(rx));
  by.run_until_idle();
  EXPECT_EQ(sent.join(), 20);
  EXPECT_EQ(got.join(), "abcdefghijklmnopqrst");
}

// Scenario 32: each policy when the channel is full. The counts add up.
TEST(bounded, each_policy_says_what_becomes_of_the_item) {
  struct row {
    overflow policy;
    send_status third;
    channel_stats counts;
    std::array<int, 2> left;
  };
  const row rows[] = {
      {overflow::reject, send_status::full, {.refused = 2}, {1, 2}},
      {overflow::drop_oldest, send_status::sent, {.dropped_oldest = 2}, {3, 4}},
      {overflow::drop_newest, send_status::dropped, {.dropped_newest = 2}, {1, 2}},
  };
  for (const row& each : rows) {
    manual_scheduler by;
    auto [tx, rx] = bounded<int>(2, {.on_full = each.policy});
    EXPECT_EQ(tx.try_send(1), send_status::sent);
    EXPECT_EQ(tx.blocking_send(2), send_status::sent);
    EXPECT_EQ(tx.try_send(3), each.third);
    auto sent = by.spawn(sends(tx, 4));
    by.run_until_idle();
    EXPECT_EQ(sent.join(), each.third);
    const channel_stats got = rx.stats();
    EXPECT_EQ(got.refused, each.counts.refused);
    EXPECT_EQ(got.dropped_oldest, each.counts.dropped_oldest);
    EXPECT_EQ(got.dropped_newest, each.counts.dropped_newest);
    EXPECT_EQ(rx.try_recv(), each.left[0]);
    EXPECT_EQ(rx.try_recv(), each.left[1]);
    EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
    tx.close();
    EXPECT_EQ(tx.try_send(9), send_status::closed);
  }
}

TEST(bounded, threads_wait_with_and_without_a_limit) {
  auto [tx, rx] = bounded<int>(1);
  EXPECT_EQ(rx.blocking_recv_for(1ms).error(), recv_status::timed_out);
  EXPECT_EQ(rx.blocking_recv_until(std::chrono::steady_clock::now()).error(), recv_status::timed_out);
  EXPECT_EQ(tx.blocking_send(1), send_status::sent);
  EXPECT_EQ(tx.blocking_send_for(1ms, 2), send_status::timed_out);
  EXPECT_EQ(tx.blocking_send_until(std::chrono::steady_clock::now(), 2), send_status::timed_out);
  std::thread other([from = rx]() mutable { EXPECT_EQ(from.blocking_recv(), 1); });
  EXPECT_EQ(tx.blocking_send(3), send_status::sent);
  other.join();
  EXPECT_EQ(rx.blocking_recv_for(1h), 3);
}

// Regression row 6: two senders and two receivers share one place.
TEST(bounded, two_senders_and_two_receivers_lose_no_item_in_a_small_channel) {
  static constexpr int each = 20'000;
  for (const std::uint64_t n : {1U, 3U}) {
    auto made = bounded<int>(n);
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

TEST(bounded, tasks_of_a_runtime_and_a_thread_share_it) {
  static constexpr int each = 2'000;
  auto made = bounded<int>(4);
  long by_thread = 0;
  std::thread other([rx = made.receiver, &by_thread]() mutable {
    while (const auto got = rx.blocking_recv()) by_thread += *got;
  });
  const long by_tasks = run([&made]() -> task<long> {
    std::vector<join_handle<long>> all;
    for (int i = 0; i < 3; ++i) {
      spawn(
          [](sender<int> to) -> task<void> {
            for (int item = 1; item <= each; ++item) {
              const send_status how = co_await to.send(item);
              EXPECT_EQ(how, send_status::sent);
            }
          },
          made.sender)
          .detach();
      all.push_back(spawn(
          [](receiver<int> from) -> task<long> {
            long sum = 0;
            for (;;) {
              const auto got = co_await from.recv();
              if (!got) co_return sum;
              sum += *got;
            }
          },
          made.receiver));
    }
    {
      const auto gone = std::move(made.sender);
    }
    long sum = 0;
    for (auto& one : all) {
      const long part = co_await one;
      sum += part;
    }
    co_return sum;
  });
  other.join();
  EXPECT_EQ(by_tasks + by_thread, 3L * each * (each + 1) / 2);
}

// drop_oldest beside receivers: each item is either received or counted as dropped, never both.
TEST(bounded, received_and_dropped_items_add_up) {
  static constexpr std::uint64_t each = 20'000;
  auto made = bounded<std::uint64_t>(3, {.on_full = overflow::drop_oldest});
  std::atomic<std::uint64_t> received = 0;
  std::vector<std::thread> all;
  for (int side = 0; side < 2; ++side) {
    all.emplace_back([tx = made.sender]() mutable {
      for (std::uint64_t i = 0; i < each; ++i) static_cast<void>(tx.try_send(i));
    });
  }
  all.emplace_back([rx = made.receiver, &received]() mutable {
    while (rx.blocking_recv()) ++received;
  });
  {
    const auto gone = std::move(made.sender);
  }
  for (auto& thread : all) thread.join();
  const channel_stats counts = made.receiver.stats();
  EXPECT_EQ(received + counts.dropped_oldest + counts.dropped_newest, 2 * each);
}

}  // namespace
}  // namespace rota::channel::bounded_test
