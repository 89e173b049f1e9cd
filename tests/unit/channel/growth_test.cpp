// A bounded channel starts with few places, and accepts `capacity` items from the start. For its memory see
// unit/faults/allocations_in_channels_test.cpp.
#include "support/sanitized.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <random>
#include <stop_token>
#include <thread>
#include <vector>

namespace rota::channel::growth_test {
namespace {

constexpr std::uint64_t capacities[] = {
    1, 2, 31, 32, 33, 34, 63, 64, 95, 96, 97, 98, 223, 224, 225, 226, 480, 481, 1000};

/// Sends and receives one item `times` times, which moves the head and the tail.
template <class Channel>
void go_round(Channel& made, int times) {
  for (int i = 0; i < times; ++i) {
    EXPECT_EQ(made.sender.try_send(-1), send_status::sent);
    EXPECT_EQ(made.receiver.try_recv(), -1);
  }
}

// The ring may grow at each position, including the last one before it wraps around.
TEST(growth, channel_holds_its_capacity_at_every_head_position) {
  for (const std::uint64_t capacity : capacities) {
    for (const int places : {0, 1, 30, 31, 32, 33, 500}) {
      SCOPED_TRACE(capacity * 1'000 + static_cast<std::uint64_t>(places));
      auto made = bounded<int>(capacity);
      go_round(made, places);
      for (int round = 0; round < 3; ++round) {
        for (std::uint64_t i = 0; i < capacity; ++i) {
          ASSERT_EQ(made.sender.try_send(static_cast<int>(i)), send_status::sent) << i;
          ASSERT_EQ(made.receiver.size(), i + 1);
        }
        EXPECT_EQ(made.sender.try_send(7), send_status::full);
        EXPECT_EQ(made.sender.capacity(), capacity);
        for (std::uint64_t i = 0; i < capacity; ++i) {
          ASSERT_EQ(made.receiver.try_recv(), static_cast<int>(i));
          ASSERT_EQ(made.receiver.size(), capacity - i - 1);
        }
        EXPECT_EQ(made.receiver.try_recv().error(), recv_status::empty);
        go_round(made, 3);
      }
      EXPECT_EQ(made.sender.stats().refused, 3U);
    }
  }
}

/// Sends and receives at random beside a std::deque; the length varies, so blocks come at many places.
void behaves_as_a_queue(std::uint64_t capacity, overflow policy, unsigned seed) {
  std::mt19937 random(seed);
  auto [tx, rx] = bounded<int>(capacity, {.on_full = policy});
  std::deque<int> queue;
  std::uint64_t over = 0;
  int next = 0;
  for (unsigned step = 0; step < 20'000; ++step) {
    const unsigned bias = step / 500 % 2 == 0 ? 6 : 3;  // out of ten
    if (random() % 10 < bias) {
      const bool is_full = queue.size() == capacity;
      const send_status how = tx.try_send(next);
      if (is_full) ++over;
      if (is_full && policy != overflow::drop_oldest) {
        ASSERT_EQ(how, policy == overflow::drop_newest ? send_status::dropped : send_status::full);
      } else {
        ASSERT_EQ(how, send_status::sent);
        if (is_full) queue.pop_front();
        queue.push_back(next);
      }
      ++next;
    } else {
      const auto got = rx.try_recv();
      ASSERT_EQ(got.has_value(), !queue.empty());
      if (!queue.empty()) {
        ASSERT_EQ(*got, queue.front());
        queue.pop_front();
      }
    }
    ASSERT_EQ(rx.size(), queue.size());
  }
  const channel_stats stats = tx.stats();
  EXPECT_EQ(stats.refused + stats.dropped_newest + stats.dropped_oldest, over);
}

TEST(growth, a_channel_that_grows_behaves_as_a_queue) {
  for (const overflow policy :
       {overflow::wait, overflow::reject, overflow::drop_oldest, overflow::drop_newest}) {
    for (const std::uint64_t capacity : {33U, 40U, 97U, 150U, 300U}) {
      for (unsigned seed = 1; seed <= 4; ++seed) {
        SCOPED_TRACE(capacity * 100 + seed * 10 + static_cast<unsigned>(policy));
        behaves_as_a_queue(capacity, policy, seed);
      }
    }
  }
}

struct alignas(128) aligned {
  explicit aligned(int n) noexcept : number(n) {}
  int number;
  std::array<char, 200> more{};
};
TEST(growth, each_item_has_its_alignment) {
  auto [tx, rx] = bounded<aligned>(150);
  for (int i = 0; i < 150; ++i) EXPECT_EQ(tx.try_send(aligned(i)), send_status::sent);
  EXPECT_EQ(tx.try_send(aligned(7)), send_status::full);
  for (int i = 0; i < 150; ++i) {
    const auto got = rx.try_recv();
    ASSERT_TRUE(got.has_value());
    EXPECT_EQ(got->number, i);
  }
  auto [bytes, from] = bounded<char>(100);
  for (char c = 0; c < 100; ++c) EXPECT_EQ(bytes.try_send(c), send_status::sent);
  for (char c = 0; c < 100; ++c) EXPECT_EQ(from.try_recv(), c);
}

TEST(growth, what_is_left_in_all_blocks_is_destroyed_with_the_channel) {
  const auto shared = std::make_shared<int>(7);
  {
    auto [tx, rx] = bounded<std::shared_ptr<int>>(300);
    for (int i = 0; i < 20; ++i) EXPECT_EQ(tx.try_send(shared), send_status::sent);
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(rx.try_recv().has_value());
    for (int i = 0; i < 250; ++i) EXPECT_EQ(tx.try_send(shared), send_status::sent);
    EXPECT_EQ(shared.use_count(), 251);
  }
  EXPECT_EQ(shared.use_count(), 1);
}

// Making the channel must not allocate its whole capacity.
TEST(growth, a_channel_of_the_largest_capacity_can_be_made) {
  auto [tx, rx] = bounded<std::array<char, 4096>>(std::uint64_t{1} << 31U);
  EXPECT_EQ(tx.capacity(), std::uint64_t{1} << 31U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(tx.try_send({static_cast<char>(i)}), send_status::sent);
  EXPECT_EQ(rx.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(rx.try_recv().value().front(), static_cast<char>(i));
}

/// The upper half of an item is the number of its sender.
void sends_all(sender<std::uint64_t> tx, std::uint64_t from, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) EXPECT_EQ(tx.blocking_send((from << 32U) | i), send_status::sent);
}

TEST(growth, threads_that_meet_while_it_grows_lose_nothing) {
  constexpr std::uint64_t count = 3'000;
  for (unsigned round = 0; round < 20; ++round) {
    auto made = bounded<std::uint64_t>(97 + 40 * round);
    std::atomic<std::uint64_t> received{0};
    {
      std::vector<std::jthread> threads;
      for (std::uint64_t from = 0; from < 3; ++from)
        threads.emplace_back([tx = made.sender, from] { sends_all(tx, from, count); });
      for (int i = 0; i < 2; ++i)
        threads.emplace_back([rx = made.receiver, &received]() mutable {
          std::array<std::uint64_t, 3> next{};
          while (const auto got = rx.blocking_recv()) {
            std::uint64_t& least = next.at(*got >> 32U);
            const std::uint64_t number = *got & 0xffffffffU;
            EXPECT_GE(number, least) << "one receiver gets the items of one sender in their order";
            least = number + 1;
            received.fetch_add(1, std::memory_order_relaxed);
          }
        });
      auto gone = std::move(made.sender);
    }
    EXPECT_EQ(received.load(), 3 * count);
  }
}

/// Fills the channel in a forked child. Returns 0 if the child has ended normally.
int fills_in_a_fork(sender<int>& tx) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    send_status how = send_status::sent;
    for (std::uint64_t i = 0; i <= tx.capacity() && how == send_status::sent; ++i) how = tx.try_send(1);
    ::_exit(how == send_status::full || how == send_status::forked ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The fork may come before, during or after the growth in the parent.
TEST(growth, a_fork_beside_a_growth_does_not_hang) {
  if (!test::may_fork_beside_allocations) GTEST_SKIP() << "a fork beside threads";
  for (int i = 0; i < 50; ++i) {
    auto made = bounded<int>(100'000);
    std::jthread grows([&made](const std::stop_token& stop) {
      while (!stop.stop_requested() && made.sender.try_send(7) == send_status::sent) {
      }
    });
    while (made.receiver.size() < 30) std::this_thread::yield();
    EXPECT_EQ(fills_in_a_fork(made.sender), 0);
  }
}

}  // namespace
}  // namespace rota::channel::growth_test
