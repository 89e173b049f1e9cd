// select: one case wins and delivers its value; the others consume nothing.
#include "support/manual_scheduler.hpp"
#include "unit/channel/select_scene.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace rota::channel::select_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

TEST(select, takes_what_is_there_and_nothing_else) {
  manual_scheduler by;
  two of;
  EXPECT_EQ(of.b.sender.try_send(5), send_status::sent);
  auto got = by.spawn(one_of(of));
  by.run_until_idle();
  EXPECT_EQ(got.join(), 105);
  EXPECT_EQ(of.b.receiver.size(), 0U);
  // Both are ready: one item stays in its channel.
  EXPECT_EQ(of.a.sender.try_send(1), send_status::sent);
  EXPECT_EQ(of.b.sender.try_send(2), send_status::sent);
  auto either = by.spawn(one_of(of));
  by.run_until_idle();
  EXPECT_EQ(of.a.receiver.size() + of.b.receiver.size(), 1U);
  EXPECT_EQ(either.join(), of.a.receiver.size() == 0 ? 1 : 102);
}

TEST(select, waits_for_whichever_comes_first) {
  manual_scheduler by;
  two of;
  for (int round = 0; round < 4; ++round) {
    auto got = by.spawn(one_of(of));
    by.run_until_idle();
    EXPECT_FALSE(got.is_done());
    auto& to = round % 2 == 0 ? of.a.sender : of.b.sender;
    EXPECT_EQ(to.try_send(round), send_status::sent);
    by.run_until_idle();
    EXPECT_EQ(got.join(), round % 2 == 0 ? round : 100 + round);
  }
  // No waiter is left in the line: an item stays until it is received.
  EXPECT_EQ(of.a.sender.try_send(7), send_status::sent);
  EXPECT_EQ(by.run_until_idle(), 0);
  EXPECT_EQ(of.a.receiver.try_recv(), 7);
}

// Both channels call the task before it runs. One case wins; the item of the other goes to the next waiter.
TEST(select, item_granted_to_a_losing_case_goes_to_the_next) {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    manual_scheduler by;
    two of;
    for (std::uint64_t i = 0; i < seed; ++i) static_cast<void>(core::draw_of_thread());
    auto got = by.spawn(one_of(of));
    by.run_until_idle();
    const auto behind = [](receiver<int> from) -> task<int> {
      const auto item = co_await from.recv();
      co_return item.value_or(-1);
    };
    auto behind_a = by.spawn(behind, of.a.receiver);
    auto behind_b = by.spawn(behind, of.b.receiver);
    by.run_until_idle();
    EXPECT_EQ(of.a.sender.try_send(1), send_status::sent);
    EXPECT_EQ(of.b.sender.try_send(2), send_status::sent);
    by.run_until_idle();
    const int won = got.join();
    EXPECT_TRUE(won == 1 || won == 102);
    auto& fed = won == 1 ? behind_b : behind_a;
    EXPECT_TRUE(fed.is_done());
    EXPECT_EQ(fed.join(), won == 1 ? 2 : 1);
    EXPECT_EQ((won == 1 ? of.a : of.b).sender.try_send(3), send_status::sent);
    by.run_until_idle();
    EXPECT_EQ((won == 1 ? behind_a : behind_b).join(), 3);
  }
}

TEST(select, each_ready_case_comes_as_often_as_the_others) {
  testing::runtime rt(7);
  const auto counts = rt.block_on([]() -> task<std::array<int, 3>> {
    auto a = unbounded<int>();
    auto b = unbounded<int>();
    sync::event always;
    always.set();
    std::array<int, 3> won{};
    for (int i = 0; i < 3'000; ++i) {
      static_cast<void>(a.sender.try_send(i));
      static_cast<void>(b.sender.try_send(i));
    }
    for (int i = 0; i < 3'000; ++i) {
      auto first = co_await select(a.receiver.recv(), b.receiver.recv(), always.wait());
      ++won[first.index()];
    }
    co_return won;
  });
  for (const int each : counts) EXPECT_GT(each, 850);
}

// The same when the cases become ready together, during the wait.
TEST(select, cases_that_become_ready_together_win_equally_often) {
  manual_scheduler by;
  two of;
  int first = 0;
  for (int i = 0; i < 400; ++i) {
    auto got = by.spawn(one_of(of));
    by.run_until_idle();
    EXPECT_EQ(of.a.sender.try_send(1), send_status::sent);
    EXPECT_EQ(of.b.sender.try_send(2), send_status::sent);
    by.run_until_idle();
    const bool a_won = got.join() == 1;
    first += a_won ? 1 : 0;
    EXPECT_TRUE((a_won ? of.b : of.a).receiver.try_recv().has_value());
  }
  EXPECT_GT(first, 120);
  EXPECT_LT(first, 280);
}

TEST(select, a_seed_gives_the_same_choices_again) {
  const auto choices = [](std::uint64_t seed) {
    testing::runtime rt(seed);
    return rt.block_on([]() -> task<std::string> {
      auto a = unbounded<int>();
      auto b = unbounded<int>();
      std::string all;
      for (int i = 0; i < 40; ++i) {
        static_cast<void>(a.sender.try_send(i));
        static_cast<void>(b.sender.try_send(i));
        auto first = co_await select(a.receiver.recv(), b.receiver.recv());
        all += first.index() == 0 ? 'a' : 'b';
      }
      co_return all;
    });
  };
  EXPECT_EQ(choices(3), choices(3));
  EXPECT_NE(choices(3), choices(4));
}

TEST(select, in_order_the_first_of_those_that_are_ready_wins) {
  manual_scheduler by;
  two of;
  auto got = by.spawn(
      [](two& from) -> task<std::string> {
        std::string all;
        for (int i = 0; i < 20; ++i) {
          static_cast<void>(from.a.sender.try_send(i));
          static_cast<void>(from.b.sender.try_send(i));
          auto first = co_await select_in_order(from.b.receiver.recv(), from.a.receiver.recv());
          all += first.index() == 0 ? 'b' : 'a';
          static_cast<void>(from.a.receiver.try_recv());
        }
        co_return all;
      },
      std::ref(of));
  by.run_until_idle();
  EXPECT_EQ(got.join(), std::string(20, 'b'));
}

TEST(select, a_closed_channel_is_ready_and_may_be_left_out) {
  manual_scheduler by;
  two of;
  of.a.sender.close();
  auto ended = by.spawn(one_of(of));
  by.run_until_idle();
  EXPECT_EQ(ended.join(), -1);
  auto without = by.spawn(
      [](two& from) -> task<int> {
        bool open = true;
        for (;;) {
          auto first = co_await select(when(open, from.a.receiver.recv()), from.b.receiver.recv());
          if (first.index() == 1) co_return first.get<1>().value_or(-1);
          open = first.get<0>().has_value();
        }
      },
      std::ref(of));
  by.run_until_idle();
  EXPECT_FALSE(without.is_done());
  EXPECT_EQ(of.b.sender.try_send(4), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(without.join(), 4);
}

TEST(select, without_an_enabled_case_it_throws) {
  manual_scheduler by;
  two of;
  auto none = by.spawn(
      [](two& from) -> task<void> {
        static_cast<void>(co_await select(when(false, from.a.receiver.recv())));
      },
      std::ref(of));
  by.run_until_idle();
  EXPECT_THROW(none.join(), std::invalid_argument);
  EXPECT_THROW(static_cast<void>(try_select(when(false, of.a.receiver.recv()))), std::invalid_argument);
}

TEST(select, only_the_send_that_wins_inserts_its_item) {
  manual_scheduler by;
  auto a = bounded<std::string>(1);
  auto b = bounded<std::string>(1);
  EXPECT_EQ(a.sender.try_send("full"), send_status::sent);
  EXPECT_EQ(b.sender.try_send("full"), send_status::sent);
  auto got = by.spawn(
      [](sender<std::string> to_a, sender<std::string> to_b) -> task<std::size_t> {
        auto first = co_await select(to_a.send("to a"), to_b.send("to b"));
        EXPECT_EQ(first.visit([](send_status how) { return how; }), send_status::sent);
        co_return first.index();
      },
      a.sender,
      b.sender);
  by.run_until_idle();
  EXPECT_FALSE(got.is_done());
  EXPECT_EQ(b.receiver.try_recv(), "full");
  by.run_until_idle();
  EXPECT_EQ(got.join(), 1U);
  EXPECT_EQ(b.receiver.try_recv(), "to b");
  EXPECT_EQ(a.receiver.try_recv(), "full");
  EXPECT_EQ(a.receiver.try_recv().error(), recv_status::empty);
}

TEST(select, handlers_run_in_the_task_and_say_what_it_yields) {
  manual_scheduler by;
  two of;
  EXPECT_EQ(of.b.sender.try_send(5), send_status::sent);
  auto got = by.spawn(
      [](two& from) -> task<std::string> {
        std::string said =
            co_await select(on(from.a.receiver.recv(), [&](std::optional<int>) { return std::string("a"); }),
                            on(from.b.receiver.recv(),
                               [&](const std::optional<int>& item) { return std::to_string(*item); }));
        int calls = 0;
        co_await select(on(sleep_for(1ms), [&] { calls = 10; }),
                        on(when(true, from.a.receiver.recv()), [&](std::optional<int>) { calls = 20; }));
        said += std::to_string(calls);
        co_return said;
      },
      std::ref(of));
  by.run_with_time();
  EXPECT_EQ(got.join(), "510");
}

TEST(select, a_handler_may_throw_when_the_others_have_lost) {
  manual_scheduler by;
  two of;
  EXPECT_EQ(of.a.sender.try_send(5), send_status::sent);
  auto got = by.spawn(
      [](two& from) -> task<void> {
        co_await select(
            on(from.a.receiver.recv(), [](std::optional<int>) { throw std::runtime_error("no"); }),
            on(from.b.receiver.recv(), [](std::optional<int>) {}));
      },
      std::ref(of));
  by.run_until_idle();
  EXPECT_THROW(got.join(), std::runtime_error);
  EXPECT_EQ(of.b.sender.try_send(1), send_status::sent);
  EXPECT_EQ(of.b.receiver.try_recv(), 1);
}

TEST(select, move_only_values_are_delivered) {
  manual_scheduler by;
  auto [tx, rx] = oneshot<std::unique_ptr<int>>();
  EXPECT_EQ(std::move(tx).send(std::make_unique<int>(4)), send_status::sent);
  auto got = by.spawn(
      [](oneshot_receiver<std::unique_ptr<int>> from) -> task<std::unique_ptr<int>> {
        auto first = co_await select(from.recv(), sleep_for(1h));
        co_return *std::move(first).get<0>();
      },
      std::move(rx));
  by.run_until_idle();
  EXPECT_EQ(*got.join(), 4);
}

TEST(select, value_of_a_losing_case_cannot_be_read) {
  auto [tx, rx] = bounded<int>(1);
  auto [tx2, rx2] = bounded<int>(1);
  EXPECT_EQ(tx.try_send(1), send_status::sent);
  auto got = try_select(rx.recv(), rx2.recv());
  ASSERT_TRUE(got.has_value());
  EXPECT_EQ(got->get_if<1>(), nullptr);
  ASSERT_NE(got->get_if<0>(), nullptr);
  EXPECT_EQ(*got->get_if<0>(), 1);
  EXPECT_DEATH(static_cast<void>(got->get<1>()), "another case has won");
}

/// A user-defined leaf.
class always final : public leaf {
 public:
  static constexpr bool may_lose = true;
  [[nodiscard]] bool is_ready() noexcept override { return true; }
  cancel_progress try_cancel(cancel_reason) noexcept override { return cancel_progress::ended; }
  static int await_resume() noexcept { return 42; }
};

TEST(select, user_defined_leaf_can_be_a_case) {
  manual_scheduler by;
  two of;
  auto got = by.spawn(
      [](two& from) -> task<int> {
        auto first = co_await select(from.a.receiver.recv(), always());
        co_return first.get<1>();
      },
      std::ref(of));
  by.run_until_idle();
  EXPECT_EQ(got.join(), 42);
}

}  // namespace
}  // namespace rota::channel::select_test
