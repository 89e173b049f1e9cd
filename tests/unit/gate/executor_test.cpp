#include <rota/gate/mailbox.hpp>

#include "door.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <deque>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate::executor_test {
namespace {

using namespace std::chrono_literals;

TEST(an_executor, serves_others_while_one_handler_is_slow) {
  executor threads(2);
  door held;
  auto slow = threads.make_mailbox<int>([&](int) { held.pass(); });
  std::deque<mailbox<int>> others;
  std::atomic<int> done{0};
  for (int i = 0; i < 100; ++i) others.push_back(threads.make_mailbox<int>([&](int) { ++done; }));
  static_cast<void>(slow.send(1));
  held.wait_for_somebody();
  for (auto& each : others) static_cast<void>(each.send(1));
  for (auto& each : others) each.drain();
  EXPECT_EQ(done, 100);
  held.open();
}

TEST(an_executor, takes_higher_bands_first_and_the_lowest_now_and_then) {
  executor threads(1);
  std::string order;
  std::deque<mailbox<char>> boxes;
  const auto add = [&](priority_band band, char name) {
    boxes.push_back(threads.make_mailbox<char>([&](char c) { order += c; }, {.band = band}));
    static_cast<void>(boxes.back().send(name));
  };
  threads.pause();
  for (int i = 0; i < 20; ++i) add(priority_band::low, 'l');
  for (int i = 0; i < 20; ++i) add(priority_band::normal, 'n');
  for (int i = 0; i < 20; ++i) add(priority_band::high, 'h');
  threads.resume();
  threads.drain();
  ASSERT_EQ(order.size(), 60U);
  const auto first_low = order.find('l');
  EXPECT_LT(first_low, 18U) << order;
  EXPECT_LT(order.find('n'), 18U) << order;
  EXPECT_GE(std::count(order.begin(), order.begin() + 22, 'h'), 18) << order;
  EXPECT_LT(order.rfind('h'), order.rfind('n')) << order;
}

/// A mailbox that is always ready.
class hot {
 public:
  hot(executor& threads, priority_band band)
      : box_(threads.make_mailbox<int>([this](int v) { static_cast<void>(self_.send(v)); },
                                       {.budget = 1, .band = band})),
        self_(box_.address()) {
    static_cast<void>(self_.send(1));
  }

 private:
  mailbox<int> box_;
  address<int> self_;
};

TEST(an_executor, starves_no_priority_band) {
  executor threads(1);
  std::latch served(2);
  threads.pause();
  hot high(threads, priority_band::high);
  hot low(threads, priority_band::low);
  hot normal(threads, priority_band::normal);
  auto a = threads.make_mailbox<int>([&](int) { served.count_down(); });
  auto b = threads.make_mailbox<int>([&](int) { served.count_down(); }, {.band = priority_band::low});
  static_cast<void>(a.send(1));
  static_cast<void>(b.send(1));
  threads.resume();
  served.wait();
}

// One thread's own list is never empty. The other thread waits for work in its own list: it must be stolen.
TEST(an_executor, steals_a_mailbox_queued_behind_a_blocked_handler) {
  executor threads(2);
  std::promise<void> answered;
  auto other = threads.make_mailbox<int>([&](int) { answered.set_value(); });
  std::optional<hot> busy;
  door held;
  auto asking = threads.make_mailbox<int>([&, to = other.address()](int) {
    held.pass();
    static_cast<void>(to.send(1));
    answered.get_future().wait();
  });
  static_cast<void>(asking.send(1));
  held.wait_for_somebody();
  busy.emplace(threads, priority_band::high);
  held.open();
  asking.drain();
  busy.reset();
}

TEST(an_executor, serves_mailboxes_in_turns_of_their_budget) {
  executor threads(1);
  std::vector<int> order;
  std::deque<mailbox<int>> boxes;
  threads.pause();
  for (int b = 0; b < 3; ++b) {
    boxes.push_back(threads.make_mailbox<int>([&](int who) { order.push_back(who); }, {.budget = 2}));
    for (int i = 0; i < 6; ++i) static_cast<void>(boxes.back().send(b));
  }
  threads.resume();
  threads.drain();
  EXPECT_EQ(order, (std::vector<int>{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2}));
}

TEST(an_executor, pauses_all_its_mailboxes) {
  executor threads(2);
  std::atomic<int> seen{0};
  auto box = threads.make_mailbox<int>([&](int) { ++seen; });
  threads.pause();
  for (int i = 0; i < 10; ++i) static_cast<void>(box.send(i));
  std::this_thread::sleep_for(2ms);
  EXPECT_EQ(seen, 0);
  threads.resume();
  threads.drain();
  EXPECT_EQ(seen, 10);
}

TEST(an_executor, drains_messages_that_handlers_forward) {
  executor threads(2);
  std::atomic<int> ends{0};
  std::deque<mailbox<int>> chain;
  chain.push_back(threads.make_mailbox<int>([&](int) { ++ends; }));
  for (int i = 0; i < 50; ++i) {
    chain.push_back(
        threads.make_mailbox<int>([to = chain.back().address()](int v) { static_cast<void>(to.send(v)); }));
  }
  for (int i = 0; i < 20; ++i) static_cast<void>(chain.back().send(i));
  threads.drain();
  EXPECT_EQ(ends, 20);
  EXPECT_EQ(threads.stats().served, 51U * 20U);
}

TEST(an_executor, ends_its_mailboxes_when_it_is_destroyed) {
  auto message = std::make_shared<int>(1);
  const std::weak_ptr<int> seen = message;
  mailbox<std::shared_ptr<int>> box;
  {
    executor threads(2);
    box = threads.make_mailbox<std::shared_ptr<int>>([](const std::shared_ptr<int>&) {});
    threads.pause();
    static_cast<void>(box.send(std::move(message)));
  }
  EXPECT_TRUE(seen.expired());
  EXPECT_EQ(box.send(nullptr), send_status::closed);
  box.join();
  EXPECT_EQ(box.stats().dropped, 1U);
}

TEST(an_executor, says_which_option_is_out_of_range) {
  EXPECT_THROW(executor(257), std::invalid_argument);
  executor threads(1);
  const auto said = [&](const mailbox_options& options) -> std::string {
    try {
      static_cast<void>(threads.make_mailbox<int>([](int) {}, options));
    } catch (const std::invalid_argument& e) {
      return e.what();
    }
    return "nothing";
  };
  EXPECT_EQ(said({.budget = 0}), "rota::gate: mailbox_options::budget is 0, and must be 1 to 65536");
  EXPECT_EQ(said({.budget = 65537}), "rota::gate: mailbox_options::budget is 65537, and must be 1 to 65536");
  EXPECT_NE(said({.capacity = (std::size_t{1} << 32U) + 1}).find("capacity"), std::string::npos);
  EXPECT_NE(said({.time_slice = -1ns}).find("time_slice is -1 ns"), std::string::npos);
  EXPECT_NE(said({.time_slice = std::chrono::nanoseconds::max()}).find("0 to a day"), std::string::npos);
  EXPECT_NE(said({.on_full = overflow{7}}).find("on_full is 7"), std::string::npos);
  EXPECT_NE(said({.band = priority_band{3}}).find("band is 3"), std::string::npos);
  EXPECT_NE(said({.error_policy = on_error{3}}).find("error_policy is 3"), std::string::npos);
  EXPECT_EQ(said({.capacity = 1, .budget = 65536, .time_slice = 0ns}), "nothing");
}

// Many boxes and senders, and boxes that are destroyed during sends: each sent message is served or dropped.
TEST(an_executor, accounts_for_every_message) {
  executor threads(2);
  constexpr int boxes = 64;
  constexpr int senders = 3;
  constexpr int each = 4000;
  std::array<std::atomic<std::uint64_t>, boxes> handled{};
  std::array<std::optional<mailbox<int>>, boxes> all;
  std::array<address<int>, boxes> to;
  for (std::size_t b = 0; b < boxes; ++b) {
    all.at(b) = threads.make_mailbox<int>([&count = handled.at(b)](int) { ++count; }, {.budget = 3});
    to.at(b) = all.at(b)->address();
  }
  std::atomic<std::uint64_t> sent{0};
  {
    std::vector<std::jthread> work;
    for (int s = 0; s < senders; ++s) {
      work.emplace_back([&, s] {
        for (int i = 0; i < each; ++i) {
          const auto b = static_cast<std::size_t>(i * 31 + s) % boxes;
          if (to.at(b).send(i) == send_status::sent) ++sent;
        }
      });
    }
    work.emplace_back([&] {
      for (std::size_t b = 0; b < boxes; b += 4) {
        all.at(b).reset();
        std::this_thread::yield();
      }
    });
  }
  threads.drain();
  std::uint64_t sum = 0;
  for (const auto& count : handled) sum += count;
  const executor_stats s = threads.stats();
  EXPECT_EQ(s.served, sum);
  EXPECT_EQ(s.served + s.dropped, sent);
  EXPECT_EQ(s.depth, 0U);
  EXPECT_EQ(s.mailboxes, boxes - boxes / 4U);
}

}  // namespace
}  // namespace rota::gate::executor_test
