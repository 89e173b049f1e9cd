// Tests code that waits, without waiting. testing::runtime runs tasks on this thread, in an order that a seed
// decides, and with virtual time.
#include <rota/rota.hpp>
#include <rota/testing/runtime.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <stdexcept>
#include <string>

using namespace std::chrono_literals;

namespace {

/// Asks a server that fails twice. The pause between the attempts doubles.
rota::task<int> ask(int& attempts) {
  std::chrono::milliseconds pause = 500ms;
  for (;;) {
    if (++attempts == 3) co_return 42;
    co_await rota::sleep_for(pause);
    pause *= 2;
  }
}

rota::task<> worker(std::string& order, char name) {
  co_await rota::yield();
  order += name;
}

rota::task<> waits_for_ever() { co_await rota::sleep_until(std::chrono::steady_clock::time_point::max()); }

void expect(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

}  // namespace

int main() {
  // Time: 1.5 seconds of virtual time pass at once.
  {
    rota::testing::runtime rt;
    const auto began = rt.now();
    int attempts = 0;
    expect(rt.block_on(ask(attempts)) == 42, "the answer came");
    expect(attempts == 3 && rt.now() - began == 1500ms, "at the third attempt");
  }

  // Order: the seed decides it. The same seed always gives the same order.
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    rota::testing::runtime rt(seed);
    std::string order;
    for (const char name : {'a', 'b', 'c'}) rt.spawn(worker(order, name)).detach();
    rt.run_until_stalled();
    std::printf("seed %d: %s\n", static_cast<int>(seed), order.c_str());
    expect(order.size() == 3, "all have run");
  }

  // Stall: the exception names the tasks that wait for ever.
  try {
    rota::testing::runtime rt;
    rt.block_on(waits_for_ever());
  } catch (const rota::testing::stalled& e) {
    std::printf("%s", e.what());
  }
}
