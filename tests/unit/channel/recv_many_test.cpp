// Receiving several items at once.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <numeric>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace rota::channel::recv_many_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

struct of_bounded {
  template <class T>
  static auto make() {
    return bounded<T>(8);
  }
};
struct of_weighed {
  template <class T>
  static auto make() {
    return bounded_by_weight<T>(8, 8, [](const T& /*item*/) noexcept { return 1U; });
  }
};
struct of_unbounded {
  template <class T>
  static auto make() {
    return unbounded<T>();
  }
};

template <class T>
class recv_many_of : public ::testing::Test {
 protected:
  using item = std::unique_ptr<int>;
  decltype(T::template make<item>()) made = T::template make<item>();

  void send(int first, int last) {
    for (int i = first; i <= last; ++i)
      EXPECT_EQ(made.sender.try_send(std::make_unique<int>(i)), send_status::sent);
  }
  static std::string text(const std::vector<item>& items) {
    std::string all;
    for (const item& each : items) all += std::to_string(*each);
    return all;
  }
};
using kinds = ::testing::Types<of_bounded, of_weighed, of_unbounded>;
TYPED_TEST_SUITE(recv_many_of, kinds);

TYPED_TEST(recv_many_of, takes_the_queued_items_up_to_a_limit) {
  std::vector<std::unique_ptr<int>> got;
  EXPECT_EQ(this->made.receiver.try_recv_many(got, 3).error(), recv_status::empty);
  this->send(1, 5);
  EXPECT_EQ(this->made.receiver.try_recv_many(got, 3), 3U);
  EXPECT_EQ(this->made.receiver.blocking_recv_many(got, 100), 2U);
  EXPECT_EQ(this->text(got), "12345");
  this->send(6, 7);
  this->made.sender.close();
  EXPECT_EQ(this->made.receiver.try_recv_many(got, 0), 1U) << "0 counts as 1";
  EXPECT_EQ(this->made.receiver.blocking_recv_many_for(1h, got, ~std::size_t{0}), 1U);
  EXPECT_EQ(this->text(got), "1234567");
  EXPECT_EQ(this->made.receiver.try_recv_many(got, 1).error(), recv_status::closed);
  EXPECT_EQ(this->made.receiver.blocking_recv_many(got, 1), 0U);
  EXPECT_EQ(this->made.receiver.blocking_recv_many_until(std::chrono::steady_clock::now(), got, 1).error(),
            recv_status::closed);
}

TYPED_TEST(recv_many_of, waits_for_the_first_item_only) {
  manual_scheduler by;
  std::vector<std::unique_ptr<int>> got;
  auto waits = by.spawn([](auto& of, auto& out) -> task<std::string> {
    std::string counts;
    for (;;) {
      const std::size_t count = co_await of.recv_many(out, 4);
      counts += std::to_string(count);
      if (count == 0) break;
    }
    co_return counts;
  }(this->made.receiver, got));
  by.run_until_idle();
  this->send(1, 1);
  by.run_until_idle();
  this->send(2, 8);
  by.run_until_idle();
  this->made.sender.close();
  by.run_until_idle();
  EXPECT_EQ(waits.join(), "1430");
  EXPECT_EQ(this->text(got), "12345678");
}

TYPED_TEST(recv_many_of, wait_that_times_out_loses_or_is_cancelled_takes_nothing) {
  manual_scheduler by;
  std::vector<std::unique_ptr<int>> got;
  auto late = by.spawn([](auto& of, auto& out, manual_scheduler& at) -> task<int> {
    const auto first = co_await of.recv_many_for(5ms, out, 4);
    const auto second = co_await of.recv_many_until(at.time + 5ms, out, 4);
    EXPECT_EQ(first.error(), recv_status::timed_out);
    EXPECT_EQ(second.error(), recv_status::timed_out);
    co_return 0;
  }(this->made.receiver, got, by));
  by.run_with_time();
  EXPECT_TRUE(late.is_done());
  EXPECT_EQ(this->made.receiver.blocking_recv_many_for(1ms, got, 4).error(), recv_status::timed_out);
  sync::event stop;
  auto loses = by.spawn([](auto& of, auto& out, sync::event& end) -> task<std::size_t> {
    auto first = co_await select_in_order(end.wait(), of.recv_many(out, 4));
    co_return first.index();
  }(this->made.receiver, got, stop));
  auto cancelled = by.spawn([](auto& of, auto& out) -> task<std::size_t> {
    const std::size_t count = co_await of.recv_many(out, 4);
    co_return count;
  }(this->made.receiver, got));
  by.run_until_idle();
  stop.set();
  this->send(1, 2);
  cancelled.cancel();
  by.run_until_idle();
  EXPECT_EQ(loses.join(), 0U);
  EXPECT_EQ(by.cancelled, 1);
  EXPECT_TRUE(got.empty());
  EXPECT_EQ(this->made.receiver.try_recv_many(got, 4), 2U);
}

TEST(recv_many, frees_space_for_waiting_senders) {
  manual_scheduler by;
  auto made = bounded<int>(2);
  for (int i = 1; i <= 4; ++i)
    by.spawn([](sender<int> tx, int item) -> task<void> {
        const send_status how = co_await tx.send(item);
        EXPECT_EQ(how, send_status::sent);
      }(made.sender, i))
        .detach();
  by.run_until_idle();
  std::vector<int> got;
  EXPECT_EQ(made.receiver.try_recv_many(got, 2), 2U);
  by.run_until_idle();
  EXPECT_EQ(made.receiver.try_recv_many(got, 10), 2U);
  EXPECT_EQ(got, (std::vector<int>{1, 2, 3, 4}));
}

/// A vector that has no memory for more than four items.
struct small : std::vector<int> {
  void reserve(std::size_t n) {
    if (n > 4) n = 4;
    if (n <= capacity()) throw std::bad_alloc();
    std::vector<int>::reserve(n);
  }
};

TEST(recv_many, without_memory_the_rest_stays) {
  auto [tx, rx] = bounded<int>(8);
  for (int i = 1; i <= 6; ++i) EXPECT_EQ(tx.try_send(i), send_status::sent);
  small got;
  EXPECT_EQ(rx.try_recv_many(got, 6), 4U);
  EXPECT_THROW(static_cast<void>(rx.try_recv_many(got, 6)), std::bad_alloc);
  EXPECT_THROW(static_cast<void>(rx.recv_many(got, 6)), std::bad_alloc);
  EXPECT_EQ(rx.size(), 2U);
  EXPECT_EQ(rx.try_recv(), 5);
}

/// A vector that must never be asked to grow by push_back().
struct with_room : std::vector<int> {
  void push_back(int item) {
    EXPECT_LT(size(), capacity());
    std::vector<int>::push_back(item);
  }
};

// An awaitable in a variable reserves at each await: the vector of the last await may have been replaced.
TEST(recv_many, named_awaitable_reserves_memory_at_each_await) {
  manual_scheduler by;
  auto made = unbounded<int>();
  with_room got;
  auto waits = by.spawn([](auto& of, auto& tx, with_room& out) -> task<int> {
    auto next = of.recv_many(out, 3);
    auto next_for = of.recv_many_for(1h, out, 3);
    int sum = 0;
    for (int round = 0; round < 12; ++round) {
      out = with_room();
      for (int i = 0; i < 2; ++i) EXPECT_EQ(tx.try_send(1), send_status::sent);
      switch (round % 4) {
        case 0: {
          const std::size_t count = co_await next;
          sum += static_cast<int>(count);
          break;
        }
        case 1: {
          const auto count = co_await next_for;
          sum += static_cast<int>(count.value());
          break;
        }
        case 2: {
          auto first = co_await select(next, sleep_for(1h));
          sum += static_cast<int>(first.template get<0>());
          break;
        }
        default: {
          auto first = try_select(next);
          sum += static_cast<int>(first.value().template get<0>());
          break;
        }
      }
      EXPECT_EQ(out.size(), 2U);
    }
    co_return sum;
  }(made.receiver, made.sender, got));
  by.run_until_idle();
  EXPECT_EQ(waits.join(), 24);
}

// Without memory the await throws, takes no item, and stops its time limit.
TEST(recv_many, named_awaitable_takes_nothing_when_reserving_memory_fails) {
  manual_scheduler by;
  auto made = unbounded<int>();
  small got;
  auto waits = by.spawn([](auto& of, auto& tx, small& out) -> task<int> {
    auto next = of.recv_many(out, 4);
    auto next_for = of.recv_many_for(5ms, out, 4);
    for (int i = 0; i < 4; ++i) out.push_back(i);
    EXPECT_EQ(tx.try_send(1), send_status::sent);
    int thrown = 0;
    try {
      static_cast<void>(co_await next);
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    try {
      static_cast<void>(co_await next_for);
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    try {
      auto first = co_await select(next, sleep_for(1h));
      static_cast<void>(first);
    } catch (const std::bad_alloc&) {
      ++thrown;
    }
    EXPECT_THROW(static_cast<void>(try_select(next)), std::bad_alloc);
    co_await sleep_for(20ms);
    EXPECT_EQ(of.size(), 1U);
    co_return thrown;
  }(made.receiver, made.sender, got));
  by.run_with_time();
  EXPECT_EQ(waits.join(), 3);
}

// Many small batches into one vector do not move its items for each batch.
TEST(recv_many, many_small_batches_reallocate_the_vector_a_few_times) {
  auto [tx, rx] = bounded<int>(8);
  std::vector<int> got;
  int moves = 0;
  for (int i = 0; i < 1'000; ++i) {
    const std::size_t before = got.capacity();
    for (int n = 0; n < 3; ++n) EXPECT_EQ(tx.try_send(n), send_status::sent);
    EXPECT_EQ(rx.try_recv_many(got, 3), 3U);
    if (got.capacity() != before) ++moves;
  }
  EXPECT_EQ(got.size(), 3'000U);
  EXPECT_LE(moves, 11);
}

TEST(recv_many, threads_share_what_comes) {
  constexpr int each = 5'000;
  auto made = bounded<int>(16);
  std::vector<std::vector<int>> got(2);
  std::vector<std::thread> all;
  for (auto& mine : got)
    all.emplace_back([&mine, rx = made.receiver]() mutable {
      while (rx.blocking_recv_many(mine, 7) != 0) {
      }
    });
  for (int i = 0; i < 2; ++i)
    all.emplace_back([tx = made.sender]() mutable {
      for (int n = 1; n <= each; ++n) ASSERT_EQ(tx.blocking_send(n), send_status::sent);
    });
  {
    const auto gone = std::move(made.sender);
  }
  for (auto& thread : all) thread.join();
  long sum = 0;
  for (const auto& mine : got) sum = std::accumulate(mine.begin(), mine.end(), sum);
  EXPECT_EQ(sum, 2L * each * (each + 1) / 2);
}

}  // namespace
}  // namespace rota::channel::recv_many_test
