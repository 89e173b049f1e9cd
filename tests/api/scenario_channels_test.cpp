// Channels that are closed, full, or used by tasks that are cancelled or move to other workers.
//
//  scenario 26  called, and cancelled     item_granted_to_a_cancelled_receiver_reaches_another_receiver,
//                                         a_cancelled_receive_of_any_channel_has_taken_nothing
//  scenario 27  gone on another worker    receivers_see_the_end_when_the_last_sender_is_dropped_on_a_worker;
//                                         used twice: compile/broadcast_receiver_copy_fails, oneshot: rvalues
//  scenario 32  full                      each_policy_counts_what_it_does_and_the_totals_add_up,
//                                         senders_that_wait_for_space_continue_in_fifo_order,
//                                         destructor_of_a_dropped_item_may_use_the_channel
//  row 6        two and two on one place  two_senders_and_two_receivers_make_progress_with_capacity_one
#include "api/scenario_support.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota::test {
namespace {

using channel::overflow;
using channel::recv_status;
using channel::send_status;

static_assert(!std::is_copy_constructible_v<channel::broadcast_receiver<int>>);
static_assert(!std::is_copy_constructible_v<channel::oneshot_sender<int>>);
static_assert(
    !std::is_invocable_v<decltype(&channel::oneshot_sender<int>::send), channel::oneshot_sender<int>&, int>);

/// Records how often it goes on, and what it gets.
template <class Receiver>
task<int> receives(Receiver& from, std::atomic<int>& waiting) {
  ++waiting;
  const auto got = co_await from.recv();
  co_return got.has_value() ? *got : -1;
}

template <class T>
outcome<T> outcome_of(join_handle<T>& of) {
  return *of.wait_for(std::chrono::hours::max());
}

// One of two waiters is cancelled while an item comes: the other one gets it, or it is still there.
TEST(scenario_channels, item_granted_to_a_cancelled_receiver_reaches_another_receiver) {
  runtime rt(with_workers(2));
  auto [tx, rx] = channel::bounded<int>(4);
  for (int round = 0; round < 2'000; ++round) {
    std::atomic<int> waiting = 0;
    auto first_rx = rx;
    auto second_rx = rx;
    auto first = rt.spawn(receives(first_rx, waiting));
    auto second = rt.spawn(receives(second_rx, waiting));
    wait_until([&waiting] { return waiting == 2; });
    EXPECT_EQ(tx.try_send(round), send_status::sent);
    first.cancel();
    const auto of_first = outcome_of(first);
    if (of_first.is_cancelled()) {
      EXPECT_EQ(second.join(), round);
    } else {
      EXPECT_EQ(of_first.value(), round);
      EXPECT_EQ(tx.try_send(-round), send_status::sent);
      EXPECT_EQ(second.join(), -round);
    }
    EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
  }
}

TEST(scenario_channels, a_cancelled_receive_of_any_channel_has_taken_nothing) {
  runtime rt(with_workers(2));
  for (int round = 0; round < 500; ++round) {
    auto one = channel::oneshot<int>();
    auto many = channel::unbounded<int>();
    auto all = channel::broadcast<int>(1);
    std::atomic<int> waiting = 0;
    auto of_one = rt.spawn(receives(one.receiver, waiting));
    auto of_many = rt.spawn(receives(many.receiver, waiting));
    auto of_all = rt.spawn(receives(all.receiver, waiting));
    wait_until([&waiting] { return waiting == 3; });
    EXPECT_EQ(std::move(one.sender).send(round), send_status::sent);
    EXPECT_EQ(many.sender.try_send(round), send_status::sent);
    EXPECT_EQ(all.sender.send(round), send_status::sent);
    of_one.cancel();
    of_many.cancel();
    of_all.cancel();
    // Each has ended before its channel is asked: until then both of them may take the item.
    const bool is_left_in_one = outcome_of(of_one).is_cancelled();
    EXPECT_EQ(is_left_in_one, one.receiver.try_recv() == round);
    const bool is_left_in_many = outcome_of(of_many).is_cancelled();
    EXPECT_EQ(is_left_in_many, many.receiver.try_recv() == round);
    const bool is_left_in_all = outcome_of(of_all).is_cancelled();
    EXPECT_EQ(is_left_in_all, all.receiver.try_recv() == round);
  }
}

// Each task ends with its half on any worker: the receivers see the end when the last half has gone.
TEST(scenario_channels, receivers_see_the_end_when_the_last_sender_is_dropped_on_a_worker) {
  runtime rt(with_workers(4));
  auto made = channel::bounded<int>(2);
  auto of = channel::watch<int>(0);
  const auto sends = [](channel::sender<int> to, channel::watch_sender<int> tells, int item) -> task<void> {
    co_await yield();
    const send_status how = co_await to.send(item);
    EXPECT_EQ(how, send_status::sent);
    EXPECT_EQ(tells.send(item), send_status::sent);
    co_await yield();
  };
  std::vector<join_handle<void>> all;
  for (int item = 1; item <= 40; ++item) all.push_back(rt.spawn(sends(made.sender, of.sender, item)));
  {
    const auto gone = std::move(made.sender);
    const auto gone_too = std::move(of.sender);
  }
  int sum = 0;
  while (const auto got = made.receiver.blocking_recv()) sum += *got;
  EXPECT_EQ(sum, 40 * 41 / 2);
  while (of.receiver.blocking_changed().has_value()) {
  }
  EXPECT_GT(of.receiver.get(), 0);
  for (auto& each : all) each.join();
}

struct offered {
  std::uint64_t sent = 0;
  std::uint64_t full = 0;
  std::uint64_t dropped = 0;
};

/// Twenty thousand by two tasks each way: sent, refused, dropped; received.
struct balance {
  explicit balance(overflow policy) : made(channel::bounded<std::uint64_t>(3, {.on_full = policy})) {}

  static task<offered> offers(channel::sender<std::uint64_t> to) {
    offered mine;
    for (std::uint64_t i = 0; i < 10'000; ++i) {
      const send_status how = co_await to.send(i);
      mine.sent += how == send_status::sent ? 1U : 0U;
      mine.full += how == send_status::full ? 1U : 0U;
      mine.dropped += how == send_status::dropped ? 1U : 0U;
    }
    co_return mine;
  }
  static task<std::uint64_t> takes(channel::receiver<std::uint64_t> from) {
    std::uint64_t count = 0;
    for (;;) {
      const auto got = co_await from.recv();
      if (!got.has_value()) co_return count;
      ++count;
    }
  }
  void run() {
    runtime rt(with_workers(2));
    std::vector<join_handle<offered>> in;
    std::vector<join_handle<std::uint64_t>> out;
    for (int i = 0; i < 2; ++i) in.push_back(rt.spawn(offers(made.sender)));
    for (int i = 0; i < 2; ++i) out.push_back(rt.spawn(takes(made.receiver)));
    {
      const auto gone = std::move(made.sender);
    }
    for (auto& each : in) {
      const offered part = each.join();
      total.sent += part.sent;
      total.full += part.full;
      total.dropped += part.dropped;
    }
    for (auto& each : out) received += each.join();
  }

  channel::pair_of<channel::sender<std::uint64_t>, channel::receiver<std::uint64_t>> made;
  offered total;
  std::uint64_t received = 0;
};

TEST(scenario_channels, each_policy_counts_what_it_does_and_the_totals_add_up) {
  for (const overflow policy :
       {overflow::wait, overflow::reject, overflow::drop_oldest, overflow::drop_newest}) {
    balance b(policy);
    b.run();
    const channel::channel_stats stats = b.made.receiver.stats();
    EXPECT_EQ(b.total.sent + b.total.full + b.total.dropped, 20'000U);
    EXPECT_EQ(b.total.full, stats.refused);
    EXPECT_EQ(b.total.dropped, stats.dropped_newest);
    EXPECT_EQ(b.total.sent, b.received + stats.dropped_oldest);
    if (policy != overflow::reject) {
      EXPECT_EQ(stats.refused, 0U);
    }
    if (policy != overflow::drop_oldest) {
      EXPECT_EQ(stats.dropped_oldest, 0U);
    }
    if (policy == overflow::wait) {
      EXPECT_EQ(b.received, 20'000U);
    }
  }
}

TEST(scenario_channels, senders_that_wait_for_space_continue_in_fifo_order) {
  runtime rt(with_workers(1));
  auto [tx, rx] = channel::bounded<int>(1);
  EXPECT_EQ(tx.try_send(0), send_status::sent);
  EXPECT_EQ(tx.try_send(9), send_status::full);
  EXPECT_EQ(tx.stats().refused, 1U);
  // On one worker each task goes from its note to its wait before another one begins.
  std::vector<int> order;
  std::atomic<int> noted = 0;
  const auto sends =
      [](channel::sender<int> to, int item, std::vector<int>& notes, std::atomic<int>& count) -> task<void> {
    notes.push_back(item);
    ++count;
    const send_status how = co_await to.send(item);
    EXPECT_EQ(how, send_status::sent);
  };
  std::vector<join_handle<void>> all;
  for (int item = 1; item <= 20; ++item) all.push_back(rt.spawn(sends(tx, item, order, noted)));
  wait_until([&noted] { return noted == 20; });
  rt.spawn([]() -> task<void> { co_return; }).join();  // behind them all
  EXPECT_EQ(rx.blocking_recv(), 0);
  for (const int item : order) EXPECT_EQ(rx.blocking_recv(), item);
  for (auto& each : all) each.join();
}

/// Receives, sends and counts in its destructor: under a lock of the channel it would deadlock.
struct busy {
  explicit busy(std::function<void()> last) : at_the_end(std::move(last)) {}
  busy(busy&& other) noexcept : at_the_end(std::exchange(other.at_the_end, nullptr)) {}
  busy(const busy&) = delete;
  busy& operator=(const busy&) = delete;
  ~busy() {
    if (at_the_end) at_the_end();
  }
  std::function<void()> at_the_end;
};

TEST(scenario_channels, destructor_of_a_dropped_item_may_use_the_channel) {
  auto made = channel::bounded<busy>(2, {.on_full = overflow::drop_oldest});
  int ended = 0;
  const auto uses_it = [&made, &ended] {
    ++ended;
    EXPECT_EQ(made.sender.stats().refused, 0U);
    EXPECT_LE(made.receiver.size(), 2U);
    EXPECT_FALSE(made.receiver.is_closed());
  };
  EXPECT_EQ(made.sender.try_send(busy(uses_it)), send_status::sent);
  EXPECT_EQ(made.sender.try_send(busy([] {})), send_status::sent);
  EXPECT_EQ(made.sender.try_send(busy([] {})), send_status::sent);
  EXPECT_EQ(ended, 1);
  EXPECT_EQ(made.sender.stats().dropped_oldest, 1U);
  // One that takes the next item out while it is dropped.
  auto again = channel::bounded<busy>(2, {.on_full = overflow::drop_oldest});
  const auto takes = [&again, &ended] {
    ++ended;
    EXPECT_TRUE(again.receiver.try_recv().has_value());
  };
  EXPECT_EQ(again.sender.try_send(busy(takes)), send_status::sent);
  EXPECT_EQ(again.sender.try_send(busy([] {})), send_status::sent);
  EXPECT_EQ(again.sender.try_send(busy([] {})), send_status::sent);
  EXPECT_EQ(ended, 2);
  EXPECT_EQ(again.receiver.size(), 1U);
  // One that sends while it is dropped, by a try and by a wait: each drops what was sent just before.
  auto full = channel::bounded<busy>(1, {.on_full = overflow::drop_oldest});
  const auto sends = [&full, &ended] {
    ++ended;
    EXPECT_EQ(full.sender.try_send(busy([] {})), send_status::sent);
    EXPECT_EQ(full.sender.blocking_send(busy([] {})), send_status::sent);
  };
  EXPECT_EQ(full.sender.try_send(busy(sends)), send_status::sent);
  EXPECT_EQ(full.sender.try_send(busy([] {})), send_status::sent);
  EXPECT_EQ(ended, 3);
  EXPECT_EQ(full.sender.stats().dropped_oldest, 3U);
  EXPECT_EQ(full.sender.stats().dropped_newest, 0U);
  EXPECT_EQ(full.receiver.size(), 1U);
}

// Regression row 6: no stall, and exact sums.
TEST(scenario_channels, two_senders_and_two_receivers_make_progress_with_capacity_one) {
  static constexpr std::uint64_t each = sanitized ? 50'000 : 500'000;
  runtime rt(with_workers(2));
  auto made = channel::bounded<std::uint64_t>(1);
  const auto sends = [](channel::sender<std::uint64_t> to) -> task<void> {
    for (std::uint64_t i = 1; i <= each; ++i) {
      const send_status how = co_await to.send(i);
      if (how != send_status::sent) co_return;
    }
  };
  const auto sums = [](channel::receiver<std::uint64_t> from) -> task<std::uint64_t> {
    std::uint64_t sum = 0;
    for (;;) {
      const auto got = co_await from.recv();
      if (!got.has_value()) co_return sum;
      sum += *got;
    }
  };
  std::vector<join_handle<void>> in;
  std::vector<join_handle<std::uint64_t>> out;
  for (int i = 0; i < 2; ++i) {
    in.push_back(rt.spawn(sends(made.sender)));
    out.push_back(rt.spawn(sums(made.receiver)));
  }
  {
    const auto gone = std::move(made.sender);
  }
  std::uint64_t sum = 0;
  for (auto& one : out) sum += one.join();
  EXPECT_EQ(sum, each * (each + 1));
  for (auto& one : in) one.join();
}

}  // namespace
}  // namespace rota::test
