// The promised names of structured concurrency.
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;

rota::task<int> number(int x) {
  const int result = x;
  co_return result;
}
rota::task<std::string> word() {
  std::string text = "word";
  co_return text;
}
rota::task<int> throws() {
  const bool yes = true;
  if (yes) throw std::runtime_error("no");
  co_return 0;
}

rota::task<int> uses_when() {
  const std::tuple<int, std::string> both = co_await rota::when_all(number(1), word());
  std::vector<rota::task<int>> tasks;
  tasks.push_back(number(2));
  tasks.push_back(number(3));
  const std::vector<int> all = co_await rota::when_all(std::move(tasks));
  const auto settled = co_await rota::when_all_settled(number(4), throws());
  auto any = co_await rota::when_any(number(5), number(5));
  const int first = any.visit([](int x) { return x; });
  auto success = co_await rota::when_any_success(throws(), number(6));
  EXPECT_EQ(std::get<1>(both), "word");
  EXPECT_TRUE(std::get<0>(settled).has_value());
  EXPECT_FALSE(std::get<1>(settled).has_value());
  EXPECT_LT(any.index(), 2U);
  EXPECT_EQ(success.index(), 1U);
  EXPECT_EQ(success.get<1>(), 6);
  co_return std::get<0>(both) + all[0] + all[1] + first;
}

TEST(public_api, when_all_and_when_any_return_their_results) {
  EXPECT_EQ(rota::run(uses_when()), 1 + 2 + 3 + 5);
}

rota::task<int> uses_loops() {
  std::vector<int> values{3, 1, 2};
  const rota::parallel_options in_pairs{.grain = 2};
  co_await rota::parallel_for(0, 3, [&](int i) { values[static_cast<std::size_t>(i)] *= 2; });
  co_await rota::parallel_for(values.begin(), values.end(), [](int& each) { each += 1; }, in_pairs);
  co_await rota::parallel_sort(values.begin(), values.end());
  const auto add = [](int a, int b) { return a + b; };
  const auto square = [](int x) { return x * x; };
  const rota::parallel_options automatic;
  const int sum = co_await rota::parallel_reduce(values.begin(), values.end(), 0, add);
  const int squares = co_await rota::parallel_reduce(0, 4, 0, add, square, automatic);
  EXPECT_EQ(values.front(), 3);
  EXPECT_EQ(values.back(), 7);
  co_return sum + squares;
}

TEST(public_api, parallel_for_sort_and_reduce_compute_their_results) {
  EXPECT_EQ(rota::run(uses_loops()), 15 + 14);
}

rota::task<int> uses_scope() {
  int sum = 0;
  const auto add = [&sum](int x) -> rota::task<void> {
    sum += x;
    co_await rota::yield();
  };
  co_await rota::with_scope([&](rota::scope& s) -> rota::task<void> {
    rota::join_handle<void> kept = s.spawn(add(1));
    s.fork(add(2));
    co_await kept;
    EXPECT_LE(s.size(), 2U);
  });
  co_return sum;
}

TEST(public_api, scope_waits_for_its_children) {
  EXPECT_EQ(rota::run(uses_scope(), rota::runtime_options{.workers = 1}), 3);
}

rota::task<int> uses_sets() {
  rota::join_set<int> set;
  set.spawn(number(1));
  set.spawn(number, 2);
  int sum = 0;
  for (;;) {
    auto next = co_await set.next();
    if (!next.has_value()) break;
    sum += std::move(*next).value();
  }
  rota::async_scope open;
  rota::join_handle<int> child = open.spawn(number(3));
  sum += co_await child;
  co_await open.close();
  co_return sum;
}

TEST(public_api, join_set_and_async_scope_await_their_tasks) { EXPECT_EQ(rota::run(uses_sets()), 6); }

rota::task<int> uses_finally() {
  int cleaned = 0;
  const auto clean = [&cleaned](const rota::outcome<int>&) -> rota::task<void> {
    ++cleaned;
    co_await rota::yield();
  };
  const int value = co_await rota::finally(number(4), clean, 1s);
  co_return value + cleaned;
}

TEST(public_api, finally_runs_its_cleanup) { EXPECT_EQ(rota::run(uses_finally()), 5); }

rota::task_local<int> depth;

rota::task<int> reads_local() {
  const int seen = depth.get();
  co_return seen;
}
rota::task<int> uses_local() {
  const int inside = co_await depth.scope(7, reads_local());
  co_return inside;
}

TEST(public_api, task_local_is_readable_inside_its_scope) { EXPECT_EQ(rota::run(uses_local()), 7); }

rota::task<bool> uses_deadline() {
  const auto t = std::chrono::steady_clock::now() + 1h;
  const auto inside = co_await rota::with_deadline(t, number(1));
  co_return inside.has_value();
}

TEST(public_api, with_deadline_returns_a_value_in_time) { EXPECT_TRUE(rota::run(uses_deadline())); }

}  // namespace
