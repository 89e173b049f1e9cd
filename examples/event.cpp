// A gate that opens for all waiters, and a turnstile that lets one waiter pass for each set().
#include <rota/rota.hpp>
#include <rota/sync/event.hpp>

#include <cstdio>
#include <functional>
#include <vector>

namespace {

struct stadium {
  rota::sync::event gate;
  rota::sync::event turnstile{rota::sync::event_reset::automatic, rota::sync::event_state::set};
  int inside = 0;  // only the task that is in the turnstile writes it
};

rota::task<void> visits(stadium& at) {
  co_await at.gate.wait();
  co_await at.turnstile.wait();
  ++at.inside;
  at.turnstile.set();  // let the next task pass
}

rota::task<void> opens(stadium& at) {
  std::vector<rota::join_handle<void>> visitors;
  for (int i = 0; i < 20; ++i) visitors.push_back(rota::spawn(visits, std::ref(at)));
  at.gate.set();
  for (auto& each : visitors) co_await each;
}

}  // namespace

int main() {
  stadium at;
  rota::run(opens(at));
  std::printf("%d inside\n", at.inside);
  return at.inside == 20 ? 0 : 1;
}
