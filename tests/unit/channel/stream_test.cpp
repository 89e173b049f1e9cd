// Stages of streams: values, order, ends, exceptions, and the effect of destroying the consumer.
#include "support/manual_scheduler.hpp"

#include <rota/channel/bounded.hpp>
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/stream.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace rota::stream::stream_test {
namespace {

using namespace std::chrono_literals;
using test::manual_scheduler;

async_generator<int> count_to(int n) {
  for (int i = 1; i <= n; ++i) co_yield i;
}
async_generator<int> count_slowly(int n, base::nanoseconds pause) {
  for (int i = 1; i <= n; ++i) {
    co_await sleep_for(pause);
    co_yield i;
  }
}
async_generator<int> fail_after(int n) {
  for (int i = 1; i <= n; ++i) co_yield i;
  throw std::runtime_error("source");
}

template <class T>
task<std::vector<T>> all_of(async_generator<T> from) {
  std::vector<T> all;
  for (;;) {
    auto each = co_await from.next();
    if (!each) co_return all;
    all.push_back(std::move(*each));
  }
}
template <class T>
std::vector<T> run_all(manual_scheduler& by, async_generator<T> from) {
  auto got = by.spawn(all_of(std::move(from)));
  by.run_with_time();
  return got.join();
}
using numbers = std::vector<int>;

TEST(stream, maps_filters_and_takes) {
  manual_scheduler by;
  EXPECT_EQ(run_all(by, map(count_to(4), [](int n) { return n * n; })), (numbers{1, 4, 9, 16}));
  EXPECT_EQ(run_all(by, filter(count_to(6), [](int n) { return n % 2 == 0; })), (numbers{2, 4, 6}));
  EXPECT_EQ(run_all(by, take(count_to(100), 3)), (numbers{1, 2, 3}));
  EXPECT_EQ(run_all(by, take(count_to(2), 3)), (numbers{1, 2}));
  EXPECT_EQ(run_all(by, take(count_to(2), 0)), numbers{});
  const auto slowly = [](int n) -> task<std::string> {
    co_await sleep_for(1ms);
    co_return std::to_string(n);
  };
  EXPECT_EQ(run_all(by, map(count_to(3), slowly)), (std::vector<std::string>{"1", "2", "3"}));
  const auto is_odd = [](int n) -> task<bool> {
    co_await yield();
    co_return n % 2 == 1;
  };
  EXPECT_EQ(run_all(by, take(filter(map(count_to(100), [](int n) { return n + 10; }), is_odd), 2)),
            (numbers{11, 13}));
}

TEST(stream, a_receiver_is_a_source) {
  manual_scheduler by;
  auto [tx, rx] = channel::unbounded<int>();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(tx.try_send(i), channel::send_status::sent);
  EXPECT_EQ(run_all(by, take(rx, 2)), (numbers{0, 1}));
  tx.close();
  EXPECT_EQ(run_all(by, map(std::move(rx), [](int n) { return -n; })), (numbers{-2, -3, -4}));
}

TEST(stream, take_asks_for_no_more) {
  manual_scheduler by;
  int asked = 0;
  const auto counted = [](int& n) -> async_generator<int> {
    for (;;) co_yield ++n;
  };
  EXPECT_EQ(run_all(by, take(counted(asked), 3)).size(), 3U);
  EXPECT_EQ(asked, 3);
}

TEST(stream, exception_of_a_source_or_a_function_reaches_the_consumer) {
  manual_scheduler by;
  const auto said_by = [&by](async_generator<int> from) {
    auto got = by.spawn(
        [](async_generator<int> all) -> task<std::string> {
          std::string said;
          try {
            for (;;) {
              const auto each = co_await all.next();
              if (!each) break;
              said += std::to_string(*each);
            }
          } catch (const std::runtime_error& e) {
            said += e.what();
          }
          const auto after = co_await all.next();
          co_return said + (after ? "?" : "-");
        },
        std::move(from));
    by.run_with_time();
    return got.join();
  };
  EXPECT_EQ(said_by(map(fail_after(2), [](int n) { return n; })), "12source-");
  EXPECT_EQ(said_by(map(count_to(3),
                        [](int n) {
                          if (n == 2) throw std::runtime_error("f");
                          return n;
                        })),
            "1f-");
}

TEST(stream, throttle_spaces_values_by_its_interval) {
  manual_scheduler by;
  auto got = by.spawn(
      [](manual_scheduler& on) -> task<std::vector<base::nanoseconds>> {
        const base::time_point begin = on.time;
        auto paced = throttle(count_to(4), 10ms);
        std::vector<base::nanoseconds> times;
        for (int i = 0; i < 4; ++i) {
          if (i == 2)
            co_await sleep_for(
                25ms);  // a slow consumer: the next value is due at once; later ones are spaced again
          static_cast<void>(co_await paced.next());
          times.push_back(on.time - begin);
        }
        co_return times;
      },
      std::ref(by));
  by.run_with_time();
  EXPECT_EQ(got.join(), (std::vector<base::nanoseconds>{0ms, 10ms, 35ms, 45ms}));
  auto refused = by.spawn(all_of(throttle(count_to(1), 0ms)));
  by.run_until_idle();
  EXPECT_THROW(refused.join(), std::invalid_argument);
}

TEST(stream, merge_of_receivers_ends_when_all_have) {
  manual_scheduler by;
  auto a = channel::unbounded<int>();
  auto b = channel::unbounded<int>();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(a.sender.try_send(i), channel::send_status::sent);
    EXPECT_EQ(b.sender.try_send(10 + i), channel::send_status::sent);
  }
  auto got = by.spawn(all_of(merge(std::move(a.receiver), std::move(b.receiver))));
  by.run_until_idle();
  a.sender.close();
  by.run_until_idle();
  EXPECT_EQ(b.sender.try_send(13), channel::send_status::sent);
  by.run_until_idle();
  EXPECT_FALSE(got.is_done());
  b.sender.close();
  by.run_until_idle();
  numbers all = got.join();
  EXPECT_EQ(all.back(), 13);
  std::ranges::sort(all);
  EXPECT_EQ(all, (numbers{0, 1, 2, 10, 11, 12, 13}));
}

template <class F>
auto run_in_scope(manual_scheduler& by, F body) {
  auto got = by.spawn([](F inner) -> task<void> { co_await with_scope(inner); }, std::move(body));
  by.run_with_time();
  return got.join();
}

TEST(stream, merge_of_generators_runs_them_concurrently) {
  manual_scheduler by;
  numbers all;
  const base::time_point begin = by.time;
  run_in_scope(by, [&](scope& s) -> task<void> {
    auto merged = merge(s, count_slowly(3, 10ms), count_slowly(2, 14ms), count_to(1));
    all = co_await all_of(std::move(merged));
  });
  EXPECT_EQ(by.time - begin, 30ms);
  EXPECT_EQ(all.size(), 6U);
  EXPECT_EQ(all.front(), 1);
  EXPECT_EQ(all.back(), 3);
}

TEST(stream, merge_rethrows_the_exception_of_a_source_and_its_scope_ends) {
  manual_scheduler by;
  std::string said;
  run_in_scope(by, [&](scope& s) -> task<void> {
    auto merged = merge(s, fail_after(1), count_slowly(1'000'000, 1h));
    try {
      static_cast<void>(co_await all_of(std::move(merged)));
    } catch (const std::runtime_error& e) {
      said = e.what();
    }
  });
  EXPECT_EQ(said, "source");
  EXPECT_LT(by.time.time_since_epoch(), 1000s + 30min);
}

/// Counts the living members, and their maximum.
struct crowd {
  int now = 0;
  int most = 0;
  int ended = 0;
};
struct member {
  explicit member(crowd& in) : of(&in) { of->most = std::max(of->most, ++of->now); }
  member(const member&) = delete;
  member& operator=(const member&) = delete;
  ~member() {
    --of->now;
    ++of->ended;
  }
  crowd* of;
};

TEST(stream, buffered_keeps_the_order_and_the_limit) {
  manual_scheduler by;
  crowd in;
  numbers all;
  const base::time_point begin = by.time;
  run_in_scope(by, [&](scope& s) -> task<void> {
    const auto f = [&in](int n) -> task<int> {
      const member mine(in);
      co_await sleep_for(n % 2 == 0 ? 1ms : 10ms);
      co_return n * 10;
    };
    auto made = buffered(s, count_to(8), 4, f);
    all = co_await all_of(std::move(made));
  });
  EXPECT_EQ(all, (numbers{10, 20, 30, 40, 50, 60, 70, 80}));
  EXPECT_EQ(in.most, 4);
  EXPECT_LE(by.time - begin, 40ms);
}

TEST(stream, buffered_with_a_limit_of_one_keeps_the_order_of_a_receiver) {
  manual_scheduler by;
  crowd in;
  auto [tx, rx] = channel::bounded<std::unique_ptr<int>>(4);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(tx.try_send(std::make_unique<int>(i)), channel::send_status::sent);
  tx.close();
  std::vector<int> all;
  run_in_scope(by, [&, from = rx](scope& s) mutable -> task<void> {
    const auto f = [&in](std::unique_ptr<int> n) -> task<std::unique_ptr<int>> {
      const member mine(in);
      co_await sleep_for(1ms);
      co_return std::move(n);
    };
    auto made = buffered(s, std::move(from), 1, f);
    for (;;) {
      auto each = co_await made.next();
      if (!each) co_return;
      all.push_back(**each);
    }
  });
  EXPECT_EQ(all, (numbers{0, 1, 2, 3}));
  EXPECT_EQ(in.most, 1);
}

TEST(stream, buffered_rethrows_an_exception_in_order_and_stops_the_others) {
  manual_scheduler by;
  crowd in;
  std::string said;
  run_in_scope(by, [&](scope& s) -> task<void> {
    const auto f = [&in](int n) -> task<int> {
      const member mine(in);
      co_await sleep_for(n == 3 ? 1ms : n > 3 ? base::nanoseconds(1h) : base::nanoseconds(5ms));
      if (n == 3) throw std::runtime_error("three");
      co_return n;
    };
    auto made = buffered(s, count_to(100), 4, f);
    try {
      for (;;) {
        const auto each = co_await made.next();
        if (!each) break;
        said += std::to_string(*each);
      }
    } catch (const std::runtime_error& e) {
      said += e.what();
    }
    const auto after = co_await made.next();
    said += after ? "?" : "-";
  });
  EXPECT_EQ(said, "12three-");
  EXPECT_EQ(in.now, 0);
  EXPECT_LT(by.time.time_since_epoch(), 1000s + 30min);
}

// A job in progress is cancelled, and has ended before the scope ends.
TEST(stream, stage_that_is_destroyed_early_leaves_nothing_behind) {
  manual_scheduler by;
  crowd in;
  run_in_scope(by, [&](scope& s) -> task<void> {
    const auto f = [&in](int n) -> task<int> {
      const member mine(in);
      co_await sleep_for(n <= 2 ? base::nanoseconds(1ms) : base::nanoseconds(1h));
      co_return n;
    };
    auto first_two = take(buffered(s, count_slowly(1'000, 1us), 4, f), 2);
    const numbers got = co_await all_of(std::move(first_two));
    EXPECT_EQ(got, (numbers{1, 2}));
  });
  EXPECT_EQ(in.now, 0);
  EXPECT_GE(in.ended, 4);
  EXPECT_LT(by.time.time_since_epoch(), 1000s + 30min);
}

TEST(stream, a_cancelled_consumer_leaves_nothing_behind) {
  manual_scheduler by;
  crowd in;
  bool ended_first = false;
  auto got = by.spawn(
      [](crowd& all, bool& before) -> task<void> {
        struct at_end {
          crowd* of;
          bool* to;
          ~at_end() { *to = of->now == 0; }
        };
        const at_end last{&all, &before};
        const auto body = [&all](scope& s) -> task<void> {
          const auto f = [&all](int n) -> task<int> {
            const member mine(all);
            co_await sleep_for(1h);
            co_return n;
          };
          auto made = buffered(s, merge(s, count_slowly(100, 1us), count_to(100)), 3, f);
          static_cast<void>(co_await all_of(std::move(made)));
        };
        co_await with_scope(body);
      },
      std::ref(in),
      std::ref(ended_first));
  by.run_until_idle();
  by.advance(1ms);
  by.run_until_idle();
  EXPECT_EQ(in.now, 3);
  got.cancel();
  by.run_until_idle();
  EXPECT_TRUE(got.is_done());
  EXPECT_TRUE(ended_first);
  EXPECT_THROW(got.join(), cancelled_error);
}

TEST(stream, buffered_refuses_a_limit_of_zero) {
  manual_scheduler by;
  EXPECT_THROW(run_in_scope(by,
                            [](scope& s) -> task<void> {
                              const auto f = [](int n) -> task<int> { co_return n; };
                              auto made = buffered(s, count_to(1), 0, f);
                              co_return;
                            }),
               std::invalid_argument);
}

}  // namespace
}  // namespace rota::stream::stream_test
