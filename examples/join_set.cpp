// Takes the results of a set of tasks in the order in which the tasks finish.
#include <rota/join_set.hpp>
#include <rota/runtime.hpp>
#include <rota/time.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <utility>

namespace {

rota::task<int> square(int value) {
  const int result = value * value;
  co_return result;
}

rota::task<int> late() {
  co_await rota::sleep_for(std::chrono::hours(1));
  co_return 1000;
}

rota::task<int> sum() {
  rota::join_set<int> squares;
  for (int i = 1; i <= 4; ++i) squares.spawn(square(i));
  // One member of the set can be cancelled alone, from any thread.
  const rota::abort_handle slow = squares.spawn(late());
  slow.cancel();
  int total = 0;
  for (;;) {
    std::optional<rota::outcome<int>> next = co_await squares.next();
    if (!next.has_value()) break;
    if (next->is_cancelled()) continue;
    total += std::move(*next).value();
  }
  co_return total;
}

}  // namespace

int main() {
  const int total = rota::run(sum());
  std::printf("%d\n", total);
  return total == 30 ? 0 : 1;
}
