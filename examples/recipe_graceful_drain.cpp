// Recipe: graceful drain. A server that is told to stop takes no new requests, finishes the accepted ones
// within a time limit, and ends.
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>
#include <rota/rota.hpp>
#include <rota/scope.hpp>
#include <rota/sync/event.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace channel = rota::channel;

struct counts {
  std::atomic<int> accepted = 0;
  std::atomic<int> done = 0;
  std::atomic<int> refused = 0;
};

rota::task<void> serve(int /*request*/, counts& all) {
  co_await rota::sleep_for(1ms);
  ++all.done;
}

/// Accepts requests until `stop` is set. Each request is a child task of the scope, which ends after all of
/// them.
rota::task<void> accept(rota::scope& s,
                        channel::receiver<int> requests,
                        rota::sync::event& stop,
                        counts& all) {
  for (;;) {
    auto next = co_await channel::select(requests.recv(), stop.wait());
    if (next.index() == 1 || !next.get<0>().has_value()) break;
    ++all.accepted;
    s.fork(serve(*next.get<0>(), all));
  }
  // From here on senders get an error. Requests that were sent before are still served.
  requests.close();
  for (;;) {
    const auto left = co_await requests.recv();
    if (!left.has_value()) co_return;
    ++all.accepted;
    s.fork(serve(*left, all));
  }
}

rota::task<void> server(channel::receiver<int> requests, rota::sync::event& stop, counts& all) {
  co_await rota::with_scope([&](rota::scope& s) { return accept(s, requests, stop, all); });
}

rota::task<int> client(channel::sender<int> to, counts& all) {
  for (int sent = 0;; ++sent) {
    const auto how = co_await to.send(sent);
    if (how != channel::send_status::sent) {
      ++all.refused;
      co_return sent;
    }
    co_await rota::yield();
  }
}

rota::task<bool> day(counts& all) {
  auto requests = channel::bounded<int>(16);
  rota::sync::event stop;
  auto serving = rota::spawn(server(std::move(requests.receiver), stop, all));
  auto first = rota::spawn(client(requests.sender, all));
  auto second = rota::spawn(client(std::move(requests.sender), all));
  co_await rota::sleep_for(5ms);
  stop.set();
  // Requests that are not finished after ten seconds are cancelled.
  const auto end = co_await rota::timeout(10s, serving);
  const int sent_first = co_await first;
  const int sent_second = co_await second;
  std::printf("%d of %d done, both clients were told: %s\n",
              all.done.load(),
              sent_first + sent_second,
              all.refused == 2 ? "yes" : "no");
  co_return end.has_value() &&
      all.accepted == sent_first + sent_second&& all.done == all.accepted&& all.refused == 2;
}

}  // namespace

int main() {
  counts all;
  return rota::run(day(all)) ? 0 : 1;
}
