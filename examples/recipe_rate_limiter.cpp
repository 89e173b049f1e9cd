// Recipe: rate limiter (token bucket). Any number of tasks make at most a given number of calls per second,
// in short bursts. Each permit allows one call now. A background task puts back one permit at a time.
#include <rota/rota.hpp>
#include <rota/sync/semaphore.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <vector>

namespace {

using namespace std::chrono_literals;

/// A bucket of `burst` permits, refilled at a fixed rate. It must outlive its waiters.
class rate_limiter {
 public:
  explicit rate_limiter(std::uint64_t burst) : burst_(burst), free_(burst) {}

  /// co_await it before each call. If a waiter is cancelled, the permit goes to the next waiter.
  [[nodiscard]] auto turn() { return free_.acquire(); }

  /// Refills the bucket. Spawn it as a task for as long as the limiter is used. A permit that would overfill
  /// the bucket is dropped.
  rota::task<void> refill(std::chrono::nanoseconds each) {
    rota::interval every(each, rota::missed_tick::skip);
    for (;;) {
      co_await every.tick();
      if (free_.available() < burst_) free_.release();
    }
  }

 private:
  std::uint64_t burst_;
  rota::sync::semaphore free_;
};

rota::task<void> call(rate_limiter& limit, int& made) {
  const auto may = co_await limit.turn();
  if (may.has_value()) ++made;
}

rota::task<bool> many_calls() {
  constexpr auto each = 2ms;
  constexpr int calls = 20;
  constexpr std::uint64_t burst = 5;
  rate_limiter limit(burst);
  const auto begun = std::chrono::steady_clock::now();
  auto refills = rota::spawn(limit.refill(each));
  std::vector<int> made(calls, 0);
  std::vector<rota::join_handle<void>> all;
  for (int i = 0; i < calls; ++i) all.push_back(rota::spawn(call(limit, made[static_cast<std::size_t>(i)])));
  for (auto& one : all) co_await one;
  refills.cancel();
  static_cast<void>(co_await refills.result());
  int count = 0;
  for (const int one : made) count += one;
  // Five calls run at once, the others one after the other.
  const bool was_slow =
      std::chrono::steady_clock::now() - begun >= (calls - static_cast<int>(burst) - 1) * each;
  std::printf("%d calls, %s\n", count, was_slow ? "not too fast" : "too fast");
  co_return count == calls&& was_slow;
}

}  // namespace

int main() { return rota::run(many_calls()) ? 0 : 1; }
