// Orders from two shops are packed, four at a time, and shipped in their order, at most one each millisecond.
#include <rota/channel/unbounded.hpp>
#include <rota/rota.hpp>
#include <rota/stream.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace stream = rota::stream;

struct order {
  int number;
  bool is_paid;
};

rota::task<std::string> pack(order one) {
  co_await rota::sleep_for(
      // even-numbered orders take longer, and delay only the orders behind them
      one.number % 2 == 0 ? 3ms : 1ms);
  co_return "parcel " + std::to_string(one.number);
}

using orders = rota::channel::unbounded_receiver<order>;

rota::task<void> ship_in(rota::scope& s, orders here, orders there, int& shipped) {
  auto all = stream::merge(std::move(here), std::move(there));
  auto paid = stream::filter(std::move(all), [](const order& one) { return one.is_paid; });
  auto parcels = stream::throttle(stream::buffered(s, std::move(paid), 4, pack), 1ms);
  auto first_ten = stream::take(std::move(parcels), 10);
  for (;;) {
    const auto parcel = co_await first_ten.next();
    if (!parcel) co_return;
    std::printf("%s\n", parcel->c_str());
    ++shipped;
  }
}

rota::task<int> ship(orders here, orders there) {
  int shipped = 0;
  // The packing tasks are children of this scope, so none is left when the scope ends, however it ends.
  const auto body = [&](rota::scope& s) { return ship_in(s, std::move(here), std::move(there), shipped); };
  co_await rota::with_scope(body);
  co_return shipped;
}

}  // namespace

int main() {
  auto here = rota::channel::unbounded<order>();
  auto there = rota::channel::unbounded<order>();
  for (int i = 0; i < 20; ++i) {
    auto& to = i % 2 == 0 ? here.sender : there.sender;
    if (to.try_send(order{i, i % 3 != 0}) != rota::channel::send_status::sent) return 1;
  }
  const int shipped = rota::run(ship(std::move(here.receiver), std::move(there.receiver)));
  return shipped == 10 ? 0 : 1;
}
