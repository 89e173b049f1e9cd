// A few lines that a cancellation must not tear apart.
#include <rota/rota.hpp>

#include <chrono>
#include <cstdio>

using namespace std::chrono_literals;

namespace {

struct account {
  int balance = 100;
};

/// Takes from one and gives to the other; in between it has to wait.
rota::task<> transfer(account& from, account& to, int amount) {
  auto guard = rota::shield(10s);
  from.balance -= amount;
  co_await rota::sleep_for(20ms);
  to.balance += amount;
}

rota::task<> transfer_for_ever(account& from, account& to) {
  for (;;) {
    co_await transfer(from, to, 1);
    co_await rota::checkpoint();  // between two shields there would be no other place to be stopped at
  }
}

rota::task<bool> move_money() {
  account a;
  account b;
  // The timeout passes in the middle of a transfer, and is held off until that is complete.
  const auto end = co_await rota::timeout(10ms, transfer_for_ever(a, b));
  std::printf("a has %d, b has %d\n", a.balance, b.balance);
  co_return !end.has_value() && a.balance < 100 && a.balance + b.balance == 200;
}

}  // namespace

int main() { return rota::run(move_money()) ? 0 : 1; }
