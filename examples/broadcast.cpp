// Publish and subscribe: each subscriber receives the messages that are sent after it subscribed. One
// subscriber joins late. A slow subscriber loses messages and learns how many.
#include <rota/channel/broadcast.hpp>
#include <rota/rota.hpp>

#include <cstdint>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

namespace {

using news = std::string;

struct account {
  std::uint64_t received = 0;
  std::uint64_t lost = 0;
};

/// Counts the received and the lost messages until the publisher is gone.
rota::task<account> subscriber(rota::channel::broadcast_receiver<news> from) {
  account mine;
  for (;;) {
    const auto item = co_await from.recv();
    if (item.has_value()) {
      ++mine.received;
    } else if (item.error().why == rota::channel::recv_status::lagged) {
      mine.lost += item.error().lagged;  // the next recv() returns the oldest message that is left
    } else {
      co_return mine;
    }
  }
}

constexpr int count = 100;

void publish(rota::channel::broadcast_sender<news>& to, int from, int until) {
  for (int i = from; i < until; ++i)
    if (to.send("news " + std::to_string(i)) != rota::channel::send_status::sent) std::puts("nobody listens");
}

rota::task<bool> all(rota::channel::broadcast_sender<news> to) {
  auto early = rota::spawn(subscriber(to.subscribe()));
  publish(to, 0, count / 2);
  auto late = rota::spawn(subscriber(to.subscribe()));  // receives only messages that are sent from now on
  publish(to, count / 2, count);
  {
    const auto gone = std::move(to);
  }  // the last sender is gone: this ends the subscribers
  const account first = co_await early;
  const account second = co_await late;
  std::printf("early: %llu and %llu lost\n",
              static_cast<unsigned long long>(first.received),
              static_cast<unsigned long long>(first.lost));
  std::printf("late:  %llu and %llu lost\n",
              static_cast<unsigned long long>(second.received),
              static_cast<unsigned long long>(second.lost));
  co_return first.received + first.lost == count&& second.received + second.lost == count / 2;
}

}  // namespace

int main() {
  auto [to, from] = rota::channel::broadcast<news>(16);  // the last 16 messages are kept for slow receivers
  std::uint64_t seen = 0;
  std::thread slow([mine = std::move(from), &seen]() mutable {
    for (;;) {
      const auto item = mine.blocking_recv();
      if (item.has_value()) {
        ++seen;
      } else if (item.error().why == rota::channel::recv_status::lagged) {
        seen += item.error().lagged;
      } else {
        break;
      }
    }
  });
  const bool worked = rota::run(all(std::move(to)));
  slow.join();
  return worked && seen == count ? 0 : 1;
}
