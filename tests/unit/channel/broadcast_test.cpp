// The broadcast: each receiver gets each value, in one order; lost values are counted exactly.
#include "support/manual_scheduler.hpp"

#include <rota/channel/broadcast.hpp>
#include <rota/pool/thread_pool.hpp>
#include <rota/rota.hpp>

#include <gtest/gtest.h>

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

namespace rota::channel::broadcast_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

/// Not trivially copyable. Copies throw on demand; copies and destructors must run outside of all locks.
struct fussy {
  explicit fussy(int n) : value(n) { ++alive; }
  fussy(const fussy& other) : value(other.value) {
    core::demand_unguarded();
    if (throws) throw std::runtime_error("no copy");
    ++alive;
  }
  fussy(fussy&& other) noexcept : value(other.value) {
    core::demand_unguarded();
    ++alive;
  }
  fussy& operator=(const fussy&) = delete;
  ~fussy() {
    core::demand_unguarded();
    --alive;
  }

  int value;
  static inline std::atomic<int> alive = 0;
  static inline bool throws = false;
};
int number_of(const fussy& f) { return f.value; }
int number_of(int n) { return n; }

constexpr int lag = 1'000'000;  // added to the number of lost values
constexpr int empty = -1;
constexpr int end = -2;
constexpr int late = -3;

template <class T>
int said(const std::expected<T, no_item>& got) {
  if (got.has_value()) return number_of(*got);
  switch (got.error().why) {
    case recv_status::lagged: return lag + static_cast<int>(got.error().lagged);
    case recv_status::empty: return empty;
    case recv_status::closed: return end;
    case recv_status::timed_out: return late;
    case recv_status::forked: break;
  }
  return 0;
}

template <class T>
class broadcast_of : public ::testing::Test {};
using both = ::testing::Types<int, fussy>;  // stored in words, and in nodes
TYPED_TEST_SUITE(broadcast_of, both);

template <class T>
task<int> receives(broadcast_receiver<T>& from) {
  const auto got = co_await from.recv();
  co_return said(got);
}

TYPED_TEST(broadcast_of, gives_each_value_to_each_receiver_in_order) {
  for (std::uint64_t n = 1; n <= 5; ++n) {
    auto [tx, one] = broadcast<TypeParam>(n);
    auto two = tx.subscribe();
    int next = 0;
    for (int round = 0; round < 20; ++round) {
      for (std::uint64_t i = 0; i < n; ++i) EXPECT_EQ(tx.send(TypeParam(next++)), send_status::sent);
      for (broadcast_receiver<TypeParam>* const rx : {&one, &two}) {
        EXPECT_EQ(rx->size(), n);
        for (std::uint64_t i = n; i > 0; --i) EXPECT_EQ(said(rx->try_recv()), next - static_cast<int>(i));
        EXPECT_EQ(said(rx->try_recv()), empty);
        EXPECT_EQ(rx->size(), 0U);
      }
    }
    EXPECT_EQ(tx.capacity(), n);
    EXPECT_EQ(one.capacity(), n);
  }
}

TYPED_TEST(broadcast_of, slow_receiver_gets_the_lag_count_and_then_the_oldest_value) {
  auto [tx, rx] = broadcast<TypeParam>(3);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(tx.send(TypeParam(i)), send_status::sent);
  EXPECT_EQ(said(rx.try_recv()), lag + 1);
  EXPECT_EQ(said(rx.try_recv()), 1);
  for (int i = 4; i < 11; ++i) EXPECT_EQ(tx.send(TypeParam(i)), send_status::sent);
  EXPECT_EQ(rx.size(), 9U);
  EXPECT_EQ(said(rx.blocking_recv()), lag + 6);
  EXPECT_EQ(rx.size(), 3U);
  // The receiver has reported the lag, and lags again before it takes a value.
  EXPECT_EQ(tx.send(TypeParam(11)), send_status::sent);
  EXPECT_EQ(said(rx.try_recv()), lag + 1);
  for (int i = 9; i < 12; ++i) EXPECT_EQ(said(rx.try_recv()), i);
  EXPECT_EQ(said(rx.try_recv()), empty);
}

TYPED_TEST(broadcast_of, a_new_receiver_begins_at_now) {
  auto [tx, rx] = broadcast<TypeParam>(4);
  EXPECT_EQ(tx.send(TypeParam(1)), send_status::sent);
  auto of_sender = tx.subscribe();
  EXPECT_EQ(said(of_sender.try_recv()), empty);
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  auto of_receiver = rx.subscribe();
  EXPECT_EQ(tx.send(TypeParam(3)), send_status::sent);
  EXPECT_EQ(said(of_receiver.try_recv()), 3);
  EXPECT_EQ(said(of_sender.try_recv()), 2);
  EXPECT_EQ(said(rx.try_recv()), 1);
  of_sender = std::move(rx);
  EXPECT_EQ(said(of_sender.try_recv()), 2);
}

TYPED_TEST(broadcast_of, send_without_receivers_returns_dropped) {
  auto made = broadcast<TypeParam>(2);
  EXPECT_TRUE(made.sender.has_receivers());
  EXPECT_EQ(made.sender.send(TypeParam(1)), send_status::sent);
  {
    const auto gone = std::move(made.receiver);
  }
  EXPECT_FALSE(made.sender.has_receivers());
  EXPECT_EQ(made.sender.send(TypeParam(2)), send_status::dropped);
  auto rx = made.sender.subscribe();
  EXPECT_TRUE(made.sender.has_receivers());
  EXPECT_EQ(said(rx.try_recv()), empty);
  for (int i = 3; i < 6; ++i) EXPECT_EQ(made.sender.send(TypeParam(i)), send_status::sent);
  EXPECT_EQ(said(rx.try_recv()), lag + 1);
  EXPECT_EQ(said(rx.try_recv()), 4);
}

TYPED_TEST(broadcast_of, what_was_sent_before_the_close_is_received) {
  auto made = broadcast<TypeParam>(4);
  std::optional<broadcast_sender<TypeParam>> one(std::move(made.sender));
  auto two = std::make_unique<broadcast_sender<TypeParam>>(*one);
  EXPECT_EQ(one->send(TypeParam(1)), send_status::sent);
  one.reset();
  EXPECT_FALSE(made.receiver.is_closed());
  EXPECT_EQ(two->send(TypeParam(2)), send_status::sent);
  two.reset();
  EXPECT_TRUE(made.receiver.is_closed());
  EXPECT_EQ(said(made.receiver.blocking_recv()), 1);
  EXPECT_EQ(said(made.receiver.try_recv()), 2);
  EXPECT_EQ(said(made.receiver.try_recv()), end);
  EXPECT_EQ(said(made.receiver.blocking_recv()), end);
  EXPECT_EQ(said(made.receiver.blocking_recv_for(1h)), end);
}

TYPED_TEST(broadcast_of, a_close_refuses_what_comes_after_it) {
  auto [tx, rx] = broadcast<TypeParam>(2);
  auto other = tx;
  other.close();
  EXPECT_TRUE(tx.is_closed() && rx.is_closed());
  EXPECT_EQ(tx.send(TypeParam(1)), send_status::closed);
  auto after = tx.subscribe();
  EXPECT_EQ(said(after.try_recv()), end);
}

TYPED_TEST(broadcast_of, all_waiting_tasks_receive_the_value_and_the_close) {
  manual_scheduler by;
  auto made = broadcast<TypeParam>(2);
  std::vector<broadcast_receiver<TypeParam>> receivers;
  for (int i = 0; i < 100; ++i) receivers.push_back(made.sender.subscribe());
  std::vector<join_handle<int>> all;
  for (auto& rx : receivers) all.push_back(by.spawn(receives<TypeParam>(rx)));
  by.run_until_idle();
  EXPECT_EQ(made.sender.send(TypeParam(7)), send_status::sent);
  by.run_until_idle();
  for (auto& each : all) EXPECT_EQ(each.join(), 7);
  all.clear();
  for (auto& rx : receivers) all.push_back(by.spawn(receives<TypeParam>(rx)));
  by.run_until_idle();
  {
    const auto gone = std::move(made.sender);
  }
  by.run_until_idle();
  for (auto& each : all) EXPECT_EQ(each.join(), end);
}

// The task is woken, but its value is overwritten before it runs.
TYPED_TEST(broadcast_of, a_task_that_runs_too_late_has_lagged) {
  manual_scheduler by;
  auto [tx, rx] = broadcast<TypeParam>(2);
  auto waits = by.spawn(receives<TypeParam>(rx));
  by.run_until_idle();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tx.send(TypeParam(i)), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(waits.join(), lag + 3);
  EXPECT_EQ(said(rx.try_recv()), 3);
}

TYPED_TEST(broadcast_of, a_cancelled_receive_has_taken_nothing) {
  manual_scheduler by;
  auto [tx, rx] = broadcast<TypeParam>(2);
  auto waits = by.spawn(receives<TypeParam>(rx));
  by.run_until_idle();
  EXPECT_EQ(tx.send(TypeParam(1)), send_status::sent);
  waits.cancel();
  by.run_until_idle();
  EXPECT_EQ(by.cancelled, 1);
  EXPECT_EQ(said(rx.try_recv()), 1);
}

TYPED_TEST(broadcast_of, timed_calls_report_a_timeout_a_close_or_the_value) {
  manual_scheduler by;
  auto [tx, rx] = broadcast<TypeParam>(2);
  const auto two = [](broadcast_receiver<TypeParam>& from, manual_scheduler& on) -> task<std::vector<int>> {
    const auto first = co_await from.recv_for(5ms);
    const auto second = co_await from.recv_until(on.time + 5ms);
    const auto third = co_await timeout(5ms, from.recv());
    std::vector<int> all;
    for (const auto* const got : {&first, &second, &third}) all.push_back(said(*got));
    co_return all;
  };
  auto none = by.spawn(two, std::ref(rx), std::ref(by));
  by.run_with_time();
  EXPECT_EQ(none.join(), (std::vector{late, late, late}));
  auto some = by.spawn(two, std::ref(rx), std::ref(by));
  for (int i = 1; i <= 3; ++i) {
    by.run_until_idle();
    EXPECT_EQ(tx.send(TypeParam(i)), send_status::sent);
  }
  by.run_until_idle();
  EXPECT_EQ(some.join(), (std::vector{1, 2, 3}));
  tx.close();
  auto ended = by.spawn(two, std::ref(rx), std::ref(by));
  by.run_until_idle();
  EXPECT_EQ(ended.join(), (std::vector{end, end, end}));
}

TYPED_TEST(broadcast_of, threads_wait_with_and_without_a_limit) {
  auto [tx, rx] = broadcast<TypeParam>(2);
  EXPECT_EQ(said(rx.blocking_recv_for(1ms)), late);
  EXPECT_EQ(said(rx.blocking_recv_until(std::chrono::steady_clock::now())), late);
  std::thread other([mine = tx.subscribe()]() mutable {
    EXPECT_EQ(said(mine.blocking_recv()), 2);
    EXPECT_EQ(said(mine.blocking_recv_for(1h)), end);
  });
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  EXPECT_EQ(said(rx.blocking_recv_for(1h)), 2);
  tx.close();
  other.join();
}

TEST(broadcast, refuses_capacities_that_it_cannot_have) {
  EXPECT_THROW(static_cast<void>(broadcast<int>((std::uint64_t{1} << 31U) + 1)), std::invalid_argument);
  try {
    static_cast<void>(broadcast<int>(0));
    FAIL();
  } catch (const std::invalid_argument& e) {
    EXPECT_STREQ(e.what(), "channel::broadcast: capacity is 0: must be 1..2147483648");
  }
}

TEST(broadcast, keeps_at_most_its_capacity_and_nothing_without_receivers) {
  const int before = fussy::alive;
  {
    auto made = broadcast<fussy>(40);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(made.sender.send(fussy(i)), send_status::sent);
      EXPECT_EQ(fussy::alive, before + std::min(i + 1, 40));
    }
    auto other = made.sender.subscribe();
    {
      const auto gone = std::move(made.receiver);
    }
    EXPECT_EQ(fussy::alive, before + 40);  // the slowest receiver still needs all
    {
      const auto gone = std::move(other);
    }
    EXPECT_EQ(fussy::alive, before);
    auto rx = made.sender.subscribe();
    EXPECT_EQ(made.sender.send(fussy(1)), send_status::sent);
    EXPECT_EQ(fussy::alive, before + 1);
    EXPECT_EQ(said(rx.try_recv()), 1);
  }
  EXPECT_EQ(fussy::alive, before);
}

TEST(broadcast, a_copy_that_throws_loses_nothing) {
  manual_scheduler by;
  auto [tx, rx] = broadcast<fussy>(2);
  EXPECT_EQ(tx.send(fussy(1)), send_status::sent);
  fussy::throws = true;
  EXPECT_THROW(static_cast<void>(rx.try_recv()), std::runtime_error);
  EXPECT_THROW(static_cast<void>(rx.blocking_recv()), std::runtime_error);
  auto waits = by.spawn(receives<fussy>(rx));
  by.run_until_idle();
  EXPECT_THROW(static_cast<void>(waits.join()), std::runtime_error);
  fussy::throws = false;
  EXPECT_EQ(rx.size(), 1U);
  EXPECT_EQ(said(rx.try_recv()), 1);
}

// A copy constructor that sends: no lock is held; the copied value stays though it is overwritten.
TEST(broadcast, a_copy_may_use_the_channel) {
  struct sender_too {
    explicit sender_too(int n) : value(n) {}
    sender_too(sender_too&&) = default;
    sender_too(const sender_too& other) : value(0) {
      if (other.send_more) other.send_more();
      value = other.value;
    }
    std::function<void()> send_more = {};
    int value;
  };
  auto made = broadcast<sender_too>(1);
  sender_too first(1);
  first.send_more = [&made] { EXPECT_EQ(made.sender.send(sender_too(2)), send_status::sent); };
  EXPECT_EQ(made.sender.send(std::move(first)), send_status::sent);
  EXPECT_EQ(made.receiver.try_recv()->value, 1);
  EXPECT_EQ(made.receiver.try_recv()->value, 2);
}

TEST(broadcast, kept_values_are_destroyed_with_the_channel) {
  const auto item = std::make_shared<int>(1);
  {
    auto [tx, rx] = broadcast<std::shared_ptr<int>>(3);
    EXPECT_EQ(tx.send(item), send_status::sent);
    EXPECT_EQ(tx.send(item), send_status::sent);
    EXPECT_EQ(rx.try_recv(), item);
    EXPECT_EQ(item.use_count(), 3);
  }
  EXPECT_EQ(item.use_count(), 1);
}

/// Values of several words, in a ring that is too small: each arrives whole, in order, or counts as lost.
struct several {
  std::uint64_t of[7] = {};
};
struct several_node : several {
  several_node() = default;
  several_node(const several_node& other) : several(other) {}
  several_node& operator=(const several_node&) = delete;
  ~several_node() {}  // NOLINT(modernize-use-equals-default): so that it lies in a node
};
static_assert(detail::lies_in_words<several> && !detail::lies_in_words<several_node>);

template <class T>
class broadcast_whole : public ::testing::Test {};
using whole = ::testing::Types<several, several_node>;
TYPED_TEST_SUITE(broadcast_whole, whole);

template <class T>
void receive_all(broadcast_receiver<T> rx, std::uint64_t total) {
  std::uint64_t accounted = 0;
  std::uint64_t before[2] = {};
  for (;;) {
    const auto got = rx.blocking_recv();
    if (got.has_value()) {
      for (const std::uint64_t word : got->of) ASSERT_EQ(word, got->of[0]);
      std::uint64_t& last = before[got->of[0] % 2];  // the last value of this sender
      ASSERT_GT(got->of[0] + 2, last);
      last = got->of[0] + 2;
      ++accounted;
    } else if (got.error().why == recv_status::lagged) {
      ASSERT_GT(got.error().lagged, 0U);
      accounted += got.error().lagged;
    } else {
      break;
    }
  }
  EXPECT_EQ(accounted, total);
}

TYPED_TEST(broadcast_whole, received_and_lost_values_add_up) {
  static constexpr std::uint64_t each = 10'000;
  for (const std::uint64_t n : {1U, 3U, 64U}) {
    auto made = broadcast<TypeParam>(n);
    std::vector<std::thread> all;
    for (int i = 0; i < 2; ++i)
      all.emplace_back([rx = made.sender.subscribe()]() mutable { receive_all(std::move(rx), 2 * each); });
    for (std::uint64_t who = 0; who < 2; ++who)
      all.emplace_back([who, tx = made.sender] {
        auto mine = tx;
        for (std::uint64_t i = 0; i < each; ++i) {
          TypeParam value;
          for (std::uint64_t& word : value.of) word = 2 * i + who;
          ASSERT_EQ(mine.send(value), send_status::sent);
        }
      });
    {
      const auto gone = std::move(made.sender);
    }
    for (auto& thread : all) thread.join();
  }
}

TYPED_TEST(broadcast_whole, receivers_come_and_go_beside_sends) {
  auto made = broadcast<TypeParam>(2);
  std::atomic<bool> stop = false;
  std::vector<std::thread> all;
  for (int i = 0; i < 2; ++i)
    all.emplace_back([tx = made.sender, &stop]() mutable {
      while (!stop) static_cast<void>(tx.send(TypeParam()));
    });
  {
    const auto gone = std::move(made.receiver);
  }
  for (int i = 0; i < 2'000; ++i) {
    auto rx = made.sender.subscribe();
    auto other = rx.subscribe();
    static_cast<void>(rx.try_recv());
    static_cast<void>(other.try_recv());
  }
  stop = true;
  for (auto& thread : all) thread.join();
  EXPECT_EQ(made.sender.send(TypeParam()), send_status::dropped);
}

// Two runtimes, a work of a pool and a plain thread receive all values: the ring is large enough.
TEST(broadcast, runtimes_pool_jobs_and_threads_share_it) {
  static constexpr int count = 500;
  static constexpr long sum = static_cast<long>(count) * (count + 1) / 2;
  auto made = broadcast<int>(count);
  const auto by_task = [](broadcast_receiver<int> rx) -> task<long> {
    long all = 0;
    for (;;) {
      const auto got = co_await rx.recv();
      if (!got.has_value()) co_return got.error().why == recv_status::closed ? all : -1;
      all += *got;
    }
  };
  const auto by_thread = [](broadcast_receiver<int>& rx) {
    long all = 0;
    while (const auto got = rx.blocking_recv()) all += *got;
    return all;
  };
  runtime one(runtime_options{.workers = 1});
  runtime two(runtime_options{.workers = 2});
  auto of_one = one.spawn(by_task(made.sender.subscribe()));
  auto of_two = two.spawn(by_task(made.sender.subscribe()));
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 2});
  auto for_work = std::make_shared<broadcast_receiver<int>>(made.sender.subscribe());
  auto of_work = works.submit([for_work, by_thread] { return by_thread(*for_work); });
  long of_thread = 0;
  std::thread other(
      [rx = std::move(made.receiver), by_thread, &of_thread]() mutable { of_thread = by_thread(rx); });
  for (int n = 1; n <= count; ++n) EXPECT_EQ(made.sender.send(n), send_status::sent);
  {
    const auto gone = std::move(made.sender);
  }
  EXPECT_EQ(of_one.join(), sum);
  EXPECT_EQ(of_two.join(), sum);
  EXPECT_EQ(of_work.fetch().value(), sum);
  other.join();
  EXPECT_EQ(of_thread, sum);
}

// The position of the receiver counts from when the wait begins, not from when the awaitable is created.
TEST(broadcast, named_receive_awaitable_can_be_awaited_again) {
  manual_scheduler by;
  auto [tx, rx] = broadcast<int>(4);
  std::string order;
  const auto receives = [](broadcast_receiver<int>& from, std::string& said) -> task<void> {
    auto next = from.recv();
    for (;;) {
      const auto got = co_await next;
      if (!got.has_value()) {
        said += got.error().why == recv_status::closed ? '.' : '?';
        co_return;
      }
      said += std::to_string(*got);
    }
  };
  EXPECT_EQ(tx.send(1), send_status::sent);
  auto all = by.spawn(receives(rx, order));
  by.run_until_idle();
  EXPECT_EQ(order, "1");
  EXPECT_EQ(tx.send(2), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(order, "12");
  tx.close();
  by.run_until_idle();
  EXPECT_EQ(order, "12.");
  all.join();
}

TEST(broadcast, a_value_that_was_received_meanwhile_does_not_end_a_wait) {
  manual_scheduler by;
  auto [tx, rx] = broadcast<int>(4);
  const auto receives = [](broadcast_sender<int>& to, broadcast_receiver<int>& from) -> task<int> {
    auto next = from.recv();
    static_cast<void>(to.send(1));
    const auto now = from.try_recv();
    const auto later = co_await next;
    co_return 10 * now.value_or(0) + later.value_or(0);
  };
  auto twice = by.spawn(receives(tx, rx));
  by.run_until_idle();
  EXPECT_EQ(tx.send(2), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(twice.join(), 12);
}

}  // namespace
}  // namespace rota::channel::broadcast_test
