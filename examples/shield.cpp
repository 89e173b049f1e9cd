// A shielded block: a cancellation takes effect only after it.
#include <rota/rota.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

namespace {

struct account {
  int balance = 100;
};

/// Moves `amount` from one account to the other. It must wait between the two steps.
rota::task<> transfer(account& from, account& to, int amount) {
  auto guard = rota::shield(10s);
  from.balance -= amount;
  co_await rota::sleep_for(20ms);
  to.balance += amount;
}

rota::task<> transfer_for_ever(account& from, account& to) {
  for (;;) {
    co_await transfer(from, to, 1);
    // without it a cancellation would have no place to take effect between two shields
    co_await rota::checkpoint();
  }
}

rota::task<bool> move_money() {
  account a;
  account b;
  // The timeout expires in the middle of a transfer. The cancellation waits until the transfer is complete.
  const auto end = co_await rota::timeout(10ms, transfer_for_ever(a, b));
  std::printf("a has %d, b has %d\n", a.balance, b.balance);
  co_return !end.has_value() && a.balance < 100 && a.balance + b.balance == 200;
}

}  // namespace

int main() { return rota::run(move_money()) ? 0 : 1; }
