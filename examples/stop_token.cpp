// Connects tasks with code that knows only std::stop_token, in both directions.
#include <rota/rota.hpp>
#include <rota/stop_token.hpp>

#include <chrono>
#include <cstdio>
#include <stop_token>

using namespace std::chrono_literals;

namespace {

/// Stands for a foreign interface.
long count_until_stopped(const std::stop_token& token) {
  long n = 0;
  while (!token.stop_requested()) ++n;
  return n;
}

/// Runs the computation on a thread of the blocking pool. A cancellation of its task stops the token.
rota::task<bool> stop_a_computation() {
  auto computing = rota::spawn_blocking([] { return count_until_stopped(rota::this_task::stop_token()); });
  co_await rota::sleep_for(5ms);
  computing.cancel();
  const auto end = co_await computing.result();
  co_return end.is_cancelled() || end.has_value();
}

rota::task<> serve(std::stop_token token) {
  const auto linked = rota::link(token);
  co_await rota::sleep_until(std::chrono::steady_clock::time_point::max());
}

rota::task<bool> stop_a_task() {
  std::stop_source source;
  auto serving = rota::spawn(serve(source.get_token()));
  co_await rota::yield();
  source.request_stop();
  const auto end = co_await serving.result();
  co_return end.is_cancelled();
}

rota::task<bool> both() {
  const bool computation = co_await stop_a_computation();
  const bool task = co_await stop_a_task();
  std::printf("the computation ended: %d, the task ended: %d\n", int{computation}, int{task});
  co_return computation&& task;
}

}  // namespace

int main() { return rota::run(both()) ? 0 : 1; }
