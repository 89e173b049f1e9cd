// select over a list: works as the static form, and returns the position in the list.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/sync/mutex.hpp>
#include <rota/sync/notify.hpp>
#include <rota/testing/runtime.hpp>

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace rota::channel::select_list_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

struct many {
  explicit many(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      auto made = bounded<int>(4);
      senders.push_back(std::move(made.sender));
      receivers.push_back(std::move(made.receiver));
    }
  }
  std::vector<sender<int>> senders;
  std::vector<receiver<int>> receivers;
};

/// Returns 100 times the position, plus the item, or plus -1 at the end of the channel.
task<int> one_of(many& of) {
  auto first = co_await select(of.receivers);
  static_assert(std::is_same_v<decltype(first), chosen<std::optional<int>>>);
  co_return 100 * static_cast<int>(first.index()) + first.get().value_or(-1);
}

TEST(select_list, takes_the_item_that_comes_and_leaves_no_waiter_behind) {
  manual_scheduler by;
  many of(64);
  for (const int at : {0, 17, 63}) {
    auto got = by.spawn(one_of(of));
    by.run_until_idle();
    EXPECT_FALSE(got.is_done());
    EXPECT_EQ(of.senders[static_cast<std::size_t>(at)].try_send(5), send_status::sent);
    by.run_until_idle();
    EXPECT_EQ(got.join(), 100 * at + 5);
  }
  for (auto& each : of.senders) EXPECT_EQ(each.try_send(1), send_status::sent);
  EXPECT_EQ(by.run_until_idle(), 0);
  for (auto& each : of.receivers) EXPECT_EQ(each.try_recv(), 1);
}

TEST(select_list, each_ready_case_comes_as_often_as_the_others) {
  testing::runtime rt(7);
  const auto counts = rt.block_on([]() -> task<std::array<int, 3>> {
    std::vector<unbounded_receiver<int>> from;
    for (int k = 0; k < 3; ++k) {
      auto made = unbounded<int>();
      for (int i = 0; i < 3'000; ++i) static_cast<void>(made.sender.try_send(i));
      from.push_back(made.receiver);
    }
    std::array<int, 3> won{};
    for (int i = 0; i < 3'000; ++i) {
      auto first = co_await select(from);
      ++won[first.index()];
    }
    co_return won;
  });
  for (const int each : counts) EXPECT_GT(each, 850);
}

TEST(select_list, in_order_the_first_of_the_list_wins) {
  manual_scheduler by;
  many of(3);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(of.senders[1].try_send(i), send_status::sent);
    EXPECT_EQ(of.senders[2].try_send(i), send_status::sent);
  }
  auto got = by.spawn(
      [](many& all) -> task<std::string> {
        std::string order;
        for (int i = 0; i < 6; ++i) {
          auto first = co_await select_in_order(all.receivers);
          order += std::to_string(first.index());
        }
        co_return order;
      },
      std::ref(of));
  by.run_until_idle();
  EXPECT_EQ(got.join(), "111222");
}

TEST(select_list, handles_are_cases_and_their_tasks_go_on_if_they_lose) {
  manual_scheduler by;
  auto got = by.spawn(
      [](manual_scheduler& on) -> task<std::string> {
        std::vector<join_handle<int>> children;
        const auto child = [](int n) -> task<int> {
          co_await sleep_for(n * 1ms);
          if (n == 2) throw std::runtime_error("2");
          co_return n;
        };
        for (const int n : {3, 1, 2}) children.push_back(on.spawn(child, n));
        std::string order;
        while (!children.empty()) {
          try {
            auto first = co_await select(children);
            order += std::to_string(std::move(first).get());
          } catch (const std::runtime_error& e) {
            order += e.what();
          }
          std::erase_if(children, [](const join_handle<int>& each) { return !each.valid(); });
        }
        co_return order;
      },
      std::ref(by));
  by.run_with_time();
  EXPECT_EQ(got.join(), "123");
}

TEST(select_list, a_function_says_what_each_element_waits_for) {
  manual_scheduler by;
  std::array<sync::mutex, 3> all;
  std::array<std::optional<sync::mutex::guard>, 3> held{
      all[0].try_lock(), all[1].try_lock(), all[2].try_lock()};
  auto got = by.spawn([&]() -> task<std::size_t> {
    auto first = co_await select(all, [](sync::mutex& each) { return each.lock(); });
    EXPECT_TRUE(static_cast<bool>(first.get()));
    const auto mine = std::move(first).get();
    EXPECT_TRUE(all[first.index()].is_locked());
    co_return first.index();
  });
  by.run_until_idle();
  EXPECT_FALSE(got.is_done());
  held[1].reset();
  by.run_until_idle();
  EXPECT_EQ(got.join(), 1U);
  EXPECT_FALSE(all[1].is_locked());
  // Cases without a value, and a span of pointers.
  sync::notify a;
  sync::notify b;
  const std::array<sync::notify*, 2> calls{&a, &b};
  auto called = by.spawn([&]() -> task<std::size_t> {
    auto first = co_await select(std::span(calls), [](sync::notify* each) { return each->wait(); });
    EXPECT_EQ(first.get(), no_value());
    co_return first.index();
  });
  by.run_until_idle();
  b.notify_one();
  by.run_until_idle();
  EXPECT_EQ(called.join(), 1U);
  EXPECT_FALSE(a.try_wait() || b.try_wait());
}

/// Returns the message of what awaiting `once` throws.
template <class Select>
task<std::string> refusal(Select& once) {
  try {
    co_await once();
  } catch (const error& e) {
    co_return e.code() == errc::already_joined ? "already joined" : e.what();
  } catch (const std::exception& e) {
    co_return e.what();
  }
  co_return "";
}

TEST(select_list, an_empty_list_and_one_of_more_than_64_are_refused) {
  manual_scheduler by;
  many none(0);
  many too_many(65);
  for (auto& each : too_many.senders) EXPECT_EQ(each.try_send(1), send_status::sent);
  const auto expect_refused = [&](many& of, const char* words) {
    auto got = by.spawn([&]() -> task<std::string> {
      const auto once = [&]() -> task<void> { static_cast<void>(co_await select(of.receivers)); };
      auto said = co_await refusal(once);
      co_return said;
    });
    by.run_until_idle();
    EXPECT_EQ(got.join(), words);
  };
  expect_refused(none, "channel::select: no case is enabled");
  expect_refused(too_many, "channel::select: the list has 65 cases: must be at most 64");
  for (auto& each : too_many.receivers) EXPECT_EQ(each.size(), 1U);
}

TEST(select_list, a_repeated_and_an_empty_handle_are_refused_whatever_is_ready) {
  manual_scheduler by;
  auto got = by.spawn(
      [](manual_scheduler& on) -> task<int> {
        auto ended = on.spawn([]() -> task<int> { co_return 3; });
        auto other = on.spawn([]() -> task<int> { co_return 4; });
        co_await yield();
        EXPECT_TRUE(ended.is_done() && other.is_done());
        join_handle<int> empty;
        const auto result = [](join_handle<int>* each) { return each->result(); };
        const std::vector<join_handle<int>*> repeated{&ended, &other, &ended};
        const std::vector<join_handle<int>*> with_empty{&ended, &other, &empty};
        for (int i = 0; i < 32; ++i) {
          const auto& list = i % 2 == 0 ? repeated : with_empty;
          const auto once = [&]() -> task<void> { static_cast<void>(co_await select(list, result)); };
          auto said = co_await refusal(once);
          EXPECT_EQ(said, "already joined");
        }
        const int first = co_await ended;
        const int second = co_await other;
        co_return first + second;
      },
      std::ref(by));
  by.run_until_idle();
  EXPECT_EQ(got.join(), 7);
}

// Leaves that exist already are destroyed, together with what they hold.
TEST(select_list, what_the_function_throws_is_thrown_and_nothing_was_sent) {
  manual_scheduler by;
  auto to = bounded<std::shared_ptr<int>>(4);
  const auto item = std::make_shared<int>(1);
  auto got = by.spawn([&]() -> task<std::string> {
    std::array<int, 3> list{1, 2, 3};
    const auto sends = [&](int n) {
      if (n == 3) throw std::runtime_error("third");
      return to.sender.send(item);
    };
    const auto once = [&]() -> task<void> { static_cast<void>(co_await select(list, sends)); };
    auto said = co_await refusal(once);
    co_return said;
  });
  by.run_until_idle();
  EXPECT_EQ(got.join(), "third");
  EXPECT_EQ(item.use_count(), 1);
  EXPECT_EQ(to.receiver.size(), 0U);
}

// A task is called, and cancelled before it runs.
TEST(select_list, item_granted_to_a_cancelled_select_goes_to_the_next) {
  manual_scheduler by;
  many of(3);
  auto first = by.spawn(one_of(of));
  auto second = by.spawn(one_of(of));
  by.run_until_idle();
  EXPECT_EQ(of.senders[0].try_send(1), send_status::sent);
  EXPECT_EQ(of.senders[2].try_send(2), send_status::sent);
  first.cancel();
  by.run_until_idle();
  const int got = second.join();
  EXPECT_TRUE(got == 1 || got == 202);
  EXPECT_EQ(of.receivers[0].size() + of.receivers[2].size(), 1U);
}

TEST(select_list, select_that_times_out_takes_nothing) {
  manual_scheduler by;
  many of(2);
  auto got = by.spawn(
      [](many& all) -> task<bool> {
        auto late = co_await timeout(5ms, select(all.receivers));
        EXPECT_EQ(all.senders[1].try_send(1), send_status::sent);
        auto in_time = co_await timeout(5ms, select(all.receivers));
        EXPECT_EQ(in_time->get(), 1);
        co_return !late.has_value();
      },
      std::ref(of));
  by.run_with_time();
  EXPECT_TRUE(got.join());
}

// As with a select of handles: its cancellation cancels all of them, and they have ended before it unwinds.
TEST(select_list, cancelled_select_ends_its_tasks) {
  manual_scheduler by;
  std::string ends;
  struct on_end {
    std::string* to;
    char what;
    ~on_end() { *to += what; }
  };
  auto got = by.spawn([&]() -> task<void> {
    const on_end mine{&ends, 's'};
    std::vector<join_handle<void>> children;
    const auto child = [](std::string& to, char what) -> task<void> {
      const on_end own{&to, what};
      co_await sleep_for(1h);
    };
    for (const char what : {'1', '2', '3'}) children.push_back(by.spawn(child, std::ref(ends), what));
    co_await select(children);
  });
  by.run_until_idle();
  got.cancel();
  by.run_until_idle();
  EXPECT_TRUE(got.is_done());
  EXPECT_EQ(ends.size(), 4U);
  EXPECT_EQ(ends.back(), 's');
}

}  // namespace
}  // namespace rota::channel::select_list_test
