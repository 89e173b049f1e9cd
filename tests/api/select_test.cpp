// select with real threads, sockets and tasks: the winner's result is delivered, and a loser takes nothing.
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/net/tcp_listener.hpp>
#include <rota/net/tcp_stream.hpp>
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>
#include <rota/sync/notify.hpp>

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace {

using namespace std::chrono_literals;
namespace channel = rota::channel;

rota::task<void> send_all(rota::net::tcp_stream& to, const char* text, std::size_t size) {
  const auto sent = co_await to.write_all(std::as_bytes(std::span(text, size)));
  EXPECT_TRUE(sent.has_value());
}

// A losing read has taken nothing from the socket.
TEST(select, a_read_is_a_case_and_keeps_its_bytes_if_it_loses) {
  rota::run([]() -> rota::task<void> {
    auto listener = rota::net::tcp_listener::bind(rota::net::endpoint::parse("127.0.0.1:0"));
    EXPECT_TRUE(listener.has_value());
    const auto where = listener->local_endpoint();
    auto connecting = rota::spawn(rota::net::tcp_stream::connect(*where));
    auto server = co_await listener->accept();
    auto client = co_await connecting;
    EXPECT_TRUE(server.has_value() && client.has_value());
    auto [tx, rx] = channel::bounded<int>(1);
    std::array<std::byte, 8> room{};
    for (int i = 0; i < 50; ++i) {
      EXPECT_EQ(tx.try_send(i), channel::send_status::sent);
      auto first = co_await channel::select_in_order(rx.recv(), server->read(room));
      EXPECT_EQ(first.index(), 0U);
      co_await send_all(*client, "ab", 2);
      auto second = co_await channel::select(rx.recv(), server->read(room));
      EXPECT_EQ(second.index(), 1U);
      const std::size_t got = second.get<1>().value_or(0);
      EXPECT_GE(got, 1U);
      EXPECT_EQ(room[0], static_cast<std::byte>('a'));
      if (got == 1) static_cast<void>(co_await server->read(room));
    }
    // Both wait, and the socket becomes ready: the other way round.
    auto feeds = rota::spawn(
        [](rota::net::tcp_stream& to, channel::sender<int> also) -> rota::task<void> {
          co_await rota::yield();
          co_await send_all(to, "c", 1);
          static_cast<void>(co_await also.send(7));
        },
        std::ref(*client),
        tx);
    bool has_read = false;
    bool has_received = false;
    while (!has_read || !has_received) {
      auto first = co_await channel::select(channel::when(!has_read, server->read(room)),
                                            channel::when(!has_received, rx.recv()));
      has_read = has_read || first.index() == 0;
      has_received = has_received || first.index() == 1;
    }
    EXPECT_EQ(room[0], static_cast<std::byte>('c'));
    co_await feeds;
  });
}

/// Four tasks receive from two channels, two tasks and two threads send; some receivers are often cancelled.
TEST(select, nothing_is_lost_or_doubled_among_tasks_and_threads) {
  constexpr int each = 5'000;
  auto a = channel::bounded<int>(1);
  auto b = channel::bounded<int>(3);
  std::vector<std::atomic<int>> seen(4 * each);
  std::vector<std::thread> threads;
  for (int k = 0; k < 2; ++k)
    threads.emplace_back([to_a = a.sender, to_b = b.sender, k]() mutable {
      for (int i = 0; i < each; ++i) {
        const int item = k * each + i;
        const bool sent = channel::blocking_select(
            channel::on(to_a.send(item),
                        [](channel::send_status how) { return how == channel::send_status::sent; }),
            channel::on(to_b.send(item),
                        [](channel::send_status how) { return how == channel::send_status::sent; }));
        EXPECT_TRUE(sent);
      }
    });
  rota::runtime_options options;
  options.workers = 2;
  const auto work = [&]() -> rota::task<void> {
    std::vector<rota::join_handle<void>> all;
    for (int k = 2; k < 4; ++k)
      all.push_back(rota::spawn(
          [](channel::sender<int> to_a, channel::sender<int> to_b, int base) -> rota::task<void> {
            for (int i = 0; i < each; ++i) {
              auto sent = co_await channel::select(to_a.send(base + i), to_b.send(base + i));
              EXPECT_EQ(sent.visit([](channel::send_status how) { return how; }), channel::send_status::sent);
            }
          },
          a.sender,
          b.sender,
          k* each));
    const auto receives = [](channel::receiver<int> from_a,
                             channel::receiver<int> from_b,
                             std::vector<std::atomic<int>>& marks) -> rota::task<void> {
      bool open_a = true;
      bool open_b = true;
      while (open_a || open_b) {
        auto got = co_await rota::timeout(
            50us,
            channel::select(channel::when(open_a, from_a.recv()), channel::when(open_b, from_b.recv())));
        if (!got) continue;
        const std::optional<int> item = got->visit([](std::optional<int>& one) { return one; });
        if (item) {
          ++marks[static_cast<std::size_t>(*item)];
        } else {
          (got->index() == 0 ? open_a : open_b) = false;
        }
      }
    };
    for (int k = 0; k < 4; ++k) all.push_back(rota::spawn(receives, a.receiver, b.receiver, std::ref(seen)));
    {
      const auto gone_a = std::move(a.sender);
      const auto gone_b = std::move(b.sender);
    }
    for (auto& one : all) co_await one;
  };
  rota::run(work(), options);
  for (std::thread& one : threads) one.join();
  for (auto& count : seen) ASSERT_EQ(count.load(), 1);
}

// The end of tasks beside items, on two workers.
TEST(select, sees_the_end_of_a_task_that_races_with_an_item) {
  rota::runtime_options options;
  options.workers = 2;
  rota::run(
      []() -> rota::task<void> {
        auto [tx, rx] = channel::bounded<int>(2);
        int sum = 0;
        for (int i = 0; i < 5'000; ++i) {
          auto child = rota::spawn(
              [](channel::sender<int> to, int n) -> rota::task<int> {
                if (n % 3 == 0) co_await rota::yield();
                if (n % 2 == 0) static_cast<void>(co_await to.send(1));
                co_return 1;
              },
              tx,
              i);
          bool ended = false;
          bool received = i % 2 != 0;
          while (!ended || !received) {
            auto first =
                co_await channel::select(channel::when(!received, rx.recv()), channel::when(!ended, child));
            if (first.index() == 0) {
              received = true;
              sum += *first.get<0>();
            } else {
              ended = true;
              sum += first.get<1>();
            }
          }
        }
        EXPECT_EQ(sum, 7'500);
      }(),
      options);
}

}  // namespace
