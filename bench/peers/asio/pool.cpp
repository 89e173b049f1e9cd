// The cases of bench/pool/rota.cpp: functions posted to a thread_pool, and coroutines on it.
#include "support/pool_load.hpp"

#include <string>

#include "subject.hpp"

namespace peer {
namespace {

/// Asio's pool does not report when it is idle, so a counter beside it counts the outstanding functions.
class posting_pool {
 public:
  explicit posting_pool(const job& what) : pool_(what.workers) {}
  template <class F>
  void post(F f) {
    left_.begin();
    asio::post(pool_, [this, f = std::move(f)] {
      f();
      left_.end();
    });
  }
  void spawn(awaitable<void> root) {
    left_.begin();
    asio::co_spawn(pool_, std::move(root), [this](std::exception_ptr) { left_.end(); });
  }
  void wait() { left_.wait(); }

 private:
  pool_load::outstanding left_;
  asio::thread_pool pool_;
};

template <void (*Load)(posting_pool& pool, std::uint64_t n)>
void loaded(const job& what) {
  posting_pool pool(what);
  Load(pool, what.warm_up);
  report_time(what, [&] { Load(pool, what.operations); });
}

void submit_idle(const job& what) {
  posting_pool pool(what);
  const std::vector<double> samples = pool_load::from_idle(pool, what.operations);
  const std::string name = what.test_case;
  report_value(what, (name + ".p50").c_str(), "ns", pool_load::quantile(samples, 0.5));
  report_value(what, (name + ".p99").c_str(), "ns", pool_load::quantile(samples, 0.99));
}

awaitable<void> sleep_thrice() {
  asio::steady_timer timer(co_await asio::this_coro::executor);
  for (int i = 0; i < 3; ++i) {
    timer.expires_after(std::chrono::milliseconds(10));
    co_await timer.async_wait(use_awaitable);
  }
}

void timers(posting_pool& pool, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n; ++i) pool.spawn(sleep_thrice());
  pool.wait();
}

awaitable<void> yield_often() {
  for (int i = 0; i < 10; ++i) co_await asio::post(use_awaitable);
}

void yields(posting_pool& pool, std::uint64_t n) {
  for (std::uint64_t i = 0; i < n / 10; ++i) pool.spawn(yield_often());
  pool.wait();
}

constexpr one_case cases[] = {
    {"submit_outside", 1'000'000, 200'000, loaded<pool_load::from_outside<1>>},
    {"submit_outside_4", 1'000'000, 200'000, loaded<pool_load::from_outside<4>>},
    {"submit_inside", 1'000'000, 200'000, loaded<pool_load::from_inside>},
    {"submit_inside_alone", 1'000'000, 200'000, loaded<pool_load::from_inside>},
    {"submit_wait", 50'000, 10'000, loaded<pool_load::one_by_one>},
    {"submit_idle", 1000, 300, submit_idle},
    {"sync_works", 1000, 200, loaded<pool_load::roots<pool_load::roots_of_a_work>>},
    {"short_works", 1'000'000, 200'000, loaded<pool_load::roots<pool_load::roots_of_a_short_work>>},
    {"timer_works", 50, 50, loaded<timers>},
    {"yield_works", 100'000, 100'000, loaded<yields>},
};

}  // namespace

const std::span<const one_case> pool_cases(cases);

}  // namespace peer
