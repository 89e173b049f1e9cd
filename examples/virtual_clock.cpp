// A test of an hour that takes no time: the virtual clock jumps to the next timer as soon as every task is
// blocked.
#include <rota/rota.hpp>
#include <rota/testing/virtual_clock.hpp>

#include <chrono>
#include <cstdio>

namespace {

using namespace std::chrono_literals;

rota::task<int> polls(int times) {
  rota::interval every_ten_minutes(10min, rota::missed_tick::skip);
  for (int i = 0; i < times; ++i) co_await every_ten_minutes.tick();
  co_return times;
}

}  // namespace

int main() {
  rota::testing::virtual_clock clock;
  rota::runtime runtime(rota::runtime_options{.workers = 1}, clock);
  const auto before = clock.now();
  const int times = runtime.block_on(polls(7));
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(clock.now() - before);
  std::printf("%d ticks in %lld minutes\n", times, static_cast<long long>(minutes.count()));
  return minutes == 70min ? 0 : 1;
}
