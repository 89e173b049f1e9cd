// A million task switches: two tasks take turns. Then the program prints what the runtime counted.
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/this_task.hpp>

#include <chrono>
#include <cstdio>

namespace {

constexpr int rounds = 500'000;

rota::task<int> take_turns() {
  int turns = 0;
  for (; turns < rounds; ++turns) co_await rota::yield();
  co_return turns;
}

rota::task<int> both() {
  rota::join_handle<int> first = rota::spawn(take_turns());
  rota::join_handle<int> second = rota::spawn(take_turns());
  const int a = co_await first;
  const int b = co_await second;
  co_return a + b;
}

}  // namespace

int main() {
  rota::runtime runtime(rota::runtime_options{.workers = 1});
  const auto began = std::chrono::steady_clock::now();
  rota::join_handle<int> handle = runtime.spawn(both());
  const int switches = handle.join();
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - began;

  const rota::runtime_stats stats = runtime.stats();
  std::printf("%d task switches on one worker, %.0f ns each\n", switches, spent.count() / switches);
  std::printf("tasks spawned %llu, completed %llu, looked at %llu times\n",
              static_cast<unsigned long long>(stats.total_spawned),
              static_cast<unsigned long long>(stats.total_completed),
              static_cast<unsigned long long>(stats.total_polled));
  return switches == 2 * rounds ? 0 : 1;
}
