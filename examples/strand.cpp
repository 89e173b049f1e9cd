// An account book that many tasks and a thread write to. Only code that runs in the strand accesses it, so it
// needs no lock.
#include <rota/rota.hpp>
#include <rota/sync/strand.hpp>

#include <cstdio>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace {

struct book {
  rota::sync::strand line;
  int balance = 0;
  std::vector<std::string> entries;
};

void note(book& b, std::string what) { b.entries.push_back(std::move(what)); }

/// Suspends between the check and the change. No other function of the strand runs in between.
rota::task<int> pays(book& b, int amount) {
  if (b.balance < amount) throw std::runtime_error("not enough");
  co_await rota::yield();
  b.balance -= amount;
  co_return b.balance;
}

rota::task<int> buys(book& b, int amount) {
  const int left = co_await b.line.run(pays, std::ref(b), amount);
  b.line.post(
      // runs after the work that is already in line; no task waits for it
      note,
      std::ref(b),
      "paid " + std::to_string(amount));
  co_return left;
}

rota::task<int> all_buy(book& b) {
  std::vector<rota::join_handle<int>> all;
  for (int i = 0; i < 10; ++i) all.push_back(rota::spawn(buys, std::ref(b), 30));
  int refused = 0;
  for (auto& each : all) {
    const auto got = co_await each.result();
    if (!got.has_value()) ++refused;
  }
  co_await b.line.join();  // waits for the notes, too
  co_return refused;
}

}  // namespace

int main() {
  book b;
  std::thread pays_in([&b] { b.line.blocking_run([&b] { b.balance += 200; }); });
  pays_in.join();
  const int refused = rota::run(all_buy(b));
  std::printf("%d left, %d refused, %zu entries\n", b.balance, refused, b.entries.size());
  return b.balance == 20 && refused == 4 && b.entries.size() == 6 ? 0 : 1;
}
