// A warehouse. Each task takes parts as soon as there are enough for it. A thread delivers parts now and
// then.
#include <rota/rota.hpp>
#include <rota/sync/condition_variable.hpp>

#include <cstdio>
#include <functional>
#include <thread>
#include <vector>

namespace {

struct warehouse {
  rota::sync::mutex lock;
  rota::sync::condition_variable delivered;
  int parts = 0;
  bool closed = false;
};

/// Returns the number of parts taken: `wanted`, or 0 if the warehouse closes first.
rota::task<int> takes(warehouse& w, int wanted) {
  auto held = co_await w.lock.lock();
  const auto enough = [&w, wanted] { return w.parts >= wanted || w.closed; };
  co_await w.delivered.wait(held, enough);
  if (w.parts < wanted) co_return 0;
  w.parts -= wanted;
  co_return wanted;
}

void brings(warehouse& w, int times, int each) {
  for (int i = 0; i < times; ++i) {
    {
      const auto held = w.lock.blocking_lock();
      w.parts += each;
    }
    w.delivered.notify_all();  // notify_all: the waiters wait for different numbers of parts
  }
  const auto held = w.lock.blocking_lock();
  w.closed = true;
  w.delivered.notify_all();
}

rota::task<int> all_take(warehouse& w) {
  std::vector<rota::join_handle<int>> all;
  for (int wanted = 1; wanted <= 10; ++wanted) all.push_back(rota::spawn(takes, std::ref(w), wanted));
  int taken = 0;
  for (auto& each : all) taken += co_await each;
  co_return taken;
}

}  // namespace

int main() {
  warehouse w;
  std::thread lorry([&w] { brings(w, 20, 3); });
  const int taken = rota::run(all_take(w));
  lorry.join();
  std::printf("%d parts taken, %d left\n", taken, w.parts);
  return taken == 55 && w.parts == 5 ? 0 : 1;
}
