// The cases of bench/timer/rota.cpp.
#include "subject.hpp"

namespace peer {
namespace {

using namespace std::chrono_literals;

/// Asio queues the handler of a cancelled wait; that is a part of the cost.
awaitable<void> arm_cancel(std::uint64_t n) {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (std::uint64_t i = 0; i < n; ++i) {
    timer.expires_after(1s);
    timer.async_wait([](boost::system::error_code) {});
    timer.cancel();
  }
}

void arm_and_cancel(const job& what) {
  pool workers(what.workers);
  workers.run(arm_cancel(what.warm_up));
  report_time(what, [&] { workers.run(arm_cancel(what.operations)); });
}

awaitable<void> sleep(std::chrono::milliseconds span) {
  asio::steady_timer timer(co_await asio::this_coro::executor, span);
  co_await timer.async_wait(use_awaitable);
}

awaitable<void> sleep_all(std::uint64_t n) {
  const auto here = co_await asio::this_coro::executor;
  std::atomic<std::uint64_t> left{n};
  asio::steady_timer done(here, asio::steady_timer::time_point::max());
  for (std::uint64_t i = 0; i < n; ++i) {
    asio::co_spawn(here, sleep(std::chrono::milliseconds(50 + i * 7919 % 950)), [&](std::exception_ptr) {
      if (--left == 0) asio::post(here, [&] { done.cancel(); });
    });
  }
  boost::system::error_code cancelled;
  co_await done.async_wait(asio::redirect_error(use_awaitable, cancelled));
}

void sleeps(const job& what) {
  pool workers(what.workers);
  const double cpu = process_cpu_ns();
  workers.run(sleep_all(what.operations));
  report_value(what, what.test_case, "cpu ns", (process_cpu_ns() - cpu) / double(what.operations));
}

constexpr one_case cases[] = {
    {"arm_cancel", 200'000, 50'000, arm_and_cancel},
    {"sleeps_100k", 100'000, 100'000, sleeps},
};

}  // namespace

const std::span<const one_case> timer_cases(cases);

}  // namespace peer
