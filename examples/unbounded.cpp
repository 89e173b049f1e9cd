// A thread that must not block sends events; a task handles them.
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>

#include <cstdio>
#include <thread>
#include <utility>

namespace {

rota::task<int> count(rota::channel::unbounded_receiver<int> from) {
  int events = 0;
  for (;;) {
    const auto event = co_await from.recv();
    if (!event.has_value()) co_return events;
    ++events;
  }
}

}  // namespace

int main() {
  auto [to, from] = rota::channel::unbounded<int>();
  std::thread other([mine = std::move(to)]() mutable {
    for (int i = 0; i < 1'000; ++i) static_cast<void>(mine.try_send(i));
  });
  const int events = rota::run(count(std::move(from)));
  other.join();
  std::printf("%d events\n", events);
  return events == 1'000 ? 0 : 1;
}
