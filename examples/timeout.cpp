// Time limits on operations.
#include <rota/rota.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

namespace {

rota::task<int> fetch(std::chrono::milliseconds takes) {
  co_await rota::sleep_for(takes);
  co_return 42;
}

/// Two attempts, each with its own limit, and one limit around both.
rota::task<int> fetch_with_patience() {
  auto first = co_await rota::timeout(5ms, fetch(1h));
  if (first.has_value()) co_return *first;
  auto second = co_await rota::timeout(10s, fetch(1ms));
  co_return second.value_or(-1);
}

rota::task<bool> limits() {
  const auto got = co_await rota::timeout(30s, fetch_with_patience());
  std::printf("fetched %d\n", got.value_or(-1));

  // A task that is spawned under a deadline inherits the deadline. Here the handle is awaited under another
  // limit.
  auto slow = rota::spawn(fetch(1h));
  const auto late = co_await rota::timeout(5ms, slow);
  const auto end = co_await slow.result();
  std::printf("the slow one was cancelled: %s\n", rota::to_string(end.reason()));

  rota::interval every(1ms, rota::missed_tick::skip);
  const auto first = co_await every.tick();
  const auto second = co_await every.tick();
  co_return got == 42 && !late.has_value() && end.reason() == rota::cancel_reason::timeout &&
      second - first >= 1ms;
}

}  // namespace

int main() { return rota::run(limits()) ? 0 : 1; }
