// The promised names of wakers, statistics, signals, stop tokens and the virtual clock.
#include <rota/rota.hpp>
#include <rota/stop_token.hpp>
#include <rota/testing/virtual_clock.hpp>
#include <rota/unix_signal.hpp>
#include <rota/waker.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <set>
#include <stop_token>
#include <string>
#include <system_error>
#include <utility>
#include <variant>
#include <vector>

namespace {

using namespace std::chrono_literals;

rota::task<> nothing() { co_return; }
rota::task<> forever() { co_await rota::sleep_until(std::chrono::steady_clock::time_point::max()); }

// Programs store and compare reasons: a value is not given to another reason later, and each has a sentence.
TEST(public_api, every_errc_has_a_stable_value_and_its_own_message) {
  using enum rota::errc;
  const std::vector<rota::errc> all{cancelled,
                                    timed_out,
                                    already_joined,
                                    would_deadlock,
                                    nested_block_on,
                                    shield_overflow,
                                    no_runtime,
                                    shut_down,
                                    forked,
                                    unsupported,
                                    queue_full,
                                    cycle,
                                    closed,
                                    end_of_stream,
                                    too_long};
  std::set<std::string> sentences{std::error_code(0, rota::error_category()).message()};  // of none
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::error_code code = all[i];
    EXPECT_EQ(code.value(), static_cast<int>(i) + 1);
    EXPECT_EQ(code.category(), rota::error_category());
    EXPECT_TRUE(sentences.insert(code.message()).second) << code.message();
  }
}

TEST(public_api, waker_can_be_called_cloned_and_compared) {
  int calls = 0;
  rota::waker one = rota::callback_waker([&calls]() noexcept { ++calls; });
  const rota::waker other = one.clone();
  EXPECT_TRUE(one.will_wake(other));
  EXPECT_FALSE(one.will_wake(rota::noop_waker()));
  one.wake_by_ref();
  std::move(one).wake();
  EXPECT_EQ(calls, 2);
}

TEST(public_api, runtime_stats_report_every_counter) {
  rota::runtime runtime(rota::runtime_options{.workers = 2});
  runtime.spawn(nothing()).join();
  rota::join_handle<void> endless = runtime.spawn(forever());
  endless.cancel();
  static_cast<void>(endless.wait_for(std::chrono::hours::max()));
  const rota::shutdown_report report = runtime.shutdown(1h);
  EXPECT_EQ(report.drained, 0U);
  EXPECT_EQ(report.cancelled, 0U);
  EXPECT_TRUE(report.survivors.empty());
  const rota::runtime_stats s = runtime.stats();
  EXPECT_EQ(s.total_spawned, 2U);
  EXPECT_EQ(s.total_completed, 1U);
  EXPECT_EQ(s.total_cancelled, 1U);
  EXPECT_GE(s.total_polled, 2U);
  EXPECT_LE(s.total_stolen, 2U);
  EXPECT_EQ(s.num_workers, 2U);
  EXPECT_EQ(s.alive_tasks, 0U);
  EXPECT_EQ(s.injector_depth, 0U);
  EXPECT_EQ(s.blocking_queued, 0U);
  EXPECT_EQ(s.blocking_threads, 0U);
  EXPECT_EQ(s.io_backend, rota::io_backend::epoll);
  EXPECT_EQ(s.io.watched, 0U);
  std::uint64_t polled = 0;
  std::uint64_t parked = 0;
  std::uint64_t rest = 0;
  for (const rota::worker_stats& w : s.workers) {
    polled += w.tasks_polled;
    parked += w.times_parked;
    EXPECT_LE(w.steals, w.tasks_stolen);
    EXPECT_EQ(w.overflows, 0U);
    // These depend on which workers were awake.
    rest += w.lifo_hits + w.injector_fetches + w.wakes_sent + w.wakes_spurious;
  }
  EXPECT_EQ(polled, s.total_polled);
  EXPECT_EQ(parked, s.total_parked);
  EXPECT_LT(rest, 100U);
}

rota::task<int> waits_for_a_signal() {
  std::expected<rota::unix_signal, std::error_code> signals = rota::unix_signal::open({SIGUSR1});
  EXPECT_TRUE(signals.has_value());
  EXPECT_EQ(std::raise(SIGUSR1), 0);
  const int number = co_await signals->next();
  co_return number;
}

TEST(public_api, unix_signal_receives_a_signal) { EXPECT_EQ(rota::run(waits_for_a_signal()), SIGUSR1); }

rota::task<bool> is_stopped(std::stop_token token) {
  const auto linked = rota::link(std::move(token));
  const std::stop_token mine = rota::this_task::stop_token();
  co_await rota::yield();
  co_return mine.stop_requested() && rota::this_task::cancel_requested();
}

TEST(public_api, linked_stop_token_cancels_its_task) {
  std::stop_source source;
  source.request_stop();
  rota::runtime runtime;
  rota::join_handle<bool> linked = runtime.spawn(is_stopped(source.get_token()));
  const std::optional<rota::outcome<bool>> end = linked.wait_for(std::chrono::hours::max());
  ASSERT_TRUE(end.has_value());
  EXPECT_TRUE(end->is_cancelled());
}

TEST(public_api, virtual_clock_skips_a_sleep_of_24_hours) {
  rota::testing::virtual_clock clock;
  rota::runtime runtime(rota::runtime_options{.workers = 1}, clock);
  const auto before = clock.now();
  runtime.block_on([]() -> rota::task<> { co_await rota::sleep_for(24h); });
  EXPECT_EQ(clock.now() - before, 24h);
}

rota::task<int> seven() { co_return 7; }

rota::task<bool> uses_any() {
  rota::any_result<int, void> any = co_await rota::when_any(seven(), nothing());
  if (any.index() == 0) co_return any.get<0>() == 7;
  co_return any.get<1>() == std::monostate{};
}

TEST(public_api, any_result_of_void_is_a_monostate) { EXPECT_TRUE(rota::run(uses_any())); }

}  // namespace
