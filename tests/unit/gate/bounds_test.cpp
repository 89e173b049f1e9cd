#include <rota/gate/mailbox.hpp>

#include "door.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace rota::gate::bounds_test {
namespace {

using namespace std::chrono_literals;

TEST(a_bounded_mailbox, refuses_a_message_when_full_and_leaves_it_unchanged) {
  executor threads(1);
  auto box = threads.make_mailbox<std::unique_ptr<int>>([](std::unique_ptr<int>&&) {}, {.capacity = 2});
  box.pause();
  EXPECT_EQ(box.send(std::make_unique<int>(1)), send_status::sent);
  EXPECT_EQ(box.send(std::make_unique<int>(2)), send_status::sent);
  auto third = std::make_unique<int>(3);
  EXPECT_EQ(box.send(std::move(third)), send_status::full);
  ASSERT_NE(third, nullptr);  // NOLINT: it was not taken
  box.resume();
  box.drain();
  EXPECT_EQ(box.send(std::move(third)), send_status::sent);
  EXPECT_EQ(third, nullptr);  // NOLINT: it was taken
}

TEST(a_bounded_mailbox, does_not_count_what_is_being_handled) {
  executor threads(1);
  door held;
  auto box = threads.make_mailbox<int>(
      [&](int value) {
        if (value == 0) held.pass();
      },
      {.capacity = 1});
  static_cast<void>(box.send(0));
  held.wait_for_somebody();
  EXPECT_EQ(box.send(1), send_status::sent);
  EXPECT_EQ(box.send(2), send_status::full);
  held.open();
}

TEST(a_bounded_mailbox, blocks_a_sender_until_there_is_space) {
  executor threads(1);
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>([&](int value) { seen.push_back(value); },
                                       {.capacity = 1, .on_full = overflow::wait});
  box.pause();
  static_cast<void>(box.send(-1));
  EXPECT_EQ(box.try_send(99), send_status::full);
  std::vector<std::jthread> senders;
  for (int s = 0; s < 3; ++s) {
    senders.emplace_back([to = box.address(), s] {
      for (int i = 0; i < 200; ++i) EXPECT_EQ(to.send(s * 1000 + i), send_status::sent);
    });
  }
  box.resume();
  senders.clear();
  box.drain();
  EXPECT_EQ(seen.size(), 601U);
  std::array<int, 3> last{-1, -1, -1};
  for (std::size_t i = 1; i < seen.size(); ++i) {
    int& before = last.at(static_cast<std::size_t>(seen[i] / 1000));
    EXPECT_EQ(seen[i] % 1000, before + 1) << "in the order of its sender";
    before = seen[i] % 1000;
  }
}

TEST(a_bounded_mailbox, returns_closed_to_blocked_senders_when_it_closes) {
  executor threads(1);
  auto box = threads.make_mailbox<int>([](int) {}, {.capacity = 1, .on_full = overflow::wait});
  box.pause();
  static_cast<void>(box.send(0));
  std::vector<std::future<send_status>> ends;
  for (int i = 0; i < 3; ++i) {
    ends.push_back(std::async(std::launch::async, [to = box.address(), i] { return to.send(i); }));
  }
  std::this_thread::sleep_for(5ms);  // usually they wait by now; if not, they find it closed
  box.close();
  for (auto& each : ends) EXPECT_EQ(each.get(), send_status::closed);
}

TEST(a_bounded_mailbox, refuses_a_send_of_a_handler_instead_of_blocking_it) {
  executor threads(1);
  std::promise<send_status> said;
  auto narrow = threads.make_mailbox<int>([](int) {}, {.capacity = 1, .on_full = overflow::wait});
  narrow.pause();
  static_cast<void>(narrow.send(0));
  auto box =
      threads.make_mailbox<int>([&, to = narrow.address()](int value) { said.set_value(to.send(value)); });
  static_cast<void>(box.send(1));
  EXPECT_EQ(said.get_future().get(), send_status::full) << "it may be the only consumer";
}

TEST(a_bounded_mailbox, drops_the_oldest) {
  executor threads(1);
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>([&](int value) { seen.push_back(value); },
                                       {.capacity = 3, .on_full = overflow::drop_oldest});
  box.pause();
  for (int i = 0; i < 10; ++i) EXPECT_EQ(box.send(i), send_status::sent);
  EXPECT_EQ(box.stats().depth, 3U);
  box.resume();
  box.drain();
  EXPECT_EQ(seen, (std::vector<int>{7, 8, 9}));
  EXPECT_EQ(box.stats().dropped, 7U);
}

TEST(a_bounded_mailbox, drops_the_oldest_of_a_batch_above_its_capacity) {
  executor threads(1);
  std::vector<int> seen;
  auto box = threads.make_mailbox<int>([&](int value) { seen.push_back(value); },
                                       {.capacity = 3, .on_full = overflow::drop_oldest});
  box.pause();
  std::array<int, 5> numbers{1, 2, 3, 4, 5};
  EXPECT_EQ(box.send_n(numbers).count, 5U);
  EXPECT_EQ(box.stats().depth, 3U);
  box.resume();
  box.drain();
  EXPECT_EQ(seen, (std::vector<int>{3, 4, 5}));
}

TEST(a_bounded_mailbox, accounts_for_every_message_when_drops_race_with_the_consumer) {
  executor threads(1);
  std::atomic<int> seen{0};
  auto box = threads.make_mailbox<std::shared_ptr<int>>([&](const std::shared_ptr<int>& p) { seen += *p; },
                                                        {.capacity = 2, .on_full = overflow::drop_oldest});
  {
    std::vector<std::jthread> senders;
    for (int s = 0; s < 3; ++s) {
      senders.emplace_back([to = box.address()] {
        for (int i = 0; i < 3000; ++i) EXPECT_EQ(to.send(std::make_shared<int>(1)), send_status::sent);
      });
    }
  }
  box.drain();
  EXPECT_EQ(static_cast<std::uint64_t>(seen) + box.stats().dropped, 9000U);
}

/// When one ends, even a moved-from one, it sends another while `left` is not 0.
struct echo {
  echo(const address<echo>& where, int& how_often) noexcept : to(&where), left(&how_often) {}
  echo(echo&& other) noexcept : to(other.to), left(other.left) {}
  echo& operator=(echo&&) = delete;
  ~echo() {
    if (*left == 0) return;
    --*left;
    EXPECT_EQ(to->send(echo(*to, *left)), send_status::sent);
  }
  const address<echo>* to;
  int* left;
};

TEST(a_bounded_mailbox, allows_a_dropped_message_to_send_to_it_again) {
  executor threads(1);
  address<echo> to;
  int left = 20;
  auto box = threads.make_mailbox<echo>([](echo&&) {}, {.capacity = 2, .on_full = overflow::drop_oldest});
  to = box.address();
  box.pause();
  EXPECT_EQ(box.send(echo(to, left)), send_status::sent);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(box.stats().depth, 2U);
  EXPECT_EQ(box.stats().dropped, 19U);
  to = {};
}

}  // namespace
}  // namespace rota::gate::bounds_test
