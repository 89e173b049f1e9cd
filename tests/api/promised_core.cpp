// The promised names for running, tasks and time, used as a program outside would use them.
#include <rota/rota.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;

rota::task<int> twice(int x) {
  const int result = 2 * x;
  co_return result;
}

rota::task<> nothing() {
  co_await rota::yield();
  co_await rota::checkpoint();
}

rota::task<int> forever() {
  for (;;) co_await rota::sleep_for(std::chrono::hours::max());
}

TEST(public_api, runtime_options_can_be_set_by_name) {
  rota::runtime_options options{};
  options.workers = 2;
  options.backend = rota::io_backend::automatic;
  options.blocking = rota::pool::pool_options{.min_threads = 0, .max_threads = 4, .keep_alive = 10s};
  options.on_unhandled = rota::unhandled_policy::terminate;
  options.watchdog = 25ms;
  options.shutdown_grace = 0s;
  options.seed = 1;
  rota::runtime runtime(options);
  const int value = runtime.block_on(twice(21));
  EXPECT_EQ(value, 42);
}

TEST(public_api, a_runtime_runs_spawns_and_reports) {
  rota::runtime runtime;
  EXPECT_EQ(runtime.block_on(twice, 4), 8);
  rota::join_handle<int> first = runtime.spawn(twice(1));
  rota::join_handle<int> second = runtime.spawn(twice, 2);
  rota::join_handle<int> third = runtime.spawn_blocking([](int x) { return x + 1; }, 2);
  EXPECT_EQ(first.join(), 2);
  EXPECT_EQ(second.join(rota::help), 4);
  EXPECT_EQ(third.join(), 3);

  rota::runtime_handle handle = runtime.handle();
  const rota::runtime_handle copy = handle;
  rota::join_handle<int> from_handle = copy.spawn(twice(5));
  EXPECT_EQ(from_handle.join(), 10);

  const rota::runtime_stats stats = runtime.stats();
  EXPECT_EQ(stats.workers.size(), stats.num_workers);
  const std::string text = runtime.dump();
  EXPECT_FALSE(text.empty());
  const rota::shutdown_report report = runtime.shutdown(1s);
  EXPECT_TRUE(report.survivors.empty());
}

TEST(public_api, run_is_a_runtime_for_one_task) {
  EXPECT_EQ(rota::run(twice(3)), 6);
  EXPECT_EQ(rota::run(twice(3), rota::runtime_options{.workers = 1}), 6);
  EXPECT_EQ(rota::run(twice, 3), 6);
}

rota::task<int> uses_handles() {
  rota::join_handle<int> a = rota::spawn(twice(1));
  rota::join_handle<int> b = rota::spawn(twice, 2);
  rota::join_handle<int> c = rota::spawn_blocking([] { return 3; });
  const int in_place = rota::block_in_place([] { return 4; });
  const int x = co_await a;
  const rota::outcome<int> y = co_await b.result();
  const int z = co_await c.detached_wait();
  EXPECT_TRUE(y.has_value());
  rota::join_handle<int> endless = rota::spawn(forever());
  EXPECT_FALSE(endless.is_done());
  EXPECT_NE(endless.id(), rota::task_id{});
  EXPECT_TRUE(endless.cancel());
  static_cast<void>(endless.cancel(rota::cancel_reason::timeout));  // false if it has ended meanwhile
  rota::outcome<int> end = co_await endless.result();
  EXPECT_TRUE(end.is_cancelled());
  EXPECT_EQ(end.reason(), rota::cancel_reason::user);
  EXPECT_EQ(end.exception(), nullptr);
  rota::join_handle<int> dropped = rota::spawn(twice(1));
  dropped.detach();
  co_return x + std::move(end).is_cancelled() + z + in_place;
}

TEST(public_api, join_handle_returns_the_outcome_of_its_task) {
  EXPECT_EQ(rota::run(uses_handles()), 2 + 1 + 3 + 4);
}

TEST(public_api, join_handle_wait_for_times_out_or_returns_the_outcome) {
  rota::runtime runtime;
  rota::join_handle<int> endless = runtime.spawn(forever());
  const std::optional<rota::outcome<int>> too_early = endless.wait_for(1ms);
  EXPECT_FALSE(too_early.has_value());
  endless.cancel();
  const std::optional<rota::outcome<int>> end = endless.wait_for(std::chrono::hours::max());
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled());
}

rota::task<bool> knows_itself() {
  const rota::task_id me = rota::this_task::id();
  rota::this_task::set_name("me");
  const bool quiet = !rota::this_task::cancel_requested() && !rota::this_task::unwinding();
  const bool no_deadline = rota::this_task::deadline() == std::chrono::steady_clock::time_point::max();
  co_await nothing();
  co_return quiet&& no_deadline&& me == rota::this_task::id();
}

TEST(public_api, this_task_reports_its_id_deadline_and_state) { EXPECT_TRUE(rota::run(knows_itself())); }

rota::task<int> keeps_time() {
  co_await rota::sleep_for(1.5ms);
  co_await rota::sleep_until(std::chrono::steady_clock::now());
  rota::interval ticks(1ms, rota::missed_tick::skip);
  co_await ticks.tick();
  rota::interval burst(1ms, rota::missed_tick::burst);
  co_await burst.tick();
  rota::interval delay(1ms, rota::missed_tick::delay);
  co_await delay.tick();

  const auto late = co_await rota::timeout(1ms, forever());
  const auto early = co_await rota::timeout(1h, twice(4));
  EXPECT_FALSE(late.has_value());
  const auto guard = rota::shield(1s);
  static_cast<void>(guard);
  co_return early.value_or(0);
}

TEST(public_api, sleep_interval_timeout_and_shield_work) { EXPECT_EQ(rota::run(keeps_time()), 8); }

TEST(public_api, errors_have_codes) {
  EXPECT_THROW(
      {
        rota::join_handle<int> empty;
        empty.join();
      },
      rota::error);
  const std::error_code code = rota::errc::would_deadlock;
  EXPECT_STREQ(code.category().name(), "rota");
  EXPECT_THROW(throw rota::cancelled_error(rota::cancel_reason::timeout), rota::error);
  EXPECT_THROW(throw rota::shield_overflow(), rota::error);
}

}  // namespace
