// The promised names of channels, select, generators and streams.
#include <rota/async_generator.hpp>
#include <rota/channel/bounded.hpp>
#include <rota/channel/bounded_by_weight.hpp>
#include <rota/channel/broadcast.hpp>
#include <rota/channel/oneshot.hpp>
#include <rota/channel/select.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/channel/watch.hpp>
#include <rota/rota.hpp>
#include <rota/stream.hpp>
#include <rota/sync/event.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <expected>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace channel = rota::channel;
namespace stream = rota::stream;
using channel::recv_status;
using channel::send_status;

std::chrono::steady_clock::time_point soon() { return std::chrono::steady_clock::now() + 1h; }

TEST(public_api, bounded_channel_sends_receives_and_times_out) {
  auto [tx, rx] = channel::bounded<std::unique_ptr<int>>(2);
  EXPECT_EQ(tx.capacity(), 2U);
  rota::run([&]() -> rota::task<void> {
    const send_status how = co_await tx.send(std::make_unique<int>(1));
    EXPECT_EQ(how, send_status::sent);
    const auto got_first = co_await tx.send_for(1h, std::make_unique<int>(2));
    EXPECT_EQ(got_first, send_status::sent);
    const auto got_second = co_await tx.send_for(1ns, std::make_unique<int>(3));
    EXPECT_EQ(got_second, send_status::timed_out);
    std::optional<std::unique_ptr<int>> first = co_await rx.recv();
    EXPECT_EQ(**first, 1);
    const auto got_third = **(co_await rx.recv_for(1h));
    EXPECT_EQ(got_third, 2);
    const auto got_fourth = (co_await rx.recv_for(1ns)).error();
    EXPECT_EQ(got_fourth, recv_status::timed_out);
    const auto got_fifth = co_await tx.send_until(soon(), std::make_unique<int>(4));
    EXPECT_EQ(got_fifth, send_status::sent);
    const auto got_sixth = **(co_await rx.recv_until(soon()));
    EXPECT_EQ(got_sixth, 4);
  });
  auto more = tx;
  const auto also = rx;
  EXPECT_EQ(more.blocking_send(std::make_unique<int>(5)), send_status::sent);
  EXPECT_EQ(tx.try_send(std::make_unique<int>(6)), send_status::sent);
  auto kept = std::make_unique<int>(7);
  EXPECT_EQ(tx.try_send(std::move(kept)), send_status::full);
  EXPECT_NE(kept, nullptr);  // NOLINT(bugprone-use-after-move): it was not sent
  EXPECT_EQ(tx.blocking_send_for(1ns, std::make_unique<int>(8)), send_status::timed_out);
  EXPECT_EQ(also.size(), 2U);
  EXPECT_EQ(**rx.blocking_recv(), 5);
  EXPECT_EQ(**rx.try_recv(), 6);
  EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
  EXPECT_EQ(tx.blocking_send_until(soon(), std::make_unique<int>(9)), send_status::sent);
  tx.close();
  EXPECT_TRUE(rx.is_closed());
  EXPECT_EQ(tx.try_send(std::move(kept)), send_status::closed);
  EXPECT_EQ(**rx.blocking_recv_for(1h), 9);
  EXPECT_EQ(rx.blocking_recv_until(soon()).error(), recv_status::closed);
}

TEST(public_api, weight_bounded_channel_waits_for_free_weight) {
  using text = std::vector<char>;
  auto [tx, rx] = channel::bounded_by_weight<text>(8, 100, [](const text& t) noexcept { return t.size(); });
  channel::weighed_sender<text> more = tx;
  const channel::weighed_receiver<text> also = rx;
  const channel::weighed_weak_sender<text> weak = tx.downgrade();
  rota::run([&]() -> rota::task<void> {
    const send_status how = co_await tx.send(text(60));
    EXPECT_EQ(how, send_status::sent);
    const send_status late = co_await tx.send_for(1ns, text(41));
    EXPECT_EQ(late, send_status::timed_out);
    const send_status in_time = co_await more.send_until(soon(), text(40));
    EXPECT_EQ(in_time, send_status::sent);
    const auto first = co_await channel::select(rx.recv(), tx.send(text(1)));
    EXPECT_EQ(first.index(), 0U);
    const auto second = co_await rx.recv_for(1h);
    EXPECT_EQ(second->size(), 40U);
  });
  EXPECT_EQ(tx.try_send(text(1'000)), send_status::sent) << "it is alone";
  EXPECT_EQ(also.weight(), 1'000U);
  EXPECT_EQ(also.max_weight(), 100U);
  EXPECT_EQ(also.capacity(), 8U);
  EXPECT_EQ(tx.blocking_send_for(1ns, text()), send_status::timed_out);
  EXPECT_EQ(rx.blocking_recv()->size(), 1'000U);
  EXPECT_EQ(weak.upgrade()->blocking_send(text(2)), send_status::sent);
  std::vector<text> out;
  EXPECT_EQ(rx.try_recv_many(out, 4), 1U);
  rx.close();
  EXPECT_EQ(tx.blocking_send(text(2)), send_status::closed);
  EXPECT_EQ(tx.stats().refused, 0U);
}

TEST(public_api, timed_out_send_returns_its_item_and_recv_many_takes_several) {
  auto [tx, rx] = channel::bounded<std::unique_ptr<int>>(1);
  rota::run([&]() -> rota::task<void> {
    auto first = tx.send(std::make_unique<int>(1));
    const auto got_first = co_await first;
    EXPECT_EQ(got_first, send_status::sent);
    auto late = tx.send_for(1ns, std::make_unique<int>(2));
    const auto got_late = co_await late;
    EXPECT_EQ(got_late, send_status::timed_out);
    const std::unique_ptr<int> back = std::move(late).item();
    EXPECT_EQ(*back, 2);
    std::vector<std::unique_ptr<int>> all;
    const std::size_t count = co_await rx.recv_many(all, 10);
    EXPECT_EQ(count, 1U);
    const auto none = co_await rx.recv_many_for(1ns, all, 10);
    EXPECT_EQ(none.error(), recv_status::timed_out);
    EXPECT_EQ(tx.try_send(std::make_unique<int>(5)), send_status::sent);
    const auto one = co_await rx.recv_many_until(soon(), all, 10);
    EXPECT_EQ(one, 1U);
  });
  std::vector<std::unique_ptr<int>> more;
  EXPECT_EQ(rx.try_recv_many(more, 2).error(), recv_status::empty);
  EXPECT_EQ(tx.try_send(std::make_unique<int>(3)), send_status::sent);
  EXPECT_EQ(rx.blocking_recv_many(more, 2), 1U);
  EXPECT_EQ(rx.blocking_recv_many_for(1ns, more, 2).error(), recv_status::timed_out);
  EXPECT_EQ(tx.try_send(std::make_unique<int>(6)), send_status::sent);
  EXPECT_EQ(rx.blocking_recv_many_until(soon(), more, 2), 1U);
  EXPECT_EQ(*more.back(), 6);
  EXPECT_EQ(rx.blocking_recv_many_until(std::chrono::steady_clock::now(), more, 2).error(),
            recv_status::timed_out);
  auto single = channel::oneshot<std::unique_ptr<int>>();
  EXPECT_EQ(std::move(single.sender).try_send(std::make_unique<int>(4)), send_status::sent);
  EXPECT_FALSE(single.receiver.is_closed());
}

TEST(public_api, sender_observes_the_end_of_its_receivers) {
  auto [tx, rx] = channel::bounded<int>(1);
  EXPECT_TRUE(tx.same_channel(rx));
  const channel::weak_sender<int> weak = tx.downgrade();
  EXPECT_TRUE(weak.upgrade().has_value());
  EXPECT_FALSE(tx.blocking_closed_for(1ns).has_value());
  EXPECT_FALSE(tx.blocking_closed_until(std::chrono::steady_clock::now()).has_value());
  rx.close();
  rota::run([&]() -> rota::task<void> {
    co_await tx.closed();
    const auto in_time = co_await tx.closed_for(1h);
    EXPECT_TRUE(in_time.has_value());
    const auto then = co_await tx.closed_until(soon());
    EXPECT_TRUE(then.has_value());
  });
  tx.blocking_closed();
  EXPECT_TRUE(tx.blocking_closed_until(soon()).has_value());
  auto news = channel::watch<int>(1);
  EXPECT_EQ(news.sender.receiver_count(), 1U);
  news.receiver.mark_changed();
  EXPECT_TRUE(news.receiver.has_changed());
  news.receiver.mark_unchanged();
  EXPECT_FALSE(news.receiver.has_changed());
  EXPECT_EQ(news.sender.send_replace(2), 1);
  EXPECT_EQ(news.sender.send_if_modified([](int& n) { return n > 2; }), send_status::dropped);
  {
    const auto gone = std::move(news.receiver);
  }
  news.sender.blocking_closed();
}

TEST(public_api, full_bounded_channel_applies_its_overflow_policy) {
  auto newest = channel::bounded<int>(1, {.on_full = channel::overflow::drop_oldest});
  EXPECT_EQ(newest.sender.try_send(1), send_status::sent);
  EXPECT_EQ(newest.sender.try_send(2), send_status::sent);
  EXPECT_EQ(newest.receiver.try_recv(), 2);
  EXPECT_EQ(newest.sender.stats().dropped_oldest, 1U);
  auto oldest = channel::bounded<int>(1, {.on_full = channel::overflow::drop_newest});
  EXPECT_EQ(oldest.sender.try_send(1), send_status::sent);
  EXPECT_EQ(oldest.sender.try_send(2), send_status::dropped);
  auto refuses = channel::bounded<int>(1, {.on_full = channel::overflow::reject});
  EXPECT_EQ(refuses.sender.blocking_send(1), send_status::sent);
  EXPECT_EQ(refuses.sender.blocking_send(2), send_status::full);
}

TEST(public_api, unbounded_channel_sends_and_receives) {
  auto [tx, rx] = channel::unbounded<int>();
  rota::run([&]() -> rota::task<void> {
    const auto got_first = co_await tx.send(1);
    EXPECT_EQ(got_first, send_status::sent);
    const auto got_second = co_await rx.recv();
    EXPECT_EQ(got_second, 1);
  });
  EXPECT_EQ(tx.try_send(2), send_status::sent);
  EXPECT_EQ(rx.try_recv(), 2);
  EXPECT_EQ(tx.blocking_send(3), send_status::sent);
  {
    const auto last = std::move(tx);
  }
  EXPECT_EQ(rx.blocking_recv(), 3);
  EXPECT_EQ(rx.blocking_recv(), std::nullopt);
}

TEST(public_api, oneshot_channel_delivers_one_value) {
  rota::run([]() -> rota::task<void> {
    auto [tx, rx] = channel::oneshot<int>();
    EXPECT_EQ(rx.try_recv().error(), recv_status::empty);
    const auto got_first = (co_await rx.recv_for(1ns)).error();
    EXPECT_EQ(got_first, recv_status::timed_out);
    EXPECT_EQ(std::move(tx).send(1), send_status::sent);
    const auto got_second = co_await rx.recv();
    EXPECT_EQ(got_second, 1);
    const auto got_third = (co_await rx.recv_until(soon())).error();
    EXPECT_EQ(got_third, recv_status::closed);
  });
  auto [tx, rx] = channel::oneshot<int>();
  rx.close();
  EXPECT_TRUE(tx.is_closed());
  EXPECT_EQ(std::move(tx).send(1), send_status::closed);
  EXPECT_EQ(rx.blocking_recv(), std::nullopt);
  EXPECT_FALSE(rx.blocking_recv_for(1h).has_value());
  EXPECT_FALSE(rx.blocking_recv_until(soon()).has_value());
}

TEST(public_api, broadcast_channel_delivers_to_all_receivers_and_counts_lag) {
  auto [tx, rx] = channel::broadcast<int>(2);
  auto late = tx.subscribe();
  auto beside = rx.subscribe();
  EXPECT_TRUE(tx.has_receivers());
  for (int i = 1; i <= 3; ++i) EXPECT_EQ(tx.send(i), send_status::sent);
  rota::run([&]() -> rota::task<void> {
    const std::expected<int, channel::no_item> lost = co_await rx.recv();
    EXPECT_EQ(lost.error(), (channel::no_item{recv_status::lagged, 1}));
    const auto got_first = co_await rx.recv();
    EXPECT_EQ(got_first, 2);
    const auto got_second = co_await rx.recv_for(1h);
    EXPECT_EQ(got_second, 3);
    const auto got_third = (co_await rx.recv_for(1ns)).error().why;
    EXPECT_EQ(got_third, recv_status::timed_out);
    const bool got_fourth = (co_await rx.recv_until(std::chrono::steady_clock::now())).has_value();
    EXPECT_FALSE(got_fourth);
  });
  EXPECT_EQ(late.try_recv().error().lagged, 1U);
  EXPECT_EQ(late.blocking_recv(), 2);
  EXPECT_EQ(late.size(), 1U);
  tx.close();
  EXPECT_EQ(tx.send(4), send_status::closed);
  EXPECT_EQ(late.blocking_recv_for(1h), 3);
  EXPECT_EQ(late.blocking_recv_until(soon()).error().why, recv_status::closed);
  EXPECT_EQ(beside.capacity(), 2U);
  EXPECT_TRUE(beside.is_closed());
}

TEST(public_api, watch_channel_delivers_the_latest_value) {
  auto [tx, rx] = channel::watch(1);
  auto other = tx.subscribe();
  EXPECT_EQ(rx.get(), 1);
  EXPECT_FALSE(rx.has_changed());
  EXPECT_EQ(tx.send(2), send_status::sent);
  EXPECT_EQ(tx.send_modify([](int& n) { n += 1; }), send_status::sent);
  EXPECT_EQ(tx.get(), 3);
  EXPECT_EQ(tx.borrow([](const int& n) { return n * 2; }), 6);
  rota::run([&]() -> rota::task<void> {
    const std::expected<void, recv_status> more = co_await rx.changed();
    EXPECT_TRUE(more.has_value());
    const auto got_first = (co_await rx.changed_for(1ns)).error();
    EXPECT_EQ(got_first, recv_status::timed_out);
    const auto got_second = (co_await rx.changed_until(std::chrono::steady_clock::now())).error();
    EXPECT_EQ(got_second, recv_status::timed_out);
    const auto got_third = co_await rx.when([](int n) { return n == 3; });
    EXPECT_EQ(got_third, 3);
    const auto got_fourth = (co_await rx.when_for(1ns, [](int n) { return n == 4; })).error();
    EXPECT_EQ(got_fourth, recv_status::timed_out);
    const auto got_fifth = co_await rx.when_until(soon(), [](int n) { return n == 3; });
    EXPECT_EQ(got_fifth, 3);
  });
  EXPECT_TRUE(other.try_changed().has_value());
  EXPECT_EQ(other.get_and_update(), 3);
  EXPECT_EQ(other.borrow([](const int& n) { return n; }), 3);
  EXPECT_EQ(other.borrow_and_update([](const int& n) { return n; }), 3);
  EXPECT_EQ(other.blocking_when([](int n) { return n == 3; }), 3);
  EXPECT_EQ(other.blocking_when_for(1h, [](int n) { return n == 3; }), 3);
  EXPECT_EQ(other.blocking_when_until(soon(), [](int n) { return n == 3; }), 3);
  EXPECT_EQ(other.blocking_changed_for(1ns).error(), recv_status::timed_out);
  tx.close();
  EXPECT_EQ(other.blocking_changed().error(), recv_status::closed);
  EXPECT_EQ(other.blocking_changed_until(soon()).error(), recv_status::closed);
}

TEST(public_api, select_takes_the_first_ready_case) {
  auto [tx, rx] = channel::bounded<int>(1);
  rota::sync::event set;
  rota::run([&]() -> rota::task<void> {
    {
      auto first = co_await channel::select(rx.recv(), tx.send(1), rota::sleep_for(1h), set.wait());
      EXPECT_EQ(first.index(), 1U);
      EXPECT_EQ(first.get<1>(), send_status::sent);
    }
    {
      auto first = co_await channel::select(channel::when(false, set.wait()), rx.recv());
      EXPECT_EQ(first.get<1>(), 1);
      EXPECT_EQ(first.get_if<0>(), nullptr);
    }
    set.set();
    {
      auto ends = rota::spawn([]() -> rota::task<int> { co_return 3; });
      while (!ends.is_done()) co_await rota::yield();
      auto first = co_await channel::select_in_order(rx.recv(), ends, set.wait());
      EXPECT_EQ(first.index(), 1U);
      first.visit([](auto& /*value*/) {});
    }
    int handled = 0;
    co_await channel::select(channel::on(set.wait(), [&] { ++handled; }));
    EXPECT_EQ(handled, 1);
  });
  EXPECT_FALSE(channel::try_select(rx.recv()).has_value());
  EXPECT_EQ(channel::blocking_select(tx.send(5), set.wait()).index() < 2, true);
  EXPECT_TRUE(channel::blocking_select_for(1h, set.wait()).has_value());
  EXPECT_TRUE(channel::blocking_select_until(soon(), set.wait()).has_value());
}

rota::async_generator<int> numbers(int from, int to) {
  for (int i = from; i < to; ++i) {
    co_await rota::yield();
    co_yield i;
  }
}

template <class S>
rota::task<int> sum_of(S from) {
  int sum = 0;
  for (;;) {
    const std::optional<int> each = co_await from.next();
    if (!each) co_return sum;
    sum += *each;
  }
}

TEST(public_api, generators_and_stream_operators_yield_their_values) {
  rota::run([]() -> rota::task<void> {
    rota::async_generator<int> all = numbers(0, 3);
    const auto got_first = co_await all.next();
    EXPECT_EQ(got_first, 0);
    const auto twice = [](int n) { return 2 * n; };
    const auto is_odd = [](int n) { return n % 2 == 1; };
    const auto got_second = co_await sum_of(stream::map(numbers(0, 4), twice));
    EXPECT_EQ(got_second, 12);
    const auto got_third = co_await sum_of(stream::filter(numbers(0, 6), is_odd));
    EXPECT_EQ(got_third, 9);
    const auto got_fourth = co_await sum_of(stream::take(numbers(0, 1'000'000), 4));
    EXPECT_EQ(got_fourth, 6);
    const auto got_fifth = co_await sum_of(stream::throttle(numbers(0, 4), 1us));
    EXPECT_EQ(got_fifth, 6);
    auto [tx, rx] = channel::unbounded<int>();
    EXPECT_EQ(tx.try_send(7), send_status::sent);
    tx.close();
    const auto got_sixth = co_await sum_of(stream::merge(std::move(rx)));
    EXPECT_EQ(got_sixth, 7);
    const auto body = [&](rota::scope& s) -> rota::task<int> {
      const auto slowly = [](int n) -> rota::task<int> {
        co_await rota::yield();
        co_return n;
      };
      co_return co_await sum_of(
          stream::buffered(s, stream::merge(s, numbers(0, 4), numbers(0, 4)), 2, slowly));
    };
    const auto got_seventh = co_await rota::with_scope(body);
    EXPECT_EQ(got_seventh, 12);
  });
}

}  // namespace
