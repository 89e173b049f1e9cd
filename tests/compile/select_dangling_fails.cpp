// A select is kept longer than its cases.
// ONLY: clang
// EXPECT: temporary whose address is used as value of local variable 'kept'.*Wdangling
#include <rota/channel/bounded.hpp>
#include <rota/channel/select.hpp>

rota::task<void> waits(rota::channel::receiver<int> rx) {
  auto kept = rota::channel::select(rx.recv(), rota::sleep_for(std::chrono::seconds(1)));
  static_cast<void>(co_await kept);
}
