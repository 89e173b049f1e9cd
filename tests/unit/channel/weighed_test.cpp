// The channel that is bounded by weight: when an item fits, in which order, and when its weight is released.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/select.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::channel::weighed_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

constexpr auto as_it_says = [](const std::uint64_t& item) noexcept { return item; };
using number = std::uint64_t;
using tx_of = weighed_sender<number>;
using rx_of = weighed_receiver<number>;

auto of_weight(std::uint64_t capacity, std::uint64_t max_weight) {
  return bounded_by_weight<number>(capacity, max_weight, as_it_says);
}

task<send_status> sends(tx_of to, number item) {
  const send_status how = co_await to.send(item);
  co_return how;
}
task<number> receives(rx_of from) {
  const auto got = co_await from.recv();
  co_return got.value_or(999);
}

TEST(weighed, is_full_by_weight_and_by_number) {
  auto [tx, rx] = of_weight(3, 10);
  EXPECT_EQ(tx.capacity(), 3U);
  EXPECT_EQ(tx.max_weight(), 10U);
  EXPECT_EQ(tx.try_send(6), send_status::sent);
  EXPECT_EQ(tx.try_send(5), send_status::full);
  EXPECT_EQ(tx.try_send(4), send_status::sent);
  EXPECT_EQ(rx.weight(), 10U);
  EXPECT_EQ(tx.try_send(1), send_status::full);
  EXPECT_EQ(tx.try_send(0), send_status::sent) << "it weighs nothing";
  EXPECT_EQ(tx.try_send(0), send_status::full) << "three are there";
  EXPECT_EQ(rx.size(), 3U);
  EXPECT_EQ(tx.stats().refused, 3U);
  EXPECT_EQ(rx.try_recv(), 6U);
  EXPECT_EQ(tx.weight(), 4U);
  EXPECT_EQ(tx.try_send(6), send_status::sent);
  for (const number each : {4U, 0U, 6U}) EXPECT_EQ(rx.try_recv(), each);
  EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
  EXPECT_EQ(rx.weight(), 0U);
  EXPECT_EQ(rx.size(), 0U);
}

TEST(weighed, refuses_bounds_that_it_cannot_have) {
  bool was_moved = false;
  struct function {
    explicit function(bool& moved) noexcept : moved_(&moved) {}
    function(function&& other) noexcept : moved_(other.moved_) { *moved_ = true; }
    std::uint64_t operator()(const number& item) const noexcept { return item; }
    bool* moved_;
  };
  const auto words = [&was_moved](std::uint64_t capacity, std::uint64_t max_weight) -> std::string {
    try {
      static_cast<void>(bounded_by_weight<number>(capacity, max_weight, function(was_moved)));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "made";
  };
  EXPECT_EQ(words(0, 1), "channel::bounded_by_weight: capacity is 0: must be 1..2147483648");
  EXPECT_EQ(words((std::uint64_t{1} << 31U) + 1, 1),
            "channel::bounded_by_weight: capacity is 2147483649: must be 1..2147483648");
  EXPECT_EQ(words(1, 0), "channel::bounded_by_weight: max_weight is 0: must be 1..18446744073709551615");
  EXPECT_FALSE(was_moved) << "nothing has changed before";
  EXPECT_EQ(words(1, ~std::uint64_t{0}), "made");
}

TEST(weighed, an_item_that_is_too_heavy_goes_in_alone) {
  auto [tx, rx] = of_weight(4, 10);
  EXPECT_EQ(tx.try_send(11), send_status::sent) << "nothing else is there";
  EXPECT_EQ(tx.weight(), 11U);
  EXPECT_EQ(tx.try_send(0), send_status::full) << "it is alone, whatever the others weigh";
  EXPECT_EQ(rx.try_recv(), 11U);
  EXPECT_EQ(tx.try_send(0), send_status::sent);
  EXPECT_EQ(tx.try_send(11), send_status::full) << "it would not be alone";
  EXPECT_EQ(rx.try_recv(), 0U);
  EXPECT_EQ(tx.try_send(~number{0}), send_status::sent);
  EXPECT_EQ(tx.try_send(1), send_status::full);
  EXPECT_EQ(rx.try_recv(), ~number{0});
  EXPECT_EQ(tx.weight(), 0U);
}

// A light item goes behind a waiting heavy one. Otherwise light items could starve it.
TEST(weighed, a_light_item_does_not_overtake_a_heavy_one_that_waits) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(8, 10);
  EXPECT_EQ(tx.try_send(6), send_status::sent);
  EXPECT_EQ(tx.try_send(2), send_status::sent);
  auto heavy = by.spawn(sends(tx, 9));
  auto light = by.spawn(sends(tx, 1));
  by.run_until_idle();
  EXPECT_EQ(tx.waiting_senders(), 2U);
  EXPECT_EQ(tx.try_send(1), send_status::full) << "there is room for it, behind the others";
  EXPECT_EQ(tx.blocking_send_for(0ns, 0), send_status::timed_out);
  EXPECT_EQ(rx.try_recv(), 6U);
  by.run_until_idle();
  EXPECT_FALSE(heavy.is_done() || light.is_done());
  EXPECT_EQ(rx.try_recv(), 2U);
  by.run_until_idle();
  EXPECT_EQ(heavy.join(), send_status::sent);
  EXPECT_EQ(light.join(), send_status::sent);
  EXPECT_EQ(rx.weight(), 10U);
  EXPECT_EQ(rx.try_recv(), 9U);
  EXPECT_EQ(rx.try_recv(), 1U);
}

// One received item frees weight for more senders than one critical section wakes.
TEST(weighed, the_weight_of_one_item_lets_many_in) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(100, 40);
  EXPECT_EQ(tx.try_send(40), send_status::sent);
  std::vector<join_handle<send_status>> all;
  for (int i = 0; i < 41; ++i) all.push_back(by.spawn(sends(tx, 1)));
  by.run_until_idle();
  EXPECT_EQ(rx.try_recv(), 40U);
  EXPECT_EQ(tx.try_send(1), send_status::full) << "the room is kept for those that have waited";
  by.run_until_idle();
  EXPECT_EQ(tx.weight(), 40U);
  EXPECT_EQ(tx.waiting_senders(), 1U);
  for (int i = 0; i < 41; ++i) {
    EXPECT_EQ(rx.try_recv(), 1U);
    by.run_until_idle();
  }
  for (auto& each : all) EXPECT_EQ(each.join(), send_status::sent);
}

// The first sender in line is too heavy, and gives up: the senders behind it are re-checked.
TEST(weighed, a_cancelled_heavy_sender_lets_the_light_ones_in) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(8, 10);
  EXPECT_EQ(tx.try_send(6), send_status::sent);
  auto heavy = by.spawn(sends(tx, 9));
  auto light = by.spawn(sends(tx, 3));
  auto lighter = by.spawn(sends(tx, 2));
  by.run_until_idle();
  heavy.cancel();
  by.run_until_idle();
  EXPECT_EQ(light.join(), send_status::sent);
  EXPECT_FALSE(lighter.is_done());
  EXPECT_EQ(tx.weight(), 9U);
  EXPECT_EQ(rx.try_recv(), 6U);
  by.run_until_idle();
  EXPECT_EQ(lighter.join(), send_status::sent);
  EXPECT_EQ(tx.weight(), 5U);
}

// A sender is granted weight and cancelled before it runs. The weight goes to the next sender; none leaks.
TEST(weighed, weight_granted_to_a_cancelled_sender_goes_to_the_next) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(8, 10);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
  auto first = by.spawn(sends(tx, 10));
  auto second = by.spawn(sends(tx, 4));
  by.run_until_idle();
  EXPECT_EQ(rx.try_recv(), 10U);
  EXPECT_EQ(tx.weight(), 0U) << "room that is kept is not held by an item";
  first.cancel();
  by.run_until_idle();
  EXPECT_EQ(second.join(), send_status::sent);
  EXPECT_EQ(tx.weight(), 4U);
  EXPECT_EQ(rx.try_recv(), 4U);
  EXPECT_EQ(tx.try_send(10), send_status::sent) << "all of it is there again";
}

// Weight is granted in the order of the line. Items arrive in the order in which the senders go on.
TEST(weighed, granted_weight_does_not_reserve_a_position_in_the_queue) {
  manual_scheduler slow;
  manual_scheduler fast;
  auto [tx, rx] = of_weight(8, 10);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
  auto first = slow.spawn(sends(tx, 7));
  slow.run_until_idle();
  auto second = fast.spawn(sends(tx, 2));
  fast.run_until_idle();
  EXPECT_EQ(rx.try_recv(), 10U);
  EXPECT_EQ(tx.try_send(2), send_status::full) << "the room for both of them is kept";
  fast.run_until_idle();
  EXPECT_EQ(second.join(), send_status::sent);
  EXPECT_EQ(tx.try_send(1), send_status::sent) << "it fits beside the room that is kept";
  slow.run_until_idle();
  EXPECT_EQ(first.join(), send_status::sent);
  for (const number each : {2U, 1U, 7U}) EXPECT_EQ(rx.try_recv(), each);
}

// The send is granted weight, but another case wins: the weight goes to the next sender; the item stays here.
TEST(weighed, send_that_loses_a_select_releases_its_weight) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(8, 10);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
  sync::event stop;
  auto loses = by.spawn(
      [](tx_of to, sync::event& end) -> task<number> {
        auto sending = to.send(10);
        auto first = co_await select_in_order(end.wait(), sending);
        EXPECT_EQ(first.index(), 0U);
        co_return std::move(sending).item();
      },
      tx,
      std::ref(stop));
  auto behind = by.spawn(sends(tx, 4));
  by.run_until_idle();
  EXPECT_EQ(tx.waiting_senders(), 2U);
  EXPECT_EQ(rx.try_recv(), 10U);
  EXPECT_EQ(tx.waiting_senders(), 1U) << "the first was called";
  stop.set();
  by.run_until_idle();
  EXPECT_EQ(loses.join(), 10U);
  EXPECT_EQ(behind.join(), send_status::sent);
  EXPECT_EQ(rx.try_recv(), 4U);
  EXPECT_EQ(tx.try_send(10), send_status::sent) << "all of it is there again";
}

TEST(weighed, a_try_select_sends_if_there_is_room_and_leaves_nothing_behind_if_not) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(8, 10);
  EXPECT_EQ(try_select(tx.send(6), rx.recv()).value().index(), 0U);
  EXPECT_FALSE(try_select(tx.send(5)).has_value());
  EXPECT_EQ(tx.waiting_senders(), 0U);
  EXPECT_EQ(tx.try_send(4), send_status::sent) << "no sender waits";
  EXPECT_EQ(tx.stats().refused, 0U);
  auto waits = by.spawn(sends(tx, 7));
  by.run_until_idle();
  EXPECT_FALSE(try_select(tx.send(0)).has_value()) << "a sender waits";
  EXPECT_EQ(tx.waiting_senders(), 1U);
  EXPECT_EQ(try_select(tx.send(0), rx.recv()).value().index(), 1U);
  by.run_until_idle();
  EXPECT_FALSE(waits.is_done());
  EXPECT_EQ(rx.try_recv(), 4U);
  by.run_until_idle();
  EXPECT_EQ(waits.join(), send_status::sent);
}

TEST(weighed, a_cancelled_or_late_send_keeps_its_item) {
  using halves = pair_of<weighed_sender<std::unique_ptr<int>>, weighed_receiver<std::unique_ptr<int>>>;
  manual_scheduler by;
  auto made = bounded_by_weight<std::unique_ptr<int>>(
      4, 1, [](const std::unique_ptr<int>& /*item*/) noexcept { return 1U; });
  EXPECT_EQ(made.sender.try_send(std::make_unique<int>(0)), send_status::sent);
  sync::event stop;
  auto kept = by.spawn(
      [](halves& of, sync::event& end) -> task<std::unique_ptr<int>> {
        auto sending = of.sender.send(std::make_unique<int>(1));
        auto first = co_await select(sending, end.wait());
        EXPECT_EQ(first.index(), 1U);
        co_return std::move(sending).item();
      },
      std::ref(made),
      std::ref(stop));
  by.run_until_idle();
  stop.set();
  by.run_until_idle();
  EXPECT_EQ(*kept.join(), 1);
  auto late = std::make_unique<int>(2);
  EXPECT_EQ(made.sender.blocking_send_for(1ms, std::move(late)), send_status::timed_out);
  EXPECT_EQ(made.sender.blocking_send_until(std::chrono::steady_clock::now(), std::move(late)),
            send_status::timed_out);
  EXPECT_EQ(made.sender.try_send(std::move(late)), send_status::full);
  EXPECT_EQ(*late, 2);  // NOLINT(bugprone-use-after-move): it was not sent
  EXPECT_EQ(**made.receiver.try_recv(), 0);
  EXPECT_EQ(made.sender.try_send(std::move(late)), send_status::sent);
}

TEST(weighed, send_that_times_out_or_is_cancelled_leaves_no_trace) {
  auto [tx, rx] = of_weight(4, 10);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
  rota::run(
      [&]() -> task<> {
        const send_status late = co_await tx.send_for(1ms, 5);
        EXPECT_EQ(late, send_status::timed_out);
        const auto around = co_await timeout(1ms, tx.send(5));
        EXPECT_EQ(around, send_status::timed_out);
        const send_status by_time = co_await tx.send_until(std::chrono::steady_clock::now() + 1ms, 5);
        EXPECT_EQ(by_time, send_status::timed_out);
        const auto by_deadline = co_await with_deadline(std::chrono::steady_clock::now() + 1ms, tx.send(5));
        EXPECT_EQ(by_deadline, send_status::timed_out);
        co_await with_scope([&tx](scope& inside) -> task<> {
          auto waits = inside.spawn(sends(tx, 5));
          co_await sleep_for(1ms);
          inside.cancel();
          static_cast<void>(co_await waits.result());
        });
        // A shield holds off the cancellation, so the send waits until its limit.
        auto shielded = spawn(
            [](tx_of to) -> task<send_status> {
              const auto guard = shield(1h);
              const send_status how = co_await to.send_for(20ms, 5);
              co_return how;
            },
            tx);
        co_await sleep_for(1ms);
        shielded.cancel();
        static_cast<void>(co_await shielded.result());
      },
      {.workers = 2});
  EXPECT_EQ(tx.waiting_senders(), 0U);
  EXPECT_EQ(tx.weight(), 10U);
  EXPECT_EQ(rx.try_recv(), 10U);
  EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
}

TEST(weighed, a_shutdown_ends_a_send_that_waits) {
  auto [tx, rx] = of_weight(4, 10);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
  {
    runtime by({.workers = 1});
    by.spawn(sends(tx, 5)).detach();
    while (tx.waiting_senders() == 0) std::this_thread::yield();
    EXPECT_EQ(by.shutdown(0ns).cancelled, 1U);
  }
  EXPECT_EQ(tx.weight(), 10U);
  EXPECT_EQ(rx.try_recv(), 10U);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
}

TEST(weighed, close_tells_senders_and_keeps_what_is_there) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(30, 10);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
  std::vector<join_handle<send_status>> all;
  for (number i = 1; i <= 30; ++i) all.push_back(by.spawn(sends(tx, i)));
  by.run_until_idle();
  rx.close();
  by.run_until_idle();
  for (auto& each : all) EXPECT_EQ(each.join(), send_status::closed);
  EXPECT_EQ(rx.weight(), 10U);
  EXPECT_EQ(rx.try_recv(), 10U);
  EXPECT_EQ(rx.try_recv().error(), recv_status::closed);
  EXPECT_EQ(tx.try_send(1), send_status::closed);
}

// The sender was granted weight before the close, and runs after it: a closed channel takes no item.
TEST(weighed, sender_with_granted_weight_returns_closed_after_a_close) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(4, 10);
  EXPECT_EQ(tx.try_send(10), send_status::sent);
  auto first = by.spawn(sends(tx, 5));
  by.run_until_idle();
  EXPECT_EQ(rx.try_recv(), 10U);
  tx.close();
  EXPECT_EQ(rx.try_recv().error(), recv_status::closed) << "and this stays true";
  by.run_until_idle();
  EXPECT_EQ(first.join(), send_status::closed);
  EXPECT_EQ(rx.try_recv().error(), recv_status::closed);
  EXPECT_EQ(rx.size(), 0U);
}

// The close and the cancellation have the same cause: the task is cancelled before it can see the close.
TEST(weighed, sender_with_granted_weight_is_cancelled_beside_a_close) {
  for (const bool close_first : {true, false}) {
    manual_scheduler by;
    auto [tx, rx] = of_weight(4, 10);
    EXPECT_EQ(tx.try_send(10), send_status::sent);
    auto first = by.spawn(sends(tx, 5));
    by.run_until_idle();
    EXPECT_EQ(rx.try_recv(), 10U);
    if (close_first) tx.close();
    first.cancel();
    tx.close();
    by.run_until_idle();
    EXPECT_TRUE(first.wait_for(0ns).value().is_cancelled());
    EXPECT_EQ(rx.size() + rx.weight(), 0U);
  }
}

TEST(weighed, close_tells_receivers) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(4, 10);
  std::vector<join_handle<number>> all;
  for (int i = 0; i < 30; ++i) all.push_back(by.spawn(receives(rx)));
  by.run_until_idle();
  EXPECT_EQ(rx.waiting_receivers(), 30U);
  EXPECT_EQ(tx.try_send(3), send_status::sent);
  tx.close();
  by.run_until_idle();
  EXPECT_EQ(all[0].join(), 3U);
  for (std::size_t i = 1; i < all.size(); ++i) EXPECT_EQ(all[i].join(), 999U);
}

TEST(weighed, receivers_that_wait_are_served_in_order) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(8, 100);
  std::vector<join_handle<number>> all;
  for (int i = 0; i < 5; ++i) all.push_back(by.spawn(receives(rx)));
  by.run_until_idle();
  all[1].cancel();
  by.run_until_idle();
  for (number i = 0; i < 4; ++i) EXPECT_EQ(tx.try_send(i), send_status::sent);
  all[0].cancel();  // it was called already: the call goes to the next one
  by.run_until_idle();
  EXPECT_EQ(all[2].join(), 0U);
  EXPECT_EQ(all[3].join(), 1U);
  EXPECT_EQ(all[4].join(), 2U);
  EXPECT_EQ(rx.try_recv(), 3U);
}

TEST(weighed, a_batch_gives_back_the_weight_of_each_item) {
  manual_scheduler by;
  auto [tx, rx] = of_weight(8, 4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(tx.try_send(1), send_status::sent);
  auto heavy = by.spawn(sends(tx, 3));
  by.run_until_idle();
  std::vector<number> out;
  EXPECT_EQ(rx.try_recv_many(out, 3), 3U);
  by.run_until_idle();
  EXPECT_EQ(heavy.join(), send_status::sent);
  EXPECT_EQ(rx.blocking_recv_many(out, 9), 2U);
  EXPECT_EQ(out, (std::vector<number>{1, 1, 1, 1, 3}));
}

/// Counts the living objects, and how often an item is weighed.
struct counted {
  explicit counted(int& alive, int* weighed = nullptr) noexcept : alive_(&alive), weighed_(weighed) {
    ++*alive_;
  }
  counted(counted&& other) noexcept : alive_(other.alive_), weighed_(other.weighed_) { ++*alive_; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --*alive_; }

  int* alive_;
  int* weighed_;
};

TEST(weighed, items_and_the_weight_function_are_destroyed_with_the_channel) {
  int alive = 0;
  int functions = 0;
  {
    struct function : counted {
      explicit function(int& count) noexcept : counted(count) {}
      std::uint64_t operator()(const counted& /*item*/) const noexcept { return 3; }
    };
    auto made = bounded_by_weight<counted>(100, 300, function(functions));
    EXPECT_EQ(functions, 1);
    std::optional<weighed_receiver<counted>> rx(std::move(made.receiver));
    for (int i = 0; i < 50; ++i) EXPECT_EQ(made.sender.try_send(counted(alive)), send_status::sent);
    EXPECT_EQ(alive, 50);
    EXPECT_EQ(made.sender.weight(), 150U);
    rx.reset();
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(made.sender.weight(), 0U) << "the weight has gone with them";
    EXPECT_TRUE(made.sender.is_closed());
    EXPECT_EQ(made.sender.try_send(counted(alive)), send_status::closed);
    EXPECT_EQ(functions, 1);
  }
  EXPECT_EQ(alive, 0);
  EXPECT_EQ(functions, 0);
}

TEST(weighed, an_item_is_weighed_once_for_each_send) {
  manual_scheduler by;
  int alive = 0;
  int weighed = 0;
  auto made = bounded_by_weight<counted>(1, 2, [](const counted& item) noexcept {
    ++*item.weighed_;
    return 1U;
  });
  EXPECT_EQ(made.sender.try_send(counted(alive, &weighed)), send_status::sent);
  EXPECT_EQ(weighed, 1);
  auto waits = by.spawn(
      [](weighed_sender<counted> to, int& count, int& times) -> task<send_status> {
        const send_status how = co_await to.send(counted(count, &times));
        co_return how;
      },
      made.sender,
      std::ref(alive),
      std::ref(weighed));
  by.run_until_idle();
  EXPECT_TRUE(made.receiver.try_recv().has_value());
  by.run_until_idle();
  EXPECT_EQ(waits.join(), send_status::sent);
  EXPECT_EQ(weighed, 2);
  EXPECT_EQ(made.sender.blocking_send_for(0ns, counted(alive, &weighed)), send_status::timed_out);
  EXPECT_EQ(weighed, 3);
}

TEST(weighed, items_may_need_more_alignment_than_memory_has) {
  struct alignas(256) wide {
    explicit wide(std::uint64_t v) noexcept : value(v) {}
    wide(wide&& other) noexcept : value(other.value) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(this) % 256, 0U);
    }
    std::uint64_t value;
  };
  auto [tx, rx] = bounded_by_weight<wide>(100, 10'000, [](const wide& item) noexcept { return item.value; });
  for (number i = 0; i < 100; ++i) EXPECT_EQ(tx.try_send(wide{i}), send_status::sent);
  for (number i = 0; i < 100; ++i) {
    const auto got = rx.try_recv();
    EXPECT_EQ(got->value, i);
  }
}

TEST(weighed, grows_up_to_its_capacity) {
  for (const std::uint64_t capacity : {1U, 31U, 32U, 33U, 64U, 100U, 500U}) {
    auto [tx, rx] = of_weight(capacity, 1'000'000);
    number in = 0;
    number out = 0;
    for (int round = 0; round < 5; ++round) {
      while (tx.try_send(in) == send_status::sent) ++in;
      EXPECT_EQ(rx.size(), capacity);
      for (std::uint64_t i = 0; i <= capacity / 2; ++i) EXPECT_EQ(rx.try_recv(), out++);
    }
    while (out < in) EXPECT_EQ(rx.try_recv(), out++);
    EXPECT_EQ(rx.weight(), 0U);
  }
}

// Threads and tasks on both sides: no item is lost or duplicated, and all weight is released at the end.
TEST(weighed, nothing_is_lost_between_threads_and_tasks) {
  auto [tx, rx] = of_weight(16, 20);
  constexpr int senders = 4;
  constexpr number each = 3'000;
  std::atomic<std::uint64_t> sum{0};
  std::atomic<std::uint64_t> count{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([to = tx]() mutable {
      for (number n = 0; n < each; ++n) EXPECT_EQ(to.blocking_send(n % 25), send_status::sent);
    });
  threads.emplace_back([from = rx, &sum, &count]() mutable {
    while (const auto got = from.blocking_recv()) {
      sum += *got;
      ++count;
    }
  });
  rota::run(
      [&]() -> task<> {
        co_await with_scope([&](scope& inside) -> task<> {
          for (int i = 0; i < 2; ++i)
            inside.spawn(
                [](tx_of to) -> task<> {
                  for (number n = 0; n < each; ++n) static_cast<void>(co_await to.send(n % 25));
                },
                tx);
          inside.spawn(
              [](rx_of from, std::atomic<std::uint64_t>& s, std::atomic<std::uint64_t>& c) -> task<> {
                for (;;) {
                  const auto got = co_await from.recv();
                  if (!got.has_value()) co_return;
                  s += *got;
                  ++c;
                }
              },
              rx,
              std::ref(sum),
              std::ref(count));
          const auto gone = std::move(tx);
          co_return;
        });
      },
      {.workers = 2});
  for (auto& one : threads) one.join();
  EXPECT_EQ(count, senders * each);
  EXPECT_EQ(sum, senders * (each / 25) * (24 * 25 / 2));
  EXPECT_EQ(rx.weight(), 0U);
  EXPECT_EQ(rx.size(), 0U);
}

}  // namespace
}  // namespace rota::channel::weighed_test
