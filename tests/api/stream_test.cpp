// Streams on several workers: order, exactness, and consumers that leave at any time.
#include <rota/channel/bounded.hpp>
#include <rota/rota.hpp>
#include <rota/stream.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace stream = rota::stream;

rota::runtime_options two_workers() {
  rota::runtime_options options;
  options.workers = 2;
  return options;
}

rota::async_generator<int> numbers(int from, int to) {
  for (int i = from; i < to; ++i) {
    if (i % 5 == 0) co_await rota::yield();
    co_yield i;
  }
}

TEST(stream, buffered_keeps_the_order_on_two_workers) {
  constexpr int most = 20'000;
  const auto work = []() -> rota::task<int> {
    int next = 0;
    const auto body = [&](rota::scope& s) -> rota::task<void> {
      const auto f = [](int n) -> rota::task<int> {
        for (int i = 0; i < n % 3; ++i) co_await rota::yield();
        co_return n;
      };
      auto made = stream::buffered(s, numbers(0, most), 7, f);
      for (;;) {
        const auto each = co_await made.next();
        if (!each) co_return;
        EXPECT_EQ(*each, next);
        ++next;
      }
    };
    co_await rota::with_scope(body);
    co_return next;
  };
  EXPECT_EQ(rota::run(work(), two_workers()), most);
}

TEST(stream, merge_gives_each_value_once) {
  const auto work = []() -> rota::task<std::int64_t> {
    std::int64_t sum = 0;
    const auto body = [&](rota::scope& s) -> rota::task<void> {
      auto [tx, rx] = rota::channel::bounded<int>(3);
      s.fork(
          [](rota::channel::sender<int> to) -> rota::task<void> {
            for (int i = 0; i < 10'000; ++i) static_cast<void>(co_await to.send(i));
          },
          std::move(tx));
      auto all = stream::merge(s, numbers(0, 10'000), std::move(rx), numbers(0, 10'000));
      for (;;) {
        const auto each = co_await all.next();
        if (!each) co_return;
        sum += *each;
      }
    };
    co_await rota::with_scope(body);
    co_return sum;
  };
  EXPECT_EQ(rota::run(work(), two_workers()), 3 * 49'995'000LL);
}

std::atomic<int> alive{0};
struct counted {
  counted() noexcept { ++alive; }
  counted(const counted&) = delete;
  counted& operator=(const counted&) = delete;
  ~counted() { --alive; }
};

// Left after some values, or late: nothing is left when the scope has ended.
TEST(stream, frees_everything_when_its_consumer_stops_early) {
  const auto work = []() -> rota::task<void> {
    for (int round = 0; round < 500; ++round) {
      const auto body = [&](rota::scope& s) -> rota::task<void> {
        const auto f = [](int n) -> rota::task<int> {
          const counted here;
          if (n % 4 == 3) co_await rota::sleep_for(1h);
          co_await rota::yield();
          co_return n;
        };
        auto made = stream::buffered(s, stream::merge(s, numbers(0, 100), numbers(0, 100)), 4, f);
        for (int i = 0; i < round % 3; ++i) {
          const auto each = co_await made.next();
          if (!each) co_return;
        }
        if (round % 2 == 0) co_return;
        for (;;) {
          const auto each = co_await made.next();
          if (!each) co_return;
        }
      };
      auto whole = rota::with_scope(body);
      static_cast<void>(co_await rota::timeout(200us, std::move(whole)));
      EXPECT_EQ(alive.load(), 0);
    }
  };
  rota::run(work(), two_workers());
  EXPECT_EQ(alive.load(), 0);
}

}  // namespace
