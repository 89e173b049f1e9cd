// The watch: the last value, never torn, and a notification of each change.
#include "support/manual_scheduler.hpp"
#include "unit/channel/watch_support.hpp"

#include <rota/channel/watch.hpp>
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

namespace rota::channel::watch_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

template <class T>
task<int> hears(watch_receiver<T>& of) {
  const auto news = co_await of.changed();
  if (!news.has_value()) co_return news.error() == recv_status::closed ? -1 : -2;
  co_return number_of(of.get());
}

template <class T>
class watch_of : public ::testing::Test {};
TYPED_TEST_SUITE(watch_of, both);

TYPED_TEST(watch_of, gives_the_last_value_and_says_once_that_it_is_new) {
  auto [tx, rx] = watch(TypeParam(1));
  EXPECT_EQ(number_of(rx.get()), 1);
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(rx.try_changed().error(), recv_status::empty);
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  EXPECT_EQ(tx.send(TypeParam(3)), send_status::sent);
  EXPECT_TRUE(rx.has_changed());
  EXPECT_TRUE(rx.try_changed().has_value());
  EXPECT_EQ(rx.try_changed().error(), recv_status::empty);
  EXPECT_EQ(number_of(rx.get()), 3);
  EXPECT_EQ(number_of(tx.get()), 3);
}

TYPED_TEST(watch_of, borrow_leaves_the_value_marked_changed_unless_it_updates) {
  auto [tx, rx] = watch(TypeParam(1));
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  EXPECT_EQ(rx.borrow([](const TypeParam& v) { return number_of(v); }), 2);
  EXPECT_TRUE(rx.has_changed());
  EXPECT_EQ(number_of(rx.get_and_update()), 2);
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(tx.send(TypeParam(3)), send_status::sent);
  EXPECT_EQ(rx.borrow_and_update([](const TypeParam& v) { return number_of(v); }), 3);
  EXPECT_FALSE(rx.has_changed());
}

TYPED_TEST(watch_of, copied_receiver_inherits_what_was_seen_and_a_new_one_is_up_to_date) {
  auto [tx, rx] = watch(TypeParam(1));
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  auto copy = rx;
  auto fresh = tx.subscribe();
  EXPECT_TRUE(copy.try_changed().has_value());
  EXPECT_TRUE(rx.has_changed());
  EXPECT_FALSE(fresh.has_changed());
  EXPECT_EQ(number_of(fresh.get()), 2);
  fresh = rx;
  EXPECT_TRUE(fresh.has_changed());
}

TYPED_TEST(watch_of, closes_when_the_last_sender_has_gone_and_says_the_last_value_first) {
  auto made = watch(TypeParam(1));
  std::optional<watch_sender<TypeParam>> one(std::move(made.sender));
  std::optional<watch_sender<TypeParam>> two(*one);
  one.reset();
  EXPECT_FALSE(made.receiver.is_closed());
  EXPECT_EQ(two->send(TypeParam(2)), send_status::sent);
  two.reset();
  EXPECT_TRUE(made.receiver.is_closed());
  EXPECT_TRUE(made.receiver.blocking_changed().has_value());
  EXPECT_EQ(made.receiver.try_changed().error(), recv_status::closed);
  EXPECT_EQ(made.receiver.blocking_changed().error(), recv_status::closed);
  EXPECT_EQ(number_of(made.receiver.get()), 2);
}

TYPED_TEST(watch_of, a_close_refuses_what_comes_after_it) {
  auto [tx, rx] = watch(TypeParam(1));
  auto other = tx;
  other.close();
  EXPECT_TRUE(tx.is_closed());
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::closed);
  EXPECT_EQ(tx.send_modify([](TypeParam&) { FAIL(); }), send_status::closed);
  EXPECT_EQ(number_of(rx.get()), 1);
  auto late = tx.subscribe();
  EXPECT_EQ(late.try_changed().error(), recv_status::closed);
}

TYPED_TEST(watch_of, a_sender_goes_on_without_receivers_and_sees_that) {
  auto made = watch(TypeParam(1));
  EXPECT_TRUE(made.sender.has_receivers());
  {
    const auto gone = std::move(made.receiver);
  }
  EXPECT_FALSE(made.sender.has_receivers());
  EXPECT_EQ(made.sender.send(TypeParam(2)), send_status::sent);
  auto rx = made.sender.subscribe();
  EXPECT_TRUE(made.sender.has_receivers());
  EXPECT_EQ(number_of(rx.get()), 2);
}

TYPED_TEST(watch_of, all_waiting_tasks_are_woken_by_a_change) {
  manual_scheduler by;
  auto made = watch(TypeParam(1));
  std::vector<watch_receiver<TypeParam>> receivers(100, made.receiver);
  std::vector<join_handle<int>> all;
  for (auto& rx : receivers) all.push_back(by.spawn(hears<TypeParam>(rx)));
  by.run_until_idle();
  EXPECT_EQ(made.sender.send(TypeParam(2)), send_status::sent);
  by.run_until_idle();
  for (auto& each : all) EXPECT_EQ(each.join(), 2);
  all.clear();
  for (auto& rx : receivers) all.push_back(by.spawn(hears<TypeParam>(rx)));
  by.run_until_idle();
  {
    const auto gone = std::move(made.sender);
  }
  by.run_until_idle();
  for (auto& each : all) EXPECT_EQ(each.join(), -1);
}

TYPED_TEST(watch_of, a_cancelled_wait_has_seen_nothing) {
  manual_scheduler by;
  auto [tx, rx] = watch(TypeParam(1));
  auto waits = by.spawn(hears<TypeParam>(rx));
  by.run_until_idle();
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  waits.cancel();
  by.run_until_idle();
  EXPECT_EQ(by.cancelled, 1);
  EXPECT_TRUE(rx.has_changed());
  EXPECT_EQ(number_of(rx.get()), 2);
}

TYPED_TEST(watch_of, timed_calls_report_a_timeout_a_close_or_a_change) {
  manual_scheduler by;
  auto [tx, rx] = watch(TypeParam(1));
  const auto waits = [](watch_receiver<TypeParam>& of, manual_scheduler& on) -> task<int> {
    const auto first = co_await of.changed_for(5ms);
    const auto second = co_await of.changed_until(on.time + 5ms);
    const auto third = co_await timeout(5ms, of.changed());
    co_return (first.has_value() ? 100 : static_cast<int>(first.error())) * 10000 +
        (second.has_value() ? 100 : static_cast<int>(second.error())) * 100 + (third.has_value() ? 10 : 0);
  };
  constexpr int late = static_cast<int>(recv_status::timed_out);
  constexpr int end = static_cast<int>(recv_status::closed);
  auto none = by.spawn(waits, std::ref(rx), std::ref(by));
  by.run_with_time();
  EXPECT_EQ(none.join(), late * 10000 + late * 100);
  auto some = by.spawn(waits, std::ref(rx), std::ref(by));
  by.run_until_idle();
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(tx.send(TypeParam(3)), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(tx.send(TypeParam(4)), send_status::sent);
  by.run_until_idle();
  EXPECT_EQ(some.join(), 100 * 10000 + 100 * 100 + 10);
  tx.close();
  auto none_left = by.spawn(waits, std::ref(rx), std::ref(by));
  by.run_until_idle();
  EXPECT_EQ(none_left.join(), end * 10000 + end * 100);
}

TYPED_TEST(watch_of, threads_wait_with_and_without_a_limit) {
  auto [tx, rx] = watch(TypeParam(1));
  EXPECT_EQ(rx.blocking_changed_for(1ms).error(), recv_status::timed_out);
  EXPECT_EQ(rx.blocking_changed_until(std::chrono::steady_clock::now()).error(), recv_status::timed_out);
  std::thread other([mine = rx]() mutable {
    EXPECT_TRUE(mine.blocking_changed().has_value());
    EXPECT_EQ(number_of(mine.get()), 2);
    EXPECT_EQ(mine.blocking_changed_for(1h).error(), recv_status::closed);
  });
  EXPECT_EQ(tx.send(TypeParam(2)), send_status::sent);
  EXPECT_TRUE(rx.blocking_changed_for(1h).has_value());
  // The thread must see the value before the end arrives; both calls would return the same anyway.
  tx.close();
  other.join();
}

TYPED_TEST(watch_of, when_waits_for_a_value_that_satisfies_the_predicate) {
  manual_scheduler by;
  auto [tx, rx] = watch(TypeParam(1));
  const auto at_least = [](int n) { return [n](const TypeParam& v) { return number_of(v) >= n; }; };
  EXPECT_EQ(number_of(rx.blocking_when(at_least(1)).value()), 1);
  EXPECT_EQ(rx.blocking_when_for(1ms, at_least(3)).error(), recv_status::timed_out);
  EXPECT_EQ(rx.blocking_when_until(std::chrono::steady_clock::now(), at_least(3)).error(),
            recv_status::timed_out);
  auto copy = rx;
  auto waits = by.spawn(copy.when(at_least(3)));
  auto other = rx;
  auto late = by.spawn(other.when_for(5ms, at_least(5)));
  by.run_until_idle();
  for (int n = 2; n <= 4; ++n) {
    EXPECT_EQ(tx.send(TypeParam(n)), send_status::sent);
    by.run_until_idle();
  }
  EXPECT_EQ(number_of(waits.join().value()), 3);
  EXPECT_TRUE(copy.has_changed());
  by.run_with_time();
  EXPECT_EQ(late.join().error(), recv_status::timed_out);
  auto in_time = by.spawn(rx.when_until(by.time + 5ms, at_least(4)));
  auto never = by.spawn(other.when_for(5ms, at_least(5)));
  auto nothing = by.spawn(copy.when(at_least(5)));
  by.run_until_idle();
  EXPECT_EQ(number_of(in_time.join().value()), 4);
  tx.close();
  by.run_until_idle();
  EXPECT_EQ(never.join().error(), recv_status::closed);
  EXPECT_FALSE(nothing.join().has_value());
  EXPECT_EQ(rx.blocking_when_for(1h, at_least(5)).error(), recv_status::closed);
  EXPECT_FALSE(rx.blocking_when(at_least(5)).has_value());
}

// A replaced value is destroyed when its last borrower returns; a send during a borrow does not wait.
TEST(watch, replaced_value_lives_until_its_borrow_ends) {
  const int before = fussy::alive;
  {
    auto [tx, rx] = watch(fussy(1));
    EXPECT_EQ(fussy::alive, before + 1);
    const int got = rx.borrow([&tx, before](const fussy& f) {
      EXPECT_EQ(tx.send(fussy(2)), send_status::sent);
      EXPECT_EQ(fussy::alive, before + 2);
      return f.value;
    });
    EXPECT_EQ(got, 1);
    EXPECT_EQ(fussy::alive, before + 1);
    EXPECT_EQ(rx.get().value, 2);
  }
  EXPECT_EQ(fussy::alive, before);
}

TEST(watch, a_copy_that_throws_changes_nothing) {
  const int before = fussy::alive;
  {
    auto [tx, rx] = watch(fussy(1));
    EXPECT_EQ(tx.send(fussy(2)), send_status::sent);
    fussy::throws = true;
    EXPECT_THROW(static_cast<void>(rx.get()), std::runtime_error);
    EXPECT_THROW(static_cast<void>(rx.get_and_update()), std::runtime_error);
    EXPECT_THROW(static_cast<void>(tx.send_modify([](fussy&) { FAIL(); })), std::runtime_error);
    EXPECT_THROW(static_cast<void>(rx.blocking_when([](const fussy&) { return true; })), std::runtime_error);
    fussy::throws = false;
    EXPECT_EQ(rx.get().value, 2);
    EXPECT_EQ(tx.send_modify([](fussy& f) { f.value = 3; }), send_status::sent);
    EXPECT_EQ(rx.get().value, 3);
  }
  EXPECT_EQ(fussy::alive, before);
}

TEST(watch, move_only_value_can_be_borrowed) {
  auto [tx, rx] = watch(std::make_unique<int>(1));
  EXPECT_EQ(tx.send(std::make_unique<int>(2)), send_status::sent);
  EXPECT_TRUE(rx.blocking_changed().has_value());
  EXPECT_EQ(rx.borrow([](const std::unique_ptr<int>& p) { return *p; }), 2);
}

TEST(watch, values_may_need_more_alignment_than_memory_has) {
  struct alignas(64) wide {
    int value;
  };
  struct alignas(64) wide_node {
    explicit wide_node(int n) : text(std::to_string(n)) {}
    std::string text;
  };
  auto [tx, rx] = watch(wide{1});
  EXPECT_EQ(tx.send(wide{2}), send_status::sent);
  EXPECT_EQ(rx.get().value, 2);
  auto [node_tx, node_rx] = watch(wide_node(1));
  EXPECT_EQ(node_tx.send(wide_node(2)), send_status::sent);
  EXPECT_EQ(node_rx.get().text, "2");
}

template <class T>
class watch_whole : public ::testing::Test {};
TYPED_TEST_SUITE(watch_whole, whole);

TYPED_TEST(watch_whole, no_value_is_torn_and_none_goes_back) {
  static constexpr std::uint64_t rounds = 20'000;
  auto made = watch(TypeParam());
  std::vector<std::thread> all;
  for (int i = 0; i < 2; ++i)
    all.emplace_back([rx = made.receiver]() mutable {
      std::uint64_t before = 0;
      for (;;) {
        const bool more = rx.blocking_changed().has_value();
        const TypeParam got = rx.get();
        for (const std::uint64_t word : got.of) ASSERT_EQ(word, got.of[0]);
        ASSERT_GE(got.of[0], before);
        before = got.of[0];
        if (!more) break;
      }
      EXPECT_EQ(before, rounds);
    });
  for (std::uint64_t i = 0; i < rounds; ++i) {
    const send_status how = made.sender.send_modify([](TypeParam& value) {
      for (std::uint64_t& word : value.of) ++word;
    });
    ASSERT_EQ(how, send_status::sent);
  }
  made.sender.close();
  for (auto& thread : all) thread.join();
}

// Two runtimes, a work of a pool and a plain thread watch one value until the last one arrives.
TEST(watch, runtimes_pool_jobs_and_threads_share_it) {
  static constexpr int last = 500;
  auto made = watch(0);
  const auto by_task = [](watch_receiver<int> rx) -> task<int> {
    const auto got = co_await rx.when([](int n) { return n == last; });
    co_return got.value_or(-1);
  };
  runtime one(runtime_options{.workers = 1});
  runtime two(runtime_options{.workers = 2});
  auto of_one = one.spawn(by_task(made.receiver));
  auto of_two = two.spawn(by_task(made.receiver));
  pool::thread_pool works(pool::pool_options{.min_threads = 1, .max_threads = 2});
  auto of_work = works.submit([rx = made.receiver]() mutable {
    return rx.blocking_when([](int n) { return n == last; }).value_or(-1);
  });
  std::thread other(
      [rx = made.receiver]() mutable { EXPECT_EQ(rx.blocking_when([](int n) { return n == last; }), last); });
  for (int n = 1; n <= last; ++n) EXPECT_EQ(made.sender.send(n), send_status::sent);
  EXPECT_EQ(of_one.join(), last);
  EXPECT_EQ(of_two.join(), last);
  EXPECT_EQ(of_work.fetch().value(), last);
  other.join();
}

// What the receiver has seen counts from when the wait begins, not from when the awaitable is created.
TEST(watch, named_change_awaitable_can_be_awaited_again) {
  manual_scheduler by;
  auto [tx, rx] = watch<int>(0);
  std::string order;
  const auto hears = [](watch_receiver<int>& from, std::string& said) -> task<void> {
    auto change = from.changed();
    for (;;) {
      const auto news = co_await change;
      if (!news.has_value()) {
        said += news.error() == recv_status::closed ? '.' : '?';
        co_return;
      }
      said += std::to_string(from.get());
    }
  };
  EXPECT_EQ(tx.send(1), send_status::sent);
  auto all = by.spawn(hears(rx, order));
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

TEST(watch, change_that_was_seen_meanwhile_does_not_end_a_wait) {
  manual_scheduler by;
  auto [tx, rx] = watch<int>(0);
  const auto hears = [](watch_sender<int>& to, watch_receiver<int>& from) -> task<bool> {
    auto change = from.changed();
    static_cast<void>(to.send(1));
    EXPECT_EQ(from.get_and_update(), 1);
    const auto news = co_await change;
    co_return news.has_value() && from.get() == 2;
  };
  auto late = by.spawn(hears(tx, rx));
  by.run_until_idle();
  EXPECT_EQ(tx.send(2), send_status::sent);
  by.run_until_idle();
  EXPECT_TRUE(late.join());
}

}  // namespace
}  // namespace rota::channel::watch_test
