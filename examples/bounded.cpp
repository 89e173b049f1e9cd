// Two tasks produce numbers; three tasks and a thread add them up. At most eight numbers wait in the channel.
#include <rota/channel/bounded.hpp>
#include <rota/rota.hpp>

#include <cstdio>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int each = 1'000;

rota::task<void> make(rota::channel::sender<int> to) {
  for (int i = 1; i <= each; ++i) {
    const auto how = co_await to.send(i);
    if (how != rota::channel::send_status::sent) co_return;  // all receivers are gone
  }
}

rota::task<long> add_up(rota::channel::receiver<int> from) {
  long sum = 0;
  for (;;) {
    const auto item = co_await from.recv();
    if (!item.has_value()) co_return sum;  // all senders are gone, and the channel is empty
    sum += *item;
  }
}

rota::task<long> use(rota::channel::sender<int> to, rota::channel::receiver<int> from) {
  for (int i = 0; i < 2; ++i) rota::spawn(make(to)).detach();
  {
    const auto gone = std::move(to);
  }  // from here on the two tasks own the only senders
  std::vector<rota::join_handle<long>> all;
  for (int i = 0; i < 3; ++i) all.push_back(rota::spawn(add_up(from)));
  long sum = 0;
  for (auto& one : all) {
    const long part = co_await one;
    sum += part;
  }
  co_return sum;
}

}  // namespace

int main() {
  auto [to, from] = rota::channel::bounded<int>(8);
  long by_thread = 0;
  std::thread other([mine = from, &by_thread]() mutable {
    while (const auto item = mine.blocking_recv()) by_thread += *item;
  });
  const long by_tasks = rota::run(use(std::move(to), std::move(from)));
  other.join();
  std::printf("%ld\n", by_tasks + by_thread);
  return by_tasks + by_thread == 2L * each * (each + 1) / 2 ? 0 : 1;
}
