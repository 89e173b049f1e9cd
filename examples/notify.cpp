// notify_one tells a worker about new work. notify_all tells readers that a number has changed.
#include <rota/rota.hpp>
#include <rota/sync/notify.hpp>

#include <atomic>
#include <cstdio>
#include <functional>
#include <vector>

namespace {

struct board {
  rota::sync::notify work;     // there may be something to do
  rota::sync::notify changed;  // the value of `done` has changed
  std::atomic<int> open = 0;
  std::atomic<int> done = 0;
};

rota::task<void> works(board& b, int until) {
  while (b.done < until) {
    if (b.open == 0) {
      co_await b.work.wait();  // returns at once if notify_one() was called before: the call is stored
      continue;
    }
    --b.open;
    ++b.done;
    b.changed.notify_all();
  }
}

/// Registers for the next notify_all() before it reads `done`, so there is no lost wakeup in between.
rota::task<int> reads(board& b, int wanted) {
  for (;;) {
    auto next = b.changed.wait();
    if (b.done >= wanted) co_return wanted;
    co_await next;
  }
}

rota::task<int> all(board& b) {
  std::vector<rota::join_handle<int>> readers;
  for (int i = 1; i <= 5; ++i) readers.push_back(rota::spawn(reads, std::ref(b), i));
  auto worker = rota::spawn(works, std::ref(b), 5);
  for (int i = 0; i < 5; ++i) {
    ++b.open;
    b.work.notify_one();
    co_await rota::yield();
  }
  int sum = 0;
  for (auto& each : readers) {
    const int seen = co_await each;
    sum += seen;
  }
  co_await worker;
  co_return sum;
}

}  // namespace

int main() {
  board b;
  const int sum = rota::run(all(b));
  std::printf("readers have seen %d\n", sum);
  return sum == 15 ? 0 : 1;
}
