// A service waits until its three parts are loaded. A plain thread waits for them, too.
#include <rota/rota.hpp>
#include <rota/sync/latch.hpp>

#include <array>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <numeric>
#include <thread>

namespace {

struct service {
  std::array<int, 3> parts{};
  rota::sync::latch loaded{3};

  [[nodiscard]] int sum() const { return std::accumulate(parts.begin(), parts.end(), 0); }
};

rota::task<void> loads(service& of, std::size_t part) {
  co_await rota::yield();
  of.parts.at(part) = static_cast<int>(part) + 1;
  of.loaded.count_down();
}

rota::task<int> serves(service& of) {
  for (std::size_t part = 0; part < of.parts.size(); ++part) rota::spawn(loads, std::ref(of), part).detach();
  co_await of.loaded.wait();
  co_return of.sum();
}

}  // namespace

int main() {
  service s;
  int seen = 0;
  std::thread waits([&] {
    s.loaded.blocking_wait();
    seen = s.sum();
  });
  const int served = rota::run(serves, std::ref(s));
  waits.join();
  std::printf("served with %d, seen with %d\n", served, seen);
  return served == 6 && seen == 6 ? 0 : 1;
}
