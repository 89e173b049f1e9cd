// Clean-up with co_await, however the work ends. Here the work is cancelled.
#include <rota/finally.hpp>
#include <rota/runtime.hpp>
#include <rota/spawn.hpp>
#include <rota/sync/event.hpp>
#include <rota/this_task.hpp>
#include <rota/time.hpp>

#include <chrono>
#include <cstdio>

namespace {

using namespace std::chrono_literals;

rota::task<void> work(rota::sync::event& begun) {
  begun.set();
  co_await rota::sleep_for(std::chrono::hours::max());
}

rota::task<void> with_clean_up(rota::sync::event& begun, int& cleaned) {
  const auto clean = [&cleaned](const rota::outcome<void>& end) -> rota::task<void> {
    co_await rota::yield();
    cleaned = end.is_cancelled() ? 1 : 2;
  };
  co_await rota::finally(work(begun), clean, 1s);
}

rota::task<int> cancel_it() {
  rota::sync::event begun;
  int cleaned = 0;
  rota::join_handle<void> handle = rota::spawn(with_clean_up(begun, cleaned));
  co_await begun.wait();  // a task that is cancelled before its first line has nothing to clean up
  handle.cancel();
  const rota::outcome<void> end = co_await handle.result();
  co_return end.is_cancelled() ? cleaned : 0;
}

}  // namespace

int main() {
  const int cleaned = rota::run(cancel_it());
  std::printf("%s\n", cleaned == 1 ? "cleaned up after the cancellation" : "failed");
  return cleaned == 1 ? 0 : 1;
}
